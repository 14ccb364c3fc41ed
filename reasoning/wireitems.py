"""Steps of history as the input items of the Responses API.

Reasoning items go back verbatim, with their ids; calls and messages go without ids, so that a dropped reasoning item
harms nothing (replay 1.1). Items keep the order in which they came; the outputs follow the last call of their step.
"""

from __future__ import annotations

from typing import Any

from reasoning.events import AssistantMessage, Reasoning, ToolCall
from reasoning.history import Step
from reasoning.wire import NOT_RUN, wire_arguments, wire_id, wire_name, without_tags


def response_items(step: Step) -> list[dict[str, Any]]:
    """Return a step, of which only what may be sent is left, as input items."""
    items: list[dict[str, Any]] = []
    for part in step.parts:
        match part:
            case Reasoning(kind="item"):
                items.append(dict(part.item))
            case AssistantMessage() if part.text:
                items.append({"type": "message", "role": "assistant", "content": without_tags(part.text)})
            case ToolCall():
                items.append(_call(part))
    return [*items, *(_output(call, step) for call in step.calls)]


def question_item(text: str) -> dict[str, Any]:
    """Return a user's message as an input item."""
    return {"type": "message", "role": "user", "content": text}


def _call(call: ToolCall) -> dict[str, Any]:
    return {
        "type": "function_call",
        "call_id": wire_id(call),
        "name": wire_name(call),
        "arguments": wire_arguments(call),
    }


def _output(call: ToolCall, step: Step) -> dict[str, Any]:
    result = step.results.get(call.call_id)
    return {
        "type": "function_call_output",
        "call_id": wire_id(call),
        "output": result.output if result else NOT_RUN,
    }
