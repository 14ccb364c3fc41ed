"""Traces of turns for OpenTelemetry: times, names of models and tools, tokens and error codes; never a text.

Names follow the GenAI conventions. Nothing is recorded until ``config.tracing`` calls ``use``; nothing of OpenTelemetry
is imported here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any

from chat.observability.log_context import request_id

Values = Mapping[str, str | int | None]


@dataclass(frozen=True, slots=True)
class Tracing:
    """A tracer, and what spans are marked with."""

    tracer: Any
    client: Any  # the kind of a span that waits for another service
    failed: Any  # a status without a description: that of an exception could repeat a text


@dataclass(frozen=True, slots=True)
class TraceSpan:
    """One span; without a tracer it ignores what it gets."""

    _span: Any = None

    def note(self, values: Values) -> None:
        """Add attributes, except those that are None."""
        if self._span is not None:
            self._span.set_attributes({key: value for key, value in values.items() if value is not None})

    def fail(self, code: str) -> None:
        """Mark as failed, with one of our codes."""
        if self._span is not None and _tracing is not None:
            self._span.set_status(_tracing.failed)
            self._span.set_attribute("error.type", code)


_tracing: Tracing | None = None


def use(tracing: Tracing | None) -> None:
    """Record spans from now on, or none any more."""
    global _tracing
    _tracing = tracing


@contextmanager
def _span(name: str, values: Values, *, is_client: bool = False) -> Iterator[TraceSpan]:
    if _tracing is None:
        yield TraceSpan()
        return
    options = {"kind": _tracing.client} if is_client else {}
    with _tracing.tracer.start_as_current_span(
        name, attributes=values, record_exception=False, set_status_on_exception=False, **options
    ) as span:
        yield TraceSpan(span)


def turn(public_id: str) -> AbstractContextManager[TraceSpan]:
    """Trace a turn."""
    ids = {"legible.turn.id": public_id, "legible.request.id": request_id.get()}
    return _span("invoke_agent legible", {"gen_ai.operation.name": "invoke_agent", **ids})


def model_request(model: str, host: str) -> AbstractContextManager[TraceSpan]:
    """Trace one request to a model service. ``model``: its name as people may see it."""
    service = {"gen_ai.provider.name": "openai", "gen_ai.request.model": model, "server.address": host}
    return _span(f"chat {model}", {"gen_ai.operation.name": "chat", **service}, is_client=True)


def tool_call(name: str) -> AbstractContextManager[TraceSpan]:
    """Trace one call of a tool. ``name``: of one that exists, since a model may invent names."""
    return _span(f"execute_tool {name}", {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": name})
