"""Rows of the log: public and private payload, canonical event to row and back, and payloads of older schemas.

Rows are never rewritten. An event stores the schema it was written under and is upgraded each time it is read. A change
of what a payload contains adds a number to ``SCHEMA`` and the step that leads there from the number before.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from chat.eventlog import branches, encryption
from chat.models import Event, Turn
from reasoning.envelope import AnswerRecord, answer_record
from reasoning.events import Event as CanonicalEvent
from reasoning.events import Reasoning, ToolResult, event_from_json, event_to_json
from reasoning.replay.tokens import estimate_tokens

SCHEMA = 2
# Encrypted by type of event. Everything else is public: cards are drawn without any key.
PRIVATE_FIELDS: dict[str, tuple[str, ...]] = {
    "reasoning": ("text", "item", "details"),
    "tool_call": ("arguments",),
    "tool_result": ("output",),
    "compaction": ("summary",),
}
_COLUMNS = ("seq", "turn", "step", "type", "active")  # fields of a canonical event that have a column of their own


@dataclass(frozen=True, slots=True)
class TurnRecord:
    """A turn with the public payloads of its events, in order.

    ``versions``: what was asked in the same place, this turn among it. ``beside``: of the second of two that are
    compared, at the first.
    """

    turn: Turn
    events: tuple[Mapping[str, Any], ...]
    versions: branches.Versions = ()
    beside: TurnRecord | None = None

    def answer_record(self) -> AnswerRecord:
        """Return what the public payloads say of the answer."""
        turn = self.turn
        return answer_record(
            self.events,
            turn_id=turn.public_id,
            turn_status=turn.status,
            model=turn.model,
            error_code=turn.error_code,
            summary_source=turn.summary_source,
            tokens=(turn.input_tokens, turn.output_tokens, turn.reasoning_tokens),
        )


@dataclass(frozen=True, slots=True)
class ThinkingText:
    """Thinking as one viewer may read it. ``tokens_est`` counts all of it."""

    text: str
    tokens_est: int
    truncated: bool


def to_row(turn: Turn, event: CanonicalEvent, seq: int, traces: Mapping[str, Mapping[str, Any]]) -> Event:
    """Return the row of an event. ``traces``: redacted trace steps by call id, stored beside their results."""
    public, private = payloads(event)
    trace = traces.get(event.call_id) if isinstance(event, ToolResult) else None
    if trace is not None:
        public["trace"] = dict(trace)
    return Event(
        conversation_id=turn.conversation_id,
        turn=turn,
        seq=seq,
        step=event.step,
        type=event.type,
        schema=SCHEMA,
        public=public,
        sealed=encryption.encrypt(private) if private else None,
    )


def payloads(event: CanonicalEvent) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the public and the private payload of an event."""
    public = {key: value for key, value in event_to_json(event).items() if key not in _COLUMNS}
    private = {key: public.pop(key) for key in PRIVATE_FIELDS.get(event.type, ()) if key in public}
    if isinstance(event, Reasoning):
        # Cards show how long the thinking is without decrypting it.
        public["tokens_est"] = estimate_tokens(event.text)
    return public, private


def from_row(
    seq: int,
    turn_id: uuid.UUID | str,
    step: int | None,
    kind: str,
    schema: int,
    public: str,
    sealed: Any,
    active: bool | int,
) -> CanonicalEvent:
    """Return the canonical event of a row, decrypted. The values are as either database returns them."""
    private = encryption.decrypt(sealed) if sealed is not None else {}
    turn = str(turn_id).replace("-", "")
    columns = {"seq": seq, "turn": turn, "step": step, "type": kind, "active": bool(active)}
    return event_from_json({**upgrade_payload(kind, schema, {**json.loads(public), **private}), **columns})


def record_of(turn: Turn, events: Sequence[CanonicalEvent]) -> TurnRecord:
    """Return the record of a turn that ran no tools and replaced no other, of its events as they were written."""
    public = ({**payloads(event)[0], "type": event.type, "step": event.step} for event in events)
    return TurnRecord(turn, tuple(public))


def load_records(found: Sequence[Turn], *, has_versions: bool = True) -> tuple[TurnRecord, ...]:
    """Return these turns of one conversation with their public payloads."""
    if not found:
        return ()
    compared = [turn.compared_with_id for turn in found if turn.compared_with_id and turn.is_active]
    second = (
        load_records([*Turn.objects.filter(pk__in=compared).select_related("feedback", "stored_card")])
        if compared
        else ()
    )
    beside = {record.turn.compared_with_id: record for record in second}
    events: dict[uuid.UUID, list[Mapping[str, Any]]] = {turn.pk: [] for turn in found}
    rows = Event.objects.filter(turn__in=events).order_by("seq")
    for turn_id, step, kind, schema, public in rows.values_list("turn_id", "step", "type", "schema", "public"):
        events[turn_id].append({**upgrade_payload(kind, schema, public), "type": kind, "step": step})
    versions = branches.versions(found if has_versions else ())
    return tuple(
        TurnRecord(turn, tuple(events[turn.pk]), versions.get(turn.pk, ()), beside.get(turn.pk)) for turn in found
    )


def upgrade_payload(kind: str, schema: int, payload: Mapping[str, Any]) -> dict[str, Any]:
    """Return the payload of an event of ``kind`` in today's schema. One of a later schema is left unchanged."""
    current = dict(payload)
    for number in range(schema, SCHEMA):
        current = _UPGRADES[number](kind, current)
    return current


def _name_source_field(kind: str, payload: dict[str, Any]) -> dict[str, Any]:
    # Schema 1 left the field of thinking empty where it was not native: it came in tags, or from a checkpoint.
    if kind == "reasoning" and payload.get("kind") == "text" and not payload.get("source_field"):
        return {**payload, "source_field": "think_tags"}
    return payload


_UPGRADES: Mapping[int, Callable[[str, dict[str, Any]], dict[str, Any]]] = {1: _name_source_field}
