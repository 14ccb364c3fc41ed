"""A cable between a browser and a site, to be pulled and plugged in again: bytes in both directions, nothing else."""

import socket
import threading
from contextlib import suppress

from tests.browser.sites import Prepared, Site

HOST = "127.0.0.1"
CHUNK_BYTES = 65_536
REFUSAL = b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"


class Cable:
    """A site at another port, as a person visits it. ``pull`` ends every connection and lets no new one through."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._listener = socket.create_server((HOST, 0))
        self._ends: set[socket.socket] = set()
        self._lock = threading.Lock()
        self._is_pulled = False
        self.blocks_websockets = False  # as a proxy does that knows HTTP alone
        self.base_url = f"http://{HOST}:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def prepared(self) -> Prepared:
        return self._site.prepared

    def session(self, username: str) -> str:
        """Return a session of the site behind it."""
        return self._site.session(username)

    def pull(self) -> None:
        """Cut every connection, with no word of farewell, and refuse new ones."""
        with self._lock:
            self._is_pulled = True
            for end in self._ends:
                with suppress(OSError):
                    end.shutdown(socket.SHUT_RDWR)

    def plug_in(self) -> None:
        """Let connections through again."""
        with self._lock:
            self._is_pulled = False

    def close(self) -> None:
        """Stop listening, and end what is open."""
        self.pull()
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _accept(self) -> None:
        with suppress(OSError):  # as closing the listener ends it
            while True:
                near, _address = self._listener.accept()
                self._connect(near)

    def _connect(self, near: socket.socket) -> None:
        try:
            far = socket.create_connection((HOST, self._site.port))
        except OSError:
            near.close()
            return
        with self._lock:
            self._ends |= {near, far}
            if self._is_pulled:
                near.shutdown(socket.SHUT_RDWR)
        for one, other in ((near, far), (far, near)):
            threading.Thread(target=self._pass_on, args=(one, other), daemon=True).start()

    def _pass_on(self, one: socket.socket, other: socket.socket) -> None:
        with suppress(OSError):
            while data := one.recv(CHUNK_BYTES):
                if self.blocks_websockets and data.startswith(b"GET /ws/"):
                    one.sendall(REFUSAL)
                    break
                other.sendall(data)
        with suppress(OSError):
            other.shutdown(socket.SHUT_RDWR)
        with self._lock:
            self._ends.discard(one)
        one.close()
