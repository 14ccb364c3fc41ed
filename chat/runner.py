"""Turns as tasks: start, stop, one at a time per conversation, pick up after a restart.

A turn outlives the socket that asked for it. Watchers (sockets, API streams) come and go: each has a bounded queue, and
one that falls behind is told to draw a snapshot instead of holding anybody up. A scratchpad goes straight from the turn
to watchers that hold a grant, in memory, and through no queue (product 9). All of it lives in one event loop.
"""

from __future__ import annotations

import asyncio
import contextvars
import logging
import uuid
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any

from channels.db import database_sync_to_async
from django.conf import settings
from django.db import OperationalError
from django.utils.translation import activate, get_language
from django.utils.translation import gettext as _

from chat import admission, backlog, branches, log, opening, recovery, upstream
from chat.admission import Accepted
from chat.drawing import rendered_at_end
from chat.forms import Message, MessageRefused
from chat.heartbeat import Entry, keep_alive
from chat.live import LiveTurn
from chat.models import Turn
from chat.notices import Behind, Finished, ModelChanged, QueueChanged, SettingsChanged, Started
from chat.opening import Check, OpenTurn
from chat.relay import Relay
from chat.turns import THINKING, RunningTurn
from chat.watchers import Watcher, Watchers

logger = logging.getLogger(__name__)
STOP_WITHIN_S = 5.0


