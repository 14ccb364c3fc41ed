"""The last look at a request before it leaves: what a service would refuse is repaired by dropping, and named.

The plan before it is built so that nothing is found here; what is found all the same (an old row, an event of another
hand) must not end a conversation for good. Replay rule 10.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from reasoning.wire import NOT_RUN

Entry = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Repair:
    """One thing that was mended: the rule, and where in the list it stood."""

    rule: str
    index: int


def checked_messages(messages: Sequence[Entry]) -> tuple[list[Entry], tuple[Repair, ...]]:
    """Return chat messages with each call answered once, directly behind it, and no result without its call."""
    repairs: list[Repair] = []
    kept: list[Entry] = []
    open_ids: list[str] = []
    for index, message in enumerate(messages):
        if message["role"] == "tool":
            if message["tool_call_id"] in open_ids:
                open_ids.remove(message["tool_call_id"])
                kept.append(message)
            else:
                repairs.append(Repair("a result without its call", index))
            continue
        kept += _closing(open_ids, index, repairs)
        open_ids = [call["id"] for call in message.get("tool_calls", ())]
        if message["role"] == "assistant" and not (message.get("content") or open_ids):
            repairs.append(Repair("an assistant message without content", index))
        else:
            kept.append(message)
    return [*kept, *_closing(open_ids, len(messages), repairs)], tuple(repairs)


def checked_items(items: Sequence[Entry]) -> tuple[list[Entry], tuple[Repair, ...]]:
    """Return input items where each reasoning item has a follower, and calls and outputs come in pairs."""
    repairs: list[Repair] = []
    calls = {item["call_id"] for item in items if item.get("type") == "function_call"}
    outputs = {item["call_id"] for item in items if item.get("type") == "function_call_output"}
    kept: list[Entry] = []
    for index, item in enumerate(items):
        broken = _broken(item, items, index, calls)
        if broken:
            repairs.append(Repair(broken, index))
            continue
        kept.append(item)
        if item.get("type") == "function_call" and item["call_id"] not in outputs:
            repairs.append(Repair("a call without its output", index))
            kept.append({"type": "function_call_output", "call_id": item["call_id"], "output": NOT_RUN})
    return kept, tuple(repairs)


def alternating(messages: Sequence[Entry]) -> list[Entry]:
    """Join neighbours of one role, for services that want questions and answers to alternate. Replay rule 9."""
    joined: list[Entry] = []
    for message in messages:
        before = joined[-1] if joined else None
        if before and before["role"] == message["role"] and message["role"] in ("user", "assistant"):
            joined[-1] = {**before, "content": f"{before.get('content', '')}\n\n{message.get('content', '')}".strip()}
        else:
            joined.append(message)
    return joined


def _closing(open_ids: Sequence[str], index: int, repairs: list[Repair]) -> Iterator[Entry]:
    for call_id in open_ids:
        repairs.append(Repair("a call without its result", index))
        yield {"role": "tool", "tool_call_id": call_id, "content": NOT_RUN}


def _broken(item: Mapping[str, Any], items: Sequence[Entry], index: int, calls: set[str]) -> str:
    if item.get("type") == "reasoning" and not _has_follower(items, index):
        return "reasoning without its following item"
    if item.get("type") == "function_call_output" and item["call_id"] not in calls:
        return "an output without its call"
    return ""


def _has_follower(items: Sequence[Entry], index: int) -> bool:
    following = next((item for item in items[index + 1 :] if item.get("type") != "reasoning"), {})
    return following.get("type") == "function_call" or following.get("role") == "assistant"
