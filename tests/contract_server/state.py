"""Everything that the server remembers between two resets, and the one place where tests wait for it to change."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tests.contract_server.ledger import Ledger
from tests.contract_server.record import PromptCache, Record
from tests.contract_server.script import Script
from tests.contract_server.wire import Connection, HttpRequest


@dataclass(slots=True)
class OpenStream:
    """An answer that is being sent; ``held`` is the name of the release that it waits for."""

    state: State
    record: Record
    connection: Connection
    held: str | None = None

    def hold(self, name: str) -> asyncio.Event:
        self.held = name
        self.state.touch()
        return self.state.gate(name)

    def sent(self, events: int) -> None:
        self.record.events_sent = events
        self.state.touch()

    def resume(self) -> None:
        self.held = None
        self.state.touch()

    def to_json(self) -> dict[str, Any]:
        return {
            "serial": self.record.serial,
            "model": self.record.model,
            "events_sent": self.record.events_sent,
            "held": self.held,
            "client_gone": self.connection.gone.is_set(),
        }


class State:
    """Scripts, requests, issued steps, releases and counters."""

    def __init__(self) -> None:
        self._changed = asyncio.Event()
        self.streams: dict[int, OpenStream] = {}
        self.clear()

    def clear(self) -> None:
        """Forget everything. Streams that are still open are cut off."""
        for stream in list(self.streams.values()):
            stream.connection.reset()
        self.script = Script()
        self.ledger = Ledger()
        self.cache = PromptCache()
        self.records: list[Record] = []
        self.streams = {}
        self._gates: dict[str, asyncio.Event] = {}
        self._counts: Counter[str] = Counter()
        self.touch()

    def number(self, of: str) -> int:
        """Return the next number of a kind of thing, from 1."""
        self._counts[of] += 1
        return self._counts[of]

    def gate(self, name: str) -> asyncio.Event:
        """Return the gate of a name. Once released it stays open until reset, whoever came first."""
        return self._gates.setdefault(name, asyncio.Event())

    def open_record(self, request: HttpRequest) -> Record:
        """Return the record of a request that has just come in."""
        record = Record(self.number("request"), request.path, request.headers, request.body, self.number("clock"))
        self.records.append(record)
        self.touch()
        return record

    def close_record(self, record: Record) -> None:
        record.ended = self.number("clock")
        self.touch()

    def note_overlaps(self, record: Record) -> None:
        """Write into both records which requests of one conversation are answered at the same time."""
        for other in self.records:
            same = other is not record and set(record.keys) & set(other.keys)
            if same and other.ended is None:
                other.overlaps.append(record.serial)
                record.overlaps.append(other.serial)

    def touch(self) -> None:
        """Wake all who wait for a change."""
        self._changed.set()
        self._changed = asyncio.Event()

    async def until(self, holds: Callable[[], bool], seconds: float) -> bool:
        """Wait until something holds, at most ``seconds``; say whether it does."""
        try:
            async with asyncio.timeout(seconds):
                while not holds():
                    await self._changed.wait()
        except TimeoutError:
            return holds()
        return True
