"""A conversation that is watched here: the turn that another process runs in it, mirrored as a live turn of this one.

Pages and API streams see no difference: the mirror tells the same notices. Its text comes from the process that runs
the turn, by its place in the answer; where that process does not answer, from the checkpoint, and the status line says
so. Thinking comes from the sealed checkpoint, while a page that may read it has its panel open. The end always comes
from the log.
"""

from __future__ import annotations

import asyncio
import logging
import time
import uuid
from collections.abc import Awaitable, Callable, Container, Coroutine
from typing import Any, Protocol

from channels.db import database_sync_to_async
from django.utils.translation import gettext_lazy as _

from chat import backlog, log, relayreads
from chat.drawing import rendered
from chat.live import LiveTurn
from chat.notices import (
    Behind,
    Finished,
    ModelChanged,
    Notice,
    QueueChanged,
    SettingsChanged,
    Started,
    StepsChanged,
    ThinkingText,
)
from chat.relayfeed import steps_of
from chat.relaylink import Form
from chat.watchers import Watchers

logger = logging.getLogger(__name__)
ANSWER_WITHIN_S = 1.0
FOLLOW_EVERY_S = 2.0
JOIN_WITHIN_S = 1.0
LOOK_AGAIN_S = 0.1
BEHIND = _("Live updates are away; this is what was saved a moment ago…")
CHANGES: dict[str, Callable[[], Notice]] = {"model": ModelChanged, "settings": SettingsChanged, "cards": Behind}


