"""Execute one tool call: measured, bounded, redacted, and never raising.

Arguments are checked by the tool's own schema, time and output are capped here, and the trace step that people see
comes redacted from ``reasoning.trace`` (product 10).
"""

from __future__ import annotations

import asyncio
import logging
import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, get_args

from channels.db import database_sync_to_async
from django.conf import settings
from django.utils.translation import gettext_noop

from chat.documents import sources
from chat.documents.access import reader_of
from chat.tools.base import DocumentEntry, SearchQuery, SearchResult, Tool, ToolArgumentsError, ToolContext
from reasoning import trace
from reasoning.citations import Source, SourceKind
from reasoning.events import ToolCall
from reasoning.scratchpad import Scratchpad

logger = logging.getLogger(__name__)
# Of one call, about 5,000 tokens: a model with a small context must have room for several.
MAX_OUTPUT_CHARS = 20_000
CUT = "\n(truncated)"
UNKNOWN_TOOL = "The model asked for a tool that doesn't exist: %(name)s"


@dataclass(frozen=True, slots=True)
class ToolCallResult:
    """``output`` is for the model, ``trace`` for people, ``sources`` for citations."""

    output: str
    trace: trace.ToolTraceStep
    sources: Sequence[Source]

    @property
    def trace_form(self) -> Mapping[str, Any]:
        form: Mapping[str, Any] = trace.step_to_json(self.trace)
        return form


async def execute_tool_call(
    call: ToolCall,
    tool: Tool | None,
    *,
    first_ref: int,
    scratchpad: Scratchpad,
    conversation_id: uuid.UUID,
    searches_all: bool = False,
) -> ToolCallResult:
    """Run ``call``. A failure becomes a trace step and a short text for the model, which may try again.

    ``searches_all``: every search is one of all kinds of sources.
    """
    shown = tool.shown_args if tool else frozenset()
    step = trace.start(call.call_id, call.name, call.arguments, at_ms=_now_ms(), shown=shown, scratchpad=scratchpad)
    if tool is None:
        name = call.name[:80]
        return _fail(step, f"there is no tool named {name!r}", UNKNOWN_TOOL % {"name": name})
    try:
        async with asyncio.timeout(settings.TOOL_TIMEOUT_S):
            context = ToolContext(
                first_ref=first_ref,
                search=partial(_search, conversation_id, searches_all),
                read=partial(_read, conversation_id),
                entries=partial(_entries, conversation_id),
            )
            output = await tool.run(call.arguments, context)
    except ToolArgumentsError as error:
        return _fail(step, str(error), gettext_noop("The arguments did not fit the tool."))
    except TimeoutError:
        return _fail(step, "the tool timed out", gettext_noop("Timed out."))
    # A tool is an extension point: whatever it raises, the model gets an answer to its call.
    except Exception as error:
        logger.exception("tool failed", extra={"tool": call.name, "error": type(error).__name__})
        return _fail(step, "the tool failed", gettext_noop("The tool failed."))
    finished = trace.finish(step, at_ms=_now_ms(), status="ok", results=output.results, sources=output.sources)
    return ToolCallResult(_cap(output.content), finished, output.sources)


def waiting_step(call: ToolCall, tool: Tool, call_id: str, *, scratchpad: Scratchpad) -> trace.ToolTraceStep:
    """Return ``call`` as people see it before they decide on it, under ``call_id``."""
    shown = tool.shown_args
    step = trace.start(call.call_id, call.name, call.arguments, at_ms=0, shown=shown, scratchpad=scratchpad)
    return trace.finish(step, at_ms=0, status="waiting", call_id=call_id)


def refuse_tool_call(
    call: ToolCall, tool: Tool | None, reason: str, error: str, *, scratchpad: Scratchpad
) -> ToolCallResult:
    """Answer ``call`` without running it; ``reason`` is for the model, ``error`` for people."""
    shown = tool.shown_args if tool else frozenset()
    step = trace.start(call.call_id, call.name, call.arguments, at_ms=_now_ms(), shown=shown, scratchpad=scratchpad)
    return ToolCallResult(f"error: {reason}", trace.finish(step, at_ms=_now_ms(), status="denied", error=error), ())


def _fail(step: trace.OpenStep, output: str, error: str) -> ToolCallResult:
    return ToolCallResult(f"error: {output}", trace.finish(step, at_ms=_now_ms(), status="error", error=error), ())


def _cap(content: str) -> str:
    return content if len(content) <= MAX_OUTPUT_CHARS else content[:MAX_OUTPUT_CHARS] + CUT


def _now_ms() -> float:
    return time.monotonic() * 1000


@database_sync_to_async
def _search(conversation_id: uuid.UUID, searches_all: bool, query: SearchQuery) -> SearchResult:
    return sources.search(query, reader_of(conversation_id), also=get_args(SourceKind) if searches_all else ())


@database_sync_to_async
def _read(conversation_id: uuid.UUID, url: str, neighbours: int) -> SearchResult:
    return sources.read(url, reader_of(conversation_id), neighbours)


@database_sync_to_async
def _entries(conversation_id: uuid.UUID, kinds: tuple[SourceKind, ...]) -> Sequence[DocumentEntry]:
    return sources.entries(reader_of(conversation_id), kinds)
