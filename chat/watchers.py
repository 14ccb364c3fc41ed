"""Those who follow a conversation: sockets and API streams.

Each has a bounded box of notices; one that falls behind is told to draw everything again instead of holding anybody up.
A scratchpad never waits in a box (product 9).
"""

from __future__ import annotations

import asyncio
import uuid
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from chat.live import (
    Behind,
    BlockDone,
    LiveTurn,
    Notice,
    OpenText,
    StatusChanged,
    StepsChanged,
    ThinkingText,
)
from reasoning.scratchpad import Scratchpad

MAX_BEHIND = 256
MAX_ASKED = 32
REFLECTED = (OpenText, BlockDone, ThinkingText, StatusChanged, StepsChanged)


@dataclass(frozen=True, slots=True)
class Asked:
    """Something that the page itself sent; it waits among the notices, so that answers come in order."""

    form: object


@dataclass(eq=False, slots=True)
class Watcher:
    """Somebody who follows a conversation. ``take_scratchpad`` is called at once, in memory, never queued."""

    conversation_id: uuid.UUID
    take_scratchpad: Callable[[LiveTurn, Scratchpad], None] | None = None
    _pending: deque[Notice | Asked] = field(default_factory=deque)
    _wake: asyncio.Event = field(default_factory=asyncio.Event)

    def tell(self, notice: Notice | Asked) -> None:
        """Keep a notice until it is taken; when too many wait, drop all but what was asked for one ``Behind``."""
        if len(self._pending) >= MAX_BEHIND:
            self._pending = deque(item for item in self._pending if isinstance(item, Asked))
            self._pending.append(Behind())
        self._pending.append(notice)
        self._wake.set()

    def ask(self, form: object) -> bool:
        """Keep what the page sent; False where it sends faster than it is answered."""
        if sum(isinstance(item, Asked) for item in self._pending) >= MAX_ASKED:
            return False
        self.tell(Asked(form))
        return True

    @property
    def has_pending(self) -> bool:
        return bool(self._pending)

    async def next(self) -> Notice | Asked:
        """Wait for the oldest notice."""
        while not self._pending:
            self._wake.clear()
            await self._wake.wait()
        return self._pending.popleft()

    def drop_reflected(self) -> None:
        """Forget what a snapshot drawn now already shows."""
        self._pending = deque(item for item in self._pending if not isinstance(item, REFLECTED))

    def drop_thinking(self) -> None:
        """Forget thinking that an opening panel, drawn now, already shows."""
        self._pending = deque(item for item in self._pending if not isinstance(item, ThinkingText))
