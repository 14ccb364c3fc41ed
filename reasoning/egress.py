"""What the next request holds, what it leaves out and why, and what it costs.

A pure function of the log, the settings now and the target (product 8): strip, then include, then drop. Nothing stored
is ever changed by it. Requests, compaction and the preview use this one value, so they cannot disagree. It reads in
five steps: ``history`` (turns and steps), ``selection`` (what goes back), ``wire`` and ``wireitems`` (in the service's
own shape), ``preflight`` (the last look), ``contextsize`` (what it costs).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from reasoning.contextsize import RESERVE, UsageAnchor, anchor_for, event_tokens, request_tokens
from reasoning.dialects import Dialect, dialect_named
from reasoning.events import Event
from reasoning.history import History, read_history
from reasoning.policy import ReasoningSettings
from reasoning.preflight import Repair, alternating, checked_items, checked_messages
from reasoning.requestparams import chat_params, response_params
from reasoning.selection import Omission, Origin, SelectedTurn, Selector
from reasoning.wire import chat_messages
from reasoning.wireitems import question_item, response_items

COMPACT_AT = 0.8
UNKNOWN_CONTEXT_LIMIT = 32_000
COMPACTED = "Summary of the conversation so far:\n\n"

__all__ = ["EgressPlan", "Omission", "RequestTarget", "UsageAnchor", "plan_request"]


@dataclass(frozen=True, slots=True)
class RequestTarget:
    """Where a request goes. ``dialect`` is a name of ``reasoning.dialects``; none, or an unknown one, is the generic.

    ``context_limit`` in tokens, None where it is not known; ``compact_at`` is the share of it at which history is to be
    compacted; ``overhead_tokens`` estimates instructions and tools, which stand outside the plan.
    """

    api: Literal["chat", "responses"]
    model: str
    provider: str
    dialect: str | None = None
    context_limit: int | None = None
    compact_at: float = COMPACT_AT
    overhead_tokens: int = 0

    @property
    def limit(self) -> int:
        return self.context_limit or UNKNOWN_CONTEXT_LIMIT


@dataclass(frozen=True, slots=True)
class EgressPlan:
    """The next request without instructions and tools.

    ``notes`` say in words what could not be asked for; ``repairs`` what the preflight mended. ``offers_tools`` is false
    where the service takes none.
    """

    body: dict[str, Any]
    omissions: tuple[Omission, ...]
    effective_tokens: int
    stored_tokens: int
    should_compact: bool
    notes: tuple[str, ...] = ()
    repairs: tuple[Repair, ...] = ()
    offers_tools: bool = True

    @property
    def entries(self) -> list[dict[str, Any]]:
        """The messages, or the input items."""
        entries: list[dict[str, Any]] = self.body.get("messages") or self.body.get("input") or []
        return entries

    def anchored(self, input_tokens: int) -> UsageAnchor:
        """Return the anchor for later plans, once this request's input was reported as ``input_tokens``."""
        return anchor_for(self.entries, input_tokens)


def plan_request(
    events: Sequence[Event],
    settings: ReasoningSettings,
    target: RequestTarget,
    *,
    usage_anchor: UsageAnchor | int | None = None,
    omit_items: bool = False,
) -> EgressPlan:
    """Plan the next request from ``events`` (any order, all branches), deterministically.

    ``usage_anchor`` is what an earlier request was reported to cost (spec 001 BR-004). ``omit_items`` leaves opaque
    items out after the service refused them (replay D6).
    """
    dialect = dialect_named(target.dialect)
    history = read_history(events)
    selector = Selector(settings, dialect, Origin(target.api, target.model, target.provider), omit_items)
    turns = selector.select(history)
    made = _responses_body if target.api == "responses" else _chat_body
    body, notes, repairs = made(history, turns, selector, target.model)
    entries = body.get("messages") or body.get("input") or []
    effective = request_tokens(entries, usage_anchor, target.overhead_tokens)
    return EgressPlan(
        body=body,
        omissions=tuple(sorted(selector.omissions, key=lambda omission: omission.seq)),
        effective_tokens=effective,
        stored_tokens=effective + _unsent_tokens(events, selector.omissions),
        should_compact=effective > min(target.limit * target.compact_at, target.limit - RESERVE),
        notes=notes,
        repairs=repairs,
        offers_tools=dialect.takes_tools,
    )


_Made = tuple[dict[str, Any], tuple[str, ...], tuple[Repair, ...]]


def _chat_body(history: History, turns: Sequence[SelectedTurn], selector: Selector, model: str) -> _Made:
    dialect = selector.dialect
    messages: list[dict[str, Any]] = []
    if history.summary:
        messages.append({"role": "user", "content": COMPACTED + history.summary})
    for turn in turns:
        if turn.question:
            messages.append({"role": "user", "content": turn.question})
        for chosen in turn.steps:
            messages += chat_messages(chosen.step, dialect, placeholder=chosen.placeholder)
    if dialect.alternates_roles:
        messages = alternating(messages)
    messages, repairs = checked_messages(_with_unique_call_ids(messages))
    params, notes = chat_params(selector.settings, dialect, is_whole=_is_whole(selector, dialect))
    return {"model": model, "messages": messages, **params}, notes, repairs


def _responses_body(history: History, turns: Sequence[SelectedTurn], selector: Selector, model: str) -> _Made:
    items = [question_item(COMPACTED + history.summary)] if history.summary else []
    for turn in turns:
        if turn.question:
            items.append(question_item(turn.question))
        for chosen in turn.steps:
            items += response_items(chosen.step)
    items, repairs = checked_items(_with_unique_item_ids(items))
    params, notes = response_params(selector.settings, model)
    return {"model": model, "input": items, **params}, notes, repairs


def _is_whole(selector: Selector, dialect: Dialect) -> bool:
    """Say whether all reasoning text goes back, so that a service can be asked to keep it from turn to turn."""
    if not (dialect.keeps_whole and selector.settings.include_in_context):
        return False
    return not any(omission.rule in ("spec 001 BR-005", "product 3") for omission in selector.omissions)


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


def _with_unique_item_ids(items: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Do the same for input items; opaque ones are not looked into."""
    seen: dict[str, int] = {}
    current: dict[str, str] = {}
    for item in items:
        if item.get("type") == "function_call":
            current[item["call_id"]] = _unique(item["call_id"], seen)
            item["call_id"] = current[item["call_id"]]
        elif item.get("type") == "function_call_output":
            item["call_id"] = current.get(item["call_id"], item["call_id"])
    return items


def _unique(call_id: str, seen: dict[str, int]) -> str:
    seen[call_id] = seen.get(call_id, 0) + 1
    return call_id if seen[call_id] == 1 else f"{call_id}-{seen[call_id]}"


def _unsent_tokens(events: Sequence[Event], omissions: Sequence[Omission]) -> int:
    left_out = {omission.seq for omission in omissions}
    return sum(event_tokens(event) for event in events if event.active and event.seq in left_out)
