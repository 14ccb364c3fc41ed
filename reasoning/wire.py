"""Steps of history in a provider's own shape: chat-completions messages.

One assistant message for each provider response, with all its calls; results directly behind it, in call order. What a
call is missing is closed with a constant, so that no request carries an open call. Replay rules 6 and 8.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from reasoning.events import AssistantMessage, Reasoning, ToolCall, ToolResult

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
    return {
        "id": call.call_id,
        "type": "function",
        "function": {"name": call.name, "arguments": _arguments(call)},
    }


def _arguments(call: ToolCall) -> str:
    """Return the exact string that came, unless it is no JSON object: then no service takes it back."""
    try:
        whole = json.loads(call.arguments)
    except ValueError:
        whole = None
    return call.arguments if isinstance(whole, dict) else "{}"


def _result(call: ToolCall, results: Mapping[str, ToolResult]) -> dict[str, Any]:
    result = results.get(call.call_id)
    return {"role": "tool", "tool_call_id": call.call_id, "content": result.output if result else NOT_RUN}


def _reasoning_field(kept: Sequence[Reasoning]) -> dict[str, Any]:
    text = "\n\n".join(block.text for block in kept if block.text)
    if not text:
        return {}
    name = next((block.source_field for block in kept if block.source_field in _FIELDS), "reasoning_content")
    return {name: text}


_FIELDS = ("reasoning_content", "reasoning", "thinking")