class Runner:
    """The turns of this process. ``layer`` stands in for the site's channel layer."""

    def __init__(self, layer: Any = None) -> None:
        self._entries: dict[uuid.UUID, Entry] = {}  # by conversation
        self._starting: dict[uuid.UUID, int] = {}  # conversation to owner
        self._to_look: set[uuid.UUID] = set()  # where a message may wait that nobody has seen
        self._watchers = Watchers()
        self._relay = Relay(self, self._watchers, layer)
        self._tasks: set[asyncio.Task[Any]] = set()
        self._draining = False
        self._beating: asyncio.Task[None] | None = None

    def is_draining(self) -> bool:
        return self._draining

    def live(self, conversation_id: uuid.UUID) -> LiveTurn | None:
        """Return the running turn of a conversation, or its mirror where another process runs it."""
        return self.live_here(conversation_id) or self._relay.live(conversation_id)

    def live_here(self, conversation_id: uuid.UUID) -> LiveTurn | None:
        """Return the turn that this process runs in a conversation."""
        return entry.live if (entry := self._entries.get(conversation_id)) else None

    def is_busy(self, conversation_id: uuid.UUID) -> bool:
        """Say whether this process runs a turn in a conversation, or is about to."""
        return conversation_id in self._entries or conversation_id in self._starting

    async def ready(self, conversation_id: uuid.UUID) -> None:
        """Wait until ``live`` knows of a turn that runs elsewhere."""
        await self._relay.ready(conversation_id)

    @contextmanager
    def watching(self, watcher: Watcher) -> Iterator[LiveTurn | None]:
        """Follow a conversation; yields the turn that runs now. Notices after that are complete and in order."""
        self._watchers.add(watcher)
        self._relay.watch(watcher.conversation_id)
        try:
            yield self.live(watcher.conversation_id)
        finally:
            if not self._watchers.discard(watcher):
                self._relay.unwatch(watcher.conversation_id)

    async def submit(
        self, conversation_id: uuid.UUID, owner_id: int, message: Message, *, may_wait: bool = True, first: Check = None
    ) -> Accepted:
        """Start a turn with ``message``, or let it wait for the running one. A repeat of a client id is ignored.

        ``first`` is called before anything is kept, on the same way to the database; it raises where nothing may be.
        Raises MessageRefused: ``turn_running`` where it may not wait, ``queue_full``, ``too_many_turns``.
        """
        try:
            return await self._accept(conversation_id, owner_id, message, first, may_wait=may_wait)
        except MessageRefused:  # nobody is told so of a message that was accepted before
            if repeat := await database_sync_to_async(backlog.find_repeat)(conversation_id, message.client_id):
                return Accepted(repeat.turn_id)
            raise

    async def retry(self, turn: Turn, owner_id: int, message: Message | None = None) -> Accepted:
        """Ask the question of ``turn`` again in its place, or another one. Raises MessageRefused while a turn runs."""
        message = message or Message(await database_sync_to_async(log.question_of)(turn))
        is_newest = await database_sync_to_async(branches.is_newest)(turn)
        await self._check_limit(owner_id)
        try:
            if self.is_busy(turn.conversation_id):
                raise log.TurnRunning
            work = partial(opening.open_turn, turn.conversation_id, message, replaces=turn)
            fresh = await self._open(turn.conversation_id, owner_id, work, turn.pk)
        except log.TurnRunning as running:
            raise MessageRefused("turn_running", _("An answer is being written; stop it first.")) from running
        except log.NotSelected as left:
            raise MessageRefused("not_selected", _("This answer is not on the branch that is shown.")) from left
        if not is_newest:
            self.tell(turn.conversation_id, Behind())  # what came after it is to go as well
        return fresh

    def stop(self, conversation_id: uuid.UUID) -> bool:
        """Stop the running turn, wherever it runs; False where none is known to run."""
        return self.stop_here(conversation_id) or self._relay.stop(conversation_id)

    def stop_here(self, conversation_id: uuid.UUID) -> bool:
        """Stop the turn that this process runs."""
        if entry := self._entries.get(conversation_id):
            entry.running.stop()
        return entry is not None

    async def finished(self, conversation_id: uuid.UUID, turn_id: uuid.UUID) -> None:
        """Wait for the end of a turn."""
        live = self.live(conversation_id)
        if live and live.id == turn_id:
            await live.finished.wait()

    async def look_after_others(self) -> None:
        """End what dead processes left, again and again, and start what waits where nothing runs."""
        while not self._draining:
            try:
                for turn in await database_sync_to_async(recovery.recover)(tuple(self._entries)):
                    if not self._relay.taken_over(turn.conversation_id, turn.pk):
                        self._watchers.tell(turn.conversation_id, Behind())
                await self.start_waiting()
                await self._relay.look()
            except Exception:
                logger.warning("abandoned turns not looked for", exc_info=True)
            await asyncio.sleep(settings.LEASE_HEARTBEAT_S)

    async def start_waiting(self) -> None:
        """Start what still waits in conversations where nothing runs."""
        for conversation_id, owner_id in await database_sync_to_async(recovery.conversations_with_waiting)():
            await self._start_next(conversation_id, owner_id)

    async def drain(self, *, within_s: float = 10.0) -> None:
        """Take no new turns, give the running ones ``within_s`` to end, stop them with what they have, end all work."""
        self._draining = True
        for patience_s in (within_s, STOP_WITHIN_S):
            if tasks := [entry.task for entry in self._entries.values() if entry.task]:
                await asyncio.wait(tasks, timeout=patience_s)
            for entry in list(self._entries.values()):
                entry.running.stop()
        await self._watchers.until_told()
        await self._relay.close()
        await upstream.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _accept(
        self, conversation_id: uuid.UUID, owner_id: int, message: Message, first: Check, *, may_wait: bool
    ) -> Accepted:
        if not self.is_busy(conversation_id):
            await self._check_limit(owner_id)
            work = partial(opening.open_turn, conversation_id, message, first=first)
            with suppress(log.TurnRunning):
                return await self._open(conversation_id, owner_id, work)
        elif first:
            await database_sync_to_async(first)()
        return await self._wait(conversation_id, owner_id, message, may_wait=may_wait)

    async def _wait(self, conversation_id: uuid.UUID, owner_id: int, message: Message, *, may_wait: bool) -> Accepted:
        """Keep the message for later. What it waits for may end meanwhile, and find nothing yet: so look again."""
        kept = await admission.keep_waiting(conversation_id, message, may_wait=may_wait)
        await self._tell_queue(conversation_id)
        await self._start_next(conversation_id, owner_id)
        return Accepted(kept.turn_id if isinstance(kept, backlog.Repeated) else None)

    async def _check_limit(self, owner_id: int) -> None:
        elsewhere = await self._relay.count_elsewhere(owner_id)
        owners = [*self._starting.values(), *(entry.live.owner_id for entry in self._entries.values())]
        admission.require_room(owners.count(owner_id) + elsewhere, is_draining=self._draining)

    async def _open(
        self, conversation_id: uuid.UUID, owner_id: int, work: OpenTurn, replaced: uuid.UUID | None = None
    ) -> Accepted:
        self._starting[conversation_id] = owner_id
        try:
            if isinstance(opened := await database_sync_to_async(work)(), backlog.Repeated):
                return Accepted(opened.turn_id)
            await self._relay.let_go(conversation_id)
            self._launch(opened, owner_id, replaces=replaced)
            return Accepted(opened.turn.pk)
        finally:
            self._starting.pop(conversation_id)
            if conversation_id in self._to_look:
                self.spawn(self._start_next(conversation_id, owner_id))

    def _launch(self, opened: opening.Opened, owner_id: int, *, replaces: uuid.UUID | None = None) -> None:
        turn = opened.turn
        live = LiveTurn(
            id=turn.pk,
            conversation_id=turn.conversation_id,
            owner_id=owner_id,
            number=turn.number,
            question=opened.question,
            model=turn.model,
            started_at=turn.started_at,
            tell=partial(self._watchers.tell, turn.conversation_id),
            status_text=THINKING,
        )
        entry = Entry(live, turn, RunningTurn(opened, live, self._watchers.take_scratchpad))
        self._entries[turn.conversation_id] = entry
        entry.task = self.spawn(self._run(entry))  # first, so that its request leaves before cards are drawn
        self._watchers.tell(turn.conversation_id, Started(live, replaces, turn.conversation))
        self._relay.started(live, replaces)
        if self._beating is None or self._beating.done():
            self._beating = self.spawn(keep_alive(self._entries))

    async def _run(self, entry: Entry) -> None:
        pump = self.spawn(entry.live.pump())
        try:
            await entry.running.run()
        except Exception:
            logger.exception("turn broke at its end", extra={"turn": entry.turn.public_id})
        finally:
            pump.cancel()
            await self._end(entry)

    async def _end(self, entry: Entry) -> None:
        conversation_id = entry.turn.conversation_id
        is_awaited = True
        try:
            rows, is_awaited = await entry.at_end(unless=self.is_draining)
            await rendered_at_end(rows)
            self._watchers.tell(conversation_id, Finished(entry.live, rows))
        except Exception:
            logger.exception("turn not ended in the log", extra={"turn": entry.turn.public_id})
            self._watchers.tell(conversation_id, Behind())
        finally:
            self._entries.pop(conversation_id, None)
            entry.live.finished.set()
            self._relay.ended(conversation_id, entry.live.id)
        if is_awaited or conversation_id in self._to_look:  # what came since left word, or started it itself
            await self._start_next(conversation_id, entry.live.owner_id)

    async def _start_next(self, conversation_id: uuid.UUID, owner_id: int) -> None:
        """Start the oldest waiting message if nothing runs; who is at work there looks again when they are done."""
        self._to_look.add(conversation_id)
        while not (self._draining or self.is_busy(conversation_id)) and conversation_id in self._to_look:
            self._to_look.discard(conversation_id)
            await self._start_waiting_one(conversation_id, owner_id)

    async def _start_waiting_one(self, conversation_id: uuid.UUID, owner_id: int) -> None:
        self._starting[conversation_id] = owner_id
        try:
            opened = await recovery.insist(partial(opening.open_queued_turn, conversation_id), unless=self.is_draining)
            if opened:
                await self._relay.let_go(conversation_id)
        except log.TurnRunning:
            return
        except Exception:
            logger.exception("waiting message not started", extra={"conversation": conversation_id.hex})
            return
        finally:
            self._starting.pop(conversation_id)
        if opened:
            self._launch(opened, owner_id)
            await self._tell_queue(conversation_id)

    def tell(self, conversation_id: uuid.UUID, notice: QueueChanged | ModelChanged | SettingsChanged | Behind) -> None:
        """Tell all who watch a conversation, in whichever process."""
        self._watchers.tell(conversation_id, notice)
        self._relay.changed(conversation_id, notice)

    async def _tell_queue(self, conversation_id: uuid.UUID) -> None:
        try:
            waiting = await database_sync_to_async(backlog.waiting)(conversation_id)
        except OperationalError:
            return logger.warning("queue not shown")  # the message is kept: who sent it must not send it again
        self.tell(conversation_id, QueueChanged(tuple((str(message.pk), message.text) for message in waiting)))

    def spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Run ``work`` in the language of the request or socket that asked, outside its context, which ends first."""
        context = contextvars.Context()
        context.run(activate, get_language() or settings.LANGUAGE_CODE)
        task = asyncio.get_running_loop().create_task(work, context=context)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task


runner = Runner()
