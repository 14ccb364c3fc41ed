"""Those who follow a conversation: sockets and API streams.

Each has a bounded box of notices; one that falls behind is told to draw everything again instead of holding anybody up.
A scratchpad never waits in a box (product 9).
"""

from __future__ import annotations

import asyncio
import time
import uuid
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from chat.live import LiveTurn
from chat.notices import Behind, BlockDone, Notice, OpenText, StatusChanged, StepsChanged, ThinkingText
from reasoning.scratchpad import Scratchpad

MAX_BEHIND = 256
MAX_ASKED = 32
TOLD_WITHIN_S, LOOK_AGAIN_S = 3.0, 0.02
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
    reads_thinking: bool = False  # of the running turn, as it comes, and may
    _pending: deque[Notice | Asked] = field(default_factory=deque)
    _wake: asyncio.Event = field(default_factory=asyncio.Event)
    _is_waiting: bool = False

    def tell(self, notice: Notice | Asked) -> None:
        """Keep a notice until it is taken; when too many wait, drop all but what was asked for one ``Behind``."""
        if len(self._pending) >= MAX_BEHIND:
            self._pending = deque(item for item in self._pending if isinstance(item, Asked))
            self._pending.append(Behind())
        self._pending.append(notice)
        self._is_waiting = False
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

    @property
    def is_told(self) -> bool:
        """Say whether everything was taken, and done with: who asks for the next has sent the one before."""
        return self._is_waiting

    async def next(self) -> Notice | Asked:
        """Wait for the oldest notice."""
        while not self._pending:
            self._wake.clear()
            self._is_waiting = True
            await self._wake.wait()
        return self._pending.popleft()

    def drop_reflected(self) -> None:
        """Forget what a snapshot drawn now already shows."""
        self._pending = deque(item for item in self._pending if not isinstance(item, REFLECTED))

    def drop_thinking(self) -> None:
        """Forget thinking that an opening panel, drawn now, already shows."""
        self._pending = deque(item for item in self._pending if not isinstance(item, ThinkingText))


class Watchers:
    """All who follow a conversation in this process."""

    def __init__(self) -> None:
        self._of: dict[uuid.UUID, set[Watcher]] = {}

    def __contains__(self, conversation_id: uuid.UUID) -> bool:
        return conversation_id in self._of

    def add(self, watcher: Watcher) -> None:
        """Tell somebody from now on."""
        self._of.setdefault(watcher.conversation_id, set()).add(watcher)

    def discard(self, watcher: Watcher) -> bool:
        """Tell somebody no more; say whether others are left there."""
        others = self._of.get(watcher.conversation_id, set())
        others.discard(watcher)
        if not others:
            self._of.pop(watcher.conversation_id, None)
        return bool(others)

    def tell(self, conversation_id: uuid.UUID, notice: Notice) -> None:
        """Tell all who follow a conversation."""
        for watcher in self._of.get(conversation_id, ()):
            watcher.tell(notice)

    async def until_told(self) -> None:
        """Wait until everybody was told everything, but not for ever: a page may have stopped reading."""
        deadline = time.monotonic() + TOLD_WITHIN_S
        while time.monotonic() < deadline and not self._are_told():  # noqa: ASYNC110 - each has an event of its own
            await asyncio.sleep(LOOK_AGAIN_S)

    def _are_told(self) -> bool:
        return all(watcher.is_told for here in self._of.values() for watcher in here)

    def read_thinking(self, conversation_id: uuid.UUID) -> bool:
        """Say whether one of them has opened the thinking of the running turn."""
        return any(watcher.reads_thinking for watcher in self._of.get(conversation_id, ()))

    def take_scratchpad(self, live: LiveTurn, scratchpad: Scratchpad) -> None:
        """Hand a scratchpad, at once and in memory, to those who may hold a grant."""
        for watcher in self._of.get(live.conversation_id, ()):
            if watcher.take_scratchpad is not None:
                watcher.take_scratchpad(live, scratchpad)
