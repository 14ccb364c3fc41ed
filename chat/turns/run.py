"""One turn from its first request to its end: the only place that knows the order of the steps.

Settings are read again for each request (spec 001 BR-008). Requests are planned from the log. The turn machine gets the
provider's deltas; the live turn publishes what may be shown, and what must be stored is written to the log. However a
turn ends (completed, stopped, failed, capped), the log gets its ``turn_end`` and the question stays stored.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import replace
from functools import partial
from math import ceil
from time import perf_counter
from typing import Any

from django.conf import settings
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from chat import eventlog
from chat.conversations import model_choice
from chat.conversations.learned_facts import Fact, learned_facts
from chat.eventlog import leases, write
from chat.live.turn import LiveTurn
from chat.models import Turn
from chat.observability import metrics, tracing
from chat.providers.base import Provider, ProviderError, parameter
from chat.texts.db_errors import lacks_key
from chat.tools import registry
from chat.turns import finish
from chat.turns.approval import TurnHandedOverError
from chat.turns.metrics import TurnMetrics, note_request
from chat.turns.queue import StartedTurn
from chat.turns.requests import planning
from chat.turns.requests.compaction import Compactor
from chat.turns.retry import Remedy, RetryPolicy, explain_refusal, retry_on_db_outage
from chat.turns.tool_calls import CallRunner
from reasoning.deltas import Channel, RawDelta, split_long_text
from reasoning.events import Event, TurnStatus
from reasoning.replay.compaction import OVERFLOW_SHARE
from reasoning.replay.plan import EgressPlan, UsageAnchor
from reasoning.scratchpad import Scratchpad
from reasoning.stream.limits import Cap, TurnLimits
from reasoning.stream.step import CUT_SHORT, StepMachine, StepOutcome
from reasoning.stream.turn import TurnMachine
from reasoning.stream.updates import ReplaceText, ShowScratchpad, ShowStatus, ShowText, Update

logger = logging.getLogger(__name__)
THINKING = _("Thinking…")
SLOW = _("Still waiting for the model…")
SLOW_S = 5.0
MAX_BUSY_S = 0.02
LONG_STEP_CHARS = 65_536  # the end of a longer step is processed in a thread
WAITING = _("The model service is busy; next try in")  # a countdown follows
LOADING = _("The model service is loading the model…")
MAKING_ROOM = _("Summarising earlier messages…")
# How a turn ends that reached a limit of its size: its status, the code and the reason. Product 25.
_ENDS: Mapping[Cap, tuple[TurnStatus, str, str]] = {
    "answer": ("completed", "length", "answer"),
    "thinking": ("completed", "length", "thinking"),
    "arguments": ("completed", "length", "arguments"),
    "calls": ("iteration_capped", "too_many_calls", ""),
}
# What a card says of a request that was made without a setting, since the service refused it: the reason of a remark.
REFUSED_SETTINGS = {
    "reasoning.effort": "effort",
    "reasoning.enabled": "enabled",
    "reasoning.context": "context",
    "reasoning.mode": "mode",
}


class TurnCancelledError(Exception):
    """Somebody asked the turn to stop, or its time is over."""


class LimitReachedError(Exception):
    """The turn reached a limit of its size."""

    def __init__(self, cap: Cap) -> None:
        super().__init__(cap)
        self.cap = cap


class TurnRun:
    """Runs one turn. ``deliver_scratchpad`` hands a scratchpad to entitled viewers of this process, in memory."""

    def __init__(
        self, started: StartedTurn, live: LiveTurn, deliver_scratchpad: Callable[[LiveTurn, Scratchpad, bool], None]
    ) -> None:
        self.turn, self.live = started.turn, live
        self.result: finish.TurnResult | None = None  # once the end is in the log
        self.has_checkpoint = False  # set by the heartbeat before it writes one
        self.started = started
        self._choice = started.choice  # with the tools that are offered
        self._deliver_scratchpad = deliver_scratchpad
        self._metrics = TurnMetrics(self.turn.public_id)
        self._retry = RetryPolicy()
        self.calls = CallRunner(started, live, append=self._append, until_stopped=self._until_stopped)
        self._stop_requested = False
        self._is_late = False
        self._stop_scope: asyncio.Timeout | None = None
        self._machine: TurnMachine | None = None
        self._step: StepMachine | None = None  # the response that arrives
        self._has_output = False  # of the present request: a retry would repeat it
        self._compactor = Compactor(self.turn, started.choice)
        self._hides_images = False  # the model doesn't take those of the question
        self._lacks_tools = False  # as far as is known the model takes none
        self._refused_setting = ""  # that the service did not accept, so that the request was made without it
        self._sent: set[bytes] = set()  # digests of the requests that were made
        self._turns_left_out_before: int | None = None  # by number of an event, where this turn left out more
        self._planned = started.request
        self._unwritten: Sequence[Event] = ()  # of the newest step
        # The log, unless something was appended since it was read: the end of the turn counts the context from it.
        self._history: Sequence[Event] | None = None
        self._anchor: UsageAnchor | None = None  # the newest reported size of a request
        self._has_own_anchor = False
        if self.started.before:
            self._anchor = UsageAnchor.from_json(self.turn.context_anchor)
        elif self.turn.parent:
            self._anchor = UsageAnchor.from_json(self.turn.parent.context_anchor)

    def stop(self) -> None:
        """Ask the turn to stop; it ends at once where it waits, with what came so far."""
        if self._stop_requested:
            return  # a scope that is ending can't be rescheduled
        self._stop_requested = True
        if self._stop_scope is not None:
            self._stop_scope.reschedule(asyncio.get_running_loop().time())

    def _end_late(self) -> None:
        self._is_late = True
        self.stop()

    def released(self) -> write.Released:
        """Return what a checkpoint stores."""
        answer, thinking = self.live.published_answer, self.live.thinking
        if self._machine and (scratchpad := self._machine.scratchpad):
            # The texts of this step still repeat the scratchpad; only its end removes that from the page.
            answer, thinking = (scratchpad.remove_repeats(text)[0] for text in (answer, thinking))
        return answer, thinking, self.live.to_json()

    async def run(self) -> None:
        """Run to the end. Raises only where the end can't be written."""
        # The event loop's clock, which no change of the wall clock moves.
        deadline = asyncio.get_running_loop().call_later(settings.MAX_TURN_S, self._end_late)
        try:
            with tracing.turn(self.turn.public_id) as span:
                await self._run()
                span.note({"legible.turn.status": self.turn.status})
                if self.turn.status == Turn.Status.ERRORED:
                    span.fail(self.turn.error_code)
        finally:
            deadline.cancel()  # else it would hold this turn in memory for MAX_TURN_S

    async def _run(self) -> None:
        status: TurnStatus
        fields: dict[str, Any] = {}
        try:
            status, fields = await self._run_steps()
        except TurnHandedOverError:
            await retry_on_db_outage(partial(leases.release, self.turn))
            return
        except TurnCancelledError:
            status = "aborted"
            if self._is_late:
                status, fields = "errored", {"error_code": "turn_timeout"}
        except LimitReachedError as error:
            status, code, reason = _ENDS[error.cap]
            fields = {"error_code": code, "error_reason": reason}
            logger.warning("turn reached a limit", extra={"turn": self.turn.public_id, "limit": error.cap})
        except eventlog.LeaseLostError:
            metrics.LEASES_LOST.inc()
            logger.warning("turn was taken over", extra={"turn": self.turn.public_id})
            return
        except ProviderError as error:
            status, fields = "errored", {"error_code": error.code, "error_reason": error.reason}
            fields |= {
                "error_params": {**error.params, **self.started.choice.place},
                "error_detail": error.detail,
                "is_retryable": error.retryable,
                "retry_after_s": error.retry_after_s and ceil(error.retry_after_s),
            }
            said = {"code": error.code, "reason": error.reason, "detail": error.detail}
            logger.warning("turn failed", extra={"turn": self.turn.public_id, **said})
        except Exception as error:
            # Nothing that a model service or a limit ended.
            fields = {"error_code": "missing_key"} if lacks_key(error) else {"error_code": "internal"}
            status = "errored"
            logger.exception("turn broke", extra={"turn": self.turn.public_id})
        await self._finish(status, fields)

    async def _run_steps(self) -> tuple[TurnStatus, dict[str, Any]]:
        """Make requests and run the calls of their responses until one has none; return how the turn ends."""
        provider = await self._find_provider()
        machine = self._machine = self._new_machine(provider)
        self.live.show_model(provider.name)
        if provider.context_limit:
            await self._learn(provider, listed=provider.context_limit)
        if self.started.pending:
            await self.calls.run(machine, self.started.pending)
        for _step in range(settings.MAX_STEPS):
            outcome = await self.run_step(provider, machine)
            if not outcome.calls:
                if outcome.finish_reason in CUT_SHORT:
                    return "completed", {"error_code": outcome.finish_reason}
                return "completed", {"error_reason": self._remark(outcome)}
            if self._lacks_tools:  # it calls them all the same
                await self._learn(provider, tools_refused_at=None)
            await self._append(outcome.events)
            self._unwritten = ()
            await self.calls.run(machine, outcome.calls)
        return "iteration_capped", {}

    def _remark(self, outcome: StepOutcome) -> str:
        """Return what the card says of an answer that is complete: the reason of a remark, or nothing."""
        if outcome.is_thought_unclosed:
            return "unclosed_thought"
        if outcome.has_text_call:
            return "text_call"
        if self._refused_setting:
            return REFUSED_SETTINGS[self._refused_setting]
        if self._hides_images:
            return "refused_images" if self.started.choice.takes_images else "images"
        if self._machine and self._machine.trace:
            return ""
        if self.started.choice.config.is_offline:
            return "offline"
        return "tools" if self._lacks_tools else ""

    async def _finish(self, status: TurnStatus, fields: dict[str, Any]) -> None:
        if self._step:
            await self._end_step(self._step, is_partial=True)
        elif self._machine and status != "completed":
            self._unwritten = self._machine.closing_events()
        await self.live.settle()
        fields |= {"thinking_ms": self.live.thinking_ms, **self._metrics.fields(self.turn, self._machine)}
        if self._has_own_anchor and self._anchor:
            fields["context_anchor"] = self._anchor.to_json()
        end = partial(
            finish.finish_turn,
            self.started,
            status,
            fields,
            self._unwritten,
            history=self._history,
            anchor=self._anchor,
            has_checkpoint=self.has_checkpoint,
        )
        self.result = await retry_on_db_outage(end)
        self._metrics.report_end(self.turn, self._machine, self.started.before)

    async def _find_provider(self) -> Provider:
        """Return the provider; an endpoint that is asked for its model is asked again where that can help."""
        while True:
            try:
                async with self._until_stopped():
                    return await model_choice.provider(self.started.choice)
            except ProviderError as error:
                note_request(self.started.choice.config.host, error.code)
                if not self._retry.take_wait(error):
                    raise
                await self._wait_after(error)

    def _new_machine(self, provider: Provider) -> TurnMachine:
        return TurnMachine(
            turn_id=self.turn.public_id,
            model=provider.model,
            provider=provider.identity,
            system_prompt=planning.system_prompt(self.started.choice, takes_tools=True),
            starts_in_reasoning=provider.starts_in_reasoning,
            thinking_format=self.started.choice.thinking_format,
            before=self.started.before,
            tool_names=self.started.choice.tools.keys(),
            limits=TurnLimits(
                answer_bytes=settings.MAX_ANSWER_BYTES,
                thinking_bytes=settings.MAX_THINKING_BYTES,
                arguments_bytes=settings.MAX_ARGUMENTS_BYTES,
                calls_per_response=settings.MAX_CALLS_PER_RESPONSE,
            ),
        )

    async def run_step(self, provider: Provider, machine: TurnMachine) -> StepOutcome:
        """Make the request of one step, and again where that can help and nothing of its answer came yet."""
        self._retry = RetryPolicy()
        plan = await self._plan(provider)
        step = self._step = machine.begin_step(may_think=not plan.switches_off)
        if (digest := plan.digest()) in self._sent:
            # What the last step brought is not in the request, so the model would only repeat itself.
            raise ProviderError("refused", "repeated", retryable=False)
        while True:
            self._sent.add(digest)
            try:
                with self._metrics.request(step.number, provider, machine):
                    await self._stream(provider, step, plan)
            except ProviderError as error:
                remedy = None if self._has_output else await self._recover_from(error, provider, plan)
                if remedy:
                    plan = await self._plan(provider)
                    digest = plan.digest()
                # The same request is made once more only after a pause, or with fewer tools.
                if remedy is None or (remedy.action not in ("wait", "withhold") and digest in self._sent):
                    await self._restore_turns(provider)
                    raise explain_refusal(error, plan) from error
                continue
            # Some services send nothing now and then, and answer when they are asked again (Gemini, GLM, seen 2026).
            if step.said_nothing and self._retry.take_empty():
                continue
            # A filter may block each request that repeats an earlier question (Gemini, seen 2026-11).
            if step.was_blocked and plan.sends_unanswered:
                await self._omit(provider, "questions")
                plan = await self._plan(provider)
                digest = plan.digest()
                continue
            if machine.reported_input:
                self._anchor = plan.anchor(machine.reported_input)
                self._has_own_anchor = True
            outcome = await self._end_step(step)
            if machine.room.reached:  # by what was held back until the end
                raise LimitReachedError(machine.room.reached)
            return outcome

    async def _plan(self, provider: Provider) -> EgressPlan:
        """Plan the next request; make room first where history is too long for it."""
        plan_step = partial(planning.plan_step, self.turn, self._choice, provider)
        # The conversation was read when the turn started: fresh enough for its first request.
        conversation = None if self._metrics.requests else self.turn.conversation
        read = partial(plan_step, conversation=conversation, anchor=self._anchor)
        planned, self._planned = self._planned, None
        if planned is None or (self.turn.model, self.turn.provider) != (provider.name, provider.identity):
            planned = await retry_on_db_outage(read)
        plan, self._history, self._anchor = planned
        self._hides_images = plan.hides_images
        self._lacks_tools = not plan.offers_tools and self.started.choice.takes_tools is None
        if plan.should_compact and await self._make_room(provider, plan):
            read = partial(plan_step, conversation=None, anchor=None)
            plan, self._history, self._anchor = await retry_on_db_outage(read)
        return plan

    async def _learn(self, provider: Provider, **facts: Fact) -> None:
        """Remember what a service states or refuses, fields of ``LearnedFacts``."""
        if learned_facts.is_news(provider.identity, provider.model, **facts):
            self._planned = None  # it was planned without knowing this
            await retry_on_db_outage(partial(learned_facts.learn, provider.identity, provider.model, **facts))

    async def _recover_from(self, error: ProviderError, provider: Provider, plan: EgressPlan) -> Remedy | None:
        """Do what may help after a failed request, and return what that was; None where nothing does."""
        others = self._choice.tools.keys() - registry().keys()
        remedy = self._retry.remedy(error, plan, offers_others=bool(others))
        said = {"code": error.code, "reason": error.reason, "detail": error.detail}
        logger.warning(
            "request refused", extra={"turn": self.turn.public_id, "remedy": remedy and remedy.action, **said}
        )
        match remedy:
            case Remedy("learn", fact):
                await self._learn(provider, **{fact: timezone.now()})
            case Remedy("omit", part):
                await self._omit(provider, part)
            case Remedy("compact"):
                refused = error.context_limit
                if not refused:  # a request of this size is too long, by the estimate that later ones are measured by
                    known = learned_facts.of(provider.identity, provider.model).tokens
                    refused = min(known or plan.effective_tokens, plan.effective_tokens)
                await self._learn(provider, refused=refused)
                if not await self._make_room(provider, plan, is_overflow=True):
                    # Nothing earlier is left: in this turn the results of its newest calls share less room.
                    limit = round(OVERFLOW_SHARE * plan.effective_tokens)
                    self._choice, self._planned = replace(self._choice, context_limit=limit), None
            case Remedy("wait"):
                await self._wait_after(error)
            case Remedy("withhold"):
                refused_tools = {name for name in others if name in error.detail} or others
                left = {name: tool for name, tool in self._choice.tools.items() if name not in refused_tools}
                self._choice, self._planned = replace(self._choice, tools=left), None
        return remedy

    async def _omit(self, provider: Provider, part: str) -> None:
        """Leave a part up to now, a field of ``Refused``, out of this and later requests."""
        to_seq = self._history[-1].seq if self._history else 0
        before = await retry_on_db_outage(partial(planning.remember_refusal, self.turn, provider, part, to_seq))
        if part == "turns":
            self._turns_left_out_before = before

    async def _restore_turns(self, provider: Provider) -> None:
        """Send the earlier turns again from the next question on, where the service refuses this one without them."""
        if (to_seq := self._turns_left_out_before) is not None:
            await retry_on_db_outage(partial(planning.remember_refusal, self.turn, provider, "turns", to_seq))

    async def _wait_after(self, error: ProviderError) -> None:
        wait_s = self._retry.wait_s(error)
        if error.reason == "loading":
            self.live.show_status(LOADING)
        else:
            self.live.show_status(WAITING, wait_s=wait_s)
        async with self._until_stopped():
            await asyncio.sleep(wait_s)

    async def _make_room(self, provider: Provider, plan: EgressPlan, *, is_overflow: bool = False) -> bool:
        self.live.show_status(MAKING_ROOM, announce=True)
        history, self._history = self._history, None
        async with self._until_stopped():
            is_shorter = await self._compactor.make_room(provider, plan, is_overflow=is_overflow)
        if is_shorter:
            self.live.show_history_cut(self._compactor.cut)
        else:
            self._history = history
        return is_shorter

    async def _stream(self, provider: Provider, step: StepMachine, plan: EgressPlan) -> None:
        """Feed one response to its step and show what comes out."""
        self._has_output = False
        self.live.show_status(THINKING)
        slow = asyncio.get_running_loop().call_later(SLOW_S, partial(self.live.show_status, SLOW, announce=True))
        request = planning.request_of(plan, self._choice, self.turn.conversation_id)
        # The provider learns while it streams which parameters its service refuses: what is missing from the body
        # afterwards was refused by this request.
        body = provider.request_body(request) if plan.optional else {}
        asked = [name for name in plan.optional if parameter(body, name) is not None]
        stream = provider.stream(request)
        try:
            async with self._until_stopped():
                # In a task of its own, so that a piece resumes two coroutines and not all that a turn waits in.
                await asyncio.create_task(self._feed(step, stream, slow))
        finally:
            slow.cancel()
        body = provider.request_body(request) if asked else {}
        if refused := [name for name in asked if parameter(body, name) is None]:
            self._refused_setting = plan.optional[min(refused)]

    async def _feed(self, step: StepMachine, stream: AsyncGenerator[RawDelta, None], slow: asyncio.TimerHandle) -> None:
        busy_s = 0.0
        async with aclosing(stream):
            async for raw in stream:
                if not self._has_output:
                    self._has_output = True
                    slow.cancel()
                    self.live.show_status(THINKING)
                for piece in split_long_text(raw):
                    began = perf_counter()
                    for update in step.feed(piece):
                        self._show(update)
                    if step.room.reached:
                        raise LimitReachedError(step.room.reached)
                    # A stream whose next piece is always there never lets other tasks run.
                    busy_s += perf_counter() - began
                    if busy_s > MAX_BUSY_S:
                        await asyncio.sleep(0)
                        busy_s = 0.0

    async def _end_step(self, step: StepMachine, *, is_partial: bool = False) -> StepOutcome:
        self._step = None
        end = partial(step.end, partial=is_partial)
        outcome = end() if step.chars < LONG_STEP_CHARS else await asyncio.to_thread(end)
        for update in outcome.updates:
            self._show(update)
        self._unwritten = outcome.events
        return outcome

    async def _append(self, events: Sequence[Event], traces: write.Traces | None = None) -> None:
        """Write events that others follow; those of the last step are written with the end of the turn."""
        self._history = None
        append = partial(eventlog.append, self.turn, events, traces)
        await retry_on_db_outage(append, again=partial(write.append_missing, self.turn, events, traces))

    def _show(self, update: Update) -> None:
        match update:
            case ShowScratchpad(scratchpad, is_open):
                self._deliver_scratchpad(self.live, scratchpad, is_open)
            case ShowStatus(text):
                self.live.show_thought_line(text)
            case ReplaceText(channel, chars, text):
                self.live.replace_text(channel, chars, text)
            case ShowText(channel, text):
                if self._metrics.first_token_ms is None:
                    self._metrics.token_came()
                if channel is Channel.ANSWER:
                    self.live.show_answer(text)
                else:
                    self.live.show_thinking(text)

    @asynccontextmanager
    async def _until_stopped(self) -> AsyncIterator[None]:
        """Raise TurnCancelledError inside this block as soon as ``stop`` was called; nowhere else."""
        if self._stop_requested:
            raise TurnCancelledError
        try:
            async with asyncio.timeout(None) as self._stop_scope:
                yield
        except TimeoutError:
            if not self._stop_requested:
                raise
            raise TurnCancelledError from None
        finally:
            self._stop_scope = None
