"""Everything that the server remembers between two resets, and the one place where tests wait for a change."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from replay_contract_server.ledger import Ledger
from replay_contract_server.script import Script
from replay_contract_server.wire import Connection, HttpRequest


@dataclass(slots=True)
class Record:
    """One request to a model, from arrival to the end of its answer.

    ``verdict``: accepted, refused (by ``rule``), fault (an error was answered instead) or exhausted (no reply left).
    ``lost_reasoning``: messages whose reasoning the service ignores, because it is under another key.
    """

    serial: int
    path: str
    headers: Mapping[str, str]
    raw: str = ""
    body: Mapping[str, Any] | None = None
    model: str = ""
    mode: str = ""
    verdict: str = ""
    rule: str | None = None
    status: int = 0
    has_ended: bool = False
    events_sent: int = 0
    closed_early: bool = False
    lost_reasoning: list[int] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(slots=True)
class OpenStream:
    """An answer that is being sent; ``held`` is the name of the release that it waits for."""

    state: State
    record: Record
    connection: Connection
    held: str | None = None

    async def hold(self, name: str) -> None:
        """Wait for the release of ``name``. Raises ClientGoneError."""
        self.held = name
        self.state.notify()
        await self.connection.wait(self.state.gate(name))
        self.held = None
        self.state.notify()

    def sent(self, events: int) -> None:
        self.record.events_sent = events
        self.state.notify()

    def to_json(self) -> dict[str, Any]:
        return {"serial": self.record.serial, "events_sent": self.record.events_sent, "held": self.held}


class State:
    """Script, requests, issued steps, releases and counters."""

    def __init__(self) -> None:
        self._changed = asyncio.Event()
        self.streams: dict[int, OpenStream] = {}
        self.clear()

    def clear(self) -> None:
        """Forget everything and cut open streams."""
        for stream in list(self.streams.values()):
            stream.connection.reset()
        self.script = Script()
        self.ledger = Ledger()
        self.records: list[Record] = []
        self.streams = {}
        self._gates: dict[str, asyncio.Event] = {}
        self._counts: Counter[str] = Counter()
        self.notify()

    def number(self, of: str) -> int:
        """Return the next number of a kind of thing, from 1."""
        self._counts[of] += 1
        return self._counts[of]

    def gate(self, name: str) -> asyncio.Event:
        """Return the gate of a name. Once released it stays open until the next reset."""
        return self._gates.setdefault(name, asyncio.Event())

    def open_record(self, request: HttpRequest) -> Record:
        record = Record(self.number("request"), request.path, request.headers, request.body.decode(errors="replace"))
        self.records.append(record)
        self.notify()
        return record

    def close_record(self, record: Record) -> None:
        record.has_ended = True
        self.notify()

    def notify(self) -> None:
        """Wake everything that waits for a change."""
        self._changed.set()
        self._changed = asyncio.Event()

    async def until(self, holds: Callable[[], bool], timeout_s: float) -> bool:
        """Wait until a condition holds; return whether it does."""
        try:
            async with asyncio.timeout(timeout_s):
                while not holds():
                    await self._changed.wait()
        except TimeoutError:
            return holds()
        return True
