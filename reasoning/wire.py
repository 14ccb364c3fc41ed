"""Steps of history in a provider's own shape: chat-completions messages.

One assistant message for each provider response, with all its calls; results directly behind it, in call order. What a
call is missing is closed with a constant, so that no request carries an open call. Replay rules 6 and 8.

A call goes back as it came. One that no service would take back (arguments that are no JSON object or beyond all
measure, an id of another API, no proper name) would end every later request of its conversation, so a stand-in goes in
its place, under an id of its own: a service that checks what it issued must not take it for its own call. The log keeps
what came.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from reasoning.events import AssistantMessage, Reasoning, ToolCall, ToolResult

MOST_ARGUMENT_CHARS = 100_000  # 25,000 tokens in one call
NOT_RUN = "not executed: the turn ended before this call ran"


@dataclass(slots=True)
class Step:
    """What one provider response left behind, and the results of its calls."""

    reasoning: list[Reasoning] = field(default_factory=list)
    messages: list[AssistantMessage] = field(default_factory=list)
    calls: list[ToolCall] = field(default_factory=list)
    results: dict[str, ToolResult] = field(default_factory=dict)

    @property
    def text(self) -> str:
        return "\n\n".join(message.text for message in self.messages if message.text)


def chat_messages(step: Step, kept_reasoning: Sequence[Reasoning]) -> list[dict[str, Any]]:
    """Return the step as chat messages; an empty list where nothing of it may be sent.

    A reasoning field is present only where there is text for it (spec 001 EC-007); it goes back under the name that it
    came in, and tagged thinking under ``reasoning_content``.
    """
    message: dict[str, Any] = {"role": "assistant"}
    if step.text:
        message["content"] = step.text
    if step.calls:
        message["tool_calls"] = [_call(call) for call in step.calls]
    if len(message) == 1:
        return []
    message.update(_reasoning_field(kept_reasoning))
    return [message, *(_result(call, step.results) for call in step.calls)]


def _call(call: ToolCall) -> dict[str, Any]:
    arguments = call.arguments if _is_object(call.arguments) else "{}"
    return {"id": _id(call), "type": "function", "function": {"name": _name(call), "arguments": arguments}}


def _result(call: ToolCall, results: Mapping[str, ToolResult]) -> dict[str, Any]:
    result = results.get(call.call_id)
    return {"role": "tool", "tool_call_id": _id(call), "content": result.output if result else NOT_RUN}


def _id(call: ToolCall) -> str:
    """Return the id that came, or that of a stand-in: as long, for some services count, and the same every time."""
    if _is_object(call.arguments) and not call.call_id.startswith(_OTHER_API):
        return call.call_id
    return hashlib.sha256(call.call_id.encode("utf-8", "replace")).hexdigest()[: max(9, len(call.call_id))]


def _name(call: ToolCall) -> str:
    return call.name if _NAME.fullmatch(call.name) else _NO_NAME.sub("_", call.name)[:64] or "unknown"


def _is_object(arguments: str) -> bool:
    """Say whether this is a JSON object by the letter (Python alone would take NaN), and of a size to send again."""
    try:
        return len(arguments) <= MOST_ARGUMENT_CHARS and isinstance(json.loads(arguments, parse_constant=_refuse), dict)
    except (ValueError, RecursionError):
        return False


def _refuse(constant: str) -> None:
    raise ValueError(constant)


def _reasoning_field(kept: Sequence[Reasoning]) -> dict[str, Any]:
    text = "\n\n".join(block.text for block in kept if block.text)
    if not text:
        return {}
    name = next((block.source_field for block in kept if block.source_field in _FIELDS), "reasoning_content")
    return {name: text}


_FIELDS = ("reasoning_content", "reasoning", "thinking")
_OTHER_API = ("fc_", "rs_")
_NAME = re.compile(r"[a-zA-Z0-9_.:-]{1,64}")
_NO_NAME = re.compile(r"[^a-zA-Z0-9_-]")
