"""The turns of this process as tasks: start, stop, drain, and recover what dead processes left.

A turn outlives the socket that asked for it. What it shows is published to the channel layer group of its conversation
(``chat.live``), except a scratchpad: that goes straight, in memory, to readers of this process that may hold a grant
(product 9). All of it lives in one event loop.
"""

from __future__ import annotations

import asyncio
import contextvars
import logging
import uuid
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any, TypeVar

from channels.db import database_sync_to_async
from django.conf import settings
from django.utils.translation import activate, get_language
from django.utils.translation import gettext as _

from accounts.models import User
from chat import eventlog
from chat.cards import rendering
from chat.conversations import actions
from chat.conversations.learned_facts import learned_facts
from chat.eventlog import branches, leases, write
from chat.live.groups import PROCESSES_GROUP, Subscription
from chat.live.publish import publish, publish_decision, publish_stop
from chat.live.state import Event
from chat.live.turn import LiveTurn
from chat.mcp.servers import offered
from chat.models import Conversation, Turn
from chat.observability import metrics
from chat.observability.log_context import request_id, turn_id
from chat.providers.connections import close_clients
from chat.texts.db_errors import is_outage
from chat.turns import approval, finish, queue
from chat.turns.heartbeat import keep_alive
from chat.turns.queue import StartedTurn
from chat.turns.requests.title import write_title
from chat.turns.retry import retry_on_db_outage
from chat.turns.run import THINKING, TurnRun
from chat.validation import InvalidInputError, Message
from reasoning.scratchpad import Scratchpad

T = TypeVar("T")
logger = logging.getLogger(__name__)
STOP_WITHIN_S = 5.0
NOTHING_GIVEN = approval.Given()
RESUBSCRIBE_AFTER_S, POLL_INTERVAL_S = 1.0, 0.5
DeliverScratchpad = Callable[[LiveTurn, Scratchpad, bool], None]  # True: more of it comes, with this again


