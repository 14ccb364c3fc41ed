"""One turn, start to finish: the only place that knows the order of steps.

Settings are read afresh for each request (spec 001 BR-008); the plan is made from the log; the provider's deltas go
through the turn machine; what may be shown goes to the live turn, what must be kept to the log; tools run between
steps. However it ends (finished, stopped, failed, capped), the log gets its ``turn_end`` and the question is kept.
"""

from __future__ import annotations

import asyncio
import functools
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing, asynccontextmanager
from typing import Any

from django.conf import settings
from django.utils.translation import gettext_lazy as _
from django.utils.translation import gettext_noop

from chat import closing, compaction, log, planning, upstream
from chat.calls import run_call
from chat.figures import TurnFigures
from chat.healing import Healing, naming_settings
from chat.leases import LeaseLost
from chat.live import LiveTurn
from chat.opening import Opened
from chat.providers.base import Provider, ProviderError
from chat.providers.pacing import pace
from chat.recovery import insisted
from chat.tools import registry
from reasoning.deltas import Channel, RawDelta, in_slices
from reasoning.egress import EgressPlan, UsageAnchor
from reasoning.events import Event, ToolCall, TurnStatus
from reasoning.scratchpad import Scratchpad
from reasoning.turn import CUT_SHORT, TurnMachine
from reasoning.updates import ShowScratchpad, ShowStatus, StepOutcome, Update

logger = logging.getLogger(__name__)
THINKING = _("Thinking…")
SLOW = _("Still waiting for the model…")
SLOW_S = 5.0
MAX_HOLD_S = 0.02
WAITED_S = 0.001  # longer between two deltas than decoding takes: others ran meanwhile
LONG_STEP_CHARS = 65_536  # the end of a longer one is worked out beside the event loop
WRITING = _("Writing…")
WAITING = _("The model service is busy; trying again…")
MAKING_ROOM = _("Summarising earlier messages…")
BROKEN = gettext_noop("Stopped: something went wrong on this server.")


class Stopped(Exception):
    """Somebody asked the turn to stop."""


