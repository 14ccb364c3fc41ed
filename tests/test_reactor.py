"""The reactor writes first, and asks the kernel for room only where something is left."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator

import pytest

from config.reactor import WriteFirstReactor

MUCH = b"x" * 8_000_000  # more than a socket's buffer takes at once


class Sender:
    """As much of a Twisted transport as a reactor sees."""

    def __init__(self, reactor: WriteFirstReactor, connection: socket.socket, left: bytes) -> None:
        self._reactor, self._connection, self._left = reactor, connection, left
        self.asked_for_room = 0

    def fileno(self) -> int:
        return self._connection.fileno()

    def doWrite(self) -> None:  # noqa: N802 - Twisted's name
        self.asked_for_room += self in self._reactor._writers
        self._left = self._left[self._connection.send(self._left) :]
        if not self._left:
            self._reactor.removeWriter(self)


@pytest.fixture
def ends() -> Iterator[tuple[socket.socket, socket.socket]]:
    ours, theirs = socket.socketpair()
    for end in (ours, theirs):
        end.setblocking(False)
    yield ours, theirs
    ours.close()
    theirs.close()


@pytest.fixture
def reactor() -> Iterator[WriteFirstReactor]:
    loop = asyncio.new_event_loop()
    yield WriteFirstReactor(loop)
    loop.close()


async def _read(end: socket.socket, count: int) -> int:
    got = 0
    while got < count:
        got += len(await asyncio.get_running_loop().sock_recv(end, 1_000_000))
    return got


def test_small_write_goes_out_without_asking_for_room(
    reactor: WriteFirstReactor, ends: tuple[socket.socket, socket.socket]
) -> None:
    ours, theirs = ends
    sender = Sender(reactor, ours, b"frame")

    reactor.addWriter(sender)
    reactor.addWriter(sender)
    assert reactor.getWriters() == [sender]
    got = reactor._loop.run_until_complete(asyncio.wait_for(_read(theirs, 5), 5))

    assert (got, sender.asked_for_room, reactor.getWriters()) == (5, 0, [])


def test_what_does_not_fit_is_written_when_there_is_room(
    reactor: WriteFirstReactor, ends: tuple[socket.socket, socket.socket]
) -> None:
    ours, theirs = ends
    sender = Sender(reactor, ours, MUCH)

    reactor.addWriter(sender)
    got = reactor._loop.run_until_complete(asyncio.wait_for(_read(theirs, len(MUCH)), 20))

    assert got == len(MUCH)
    assert sender.asked_for_room > 0
    assert reactor.getWriters() == []


def test_writer_that_left_meanwhile_is_not_asked(
    reactor: WriteFirstReactor, ends: tuple[socket.socket, socket.socket]
) -> None:
    ours, theirs = ends
    gone, other = Sender(reactor, ours, b"lost"), Sender(reactor, ours, b"kept")

    reactor.addWriter(gone)
    reactor.removeWriter(gone)
    reactor.addWriter(other)
    reactor._loop.run_until_complete(asyncio.wait_for(_read(theirs, 4), 5))

    assert gone._left == b"lost"
    assert reactor.removeAll() == []
