"""Steps of history as the input items of the Responses API.

Reasoning items are sent back verbatim, with their ids; calls and messages without ids, so that a dropped reasoning item
harms nothing (spec 002 decision 3). Items are sent in the order in which they came, a message with the phase that this
model gave it; outputs follow the last call of their step.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from reasoning.events import AssistantMessage, Reasoning, ToolCall
from reasoning.replay.history import HistoryStep
from reasoning.replay.selection import Origin
from reasoning.replay.wire.chat import (
    NOT_RUN,
    CallIds,
    Entry,
    Repair,
    call_output,
    wire_arguments,
    wire_id,
    wire_name,
    without_tags,
)


def response_items(step: HistoryStep, call_ids: CallIds, origin: Origin) -> list[Entry]:
    """Return a step, of which only what may be sent is left, as input items for ``origin``."""
    items: list[Entry] = []
    outputs: list[Entry] = []
    for part in step.parts:
        match part:
            case Reasoning(kind="item"):
                items.append(dict(part.item))
            case AssistantMessage() if part.text:
                message = {"type": "message", "role": "assistant", "content": without_tags(part.text)}
                has_phase = part.phase and origin.is_same_model(part)
                items.append({**message, "phase": part.phase} if has_phase else message)
            case ToolCall():
                call_id = call_ids.unique(wire_id(part))
                call = {"call_id": call_id, "name": wire_name(part), "arguments": wire_arguments(part)}
                items.append({"type": "function_call", **call})
                output = call_output(part, step)
                outputs.append({"type": "function_call_output", "call_id": call_id, "output": output})
    return items + outputs


def question_item(content: str | list[Entry]) -> Entry:
    """Return a user's message as an input item."""
    return {"type": "message", "role": "user", "content": content}


def repair_items(items: Sequence[Entry]) -> tuple[list[Entry], tuple[Repair, ...]]:
    """Return input items where each reasoning item has a follower, and calls and outputs come in pairs.

    Selection is built so that nothing is found here; see ``repair_messages``.
    """
    repairs: list[Repair] = []
    calls = {item["call_id"] for item in items if item.get("type") == "function_call"}
    outputs = {item["call_id"] for item in items if item.get("type") == "function_call_output"}
    repaired: list[Entry] = []
    for index, item in enumerate(items):
        kind = item.get("type")
        if kind == "reasoning" and not has_follower(items, index):
            repairs.append(Repair("reasoning without its following item", index))
        elif kind == "function_call_output" and item["call_id"] not in calls:
            repairs.append(Repair("an output without its call", index))
        else:
            repaired.append(item)
        if kind == "function_call" and item["call_id"] not in outputs:
            repairs.append(Repair("a call without its output", index))
            repaired.append({"type": "function_call_output", "call_id": item["call_id"], "output": NOT_RUN})
    return repaired, tuple(repairs)


def has_follower(items: Sequence[dict[str, Any]], index: int) -> bool:
    following = next((item for item in items[index + 1 :] if item.get("type") != "reasoning"), {})
    return following.get("type") == "function_call" or following.get("role") == "assistant"
