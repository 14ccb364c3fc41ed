"""The offline analyst: answers with no key and no network, by quoting filings. It does not reason, and says so.

It speaks chat completions like any model: it thinks aloud, calls ``searchFilings``, and answers from the tool message
alone, so that the trace is real.
"""

from __future__ import annotations

import asyncio
import json
import re
import secrets
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence
from typing import Any

from chat.providers.base import ProviderRequest
from chat.providers.offline.reply import Reply
from chat.providers.offline.steps import ToolRequest, decide
from reasoning.deltas import RawDelta, RawEnd, RawFields, RawUsage

_PIECES = re.compile(r"\S+\s*|\s+")
_ARGUMENT_PIECE_CHARS = 12


class OfflineAnalyst:
    """The provider of a fresh checkout. ``delay_ms`` paces its deltas, so that an answer streams as a model's does."""

    def __init__(self, *, delay_ms: float = 12.0, new_id: Callable[[], str] = lambda: secrets.token_hex(8)) -> None:
        self.name = "Offline analyst"
        self.model = "offline-analyst"
        self.identity = "offline"
        self.starts_in_reasoning = False
        self._delay_s = delay_ms / 1000
        self._new_id = new_id

    def request_body(self, request: ProviderRequest) -> dict[str, Any]:
        """Return what a service of this API would get; here nothing leaves the server."""
        head = [{"role": "system", "content": request.instructions}] if request.instructions else []
        body = {**request.body, "model": self.model, "messages": [*head, *(request.body.get("messages") or ())]}
        return {**body, "tools": list(request.tools)} if request.tools else body

    async def stream(self, request: ProviderRequest) -> AsyncGenerator[RawDelta, None]:
        """Yield the pieces of one response. Needs nothing from outside and never fails."""
        # In a thread: weighing a few hundred sentences takes milliseconds that other streams would wait for.
        step = await asyncio.to_thread(decide, request.body.get("messages") or (), request.tools)
        deltas = list(self._call(step) if isinstance(step, ToolRequest) else _said(step, request.instructions))
        for fields in deltas:
            yield RawFields(fields)
            await asyncio.sleep(self._delay_s)
        yield RawEnd("tool_calls" if isinstance(step, ToolRequest) else "stop", self.model)
        yield _usage(request, deltas)

    def _call(self, step: ToolRequest) -> Iterator[dict[str, Any]]:
        yield from ({"reasoning_content": piece} for piece in _PIECES.findall(step.thinking))
        arguments = _encoded(step.arguments).decode()
        function = {"name": step.tool, "arguments": ""}
        yield {"tool_calls": [{"index": 0, "id": f"call_{self._new_id()}", "type": "function", "function": function}]}
        for start in range(0, len(arguments), _ARGUMENT_PIECE_CHARS):
            piece = arguments[start : start + _ARGUMENT_PIECE_CHARS]
            yield {"tool_calls": [{"index": 0, "function": {"arguments": piece}}]}


def _said(reply: Reply, instructions: str) -> Iterator[dict[str, Any]]:
    """Yield a reply in the sections that the instructions ask for; with no instructions, in all but the scratchpad."""
    yield from ({"reasoning_content": piece} for piece in _PIECES.findall(reply.thinking))
    text = reply.answer
    if not instructions or "Reasoning Summary" in instructions:
        bullets = "\n".join(f"- {bullet}" for bullet in reply.summary)
        text = f"Reasoning Summary:\n{bullets}\n\nFinal Answer:\n{text}"
    if "<scratchpad>" in instructions and reply.notes:
        text = f"{text}\n\n<scratchpad>\n{reply.notes}\n</scratchpad>"
    yield from ({"content": piece} for piece in _PIECES.findall(text))


def _usage(request: ProviderRequest, deltas: Sequence[Mapping[str, Any]]) -> RawUsage:
    """Estimate token counts, four characters to a token; what was thought is contained in what was put out."""
    sent = len(request.instructions) + len(_encoded([request.body.get("messages"), *request.tools]))
    thought = sum(len(delta.get("reasoning_content", "")) for delta in deltas) // 4
    said = (
        sum(len(_encoded(delta)) - len('{"content":""}') for delta in deltas if "reasoning_content" not in delta) // 4
    )
    return RawUsage(sent // 4, thought + max(said, 0), thought)


def _encoded(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str).encode("utf-8", "replace")
