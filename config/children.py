"""Child processes that are watched: started apart from our terminal, started again when they die, ended by handle.

For ``config.cluster``; a site has its service manager for this.
"""

from __future__ import annotations

import pwd
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

AGAIN_AFTER_S = 5.0
MOST_STARTS = 50
READY_WITHIN_S = 90.0
END_WITHIN_S = 30.0
_POLL_S = 0.1


class NotReady(Exception):
    """A child ended, or did not answer in time."""


@dataclass(slots=True)
class Child:
    """One process, again and again, in ``folder``. ``user``: whom it runs as, where that is not us."""

    name: str
    command: Sequence[str]
    log: Path
    environment: Mapping[str, str]
    folder: Path
    user: str | None = None
    end_signal: signal.Signals = signal.SIGTERM
    starts: int = 0
    _process: subprocess.Popen[bytes] | None = field(default=None)
    _died_at: float | None = field(default=None)

    @property
    def pid(self) -> int:
        return self._process.pid if self._process else 0

    @property
    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def start(self) -> None:
        """Start it, away from our terminal: Ctrl-C there is for us alone."""
        self.starts += 1
        self._died_at = None
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(  # noqa: S603 - our own command
                self.command,
                env=dict(self.environment),
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                **as_user(self.user),
            )

    def look_after(self) -> str | None:
        """Start it again some time after it died; return what there is to say."""
        if self.is_running or self._process is None:
            return None
        if self._died_at is None:
            self._died_at = time.monotonic()
            return f"{self.name} (pid {self.pid}) ended: {self._how()}; starting it again in {AGAIN_AFTER_S:.0f} s"
        if time.monotonic() - self._died_at < AGAIN_AFTER_S or self.starts >= MOST_STARTS:
            return None
        self.start()
        return f"{self.name} runs again, pid {self.pid}"

    def end(self) -> None:
        """Ask it to end, and wait."""
        if self._process is None or not self.is_running:
            return
        self._process.send_signal(self.end_signal)
        try:
            self.wait()
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def wait(self) -> None:
        """Wait until it has ended, but not for ever."""
        if self._process is not None:
            self._process.wait(END_WITHIN_S)

    def wait_until(self, answers: Callable[[], bool]) -> None:
        """Wait until it answers. Raises NotReady with the end of its log."""
        deadline = time.monotonic() + READY_WITHIN_S
        while time.monotonic() < deadline and self.is_running:
            if answers():
                return
            time.sleep(_POLL_S)
        raise NotReady(f"{self.name} did not start; the end of its log:\n{self._last_words()}")

    def _how(self) -> str:
        code = self._process.returncode if self._process else 0
        return signal.Signals(-code).name if code < 0 else f"exit code {code}"

    def _last_words(self) -> str:
        return "\n".join(line[:400] for line in self.log.read_text("utf-8", errors="replace").splitlines()[-5:])


def as_user(name: str | None) -> dict[str, Any]:
    """Return the arguments with which subprocess becomes this user, of no group but their own."""
    return {} if name is None else {"user": name, "group": pwd.getpwnam(name).pw_gid, "extra_groups": []}


def free_port() -> int:
    """Return a loopback port that nothing uses now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