class TurnManager:
    """The turns of this process."""

    def __init__(self) -> None:
        self._runs: dict[tuple[uuid.UUID, bool], TurnRun] = {}  # by conversation, and whether it is the second of two
        self._run_tasks: set[asyncio.Task[None]] = set()
        self._submissions: set[asyncio.Task[Any]] = set()
        self._tasks: set[asyncio.Task[Any]] = set()  # these and all others
        self._scratchpad_readers: dict[uuid.UUID, set[DeliverScratchpad]] = {}  # by conversation
        self._draining = False
        self._heartbeat: asyncio.Task[None] | None = None

    def is_draining(self) -> bool:
        return self._draining

    def live(self, conversation_id: uuid.UUID, *, beside: bool = False) -> LiveTurn | None:
        """Return the turn that this process runs in a conversation; ``beside``: the second of two that are compared."""
        return run.live if (run := self._runs.get((conversation_id, beside))) else None

    def _runs_in(self, conversation_id: uuid.UUID) -> list[TurnRun]:
        found = [self._runs.get((conversation_id, False)), self._runs.get((conversation_id, True))]
        return [run for run in found if run]

    @contextmanager
    def reading_scratchpads(self, conversation_id: uuid.UUID, deliver: DeliverScratchpad) -> Iterator[None]:
        """Hand the scratchpads of a conversation's turns in this process to ``deliver``, at once and in memory."""
        readers = self._scratchpad_readers.setdefault(conversation_id, set())
        readers.add(deliver)
        try:
            yield
        finally:
            readers.discard(deliver)
            if not readers:
                self._scratchpad_readers.pop(conversation_id, None)

    async def submit(
        self,
        conversation_id: uuid.UUID,
        message: Message,
        *,
        replaces: Turn | None = None,
        may_queue: bool = True,
        authorize: Callable[[User], None] = lambda _owner: None,
        prepare: Callable[[Conversation], None] = lambda _conversation: None,
    ) -> queue.Submission:
        """Store a message; its turn starts as soon as no other runs in the conversation.

        The caller has authorized it, or ``authorize`` does: it is called in the database's thread with the owner of the
        conversation and raises where nothing may be stored. ``prepare``: see ``queue.submit``. Raises InvalidInputError
        as that does, and ``restarting``.
        """
        # Behind a running turn a message is queued in the database, where the next process finds it.
        if self._draining and not self._runs_in(conversation_id):
            raise InvalidInputError("restarting", _("The server is restarting; try again in a moment."))

        store_message = partial(
            queue.submit,
            conversation_id,
            message,
            replaces=replaces,
            may_queue=may_queue,
            authorize=authorize,
            prepare=prepare,
        )

        async def store() -> queue.Submission:
            submission = await database_sync_to_async(store_message)()
            if submission.started:
                await self._launch(submission.started, submission.beside)
            elif submission.turn_id is None:
                await publish(conversation_id, {"kind": "queue"})
                await self.start_next(conversation_id)  # the turn before it may have ended meanwhile
            return submission

        return await self._run_shielded(store())

    async def _run_shielded(self, work: Coroutine[Any, Any, T]) -> T:
        # A client that disconnects cancels its request, and a turn that is in the database must not wait for its lease.
        task = asyncio.create_task(work)
        for tasks in (self._submissions, self._tasks):
            tasks.add(task)
            task.add_done_callback(tasks.discard)
        return await asyncio.shield(task)

    async def resume(self, turn: Turn) -> None:
        """Continue the answer of the newest turn, which was cut off. Raises InvalidInputError. Product 41."""
        if self._draining:
            raise InvalidInputError("restarting", _("The server is restarting; try again in a moment."))

        async def reopen() -> None:
            await self._launch(await database_sync_to_async(queue.resume)(turn))

        await self._run_shielded(reopen())

    async def retry(self, turn: Turn, message: Message | None = None) -> queue.Submission:
        """Ask the question of ``turn`` again in its place, or another one. Raises InvalidInputError."""
        message = message or Message(await database_sync_to_async(eventlog.question_of)(turn))
        is_newest = await database_sync_to_async(branches.is_newest)(turn)
        submission = await self.submit(turn.conversation_id, message, replaces=turn)
        if not is_newest:
            await publish(turn.conversation_id, {"kind": "redraw"})  # the turns after it leave the page too
        return submission

    async def start_next(self, conversation_id: uuid.UUID) -> None:
        """Start the oldest queued message of a conversation, unless a turn runs there."""
        if self._draining:
            return
        try:
            start = partial(queue.start_next, conversation_id)
            started = await retry_on_db_outage(start, timeout_s=None, give_up=self.is_draining)
        except Exception:
            logger.exception("queued message not started", extra={"conversation": conversation_id.hex})
            return
        if started:
            await self._launch(started)
            await publish(conversation_id, {"kind": "queue"})

    async def keep(self, turn: Turn) -> None:
        """Show this one of two turns that are compared; the other is stopped if it runs. Raises InvalidInputError.

        The caller has authorized it. Product 47.
        """
        other = await Turn.objects.filter(compared_with=turn, status=Turn.Status.RUNNING).afirst()
        if other:
            await self._stop_turns([other])
            with suppress(TimeoutError):
                async with asyncio.timeout(STOP_WITHIN_S):
                    await self.wait_until_finished(turn.conversation_id, other.pk)
        await database_sync_to_async(actions.keep_answer)(turn)

    async def stop(self, conversation_id: uuid.UUID) -> bool:
        """Stop what runs, both of two, in any process, and hold what is queued behind; False where nothing runs."""
        # Before the turn ends, which would start the next message.
        if await database_sync_to_async(queue.hold)(conversation_id):
            await publish(conversation_id, {"kind": "queue"})
        return await self._stop_turn(conversation_id)

    async def delete(self, conversations: Sequence[Conversation]) -> None:
        """Delete conversations, which can be undone for a while. The caller has authorized it."""
        # Before they are hidden: the service would be paid for answers that nobody can read.
        running = Turn.objects.filter(conversation__in=conversations, status=Turn.Status.RUNNING)
        for conversation_id in [pk async for pk in running.values_list("conversation_id", flat=True)]:
            await self.stop(conversation_id)
        await database_sync_to_async(actions.delete)(*conversations)

    async def stop_all(self, person: User) -> None:
        """Stop the turns of a user and wait a few seconds for their ends: they write rows that are deleted next."""
        turns = [turn async for turn in Turn.objects.filter(conversation__owner=person, status=Turn.Status.RUNNING)]
        for turn in turns:
            await self.stop(turn.conversation_id)
        with suppress(TimeoutError):
            async with asyncio.timeout(STOP_WITHIN_S):
                for turn in turns:
                    await self.wait_until_finished(turn.conversation_id, turn.pk)

    async def change_queue(
        self, conversation_id: uuid.UUID, message_id: int, action: object, text: object = ""
    ) -> None:
        """Remove, edit or send a queued message now, which stops the running turn. Raises InvalidInputError.

        The caller has authorized it.
        """
        await database_sync_to_async(queue.change)(conversation_id, message_id, action, text)
        await publish(conversation_id, {"kind": "queue"})
        if action == "send" and not await self._stop_turn(conversation_id):
            await self.start_next(conversation_id)

    async def _stop_turn(self, conversation_id: uuid.UUID) -> bool:
        if runs := self._runs_in(conversation_id):  # two that are compared run in one process
            for run in runs:
                run.stop()
            return True
        running = Turn.objects.filter(conversation_id=conversation_id, status=Turn.Status.RUNNING)
        return await self._stop_turns([turn async for turn in running])

    async def _stop_turns(self, turns: Sequence[Turn]) -> bool:
        for turn in turns:
            run = self._runs.get((turn.conversation_id, turn.is_beside))
            if run and run.turn.pk == turn.pk:
                run.stop()
            else:  # of another process, whose heartbeat reads the mark if the message is lost
                await Turn.objects.filter(pk=turn.pk).aupdate(stop_requested=True)
                await publish_stop(turn.pk)
        return bool(turns)

    async def decide(
        self, turn: Turn, call_id: str, decision: object, digest: object, given: approval.Given = NOTHING_GIVEN
    ) -> None:
        """Allow or deny the tool call of a turn that waits for it, wherever it runs. Raises InvalidInputError.

        ``digest``: of what was shown; ``given``: answers to what the call asks. The caller has authorized it.
        """
        await database_sync_to_async(approval.decide)(turn, call_id, decision, digest, given)
        if run := self._runs.get((turn.conversation_id, turn.is_beside)):
            run.calls.approvals.wake()
        else:
            await publish_decision(turn.pk)

    async def listen_to_other_processes(self) -> None:
        """Stop turns of this process that pages of other processes want stopped, and hear what they have decided."""
        while not self._draining:
            try:
                async with Subscription(PROCESSES_GROUP) as messages:
                    while not self._draining:
                        message = await messages.next()
                        if message is None:
                            continue
                        for run in self._runs.values():
                            if run.live.public_id != message["turn"]:
                                continue
                            if message["type"] == "turn.decided":
                                run.calls.approvals.wake()
                            else:
                                run.stop()
            except Exception:
                logger.warning("not listening to other processes", exc_info=True)
                await asyncio.sleep(RESUBSCRIBE_AFTER_S)

    async def wait_until_finished(self, conversation_id: uuid.UUID, turn_id: uuid.UUID) -> None:
        """Wait for the end of a turn, wherever it runs."""
        for run in self._runs_in(conversation_id):
            if run.turn.pk == turn_id:
                await run.live.finished.wait()
                return
        running = Turn.objects.filter(pk=turn_id, status=Turn.Status.RUNNING)
        while await running.aexists():  # noqa: ASYNC110 - in another process, which has no event for us
            await asyncio.sleep(POLL_INTERVAL_S)

    async def recover_abandoned(self) -> None:
        """End the turns of dead processes, and start queued messages where no turn runs, until the server ends."""
        while not self._draining:
            try:
                # Before turns are taken up: a call that waits in one may be that of an MCP server.
                await database_sync_to_async(learned_facts.refresh)()
                await database_sync_to_async(offered.refresh)()
                at_work_in = {conversation_id for conversation_id, _beside in self._runs}
                recovered = await database_sync_to_async(finish.recover_abandoned_turns)(at_work_in)
                for turn in recovered.ended:
                    await publish(turn.conversation_id, _ended(turn, seq=0))
                for started in recovered.taken_up:
                    await self._launch(started)
                for conversation_id in await database_sync_to_async(queue.conversations_with_queue)():
                    await self.start_next(conversation_id)
            except Exception as error:
                if is_outage(error):  # whichever statement noticed it: nobody could renew a lease meanwhile
                    metrics.DATABASE_ERRORS.labels("recovery").inc()
                    leases.outage.record()
                logger.warning("recovery of abandoned turns failed", exc_info=True)
            await asyncio.sleep(settings.LEASE_HEARTBEAT_S)

    async def drain(self, *, within_s: float = 10.0) -> None:
        """Start no new turns, give running ones ``within_s`` to end, stop them with what they have, end all tasks."""
        self._draining = True
        for patience_s in (within_s, STOP_WITHIN_S):
            with suppress(TimeoutError):
                async with asyncio.timeout(patience_s):
                    # A message that is being stored has a turn next.
                    while working := [task for task in self._submissions | self._run_tasks if not task.done()]:
                        for run in self._runs.values():
                            run.calls.approvals.hand_over()
                        await asyncio.wait(working, return_when=asyncio.FIRST_COMPLETED)
            for run in list(self._runs.values()):
                run.stop()
        await close_clients()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _launch(self, started: StartedTurn, beside: StartedTurn | None = None) -> None:
        for previous in self._runs_in(started.turn.conversation_id):  # its end is in the log, and not published yet
            await previous.live.finished.wait()
        await self._start(started)
        if beside:  # before anything of the first is published: a page draws both
            await self._start(beside)
        if started.ends_comparison:
            await publish(started.turn.conversation_id, {"kind": "redraw"})

    async def _start(self, started: StartedTurn) -> None:
        turn = started.turn
        live = LiveTurn(
            id=turn.pk,
            conversation_id=turn.conversation_id,
            owner_id=turn.conversation.owner_id,
            conversation=turn.conversation,
            number=turn.number,
            question=started.question,
            attachments=started.attachments,
            model=turn.model,
            model_label=started.choice.profile_label,
            compared_with=turn.compared_with_id,
            is_beside=turn.is_beside,
            started_at=turn.started_at,
            resumed_at=turn.resumed_at,
            replaces=started.replaces.pk if started.replaces else turn.pk if started.before else None,
            working_status=THINKING,
        )
        if started.before:
            await live.restore(started.before, turn.thinking_ms)
        run = TurnRun(started, live, self._deliver_scratchpad)
        if started.before:  # pages of other processes read it there
            run.has_checkpoint = True
            # Before the heartbeat knows the run: a turn that can't begin would keep its lease for good.
            await database_sync_to_async(write.save_checkpoints)({turn.pk: run.released()})
        self._runs[turn.conversation_id, turn.is_beside] = run
        metrics.TURNS_RUNNING.set(len(self._runs))
        task = self.spawn(self._run(run))
        self._run_tasks.add(task)
        task.add_done_callback(self._run_tasks.discard)
        if self._heartbeat is None or self._heartbeat.done():
            self._heartbeat = self.spawn(keep_alive(self._runs))

    async def _run(self, run: TurnRun) -> None:
        """Run a turn to its end in the log, publish that, and start the next."""
        turn, live, has_queued = run.turn, run.live, True
        turn_id.set(turn.public_id)
        pump = self.spawn(live.pump())  # runs after this, so that the request leaves before cards are drawn
        try:
            try:
                await run.run()
            except Exception:
                logger.exception("turn broke at its end", extra={"turn": turn.public_id})
            if run.calls.approvals.is_handed_over:
                return
            if run.result is None:  # its end is not in the log, or could not be read back
                end = partial(finish.finish_broken_turn, turn, answer=live.answer)
                run.result = await retry_on_db_outage(end, timeout_s=None, give_up=self.is_draining)
            has_queued = run.result.has_queued
            live.record, live.next_request = run.result.record, run.result.next_request
            await rendering.render_card(live.record, live.owner_id)
        except Exception:
            logger.exception("turn not ended in the log", extra={"turn": turn.public_id})
        finally:
            pump.cancel()
            del self._runs[turn.conversation_id, live.is_beside]
            metrics.TURNS_RUNNING.set(len(self._runs))
            if not run.calls.approvals.is_handed_over:
                await publish(turn.conversation_id, _ended(turn, seq=live.seq))
            live.finished.set()
        if live.record and live.record.turn.status == Turn.Status.COMPLETED and not live.is_beside:
            self.spawn(write_title(run.started, live.answer))
        if has_queued:
            for variable in (request_id, turn_id):  # another request asked the next question
                variable.set("")
            await self.start_next(turn.conversation_id)

    def _deliver_scratchpad(self, live: LiveTurn, scratchpad: Scratchpad, is_open: bool) -> None:
        for deliver in tuple(self._scratchpad_readers.get(live.conversation_id, ())):
            deliver(live, scratchpad, is_open)

    def spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Run ``work`` in the language of the request or socket that asked, outside its context, which ends first.

        Its log lines have the id of that request.
        """
        context = contextvars.Context()
        for variable in (request_id, turn_id):
            context.run(variable.set, variable.get())
        context.run(activate, get_language() or settings.LANGUAGE_CODE)
        task = asyncio.get_running_loop().create_task(work, context=context)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task


def _ended(turn: Turn, *, seq: int) -> Event:
    return {"kind": "ended", "turn": turn.public_id, "seq": seq, "beside": turn.is_beside}


turn_manager = TurnManager()
