"""Metrics of a turn: times, tokens, and counts of what was removed. Numbers and our own short words, never content.

They are stored in the turn's row (``manage.py turn_stats``, the admin), logged with a line per request, and counted for
``GET /metrics``.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import Any

from chat.models import Turn
from chat.observability import metrics, tracing
from chat.providers.address import host_of
from chat.providers.base import Provider, ProviderError
from reasoning.stream.output import Counters
from reasoning.stream.turn import EndedPart, TurnMachine

logger = logging.getLogger(__name__)
UNFINISHED = "unfinished"
OK = "ok"


class TurnMetrics:
    """Measures one turn."""

    def __init__(self, turn_id: str) -> None:
        self._turn_id = turn_id
        self._started_at = time.monotonic()
        self.first_token_ms: int | None = None
        self.requests = 0
        self._step, self._attempts = -1, 0  # the newest step, and its requests

    def token_came(self) -> None:
        """Record that the first text of an answer or a thought may be shown now."""
        self.first_token_ms = _ms_since(self._started_at)

    @contextmanager
    def request(self, step: int, provider: Provider, machine: TurnMachine) -> Iterator[None]:
        """Measure one request, count and trace it and log how it went.

        ``code`` is ``ok``, ``unfinished`` or that of its error; ``attempt`` counts the requests of its step.
        """
        self.requests += 1
        # A step makes its request again after a refusal or an outage.
        self._attempts = self._attempts + 1 if step == self._step else 1
        self._step = step
        started_at, code = time.monotonic(), UNFINISHED
        before = asdict(machine.usage)
        try:
            with model_request(provider) as span:
                yield
                used = {kind: (tokens or 0) - (before[kind] or 0) for kind, tokens in asdict(machine.usage).items()}
                span.note({f"gen_ai.usage.{kind}": used[kind] for kind in ("input_tokens", "output_tokens")})
            code = OK
        except ProviderError as error:
            code = error.code
            raise
        finally:
            logger.info(
                "request ended",
                extra={
                    "turn": self._turn_id,
                    "step": step,
                    "attempt": self._attempts,
                    "code": code,
                    "duration_ms": _ms_since(started_at),
                },
            )

    def fields(self, turn: Turn, machine: TurnMachine | None) -> dict[str, Any]:
        """Return the fields of a turn's row. Without a machine the turn failed before its first request.

        A turn that was continued has counts already.
        """
        if machine is None:
            return {}
        usage = machine.usage
        return {
            "first_token_ms": self.first_token_ms if turn.first_token_ms is None else turn.first_token_ms,
            "input_tokens": usage.input_tokens,
            "output_tokens": usage.output_tokens,
            "reasoning_tokens": usage.reasoning_tokens,
            "cached_tokens": usage.cached_tokens,
            "summary_source": machine.summary_source,
            "stripped_delimiters": turn.stripped_delimiters + machine.counters.stripped_delimiters,
            "extracted_blocks": turn.extracted_blocks + machine.counters.extracted_blocks,
            "masked": turn.masked + machine.masked,
            "dropped_bullets": turn.dropped_bullets + machine.dropped_bullets,
        }

    def report_end(self, turn: Turn, machine: TurnMachine | None, before: EndedPart | None) -> None:
        """Log and count the end of a turn: the metrics of its row, and the time of tools, steps and retries.

        ``before``: what the turn held before it was continued. That was counted then.
        """
        steps = machine.step + 1 if machine else 0
        duration_ms = _ms_since(self._started_at)
        metrics.TURN_TIME.observe(duration_ms / 1000)
        if self.first_token_ms is not None:
            metrics.FIRST_WORD.observe(self.first_token_ms / 1000)
        if machine:
            _count(machine, before or EndedPart())
        logger.info(
            "turn ended",
            extra={
                "turn": turn.public_id,
                "status": turn.status,
                "code": turn.error_code,
                "model": turn.model,
                "duration_ms": duration_ms,
                "thinking_ms": turn.thinking_ms,
                "tools_ms": round(sum(step.duration_ms for step in machine.trace)) if machine else 0,
                "steps": steps,
                "tools": len(machine.trace) if machine else 0,
                "retries": max(0, self.requests - steps),
                "first_token_ms": self.first_token_ms,
                "input_tokens": turn.input_tokens,
                "output_tokens": turn.output_tokens,
                "reasoning_tokens": turn.reasoning_tokens,
                "cached_tokens": turn.cached_tokens,
                **asdict(machine.counters if machine else Counters()),
                "masked": turn.masked,
                "dropped_bullets": turn.dropped_bullets,
                "scratchpad_repeats": machine.scratchpad_repeats if machine else 0,
            },
        )


@contextmanager
def model_request(provider: Provider) -> Iterator[tracing.TraceSpan]:
    """Count one request to a model service, and trace it."""
    host, code = _host_in(provider.identity), UNFINISHED
    try:
        with tracing.model_request(provider.name, host) as span:
            try:
                yield span
                code = OK
            except ProviderError as error:
                code = error.code
                span.fail(code)
                raise
    finally:
        note_request(host, code)


def note_request(host: str, code: str) -> None:
    """Count a request to a model service; one that was stopped says nothing of its health."""
    metrics.note_model_request(host, code, has_answered=None if code == UNFINISHED else code == OK)


def _host_in(identity: str) -> str:
    address = identity.partition("#")[0]
    return host_of(address) or address  # the offline analyst has no address


def _count(machine: TurnMachine, before: EndedPart) -> None:
    counted = asdict(before.usage)
    for kind, tokens in asdict(machine.usage).items():
        metrics.TOKENS.labels(kind.removesuffix("_tokens")).inc((tokens or 0) - (counted[kind] or 0))
    metrics.TOOL_CALLS.inc(len(machine.trace) - len(before.trace))
    for kind, count in machine.redactions.items():
        metrics.REDACTIONS.labels(kind).inc(count)
    leaks = {
        "stripped_delimiters": machine.counters.stripped_delimiters,
        "extracted_blocks": machine.counters.extracted_blocks,
        "dropped_bullets": machine.dropped_bullets,
        "scratchpad_repeats": machine.scratchpad_repeats,
    }
    for guard, count in leaks.items():
        metrics.LEAKS.labels(guard).inc(count)


def _ms_since(started_at: float) -> int:
    return int((time.monotonic() - started_at) * 1000)
