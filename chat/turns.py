"""One turn, start to finish: the only place that knows the order of steps.

Settings are read afresh for each request (spec 001 BR-008); the plan is made from the log; the provider's deltas go
through the turn machine; what may be shown goes to the live turn, what must be kept to the log; tools run between
steps. However it ends (finished, stopped, failed, capped), the log gets its ``turn_end`` and the question is kept.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing, asynccontextmanager
from typing import Any

from channels.db import database_sync_to_async
from django.conf import settings
from django.utils.translation import gettext_lazy as _
from django.utils.translation import gettext_noop

from accounts.models import User
from accounts.preferences import reasoning_settings, site_flags
from chat import log, upstream
from chat.calls import run_call
from chat.live import LiveTurn
from chat.models import Turn
from chat.providers.base import Provider, ProviderError, ProviderRequest
from chat.tools import registry
from reasoning.deltas import Channel
from reasoning.egress import RequestTarget, plan_request
from reasoning.events import Event, ToolCall, TurnStatus
from reasoning.policy import ReasoningSettings
from reasoning.prompt import instructions
from reasoning.scratchpad import Scratchpad
from reasoning.turn import ShowScratchpad, StepOutcome, TurnMachine, Update

logger = logging.getLogger(__name__)
THINKING = _("Thinking…")
MAX_HOLD_S = 0.02
CUT_SHORT = frozenset({"length", "content_filter"})  # finish reasons of an answer that is not whole
WRITING = _("Writing…")
BROKEN = gettext_noop("Stopped: something went wrong on this server.")


class Stopped(Exception):
    """Somebody asked the turn to stop."""


class RunningTurn:
    """Runs one turn. ``deliver_scratchpad`` hands a scratchpad to entitled sockets of this process, in memory."""

    def __init__(self, turn: Turn, live: LiveTurn, deliver_scratchpad: Callable[[LiveTurn, Scratchpad], None]) -> None:
        self._turn = turn
        self._live = live
        self._deliver_scratchpad = deliver_scratchpad
        self._stop = False
        self._waiting: asyncio.Timeout | None = None
        self._machine: TurnMachine | None = None
        self._in_step = False
        self._cut_by = ""
        self._unwritten: tuple[Event, ...] = ()  # of a step whose write failed

    def stop(self) -> None:
        """Ask the turn to stop; it ends at once where it waits, with what came so far."""
        self._stop = True
        if self._waiting is not None:
            self._waiting.reschedule(asyncio.get_running_loop().time())

    async def run(self) -> None:
        """Run to the end. Never raises, whatever the provider or a tool does."""
        status: TurnStatus = "completed"
        error: ProviderError | None = None
        try:
            status = await self._steps()
        except Stopped:
            status = "aborted"
        except ProviderError as failure:
            status, error = "errored", failure
            logger.warning("turn failed", extra={"turn": self._turn.public_id, "code": failure.code})
        except Exception:
            status, error = "errored", ProviderError("internal", BROKEN, retryable=True)
            logger.exception("turn broke", extra={"turn": self._turn.public_id})
        await self._close(status, error)

    async def _steps(self) -> TurnStatus:
        provider = await self._stoppable(upstream.provider())
        machine = self._machine = TurnMachine(
            turn_id=self._turn.public_id,
            model=provider.model,
            provider=provider.identity,
            system_prompt=_system_prompt(),
            starts_in_reasoning=provider.starts_in_reasoning,
        )
        await _name_model(self._turn, provider)
        self._live.model = provider.name
        for _step in range(settings.MAX_STEPS):
            outcome = await self._step(provider, machine)
            if not outcome.calls:
                self._cut_by = outcome.finish_reason if outcome.finish_reason in CUT_SHORT else ""
                return "completed"
            for call in outcome.calls:
                await self._call(machine, call)
        return "iteration_capped"

    async def _step(self, provider: Provider, machine: TurnMachine) -> StepOutcome:
        request = await _next_request(self._turn, provider)
        self._live.show_status(THINKING)
        machine.begin_step()
        self._in_step = True
        async with self._until_stopped(), aclosing(provider.stream(request)) as stream:
            let_others_at = asyncio.get_running_loop().time() + MAX_HOLD_S
            async for raw in stream:
                for update in machine.feed(raw):
                    self._show(update)
                if asyncio.get_running_loop().time() > let_others_at:  # a stream that is faster than we are never waits
                    await asyncio.sleep(0)
                    let_others_at = asyncio.get_running_loop().time() + MAX_HOLD_S
        return await self._end_step(machine)

    async def _end_step(self, machine: TurnMachine, *, partial: bool = False) -> StepOutcome:
        self._in_step = False
        outcome = machine.end_step(partial=partial)
        for update in outcome.updates:
            self._show(update)
        self._unwritten = outcome.events
        await _append(self._turn, outcome.events)
        self._unwritten = ()
        return outcome

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
            case _ if update.channel is Channel.ANSWER:
                self._live.show_status(WRITING)
                self._live.show_answer(update.text)
            case _ if update.channel is Channel.THINKING:
                self._live.show_thinking(update.text)

    async def _close(self, status: TurnStatus, error: ProviderError | None) -> None:
        machine = self._machine
        if machine and self._in_step:
            await self._end_step(machine, partial=True)
        await self._live.settle()
        figures: dict[str, Any] = {"thinking_ms": self._live.thinking_ms}
        if machine:
            usage = machine.usage
            figures |= {
                "input_tokens": usage.input_tokens,
                "output_tokens": usage.output_tokens,
                "reasoning_tokens": usage.reasoning_tokens,
                "summary_source": machine.summary_source,
            }
        if self._cut_by:
            figures["error_code"] = self._cut_by
        if error:
            figures |= {"error_code": error.code, "error_message": error.message[:500]}
        await _close_turn(self._turn, self._unwritten, status, figures)
        _log_end(self._turn, machine)

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


def _system_prompt() -> str:
    """Ask for sections, and for a scratchpad, only where the site may show them (product 9, 13)."""
    flags = site_flags()
    notes = flags.enabled and flags.scratchpad_enabled and flags.scratchpad_admin_only
    return instructions(sections=flags.enabled, scratchpad=notes, tools=True)


async def _next_request(turn: Turn, provider: Provider) -> ProviderRequest:
    chosen, events = await _read_inputs(turn)
    target = RequestTarget(
        api="chat", model=provider.model, provider=provider.identity, context_limit=settings.CONTEXT_LIMIT
    )
    plan = plan_request(events, chosen, target)
    return ProviderRequest(
        body=plan.body,
        instructions=_system_prompt(),
        tools=[tool.schema for tool in registry().values()],
        conversation=turn.conversation_id.hex,
    )


@database_sync_to_async
def _read_inputs(turn: Turn) -> tuple[ReasoningSettings, tuple[Event, ...]]:
    owner = User.objects.get(conversations=turn.conversation_id)
    return reasoning_settings(owner), log.history(turn.conversation_id)


@database_sync_to_async
def _name_model(turn: Turn, provider: Provider) -> None:
    turn.model, turn.provider = provider.name, provider.identity
    turn.save(update_fields=["model", "provider"])


_append = database_sync_to_async(log.append)


@database_sync_to_async
def _close_turn(turn: Turn, unwritten: tuple[Event, ...], status: TurnStatus, figures: dict[str, Any]) -> None:
    if unwritten:
        log.append(turn, unwritten)
    log.end_open_calls(turn)
    log.close_turn(turn, [], status=status, **figures)


def _log_end(turn: Turn, machine: TurnMachine | None) -> None:
    logger.info(
        "turn ended",
        extra={
            "turn": turn.public_id,
            "status": turn.status,
            "input_tokens": turn.input_tokens,
            "output_tokens": turn.output_tokens,
            "thinking_ms": turn.thinking_ms,
            "stripped_delimiters": machine.stripped_delimiters if machine else 0,
            "dropped_bullets": machine.dropped_bullets if machine else 0,
        },
    )
