"""What the next request holds, what it leaves out and why, and what it costs.

A pure function of the log, the settings now and the target (product 8): strip, then include, then drop. Nothing stored
is ever changed by it. Requests, compaction and the preview use this one value, so they cannot disagree.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from reasoning.events import (
    AssistantMessage,
    Compaction,
    Event,
    Reasoning,
    ToolCall,
    ToolResult,
    TurnEnd,
    UserMessage,
)
from reasoning.policy import ReasoningSettings
from reasoning.tokens import estimate_tokens
from reasoning.wire import Step, chat_messages

COMPACT_AT = 0.8
UNKNOWN_CONTEXT_LIMIT = 32_000
COMPACTED = "Summary of the conversation so far:\n\n"


@dataclass(frozen=True, slots=True)
class RequestTarget:
    """Where a request goes. ``context_limit`` in tokens; None where it is not known."""

    api: Literal["chat", "responses"]
    model: str
    provider: str
    dialect: str | None = None
    context_limit: int | None = None


@dataclass(frozen=True, slots=True)
class Omission:
    """One event that is not sent, by the rule that says so. Unpacks as (seq, rule, reason)."""

    seq: int
    rule: str
    reason: str

    def __iter__(self) -> Iterator[int | str]:
        return iter((self.seq, self.rule, self.reason))


@dataclass(frozen=True, slots=True)
class EgressPlan:
    """The next request without instructions and tools."""

    body: dict[str, Any]
    omissions: tuple[Omission, ...]
    effective_tokens: int
    stored_tokens: int
    should_compact: bool


@dataclass(slots=True)
class _Turn:
    question: str = ""
    question_seq: int = 0
    steps: dict[int, Step] = field(default_factory=dict)
    end: str | None = None

    def step(self, index: int | None) -> Step:
        return self.steps.setdefault(index or 0, Step())

    @property
    def has_reasoning(self) -> bool:
        return any(step.reasoning for step in self.steps.values())


def plan_request(
    events: Sequence[Event],
    settings: ReasoningSettings,
    target: RequestTarget,
    *,
    usage_anchor: int | None = None,
) -> EgressPlan:
    """Plan the next request from ``events`` (any order, both branches), deterministically.

    ``usage_anchor`` is the reported input size of the last request in tokens; where it is larger than the estimate it
    counts (spec 001 BR-004). Raises ValueError for the Responses API, which this version does not build.
    """
    if target.api != "chat":
        raise ValueError("api: only 'chat' requests can be built")
    active = sorted((event for event in events if event.active), key=lambda event: event.seq)
    omissions: list[Omission] = []
    summary, active = _compacted(active, omissions)
    turns = _by_turn(active)
    kept = _kept_reasoning(turns, settings, omissions)
    messages: list[dict[str, Any]] = []
    if summary:
        messages.append({"role": "user", "content": COMPACTED + summary})
    for turn in turns:
        messages += _turn_messages(turn, kept, omissions, is_running=turn is turns[-1] and turn.end is None)
    body = {"model": target.model, "messages": _with_unique_call_ids(messages)}
    return _priced(body, events, omissions, target, usage_anchor)


def _compacted(events: list[Event], omissions: list[Omission]) -> tuple[str, list[Event]]:
    newest = next((event for event in reversed(events) if isinstance(event, Compaction)), None)
    if newest is None:
        return "", events
    below = [event for event in events if event.seq <= newest.to_seq]
    omissions += [Omission(event.seq, "compaction", "stands in the summary") for event in below]
    return newest.summary, [event for event in events if event.seq > newest.to_seq and event is not newest]


def _by_turn(events: Iterable[Event]) -> list[_Turn]:
    turns: dict[str, _Turn] = {}
    for event in events:
        turn = turns.setdefault(event.turn, _Turn())
        match event:
            case UserMessage():
                turn.question, turn.question_seq = event.text, event.seq
            case Reasoning():
                turn.step(event.step).reasoning.append(event)
            case AssistantMessage():
                turn.step(event.step).messages.append(event)
            case ToolCall():
                turn.step(event.step).calls.append(event)
            case ToolResult():
                turn.step(event.step).results[event.call_id] = event
            case TurnEnd():
                turn.end = event.status
    return list(turns.values())


def _kept_reasoning(
    turns: Sequence[_Turn], settings: ReasoningSettings, omissions: list[Omission]
) -> dict[int, Reasoning]:
    """Strip earlier turns, then include (spec 001 BR-005, BR-009); opaque kinds need their own wire form."""
    last = next((turn for turn in reversed(turns) if turn.has_reasoning), None)
    kept: dict[int, Reasoning] = {}
    for turn in turns:
        is_running = turn is turns[-1] and turn.end is None
        for block in (block for step in turn.steps.values() for block in step.reasoning):
            reason = _why_left_out(block, settings, is_running=is_running, is_last=turn is last)
            if reason:
                omissions.append(Omission(block.seq, *reason))
            else:
                kept[block.seq] = block
    return kept


def _why_left_out(
    block: Reasoning, settings: ReasoningSettings, *, is_running: bool, is_last: bool
) -> tuple[str, str] | None:
    if block.kind != "text":
        return ("spec 002 decision 3", "an opaque item has no place in a chat request")
    strip = settings.strip_from_context or "none"
    if not is_running and (strip == "all" or (strip == "allButLast" and not is_last)):
        return ("spec 001 BR-005", f"reasoning.stripFromContext is {strip}")
    if not settings.include_in_context:
        return ("spec 001 BR-001", "reasoning.includeInContext is off")
    return None


def _turn_messages(
    turn: _Turn, kept: dict[int, Reasoning], omissions: list[Omission], *, is_running: bool
) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = []
    if turn.question:
        messages.append({"role": "user", "content": turn.question})
    failed = turn.end != "completed" and not is_running
    for _index, step in sorted(turn.steps.items()):
        if failed:
            step = _finished_part(step, omissions)
        messages += chat_messages(step, [kept[block.seq] for block in step.reasoning if block.seq in kept])
    return messages


def _with_unique_call_ids(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Give a call id that a server used again a suffix, in its call and its result: it may stand once in a request."""
    seen: dict[str, int] = {}
    current: dict[str, str] = {}
    for message in messages:
        if message["role"] == "assistant":
            current = {call["id"]: _unique(call["id"], seen) for call in message.get("tool_calls", ())}
            for call in message.get("tool_calls", ()):
                call["id"] = current[call["id"]]
        elif message["role"] == "tool":
            message["tool_call_id"] = current.get(message["tool_call_id"], message["tool_call_id"])
    return messages


