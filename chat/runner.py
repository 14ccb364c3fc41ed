"""Turns as tasks: start, stop, one at a time per conversation, pick up after a restart.

A turn outlives the socket that asked for it. Watchers (sockets, API streams) come and go: each has a bounded queue, and
one that falls behind is told to draw a snapshot instead of holding anybody up. A scratchpad goes straight from the turn
to watchers that hold a grant, in memory, and through no queue (product 9).

All of it lives in the event loop of one process.
"""

from __future__ import annotations

import asyncio
import contextvars
import logging
import uuid
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

from channels.db import database_sync_to_async
from django.conf import settings
from django.db import OperationalError
from django.utils.translation import activate, get_language
from django.utils.translation import gettext as _

from chat import backlog, log, recovery, upstream
from chat.drawing import rendered
from chat.forms import Message, MessageRefused
from chat.live import Behind, Finished, LiveTurn, Notice, QueueChanged, Started
from chat.models import Turn
from chat.turns import BROKEN, RunningTurn
from chat.watchers import Watcher
from reasoning.scratchpad import Scratchpad

logger = logging.getLogger(__name__)
MAX_WAITING = 3
CHECKPOINT_S = 2.0


@dataclass(frozen=True, slots=True)
class Accepted:
    """What became of a message: the turn that it started, or None while it waits."""

    turn_id: uuid.UUID | None


@dataclass(slots=True)
class _Entry:
    live: LiveTurn
    turn: Turn
    running: RunningTurn
    task: asyncio.Task[None] | None = None
    saved_chars: int = 0