class RunningTurn:
    """Runs one turn. ``deliver_scratchpad`` hands a scratchpad to entitled sockets of this process, in memory."""

    def __init__(
        self, opened: Opened, live: LiveTurn, deliver_scratchpad: Callable[[LiveTurn, Scratchpad], None]
    ) -> None:
        self._turn, self._chosen = opened.turn, opened.chosen
        self._live = live
        self._deliver_scratchpad = deliver_scratchpad
        self._stop = False
        self._waiting: asyncio.Timeout | None = None
        self._machine: TurnMachine | None = None
        self._in_step = False
        self._cut_by = ""
        self._unwritten: tuple[Event, ...] = ()  # of a step whose write failed
        self._healing = Healing()
        self._tried_compaction = False
        self._has_begun = False  # something of the present answer came
        self._anchor: UsageAnchor | None = None
        self._opened: Opened | None = opened  # for the first request
        self._has_calls = False
        self._figures = TurnFigures(self._turn.public_id)
        self.at_end: closing.AtEnd | None = None  # its rows, once its end is in the log

    def stop(self) -> None:
        """Ask the turn to stop; it ends at once where it waits, with what came so far."""
        self._stop = True
        if self._waiting is not None:
            self._waiting.reschedule(asyncio.get_running_loop().time())

    async def run(self) -> None:
        """Run to the end. Never raises, whatever the provider or a tool does."""
        status: TurnStatus = "completed"
        error: ProviderError | None = None
        pace.turns += 1
        try:
            status = await self._steps()
        except Stopped:
            status = "aborted"
        except LeaseLost:
            logger.warning("turn was taken over", extra={"turn": self._turn.public_id})
            return
        except ProviderError as failure:
            status, error = "errored", upstream.in_its_words(failure, self._chosen)
            logger.warning("turn failed", extra={"turn": self._turn.public_id, "code": failure.code})
        except Exception:
            status, error = "errored", ProviderError("internal", BROKEN, retryable=True)
            logger.exception("turn broke", extra={"turn": self._turn.public_id})
        finally:
            pace.turns -= 1
        await self._close(status, error)

    async def _steps(self) -> TurnStatus:
        provider = await self._stoppable(upstream.provider(self._chosen))
        machine = self._machine = TurnMachine(
            turn_id=self._turn.public_id,
            model=provider.model,
            provider=provider.identity,
            system_prompt=planning.system_prompt(self._chosen.dialect),
            starts_in_reasoning=provider.starts_in_reasoning,
        )
        self._live.show_model(provider.name)
        for _step in range(settings.MAX_STEPS):
            outcome = await self._step(provider, machine)
            if not outcome.calls:
                self._cut_by = outcome.finish_reason if outcome.finish_reason in CUT_SHORT else ""
                return "completed"
            await self._write(outcome.events)
            for call in outcome.calls:
                await self._call(machine, call)
        return "iteration_capped"

    async def _step(self, provider: Provider, machine: TurnMachine) -> StepOutcome:
        """Make one request, again where that can help and nothing of its answer came yet."""
        machine.begin_step()
        self._in_step = True
        while True:
            plan = await self._plan(provider, machine)
            try:
                with self._figures.request(machine.step):
                    await self._stream(provider, machine, plan)
            except ProviderError as error:
                if self._has_begun or not await self._mended(error, provider, machine, plan):
                    raise naming_settings(error, plan) from error
            else:
                self._anchor = plan.anchored(machine.reported_input) if machine.reported_input else self._anchor
                return await self._end_step(machine)

    async def _plan(self, provider: Provider, machine: TurnMachine) -> EgressPlan:
        """Plan the request, and make room before a turn's first where history has grown too long."""
        opened, self._opened = self._opened, None
        omit = self._healing.omits_items
        read = opened.turn.conversation if opened else None
        plan = opened.plan if opened else None
        plan = plan or await _plan(self._turn, read, self._chosen, provider, self._anchor, omit_items=omit)
        if not plan.should_compact or machine.step or self._tried_compaction:
            return plan
        self._tried_compaction = True
        if not await self._compact(provider, plan):
            return plan
        return await _plan(self._turn, None, self._chosen, provider, None, omit_items=omit)

    async def _mended(self, error: ProviderError, provider: Provider, machine: TurnMachine, plan: EgressPlan) -> bool:
        match self._healing.remedy(error, tool_ran=machine.step > 0):
            case "omit items":
                logger.warning("opaque items refused", extra={"turn": self._turn.public_id, "reason": error.reason})
                return True
            case "compact":
                return await self._compact(provider, plan, is_overflow=True)
            case "wait":
                logger.warning("request made again", extra={"turn": self._turn.public_id, "code": error.code})
                self._live.show_status(WAITING)
                await self._stoppable(asyncio.sleep(self._healing.wait_s(error)))
                return True
        return False

    async def _compact(self, provider: Provider, plan: EgressPlan, *, is_overflow: bool = False) -> bool:
        self._live.show_status(MAKING_ROOM, aloud=True)
        made = compaction.compact(self._turn, self._chosen, provider, plan, is_overflow=is_overflow)
        return bool(await self._stoppable(made))

    async def _stream(self, provider: Provider, machine: TurnMachine, plan: EgressPlan) -> None:
        request = planning.request_of(plan, self._chosen, self._turn.conversation_id)
        self._live.show_status(THINKING)
        self._has_begun = False
        loop = asyncio.get_running_loop()
        slow = loop.call_later(SLOW_S, functools.partial(self._live.show_status, SLOW, aloud=True))
        try:
            async with self._until_stopped(), aclosing(provider.stream(request)) as stream:
                done_at = held_since = loop.time()
                async for raw in stream:
                    if not self._has_begun:
                        self._begin(slow)
                    if loop.time() - done_at > WAITED_S:
                        held_since = loop.time()
                    for piece in in_slices(raw):
                        self._take(machine, piece)
                        # A stream that is faster than we are never waits, so the others get their turn here.
                        if loop.time() - held_since > MAX_HOLD_S:
                            await asyncio.sleep(0)
                            held_since = loop.time()
                    done_at = loop.time()
        finally:
            slow.cancel()

    def _begin(self, slow: asyncio.TimerHandle) -> None:
        self._has_begun = True
        slow.cancel()
        self._live.show_status(THINKING)

    def _take(self, machine: TurnMachine, raw: RawDelta) -> None:
        for update in machine.feed(raw):
            self._show(update)

    async def _end_step(self, machine: TurnMachine, *, partial: bool = False) -> StepOutcome:
        self._in_step = False
        end = functools.partial(machine.end_step, partial=partial)
        outcome = end() if machine.step_chars < LONG_STEP_CHARS else await asyncio.to_thread(end)
        for update in outcome.updates:
            self._show(update)
        self._unwritten = outcome.events
        self._has_calls = self._has_calls or bool(outcome.calls)
        return outcome

    async def _write(self, events: tuple[Event, ...]) -> None:
        """Record a step that others follow; the last one is written together with the end of its turn."""
        await _append(self._turn, events)
        self._unwritten = ()

    async def _call(self, machine: TurnMachine, call: ToolCall) -> None:
        tool = registry().get(call.name)
        self._live.show_status(_(tool.running_label) if tool else _("Using a tool…"), aloud=True)
        self._live.step_started(call.call_id, call.name)
        finished = await self._stoppable(run_call(call, tool, first_ref=len(machine.sources) + 1))
        result = machine.tool_finished(call, finished.output, finished.trace, finished.sources)
        self._live.sources = machine.sources
        self._live.step_finished(call.call_id, finished.trace)
        await _append(self._turn, [result], {call.call_id: finished.trace_form})

    def _show(self, update: Update) -> None:
        match update:
            case ShowScratchpad(scratchpad):
                self._deliver_scratchpad(self._live, scratchpad)
            case ShowStatus(text):
                self._live.show_thought_line(text)
            case _ if update.channel is Channel.ANSWER:
                self._figures.token_came()
                self._live.show_status(WRITING)
                self._live.show_answer(update.text)
            case _ if update.channel is Channel.THINKING:
                self._figures.token_came()
                self._live.show_thinking(update.text)

    async def _close(self, status: TurnStatus, error: ProviderError | None) -> None:
        machine = self._machine
        if machine and self._in_step:
            await self._end_step(machine, partial=True)
        await self._live.settle()
        figures: dict[str, Any] = {"thinking_ms": self._live.thinking_ms, **self._figures.of(machine)}
        if self._anchor:
            figures["context_anchor"] = self._anchor.to_json()
        if self._cut_by:
            figures["error_code"] = self._cut_by
        if error:
            figures |= {"error_code": error.code, "error_message": error.message[:500]}
        self.at_end = await _close_turn(self._turn, self._unwritten, status, figures, has_calls=self._has_calls)
        self._figures.log_end(self._turn, machine)

    async def _stoppable(self, waiting: Awaitable[Any]) -> Any:
        async with self._until_stopped():
            return await waiting

    @asynccontextmanager
    async def _until_stopped(self) -> AsyncIterator[None]:
        """Raise Stopped inside this block as soon as ``stop`` was called; nowhere else."""
        if self._stop:
            raise Stopped
        try:
            async with asyncio.timeout(None) as self._waiting:
                yield
        except TimeoutError:
            if not self._stop:
                raise
            raise Stopped from None
        finally:
            self._waiting = None


# Again where the database was away for a moment: a restart of it must not end a turn.
_plan = insisted(planning.plan_step)
_append = insisted(log.append, log.append_missing)
_close_turn = insisted(closing.close)
