"""Steps of history as the messages of chat completions.

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
from collections.abc import Mapping
from typing import Any

from reasoning.dialects import AS_IT_CAME, Dialect
from reasoning.events import Reasoning, ToolCall
from reasoning.history import Step

MOST_ARGUMENT_CHARS = 100_000  # 25,000 tokens in one call
NOT_RUN = "not executed: the turn ended before this call ran"
_TAG = re.compile(r"<(/?(?:think|thinking)\s*/?)>", re.IGNORECASE)


def chat_messages(step: Step, dialect: Dialect, *, placeholder: str = "") -> list[dict[str, Any]]:
    """Return a step, of which only what may be sent is left, as chat messages; an empty list where that is nothing.

    A reasoning field is present only where there is something for it (spec 001 EC-007), or ``placeholder``.
    """
    message: dict[str, Any] = {"role": "assistant"}
    if step.text:
        message["content"] = without_tags(step.text)
    ids = _ids(step, dialect)
    if step.calls:
        message["tool_calls"] = _signed([_call(call, ids[call.call_id]) for call in step.calls], step)
    if len(message) == 1:
        return []
    message.update(_reasoning_fields(step, dialect) or ({dialect.text_field: placeholder} if placeholder else {}))
    return [message, *(_result(call, step, ids[call.call_id]) for call in step.calls)]


def wire_id(call: ToolCall) -> str:
    """Return the id that came, or that of a stand-in: as long, for some services count, and the same every time."""
    return _stand_in_id(call) if _needs_stand_in(call) else call.call_id


def wire_name(call: ToolCall) -> str:
    """Return the name that came, or as much of it as services take."""
    return call.name if _NAME.fullmatch(call.name) else _NO_NAME.sub("_", call.name)[:64] or "unknown"


def wire_arguments(call: ToolCall) -> str:
    """Return the arguments byte for byte (product 10), or an empty object for what no service takes back."""
    return call.arguments if is_sendable(call.arguments) else "{}"


def is_sendable(arguments: str) -> bool:
    """Say whether this is a JSON object by the letter (Python alone would take NaN), and of a size to send again."""
    try:
        return len(arguments) <= MOST_ARGUMENT_CHARS and isinstance(json.loads(arguments, parse_constant=_refuse), dict)
    except (ValueError, RecursionError):
        return False


def without_tags(text: str) -> str:
    """Return an answer without thinking tags: services refuse them in history, and models imitate them."""
    return _TAG.sub(r"‹\1›", text) if "<" in text else text


def _refuse(constant: str) -> None:
    raise ValueError(constant)


def _needs_stand_in(call: ToolCall) -> bool:
    return not (is_sendable(call.arguments) and call.call_id) or call.call_id.startswith(_OTHER_API)


def _stand_in_id(call: ToolCall) -> str:
    return hashlib.sha256(call.call_id.encode("utf-8", "replace")).hexdigest()[: max(9, len(call.call_id))][:64]


def _ids(step: Step, dialect: Dialect) -> dict[str, str]:
    """Return the ids that the calls go back under. Where a service signs a step, its calls have stand-ins together."""
    together = dialect.takes_signatures and any(_needs_stand_in(call) for call in step.calls)
    return {call.call_id: _stand_in_id(call) if together else wire_id(call) for call in step.calls}


def _call(call: ToolCall, call_id: str) -> dict[str, Any]:
    function = {"name": wire_name(call), "arguments": wire_arguments(call)}
    return {"id": call_id, "type": "function", "function": function}


def _result(call: ToolCall, step: Step, call_id: str) -> dict[str, Any]:
    result = step.results.get(call.call_id)
    return {"role": "tool", "tool_call_id": call_id, "content": result.output if result else NOT_RUN}


def _signed(calls: list[dict[str, Any]], step: Step) -> list[dict[str, Any]]:
    """Put the signatures of a service back on the calls that they came on, as they came."""
    extras = {
        block.item["call_id"]: block.item["extra_content"]
        for block in step.reasoning
        if block.kind == "signature" and isinstance(block.item, Mapping)
    }
    return [
        {**sent, "extra_content": extras[made.call_id]} if made.call_id in extras else sent
        for made, sent in zip(step.calls, calls, strict=True)
    ]


def _reasoning_fields(step: Step, dialect: Dialect) -> dict[str, Any]:
    details = [element for block in step.reasoning if block.kind == "details" for element in block.details]
    if details:
        return {"reasoning_details": details}  # they hold the text, too
    blocks = [block for block in step.reasoning if block.kind == "text" and block.text]
    if not blocks:
        return {}
    name = _came_as(blocks[0]) if dialect.text_field == AS_IT_CAME else dialect.text_field
    return {name: "\n\n".join(block.text for block in blocks)}


def _came_as(block: Reasoning) -> str:
    return _FIELDS.get(block.source_field, "reasoning_content")


_FIELDS = {"reasoning": "reasoning", "thinking": "thinking", "reasoning_details": "reasoning"}
_OTHER_API = ("fc_", "rs_")
_NAME = re.compile(r"[a-zA-Z0-9_.:-]{1,64}")
_NO_NAME = re.compile(r"[^a-zA-Z0-9_-]")