class Runner:
    """The turns of this process."""

    def __init__(self) -> None:
        self._entries: dict[uuid.UUID, _Entry] = {}  # by conversation
        self._starting: dict[uuid.UUID, int] = {}  # conversation to owner
        self._to_look: set[uuid.UUID] = set()  # where a message may wait that nobody has seen
        self._watchers: dict[uuid.UUID, set[Watcher]] = {}
        self._tasks: set[asyncio.Task[Any]] = set()
        self._draining = False

    def is_draining(self) -> bool:
        return self._draining

    def live(self, conversation_id: uuid.UUID) -> LiveTurn | None:
        """Return the running turn of a conversation, if this process runs one."""
        entry = self._entries.get(conversation_id)
        return entry.live if entry else None

    @contextmanager
    def watching(self, watcher: Watcher) -> Iterator[LiveTurn | None]:
        """Follow a conversation; yields the turn that runs now. Notices after that are complete and in order."""
        self._watchers.setdefault(watcher.conversation_id, set()).add(watcher)
        try:
            yield self.live(watcher.conversation_id)
        finally:
            watchers = self._watchers.get(watcher.conversation_id, set())
            watchers.discard(watcher)
            if not watchers:
                self._watchers.pop(watcher.conversation_id, None)

    async def submit(
        self, conversation_id: uuid.UUID, owner_id: int, message: Message, *, may_wait: bool = True
    ) -> Accepted:
        """Start a turn with ``message``, or let it wait for the running one. A repeat of a client id is ignored.

        Raises MessageRefused: ``turn_running`` where it may not wait, ``queue_full``, ``too_many_turns``.
        """
        repeat = await database_sync_to_async(backlog.find_repeat)(conversation_id, message.client_id)
        if repeat:
            return Accepted(repeat.turn_id)
        if self._is_busy(conversation_id):
            return await self._wait(conversation_id, owner_id, message, may_wait=may_wait)
        self._check_limit(owner_id)
        try:
            turn = await self._open(conversation_id, owner_id, message)
        except log.TurnRunning:
            return await self._wait(conversation_id, owner_id, message, may_wait=may_wait)
        return Accepted(turn.pk)

    async def retry(self, turn: Turn, owner_id: int) -> Accepted:
        """Ask the question of ``turn`` again in its place. Raises MessageRefused while a turn runs."""
        text = await database_sync_to_async(log.question_of)(turn)
        self._check_limit(owner_id)
        try:
            if self._is_busy(turn.conversation_id):
                raise log.TurnRunning
            fresh = await self._open(turn.conversation_id, owner_id, Message(text), replaces=turn)
        except log.TurnRunning as running:
            raise MessageRefused("turn_running", _("An answer is being written; stop it first.")) from running
        except log.NotNewest as older:
            raise MessageRefused("not_newest", _("Only the newest answer can be asked again.")) from older
        return Accepted(fresh.pk)

    def stop(self, conversation_id: uuid.UUID) -> bool:
        """Stop the running turn; False where none runs."""
        entry = self._entries.get(conversation_id)
        if entry:
            entry.running.stop()
        return entry is not None

    async def finished(self, conversation_id: uuid.UUID, turn_id: uuid.UUID) -> None:
        """Wait for the end of a turn."""
        entry = self._entries.get(conversation_id)
        if entry and entry.live.id == turn_id:
            await entry.live.finished.wait()

    async def start_waiting(self) -> None:
        """Start what still waits in conversations where nothing runs (after a restart)."""
        for conversation_id, owner_id in await database_sync_to_async(recovery.conversations_with_waiting)():
            await self._start_next(conversation_id, owner_id)

    async def drain(self, *, within_s: float = 10.0) -> None:
        """Take no new turns, give the running ones ``within_s`` to end, then stop them with what they have."""
        self._draining = True
        tasks = [entry.task for entry in self._entries.values() if entry.task]
        if tasks:
            await asyncio.wait(tasks, timeout=within_s)
        for entry in list(self._entries.values()):
            entry.running.stop()
        remaining = [entry.task for entry in self._entries.values() if entry.task]
        if remaining:
            await asyncio.wait(remaining, timeout=5)
        await upstream.close()

    def _is_busy(self, conversation_id: uuid.UUID) -> bool:
        return conversation_id in self._entries or conversation_id in self._starting

    async def _wait(self, conversation_id: uuid.UUID, owner_id: int, message: Message, *, may_wait: bool) -> Accepted:
        """Keep the message for later. What it waits for may end meanwhile, and find nothing yet: so look again."""
        if not may_wait:
            raise MessageRefused("turn_running", _("An answer is being written in this conversation."))
        kept = await database_sync_to_async(backlog.enqueue)(
            conversation_id, text=message.text, client_id=message.client_id, most=MAX_WAITING
        )
        if kept is None:
            raise MessageRefused(
                "queue_full", _("%(most)s messages wait already; let one be answered first.") % {"most": MAX_WAITING}
            )
        await self._tell_queue(conversation_id)
        await self._start_next(conversation_id, owner_id)
        return Accepted(kept.turn_id if isinstance(kept, backlog.Repeated) else None)

    def _check_limit(self, owner_id: int) -> None:
        if self._draining:
            raise MessageRefused("restarting", _("The server is restarting; try again in a moment."))
        owners = [*self._starting.values(), *(entry.live.owner_id for entry in self._entries.values())]
        running = owners.count(owner_id)
        if running >= settings.MAX_CONCURRENT_TURNS:
            raise MessageRefused(
                "too_many_turns",
                _("%(most)s of your answers are being written already; wait for one or stop one.")
                % {"most": settings.MAX_CONCURRENT_TURNS},
            )

    async def _open(
        self, conversation_id: uuid.UUID, owner_id: int, message: Message, *, replaces: Turn | None = None
    ) -> Turn:
        self._starting[conversation_id] = owner_id
        try:
            turn = await database_sync_to_async(log.open_turn)(
                conversation_id, text=message.text, client_id=message.client_id, replaces=replaces
            )
            self._launch(turn, owner_id, message.text, replaces=replaces.pk if replaces else None)
        finally:
            self._starting.pop(conversation_id)
            if conversation_id in self._to_look:
                self._spawn(self._start_next(conversation_id, owner_id))
        return turn

    def _launch(self, turn: Turn, owner_id: int, question: str, *, replaces: uuid.UUID | None = None) -> None:
        live = LiveTurn(
            id=turn.pk,
            conversation_id=turn.conversation_id,
            owner_id=owner_id,
            number=turn.number,
            question=question,
            model=turn.model,
            started_at=turn.started_at,
            tell=lambda notice: self._tell(turn.conversation_id, notice),
        )
        entry = _Entry(live, turn, RunningTurn(turn, live, self._deliver_scratchpad))
        self._entries[turn.conversation_id] = entry
        self._tell(turn.conversation_id, Started(live, replaces))
        entry.task = self._spawn(self._run(entry))

    async def _run(self, entry: _Entry) -> None:
        pump = self._spawn(entry.live.pump())
        saver = self._spawn(self._save_checkpoints(entry))
        try:
            await entry.running.run()
        except Exception:
            logger.exception("turn broke at its end", extra={"turn": entry.turn.public_id})
        finally:
            pump.cancel()
            saver.cancel()
            await self._end(entry)

    async def _end(self, entry: _Entry) -> None:
        conversation_id = entry.turn.conversation_id
        try:
            read = partial(recovery.rows_at_end, entry.turn, answer=entry.live.answer_so_far, message=BROKEN)
            rows = await recovery.insist(read, unless=self.is_draining)
            await rendered([rows])
            self._tell(conversation_id, Finished(entry.live, rows))
        except Exception:
            logger.exception("turn not ended in the log", extra={"turn": entry.turn.public_id})
            self._tell(conversation_id, Behind())
        finally:
            self._entries.pop(conversation_id, None)
            entry.live.finished.set()
        await self._start_next(conversation_id, entry.live.owner_id)

    async def _start_next(self, conversation_id: uuid.UUID, owner_id: int) -> None:
        """Start the oldest waiting message if nothing runs; who is at work there looks again when they are done."""
        self._to_look.add(conversation_id)
        while not (self._draining or self._is_busy(conversation_id)) and conversation_id in self._to_look:
            self._to_look.discard(conversation_id)
            await self._start_waiting_one(conversation_id, owner_id)

    async def _start_waiting_one(self, conversation_id: uuid.UUID, owner_id: int) -> None:
        self._starting[conversation_id] = owner_id
        try:
            opened = await recovery.insist(partial(backlog.open_queued_turn, conversation_id), unless=self.is_draining)
        except log.TurnRunning:
            return
        except Exception:
            logger.exception("waiting message not started", extra={"conversation": conversation_id.hex})
            return
        finally:
            self._starting.pop(conversation_id)
        if opened:
            turn, text = opened
            self._launch(turn, owner_id, text)
            await self._tell_queue(conversation_id)

    async def _save_checkpoints(self, entry: _Entry) -> None:
        while True:
            await asyncio.sleep(CHECKPOINT_S)
            live = entry.live
            answer, thinking = live.answer_so_far, live.thinking_so_far
            if len(answer) + len(thinking) > entry.saved_chars:
                entry.saved_chars = len(answer) + len(thinking)
                save = partial(log.save_checkpoint, entry.turn, answer=answer, thinking=thinking)
                await recovery.insist(save, unless=self.is_draining)

    def _deliver_scratchpad(self, live: LiveTurn, scratchpad: Scratchpad) -> None:
        for watcher in self._watchers.get(live.conversation_id, ()):
            if watcher.take_scratchpad is not None:
                watcher.take_scratchpad(live, scratchpad)

    def _tell(self, conversation_id: uuid.UUID, notice: Notice) -> None:
        for watcher in self._watchers.get(conversation_id, ()):
            watcher.tell(notice)

    async def _tell_queue(self, conversation_id: uuid.UUID) -> None:
        try:
            waiting = await database_sync_to_async(backlog.waiting)(conversation_id)
        except OperationalError:
            return logger.warning("queue not shown")  # the message is kept: who sent it must not send it again
        self._tell(conversation_id, QueueChanged(tuple((str(message.pk), message.text) for message in waiting)))

    def _spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Run ``work`` in the language of the request or socket that asked, outside its context, which ends first."""
        context = contextvars.Context()
        context.run(activate, get_language() or settings.LANGUAGE_CODE)
        task = asyncio.get_running_loop().create_task(work, context=context)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task


runner = Runner()
