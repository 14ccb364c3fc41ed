"""Steps of history as the messages of chat completions.

One assistant message for each provider response, with all its calls; results directly behind it, in call order. A call
without a result gets a constant one, so that no request carries an open call. Replay rules 6 and 8.

A call is sent back as it came. One that no service accepts (arguments that are no JSON object or far too long, an id
of another API, no valid name) would fail every later request of its conversation, so it is replaced, under another id:
a service that checks the ids it issued must not recognise it. The log is not changed.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from reasoning.events import ToolCall
from reasoning.replay.attachments import joined_content
from reasoning.replay.dialects import AS_RECEIVED, Dialect
from reasoning.replay.history import HistoryStep
from reasoning.stream.normalizer import normalize_stream
from reasoning.stream.tags import blunt

MAX_ARGUMENT_CHARS = 100_000  # 25,000 tokens in one call
NOT_RUN = "not executed: the turn ended before this call ran"
_FIELDS = {"reasoning": "reasoning", "thinking": "thinking", "reasoning_details": "reasoning"}
_OTHER_API_PREFIXES = ("fc_", "rs_")
_NAME = re.compile(r"[a-zA-Z0-9_.:-]{1,64}")
_NOT_IN_NAME = re.compile(r"[^a-zA-Z0-9_-]")

Entry = dict[str, Any]


class CallIds:
    """Hand out each call id once per request: an id that a server used again gets a suffix."""

    def __init__(self) -> None:
        self._used: Counter[str] = Counter()

    def unique(self, call_id: str) -> str:
        self._used[call_id] += 1
        count = self._used[call_id]
        return call_id if count == 1 else f"{call_id}-{count}"


@dataclass(frozen=True, slots=True)
class Repair:
    """One thing that was repaired: the rule, and its index in the list."""

    rule: str
    index: int


def chat_messages(step: HistoryStep, dialect: Dialect, call_ids: CallIds, *, placeholder: str = "") -> list[Entry]:
    """Return a step, of which only what may be sent is left, as chat messages; an empty list where that is nothing.

    A reasoning field is present only where there is something for it (spec 001 EC-007), or ``placeholder``.
    """
    message: Entry = {"role": "assistant"}
    results: list[Entry] = []
    if step.text:
        message["content"] = without_tags(step.text)
    if step.calls:
        # Where a service signs a step, it refuses one that has some of its ids and not others.
        needs_stand_ins = dialect.takes_signatures and any(needs_stand_in(call) for call in step.calls)
        signatures = {
            block.item["call_id"]: {name: value for name, value in block.item.items() if name != "call_id"}
            for block in step.reasoning
            if block.kind == "signature" and isinstance(block.item, Mapping) and "call_id" in block.item
        }
        message["tool_calls"] = []
        for call in step.calls:
            call_id = call_ids.unique(stand_in_id(call) if needs_stand_ins else wire_id(call))
            function = {"name": wire_name(call), "arguments": wire_arguments(call)}
            signature = signatures.get(call.call_id, {})
            message["tool_calls"].append({"id": call_id, "type": "function", "function": function, **signature})
            results.append({"role": "tool", "tool_call_id": call_id, "content": call_output(call, step)})
    if len(message) == 1:
        return []
    message.update(reasoning_fields(step, dialect) or ({dialect.text_field: placeholder} if placeholder else {}))
    return [message, *results]


def join_roles(messages: Sequence[Entry]) -> list[Entry]:
    """Join neighbours of one role, for services that want questions and answers to alternate. Replay 9."""
    joined: list[Entry] = []
    for message in messages:
        before = joined[-1] if joined else None
        if before and before["role"] == message["role"] and message["role"] in ("user", "assistant"):
            joined[-1] = {**before, "content": joined_content(before.get("content"), message.get("content"))}
        else:
            joined.append(message)
    return joined


def repair_messages(messages: Sequence[Entry]) -> tuple[list[Entry], tuple[Repair, ...]]:
    """Return chat messages with each call answered once, directly behind it, and no result without its call.

    The last check before a request leaves. Selection is built so that nothing is found here; what is found all the same
    (an old row, a broken event) must not end a conversation for good. Replay 10.
    """
    repairs: list[Repair] = []
    repaired: list[Entry] = []
    open_ids: list[str] = []

    def close_calls(index: int) -> None:
        for call_id in open_ids:
            repairs.append(Repair("a call without its result", index))
            repaired.append({"role": "tool", "tool_call_id": call_id, "content": NOT_RUN})

    for index, message in enumerate(messages):
        if message["role"] == "tool":
            if message["tool_call_id"] in open_ids:
                open_ids.remove(message["tool_call_id"])
                repaired.append(message)
            else:
                repairs.append(Repair("a result without its call", index))
            continue
        close_calls(index)
        open_ids = [call["id"] for call in message.get("tool_calls", ())]
        if message["role"] == "assistant" and not (message.get("content") or open_ids):
            repairs.append(Repair("an assistant message without content", index))
        else:
            repaired.append(message)
    # The last message may have open calls, too.
    close_calls(len(messages))
    return repaired, tuple(repairs)


def wire_id(call: ToolCall) -> str:
    """Return the id that came, or the one that replaces it."""
    return stand_in_id(call) if needs_stand_in(call) else call.call_id


def wire_name(call: ToolCall) -> str:
    """Return the name that came, or as much of it as services accept."""
    return call.name if _NAME.fullmatch(call.name) else _NOT_IN_NAME.sub("_", call.name)[:64] or "unknown"


def wire_arguments(call: ToolCall) -> str:
    """Return the arguments byte for byte (product 10), or an empty object for what no service accepts."""
    return call.arguments if is_sendable(call.arguments) else "{}"


def call_output(call: ToolCall, step: HistoryStep) -> str:
    result = step.results.get(call.call_id)
    return result.output if result else NOT_RUN


def without_tags(text: str) -> str:
    """Return an answer without delimiters: services refuse them in history, and models imitate them.

    What the normaliser would leave is sent unchanged, for its tags are in code. Product 27.
    """
    blunted = blunt(text)
    if blunted == text or normalize_stream([{"content": text}]).visible == text.strip():
        return text
    return blunted


def is_sendable(arguments: str) -> bool:
    """Say whether this is a JSON object by the letter (Python alone accepts NaN), and not too long."""

    def refuse(constant: str) -> None:
        raise ValueError(constant)

    try:
        # The length first: parsing megabytes for every request would be slow.
        return len(arguments) <= MAX_ARGUMENT_CHARS and isinstance(json.loads(arguments, parse_constant=refuse), dict)
    except (ValueError, RecursionError):
        return False


def needs_stand_in(call: ToolCall) -> bool:
    return not (is_sendable(call.arguments) and call.call_id) or call.call_id.startswith(_OTHER_API_PREFIXES)


def stand_in_id(call: ToolCall) -> str:
    """Return an id of the same length, for some services count, and the same every time."""
    return hashlib.sha256(call.call_id.encode("utf-8", "replace")).hexdigest()[: max(9, len(call.call_id))][:64]


def reasoning_fields(step: HistoryStep, dialect: Dialect) -> Entry:
    details = [element for block in step.reasoning if block.kind == "details" for element in block.details]
    if details:
        return {"reasoning_details": details}  # they contain the text, too
    blocks = [block for block in step.reasoning if block.kind == "text" and block.text]
    if not blocks:
        return {}
    name = dialect.text_field
    if name == AS_RECEIVED:
        name = _FIELDS.get(blocks[0].source_field, "reasoning_content")
    return {name: "\n\n".join(block.text for block in blocks)}
