"""Reading by a clock while the server is busy: working on forty characters costs hardly more than on four.

With few live turns every piece of an answer is read as it arrives. Above that each upstream is read once in a window,
which grows with their number and with the lag of the event loop; what came meanwhile waits in the kernel, and its texts
go on as one. So a loaded server sends fewer and longer pieces instead of late ones. The first piece of an answer never
waits. A window ends with the last common tick in it, so that one round of the loop serves many upstreams.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, cast

from reasoning.deltas import RawDelta, RawFields

FEW_TURNS, MANY_TURNS = 20, 50
WINDOW_S, LONGEST_WINDOW_S = 0.05, 0.1  # at few turns, and at many
TICK_S = 0.025
_ROUNDING = 1e-6  # of a tick: so much time is none
_LAG_WEIGHT = 0.1


class Pace:
    """How busy this process is: its live turns, and how late its event loop runs."""

    def __init__(self) -> None:
        self.turns = 0
        self._lag_s = 0.0

    @property
    def is_busy(self) -> bool:
        return self.turns >= FEW_TURNS

    @property
    def window_s(self) -> float:
        """How long an upstream may go unread, in seconds."""
        if not self.is_busy:
            return 0.0
        crowd = (self.turns - FEW_TURNS) / (MANY_TURNS - FEW_TURNS)
        return min(WINDOW_S + crowd * (LONGEST_WINDOW_S - WINDOW_S) + self._lag_s, LONGEST_WINDOW_S)

    def next_read(self, now: float) -> float:
        """Return when an upstream that was read ``now`` is read again, both in the event loop's time."""
        window_s = self.window_s
        return math.floor((now + window_s) / TICK_S + _ROUNDING) * TICK_S if window_s else now

    async def wait_until(self, due: float) -> None:
        """Sleep until ``due``, in the event loop's time, and take note how late that became."""
        loop = asyncio.get_running_loop()
        await asyncio.sleep(due - loop.time())
        self.note_lag(loop.time() - due)

    def note_lag(self, seconds: float) -> None:
        """Take in how late something ran that was due."""
        self._lag_s += _LAG_WEIGHT * (max(0.0, seconds) - self._lag_s)


pace = Pace()


@contextmanager
def left_unread(response: Any) -> Iterator[None]:
    """Let what arrives of an answer during this block wait in the kernel: it costs nothing while nobody looks.

    The block holds the work on what was read last, too. Whatever were read during that would be handed out as the next
    window's, and all that follows be late by one window. The SDK keeps the connection of an answer to itself; where it
    is not found, nothing waits there.
    """
    connection = _connection(response)
    if connection is not None:
        connection.pause_reading()
    try:
        yield
    finally:
        if connection is not None and not connection.is_closing():
            connection.resume_reading()


def _connection(response: Any) -> asyncio.ReadTransport | None:
    """Return the socket's end behind an answer; None where all of the answer is here already."""
    found: Any = response
    for name in ("http_response", "stream", "_stream", "_aiohttp_response", "connection", "transport"):
        found = getattr(found, name, None)
    return cast("asyncio.ReadTransport | None", found)


def joined(deltas: Iterable[RawDelta]) -> Iterator[RawDelta]:
    """Yield deltas in order, neighbouring texts of one kind as one. What came before a failure comes before it."""
    kind, texts = "", list[str]()
    try:
        for raw in deltas:
            next_kind, text = _text_of(raw)
            if texts and next_kind != kind:
                yield RawFields({kind: "".join(texts)})
                texts.clear()
            kind = next_kind
            if kind:
                texts.append(text)
            else:
                yield raw
    except Exception:
        if texts:
            yield RawFields({kind: "".join(texts)})
        raise
    if texts:
        yield RawFields({kind: "".join(texts)})


def _text_of(raw: RawDelta) -> tuple[str, str]:
    """Return kind and text of a delta that is one text and nothing else."""
    if isinstance(raw, RawFields) and len(raw.fields) == 1:
        ((kind, text),) = raw.fields.items()
        if isinstance(text, str) and kind != "tool_calls":
            return kind, text
    return "", ""
