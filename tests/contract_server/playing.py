"""Sends an answer over a connection, event by event, and lets the faults happen at their places."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from itertools import pairwise

from tests.contract_server.fault_kinds import Timed
from tests.contract_server.faults import CONNECT, HEADERS, CutError, Place, happen, hold, placed
from tests.contract_server.state import OpenStream
from tests.contract_server.stream import Answer, Frame
from tests.contract_server.wire import ClientGoneError, Connection, head_bytes


async def send_answer(connection: Connection, answer: Answer) -> None:
    """Send an answer that nothing can happen to."""
    await connection.write(_head(answer))
    connection.frame_as_chunks(chunked=answer.streamed)
    for frame in answer.frames:
        await connection.part(frame.data)
    await connection.end()


def _head(answer: Answer) -> bytes:
    length = {"Content-Length": str(sum(len(frame.data) for frame in answer.frames))}
    return head_bytes(
        answer.status, {**answer.headers, **({"Transfer-Encoding": "chunked"} if answer.streamed else length)}
    )


class Player:
    """One answer on its way. ``spend`` is told of each fault as it begins."""

    def __init__(self, stream: OpenStream, answer: Answer, faults: list[Timed], spend: Callable[[Timed], None]) -> None:
        self._stream = stream
        self._connection = stream.connection
        self._answer = answer
        self._placed = placed(faults, answer.frames)
        self._spend = spend
        self._head_sent = False
        self.cut_short = False

    async def play(self) -> None:
        """Send everything; ``cut_short`` then says if a fault kept it from its end. Raises ClientGoneError."""
        try:
            await self._happen(CONNECT)
            await self._send_head()
            for n, frame in enumerate(self._answer.frames):
                await self._send_frame(n, frame)
                self._stream.sent(n + 1)
            await self._end()
        except CutError as cut:
            self.cut_short = True
            await self._cut(cut.mode)

    async def _happen(self, place: Place) -> None:
        for fault in self._placed.get(place, ()):
            self._spend(fault)
            try:
                await happen(fault, self._connection, self._stream, self._answer)
            except ClientGoneError:
                self.cut_short = True
                raise

    async def _send_head(self) -> None:
        head = _head(self._answer)
        half = len(head) // 2 if HEADERS in self._placed else 0
        await self._connection.write(head[:half])
        await self._happen(HEADERS)
        await self._connection.write(head[half:])
        self._head_sent = True
        self._connection.frame_as_chunks(chunked=self._answer.streamed)

    async def _send_frame(self, n: int, frame: Frame) -> None:
        await self._pace(n)
        if frame.hold:
            await hold(frame.hold, self._connection, self._stream)
        faulty = {byte for at, byte in self._placed if at == n}
        borders = sorted({0, len(frame.data), *frame.cuts, *faulty})
        for start, stop in pairwise(borders):
            await self._happen((n, start))
            if frame.settles and stop == len(frame.data):
                self._connection.require_client()
                self._answer.settle()  # before the client can know of it and ask again
            await self._connection.part(frame.data[start:stop])

    async def _pace(self, n: int) -> None:
        if n and self._answer.delay_ms:
            await self._connection.wait(asyncio.Event(), self._answer.delay_ms / 1000)

    async def _end(self) -> None:
        """End the body. A client may leave at the last event: it has everything, and that is not early."""
        with suppress(ClientGoneError):
            await self._connection.end()

    async def _cut(self, mode: str) -> None:
        if mode == "rst":
            self._connection.reset()
            return
        if mode == "fin" and self._head_sent:
            await self._connection.end()
        self._connection.close()
