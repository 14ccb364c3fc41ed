"""The tool calls of one turn: in their order, side by side where they may, after a decision where they need one.

A call is queued, runs or waits for its user, and ends: done, failed, denied or cancelled. What has ended is in the log.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

from django.conf import settings
from django.utils.translation import gettext_lazy as _
from django.utils.translation import gettext_noop

from chat.eventlog import write
from chat.live.turn import LiveTurn
from chat.observability import tracing
from chat.tools.base import Tool
from chat.tools.questions import MAX_MESSAGE_CHARS, check_question, fields_of
from chat.tools.schemas import UnfitSchemaError
from chat.turns import approval
from chat.turns.execute import ToolCallResult, execute_tool_call, refuse_tool_call, waiting_step
from chat.turns.queue import StartedTurn
from reasoning.events import Event, PermissionDecision, ToolCall
from reasoning.stream.turn import TurnMachine

logger = logging.getLogger(__name__)
# For the model: people read the trace.
TOO_MANY_IN_RESPONSE = "not run: too many tool calls in one response; make fewer at a time"
TOO_MANY_IN_TURN = "not run: no more tool calls are allowed in this answer; answer with what you have"
WAITING_FOR_USER = _("Waiting for your decision…")
USING_A_TOOL = _("Using a tool…")
MAX_CONCURRENT_CALLS = 4
# Of a call that isn't run: what the model reads, and what people read.
LIMIT_OF_CALLS = gettext_noop("Not run: the limit of tool calls was reached.")
DENIED = ("the user denied this call", gettext_noop("Denied by the user."))
DENIED_LATE = ("denied: the user didn't decide in time", gettext_noop("Denied: nobody decided in time."))
NOT_ASKED = ("denied: the user was asked too often in this answer", gettext_noop("Denied: too many calls had to wait."))

Append = Callable[[Sequence[Event], write.Traces], Awaitable[None]]


@dataclass(slots=True)
class RunningCall:
    """A call of a response, at its place among all steps of the turn; ``done`` once it has ended."""

    call: ToolCall
    tool: Tool | None
    at: int
    public_id: str
    questions: int = 0  # to its user, so far
    done: ToolCallResult | None = None

    @property
    def is_concurrent(self) -> bool:
        return self.tool is not None and self.tool.is_concurrent and not approval.needs_approval(self.tool)


class CallRunner:
    """Runs the calls of one turn.

    ``append`` writes to its log; ``until_stopped`` is a context that raises where the turn was or is stopped.
    """

    def __init__(
        self,
        started: StartedTurn,
        live: LiveTurn,
        *,
        append: Append,
        until_stopped: Callable[[], AbstractAsyncContextManager[None]],
    ) -> None:
        self._turn, self._live, self._choice = started.turn, live, started.choice
        self._append, self._until_stopped = append, until_stopped
        self.approvals = approval.ApprovalGate(started.turn)
        self._calls_run = len(started.before.trace) if started.before and started.pending else 0
        for call_id in started.answered_calls:
            self.approvals.public_id(call_id)

    async def run(self, machine: TurnMachine, calls: Sequence[ToolCall]) -> None:
        """Run the calls of a response, as many as a response and a turn may have; refuse the others."""
        left = max(0, settings.MAX_CALLS_PER_TURN - self._calls_run)
        allowed = min(left, settings.MAX_CALLS_PER_RESPONSE)
        reason = TOO_MANY_IN_TURN if left < settings.MAX_CALLS_PER_RESPONSE else TOO_MANY_IN_RESPONSE
        queued = [
            RunningCall(
                call,
                self._choice.tools.get(call.name),
                self._live.step_queued(call.name, call.step),
                self.approvals.public_id(call.call_id),
            )
            for call in calls
        ]
        for group in _groups(queued[:allowed]):
            self._calls_run += len(group)
            try:
                await self._run_group(machine, group)
            finally:  # what has ended is in the log, also where the turn is stopped meanwhile
                await self._record(machine, [each for each in group if each.done])
        for each in queued[allowed:]:
            self._end(each, self._refused(machine, each, (reason, LIMIT_OF_CALLS)))
        await self._record(machine, queued[allowed:])

    async def _run_group(self, machine: TurnMachine, group: Sequence[RunningCall]) -> None:
        """Run calls side by side, or a single one, which may have to be allowed first."""
        if not group[0].is_concurrent and (denied := await self._ask(machine, group[0])):
            self._end(group[0], self._refused(machine, group[0], denied))
            return
        for each in group:
            self._live.step_started(each.at, each.call.name, each.call.step)
        running = group[0].tool.words.running if group[0].tool else ""
        self._live.show_status(_(running) if running else USING_A_TOOL, announce=True)
        async with self._until_stopped():
            await asyncio.gather(*(self._execute(machine, each) for each in group))

    async def _execute(self, machine: TurnMachine, running: RunningCall) -> None:
        call, tool = running.call, running.tool
        # A model may name a tool that doesn't exist: its words are not recorded.
        with tracing.tool_call(tool.name if tool else "unknown") as span:
            done = await execute_tool_call(
                call,
                tool,
                scratchpad=machine.scratchpad,
                conversation_id=self._turn.conversation_id,
                ask=partial(self._ask_question, machine, running),
                searches_all=self._choice.config.is_offline,  # it knows one search
            )
            if done.trace.status != "ok":
                span.fail(done.trace.status)
        self._end(running, done)

    def _end(self, running: RunningCall, done: ToolCallResult) -> None:
        running.done = done
        self._live.step_finished(running.at, done.trace, running.call.step)

    async def _record(self, machine: TurnMachine, ended: Sequence[RunningCall]) -> None:
        """Write results to the log in the order of their calls, which numbers their sources."""
        results: list[Event] = []
        traces = {}
        for each in ended:
            if each.done:
                output = each.done.numbered(first_ref=len(machine.sources) + 1)
                results.append(machine.tool_finished(each.call, output.content, each.done.trace, output.sources))
                traces[each.call.call_id] = each.done.trace_form
        if results:
            self._live.sources = machine.sources
            await self._append(results, traces)

    async def _ask(self, machine: TurnMachine, running: RunningCall) -> tuple[str, str] | None:
        """Ask the owner of the turn about a call that needs it; return why it may not run, for the model and people."""
        call, tool = running.call, running.tool
        if tool is None or not approval.needs_approval(tool):
            return None
        shape = approval.shape_of(call, tool)
        if await self.approvals.is_allowed_here(shape):
            decided = approval.Decision("allow", "always")
        elif not self.approvals.may_ask():
            return NOT_ASKED
        else:
            async with self._until_stopped():
                decided = await self._wait_for_decision(machine, running, tool, shape=shape)
        await self._append([_decision_event(call, decided)], {})
        if decided.decision == "allow":
            return None
        return DENIED_LATE if decided.by == "timeout" else DENIED

    async def _wait_for_decision(
        self,
        machine: TurnMachine,
        running: RunningCall,
        tool: Tool,
        *,
        shape: str = "",
        question: Mapping[str, Any] | None = None,
        schema: Mapping[str, Any] | None = None,
    ) -> approval.Decision:
        call, public_id = running.call, running.public_id
        if question:
            running.questions += 1
            public_id = f"{public_id}.{running.questions}"
        shown = partial(waiting_step, call, tool, call_id=public_id, question=question, scratchpad=machine.scratchpad)
        digest = approval.digest_of(self._turn, public_id, call, shown())
        self._live.step_started(running.at, call.name, call.step)
        self._live.show_approval(shown(digest=digest))
        self._live.show_status(WAITING_FOR_USER, announce=True)
        try:
            return await self.approvals.wait(public_id, digest, shape=shape, schema=schema)
        finally:
            if not self.approvals.is_handed_over:
                self._live.show_approval(None)

    async def _ask_question(
        self, machine: TurnMachine, running: RunningCall, message: str, schema: Mapping[str, Any]
    ) -> Mapping[str, Any] | None:
        """Ask the owner of the turn something that a running call wants to know; None where they decline."""
        try:
            check_question(schema)
        except UnfitSchemaError as error:
            logger.warning("question of a tool not asked", extra={"tool": running.call.name, "error": str(error)})
            return None
        if running.tool is None or not self.approvals.may_ask():
            return None
        fields = [asdict(field) for field in fields_of(schema)]
        question = {"message": message[:MAX_MESSAGE_CHARS], "fields": fields}
        decided = await self._wait_for_decision(machine, running, running.tool, question=question, schema=schema)
        self._live.show_status(USING_A_TOOL)
        return decided.answers if decided.decision == "allow" else None

    def _refused(self, machine: TurnMachine, running: RunningCall, why: tuple[str, str]) -> ToolCallResult:
        return refuse_tool_call(running.call, running.tool, *why, scratchpad=machine.scratchpad)


def _groups(calls: Sequence[RunningCall]) -> Iterator[Sequence[RunningCall]]:
    """Yield calls in their order: those behind one another that may run side by side together, others by themselves."""
    group: list[RunningCall] = []
    for each in calls:
        if group and (not each.is_concurrent or not group[0].is_concurrent or len(group) == MAX_CONCURRENT_CALLS):
            yield group
            group = []
        group.append(each)
    if group:
        yield group


def _decision_event(call: ToolCall, decided: approval.Decision) -> PermissionDecision:
    return PermissionDecision(call_id=call.call_id, decision=decided.decision, by=decided.by, step=call.step)
