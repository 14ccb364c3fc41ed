"""Twisted's reactor over our event loop, for many small frames to many sockets.

Twisted asks the kernel to report room in a socket before each write, and no more after it: two system calls and a round
of the loop for every frame. A socket nearly always has room, so here the write is tried first.
"""

from __future__ import annotations

import asyncio
from typing import Any

from twisted.internet.asyncioreactor import AsyncioSelectorReactor
from twisted.internet.main import installReactor


class WriteFirstReactor(AsyncioSelectorReactor):
    """Writes in the next round of the loop; only what did not fit then waits until the kernel reports room."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._soon: set[Any] = set()
        super().__init__(loop)

    def addWriter(self, writer: Any) -> None:  # noqa: N802 - Twisted's name
        if writer not in self._soon and writer not in self._writers:
            self._soon.add(writer)
            self._loop.call_soon(self._write, writer)

    def removeWriter(self, writer: Any) -> None:  # noqa: N802
        if writer in self._soon:
            self._soon.discard(writer)
        else:
            super().removeWriter(writer)  # type: ignore[no-untyped-call]

    def removeAll(self) -> list[Any]:  # noqa: N802
        soon, self._soon = self._soon, set()
        return [*super().removeAll(), *soon]  # type: ignore[no-untyped-call]

    def getWriters(self) -> list[Any]:  # noqa: N802
        return [*super().getWriters(), *self._soon]  # type: ignore[no-untyped-call]

    def _write(self, writer: Any) -> None:
        if writer not in self._soon:
            return
        self._readOrWrite(writer, False)  # type: ignore[no-untyped-call]
        if writer in self._soon:  # some of it is left
            self._soon.discard(writer)
            super().addWriter(writer)  # type: ignore[no-untyped-call]


def install() -> None:
    """Make it the reactor of this process, before anything imports Twisted's."""
    installReactor(WriteFirstReactor(asyncio.new_event_loop()))  # type: ignore[no-untyped-call]