class Here(Protocol):
    """What a mirror needs of the process that it stands in."""

    def is_busy(self, conversation_id: uuid.UUID) -> bool:
        """Say whether this process runs a turn in a conversation, or is about to."""

    def spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Run something beside the rest."""


class Place:
    """One conversation that is watched here. ``ask`` tells the process that runs its turn what is held of it."""

    def __init__(
        self,
        conversation_id: uuid.UUID,
        here: Here,
        watchers: Watchers,
        ask: Callable[[str, int | None], None],
        ran_here: Container[uuid.UUID],
    ) -> None:
        self.mirror: LiveTurn | None = None
        self.ready = asyncio.Event()
        self.idle_since: float | None = None
        self._conversation_id = conversation_id
        self._here, self._watchers, self._ask_owner, self._ran_here = here, watchers, ask, ran_here
        self._heard: asyncio.Queue[Form] = asyncio.Queue()
        self._busy = asyncio.Lock()
        self._pump: asyncio.Task[None] | None = None
        self._chars = 0
        self._tend_at = 0.0
        self._unanswered_since: float | None = None
        self._is_behind = False
        self._last_ended = ""

    def hear(self, form: Form) -> None:
        """Take what another process said."""
        self._heard.put_nowait(form)

    async def run(self, join: Callable[[], Awaitable[bool]]) -> None:
        """Follow what happens elsewhere, until cancelled."""
        try:
            await join()
            async with self._busy:
                await self._safely(self._look())
        finally:
            self.ready.set()
        while True:
            await self._safely(self._next())

    async def let_go(self) -> None:
        """See to it that no turn is mirrored any more: this process is about to run the next one. Never raises."""
        async with self._busy:
            await self._safely(self._end_quietly())
            if self.mirror:
                self._drop()
                self._tell(Behind())

    async def _end_quietly(self) -> None:
        await self._ended()

    def close(self) -> None:
        """Forget the mirror; nobody watches."""
        if self.mirror:
            self._drop()

    async def _safely(self, work: Coroutine[Any, Any, None]) -> None:
        try:
            await work
        except Exception:
            logger.warning("not followed", extra={"conversation": self._conversation_id.hex}, exc_info=True)
            self._tend_at = _now() + ANSWER_WITHIN_S

    async def _next(self) -> None:
        wait_s = max(0.0, self._tend_at - _now()) if self.mirror else None
        try:
            async with asyncio.timeout(wait_s):
                form = await self._heard.get()
        except TimeoutError:
            async with self._busy:
                return await self._tend()
        async with self._busy:
            await self._take(form)

    async def _take(self, form: Form) -> None:
        match form["kind"]:
            case "grown" if self.mirror and self.mirror.public_id == form["turn"]:
                await self._grow(self.mirror, form)
            case "started":
                await self._started(form)
            case "ended" if self._last_ended != form["turn"]:
                if not self.mirror or self.mirror.public_id != form["turn"] or not await self._ended():
                    self._tell(Behind())
            case "running" if self.mirror is None:
                await self._look(lambda _mirror: Behind())
            case "missed":
                await self._missed()
            case "changed":
                await self._changed(form["what"])

    async def _started(self, form: Form) -> None:
        if self.mirror and self.mirror.public_id != form["turn"] and not await self._ended():
            return
        if self.mirror is None:
            replaced = uuid.UUID(form["replaced"]) if form["replaced"] else None
            await self._look(lambda mirror: Started(mirror, replaced))

    async def _changed(self, what: str) -> None:
        if what == "queue":
            waiting = await database_sync_to_async(backlog.waiting)(self._conversation_id)
            return self._tell(QueueChanged(tuple((str(message.pk), message.text) for message in waiting)))
        return self._tell(CHANGES[what]())

    async def _missed(self) -> None:
        """Bring everything up to date: nobody knows what was said meanwhile."""
        if self.mirror and not await self._ended():
            self._ask(self._chars)
        elif self.mirror is None:
            await self._look()
        self._tell(Behind())

    async def _look(self, notice: Callable[[LiveTurn], Notice] | None = None) -> None:
        """Mirror the turn that runs in another process, if one does."""
        found = await database_sync_to_async(relayreads.running)(self._conversation_id)
        if found is None or found.turn.pk in self._ran_here:
            return
        if self._here.is_busy(self._conversation_id):  # it may be the one that starts here just now
            asyncio.get_running_loop().call_later(LOOK_AGAIN_S, self.hear, {"kind": "running"})
            return
        mirror = relayreads.mirror_of(found)
        mirror.show_answer(found.answer)
        self._pump = self._here.spawn(mirror.pump())
        await mirror.settle()
        self._chars = len(found.answer)
        mirror.tell = self._tell
        self.mirror = mirror
        if notice:
            self._tell(notice(mirror))
        self._ask(self._chars)

    def _ask(self, have: int | None) -> None:
        if self.mirror:
            self._ask_owner(self.mirror.public_id, have)
            self._unanswered_since = self._unanswered_since or _now()
            self._tend_at = _now() + (FOLLOW_EVERY_S if self._is_behind else ANSWER_WITHIN_S)

    async def _grow(self, mirror: LiveTurn, form: Form) -> None:
        self._note_answer()
        if "sources" in form:
            mirror.sources = await database_sync_to_async(relayreads.sources)(mirror.sources, form["sources"])
        self._show_state(mirror, form)
        if form["at"] > self._chars:
            return self._ask(self._chars)
        return self._show(mirror, form["text"][self._chars - form["at"] :])

    def _note_answer(self) -> None:
        if self._unanswered_since is not None:
            self._unanswered_since = None
            self._tend_at = _now() + FOLLOW_EVERY_S

    def _show(self, mirror: LiveTurn, text: str) -> None:
        if text:
            self._chars += len(text)
            mirror.show_answer(text)

    def _show_state(self, mirror: LiveTurn, form: Form) -> None:
        mirror.model = form.get("model", mirror.model)
        if "steps" in form:
            mirror.steps = steps_of(form["steps"])
            self._tell(StepsChanged(mirror))
        if "status" in form:
            self._is_behind = False
            mirror.show_status(_(form["status"]) if form["status"] else "", aloud=form["aloud"])
            mirror.reads = form.get("reads", 0)
        if form.get("thought", 0) > mirror.thinking_chars_elsewhere:
            mirror.thinking_chars_elsewhere = form["thought"]
            self._tell(ThinkingText(mirror, mirror.thinking_n, mirror.thinking_chars, ""))

    async def _tend(self) -> None:
        """Ask again; go by the database where nobody answers."""
        if self.mirror is None:
            return
        if self._unanswered_since is not None and _now() - self._unanswered_since >= ANSWER_WITHIN_S:
            if await self._ended():
                return
            await self._go_by_what_is_kept(self.mirror)
        if self._watchers.read_thinking(self._conversation_id):
            await self._read_thinking(self.mirror)
        self._ask(self._chars if self._is_behind else None)

    async def _go_by_what_is_kept(self, mirror: LiveTurn) -> None:
        self._is_behind = True
        mirror.show_status(BEHIND)
        kept = await database_sync_to_async(log.kept_answer)(mirror.id)
        self._show(mirror, kept[self._chars :])

    async def _read_thinking(self, mirror: LiveTurn) -> None:
        kept = await database_sync_to_async(log.kept_thinking)(mirror.id)
        if len(kept) > mirror.thinking_chars:
            mirror.show_thinking(kept[mirror.thinking_chars :])
            await mirror.settle()

    async def _ended(self) -> bool:
        """End the mirror as the log says; False where the turn still runs."""
        mirror = self.mirror
        if mirror is None:
            return True
        rows = await database_sync_to_async(relayreads.rows_of_ended)(mirror.id)
        if rows is None:
            return False
        if self._pump:
            self._pump.cancel()
        await rendered(rows)
        for row in rows:
            self._tell(Finished(mirror, row))
        self._last_ended = mirror.public_id
        self._drop()
        return True

    def _drop(self) -> None:
        mirror, self.mirror = self.mirror, None
        self._unanswered_since, self._is_behind = None, False
        if self._pump:
            self._pump.cancel()
        if mirror:
            mirror.finished.set()

    def _tell(self, notice: Notice) -> None:
        self._watchers.tell(self._conversation_id, notice)


def _now() -> float:
    return time.monotonic()
