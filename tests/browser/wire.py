"""A page's WebSocket in the test's hands: its frames from the server can be held back or lost, and it can be closed."""

import re

from playwright.sync_api import BrowserContext, WebSocketRoute

from tests.browser.watching import wait_until


class Wire:
    """Every socket that a context opens from now on."""

    def __init__(self, context: BrowserContext) -> None:
        self._context = context
        self.sockets: list[WebSocketRoute] = []
        self.is_held = False
        self.loses = ""  # frames that contain it are lost
        self.lost: list[str] = []
        self._held: list[tuple[WebSocketRoute, str]] = []
        context.route_web_socket(re.compile("/ws/"), self._open)

    def close(self, code: int) -> None:
        """Close the newest socket of the page."""
        self.sockets[-1].close(code=code)

    def release(self) -> None:
        """Deliver what was held back."""
        self.is_held = False
        for socket, frame in self._held:
            socket.send(frame)
        self._held.clear()

    def wait_for_loss(self) -> None:
        wait_until(self._context.pages[-1], lambda: bool(self.lost))

    def _open(self, socket: WebSocketRoute) -> None:
        self.sockets.append(socket)
        socket.connect_to_server().on_message(lambda frame: self._deliver(socket, str(frame)))

    def _deliver(self, socket: WebSocketRoute, frame: str) -> None:
        if self.loses and self.loses in frame:
            self.lost.append(frame)
        elif self.is_held:
            self._held.append((socket, frame))
        else:
            socket.send(frame)
