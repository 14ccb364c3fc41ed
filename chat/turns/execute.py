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
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal, get_args

from channels.db import database_sync_to_async
from django.conf import settings
from django.utils.translation import gettext_noop

from chat.documents import sources
from chat.documents.access import reader_of
from chat.models import SiteSettings
from chat.tools.base import (
    Ask,
    DocumentEntry,
    SearchQuery,
    SearchResult,
    Tool,
    ToolArgumentsError,
    ToolContext,
    ToolOutput,
    ToolRefusedError,
    json_text,
)
from chat.tools.passages import CUT, fit_passages, number_passages, passages_from_json
from chat.tools.schemas import first_error
from chat.web.addresses import read_hosts
from reasoning import trace
from reasoning.citations import SourceKind
from reasoning.events import ToolCall
from reasoning.scratchpad import Scratchpad

logger = logging.getLogger(__name__)
# Of one call, about 5,000 tokens: a model with a small context must have room for several.
MAX_OUTPUT_CHARS = 20_000
BAD_RESULT = gettext_noop("The tool’s result was not what it declares.")
UNKNOWN_TOOL = "The model asked for a tool that doesn't exist: %(name)s"


@dataclass(frozen=True, slots=True)
class ToolCallResult:
    """``output`` is for the model, and has the sources for citations; ``trace`` is for people."""

    output: ToolOutput
    trace: trace.ToolTraceStep

    @property
    def trace_form(self) -> Mapping[str, Any]:
        form: Mapping[str, Any] = trace.step_to_json(self.trace)
        return form

    def numbered(self, first_ref: int) -> ToolOutput:
        """Return the output as the model gets it, its sources numbered from ``first_ref``, at most MAX_OUTPUT_CHARS."""
        output = self.output
        if output.searched is not None:
            output = number_passages(output, first_ref=first_ref)
        elif passages_from_json(output.content):  # the log would read sources from it that nobody has checked
            output = replace(output, content=json_text({"text": output.content}))
        return output if len(output.content) <= MAX_OUTPUT_CHARS else replace(output, content=_cut(output.content))


async def execute_tool_call(
    call: ToolCall,
    tool: Tool | None,
    *,
    scratchpad: Scratchpad,
    conversation_id: uuid.UUID,
    ask: Ask,
    searches_all: bool = False,
) -> ToolCallResult:
    """Run ``call``. A failure becomes a trace step and a short text for the model, which may try again.

    ``ask`` asks the owner of the turn for the tool, whose time then rests. ``searches_all``: every search is one of all
    kinds of sources.
    """
    step = _start(call, tool, scratchpad)
    if tool is None:
        name = call.name[:80]
        return _fail(step, f"there is no tool named {name!r}", UNKNOWN_TOOL % {"name": name})
    try:
        async with asyncio.timeout(settings.TOOL_TIMEOUT_S) as limit:
            context = ToolContext(
                search=partial(_search, conversation_id, searches_all),
                read=partial(_read, conversation_id),
                entries=partial(_entries, conversation_id),
                open_page=_open_page,
                ask=partial(_ask, limit, ask),
            )
            output = await tool.call(call.arguments, context)
        if tool.output_schema is not None and (misfit := first_error(tool.output_schema, output.structured)):
            logger.warning("tool returned what it doesn't declare", extra={"tool": tool.name})
            return _fail(step, f"the tool's result is not what it declares: {misfit}", BAD_RESULT)
    except ToolArgumentsError as error:
        return _fail(step, str(error), gettext_noop("The arguments did not fit the tool."))
    except ToolRefusedError as error:
        return _fail(step, str(error), error.shown)
    except TimeoutError:
        return _fail(step, "the tool timed out", gettext_noop("Timed out."))
    # A tool is an extension point: whatever it raises, the model gets an answer to its call.
    except (Exception, asyncio.CancelledError) as error:
        # Where the call isn't cancelled, something that the tool waited for was.
        if isinstance(error, asyncio.CancelledError) and (task := asyncio.current_task()) and task.cancelling():
            raise
        logger.exception("tool failed", extra={"tool": call.name, "error": type(error).__name__})
        return _fail(step, "the tool failed", gettext_noop("The tool failed."))
    if output.searched is not None:
        output = fit_passages(output)
    finished = trace.finish(
        step, at_ms=_now_ms(), status="ok", results=output.results, sources=output.sources, output=output.shown
    )
    return ToolCallResult(output, finished)


def _start(call: ToolCall, tool: Tool | None, scratchpad: Scratchpad) -> trace.OpenStep:
    shown = tool.shown_args if tool else frozenset[str]()
    return trace.start(call.call_id, call.name, call.arguments, at_ms=_now_ms(), shown=shown, scratchpad=scratchpad)


def waiting_step(
    call: ToolCall,
    tool: Tool,
    *,
    call_id: str,
    digest: str = "",
    question: Mapping[str, Any] | None = None,
    scratchpad: Scratchpad,
) -> trace.ToolTraceStep:
    """Return ``call`` as people see it before they decide on it, under ``call_id`` and ``digest``."""
    step = _start(call, tool, scratchpad)
    return trace.finish(step, at_ms=0, status="waiting", call_id=call_id, digest=digest, question=question)


async def _ask(limit: asyncio.Timeout, ask: Ask, message: str, schema: Mapping[str, Any]) -> Mapping[str, Any] | None:
    limit.reschedule(None)
    try:
        return await ask(message, schema)
    finally:
        limit.reschedule(asyncio.get_running_loop().time() + settings.TOOL_TIMEOUT_S)


def refuse_tool_call(
    call: ToolCall, tool: Tool | None, reason: str, error: str, *, scratchpad: Scratchpad
) -> ToolCallResult:
    """Answer ``call`` without running it; ``reason`` is for the model, ``error`` for people."""
    return _fail(_start(call, tool, scratchpad), reason, error, status="denied")


def _fail(
    step: trace.OpenStep, reason: str, error: str, status: Literal["error", "denied"] = "error"
) -> ToolCallResult:
    output = ToolOutput(_cut(f"error: {reason}"))
    return ToolCallResult(output, trace.finish(step, at_ms=_now_ms(), status=status, error=error))


def _cut(content: str) -> str:
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


async def _open_page(url: str) -> SearchResult:
    from chat.web.page import open_page  # noqa: PLC0415 - its HTTP client, for sites that read no pages

    # Read now: staff may have changed the list while the call waited for its user.
    site = await database_sync_to_async(SiteSettings.current)()
    return await open_page(url, hosts=read_hosts(site.web_hosts), site=site.shown_name)