def _unique(call_id: str, seen: dict[str, int]) -> str:
    seen[call_id] = seen.get(call_id, 0) + 1
    return call_id if seen[call_id] == 1 else f"{call_id}-{seen[call_id]}"


def _finished_part(step: Step, omissions: list[Omission]) -> Step:
    """Of a failed turn keep the calls that were answered; partial text and reasoning stay in the log. Replay rule 5."""
    partial = [message for message in step.messages if message.partial]
    omissions += [Omission(message.seq, "spec 002 drop", "partial text of a failed turn") for message in partial]
    answered = [call for call in step.calls if call.call_id in step.results]
    if len(answered) < len(step.calls):
        omissions += [
            Omission(call.seq, "replay 5", "a call of a failed turn that never ran")
            for call in step.calls
            if call not in answered
        ]
    whole = [message for message in step.messages if not message.partial]
    reasoning = step.reasoning if answered else []
    return Step(reasoning=reasoning, messages=whole, calls=answered, results=step.results)


def _priced(
    body: dict[str, Any],
    events: Sequence[Event],
    omissions: Sequence[Omission],
    target: RequestTarget,
    usage_anchor: int | None,
) -> EgressPlan:
    effective = max(estimate_tokens(json.dumps(body["messages"], ensure_ascii=False)), usage_anchor or 0)
    left_out = {omission.seq for omission in omissions}
    unsent = sum(_size(event) for event in events if event.active and event.seq in left_out)
    limit = target.context_limit or UNKNOWN_CONTEXT_LIMIT
    return EgressPlan(
        body=body,
        omissions=tuple(sorted(omissions, key=lambda omission: omission.seq)),
        effective_tokens=effective,
        stored_tokens=effective + unsent,
        should_compact=effective > COMPACT_AT * limit,
    )


def _size(event: Event) -> int:
    match event:
        case Reasoning(kind="text") | UserMessage() | AssistantMessage():
            return estimate_tokens(event.text)
        case Reasoning():
            return estimate_tokens(json.dumps(event.item or event.details, ensure_ascii=False))
        case ToolCall():
            return estimate_tokens(event.arguments)
        case ToolResult():
            return estimate_tokens(event.output)
    return 0
