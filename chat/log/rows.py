"""What a row of the log holds: its two halves, and the way from a canonical event to a row and back."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import QuerySet, UUIDField

from accounts.prepared import Given, Prepared
from chat import branches, questions, sealing
from chat.html.asked import NOTHING, Asked
from chat.models import Event, Turn
from chat.payloads import SCHEMA, up_to_date
from reasoning.events import Event as CanonicalEvent
from reasoning.events import Reasoning, event_from_json, event_to_json
from reasoning.tokens import estimate_tokens

_COMMON = ("seq", "turn", "step", "type", "active")
SEALED_FIELDS: dict[str, tuple[str, ...]] = {
    "reasoning": ("text", "item", "details"),
    "tool_call": ("arguments",),
    "tool_result": ("output",),
    "compaction": ("summary",),
}


@dataclass(frozen=True, slots=True)
class TurnRows:
    """A turn and the public halves of its events, in order; where its answer may link, what was asked before."""

    turn: Turn
    events: tuple[Mapping[str, Any], ...]
    asked: Asked = NOTHING
    siblings: tuple[uuid.UUID, ...] = ()  # the turns asked in the same place, itself among them, oldest first


@dataclass(frozen=True, slots=True)
class ThinkingText:
    """Thinking as one viewer may read it. ``tokens_est`` counts the whole of it."""

    text: str
    tokens_est: int
    truncated: bool


def row_of(turn: Turn, event: CanonicalEvent, seq: int, traces: Mapping[str, Mapping[str, Any]]) -> Event:
    form = event_to_json(event)
    public = {key: value for key, value in form.items() if key not in _COMMON}
    private = {key: public.pop(key) for key in SEALED_FIELDS.get(event.type, ()) if key in public}
    if isinstance(event, Reasoning):
        public["tokens_est"] = estimate_tokens(event.text)
    trace = traces.get(public.get("call_id", ""))
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
        sealed=sealing.seal(private) if private else None,
    )


def canonical(
    seq: int,
    turn_id: uuid.UUID,
    step: int | None,
    kind: str,
    schema: int,
    public: dict[str, Any],
    sealed: Any,
    active: bool,
) -> CanonicalEvent:
    private = sealing.unseal(sealed) if sealed is not None else {}
    common = {"seq": seq, "turn": turn_id.hex, "step": step, "type": kind, "active": active}
    return event_from_json({**up_to_date(kind, schema, {**public, **private}), **common})


def _events() -> QuerySet[Event, Any]:
    return Event.objects.order_by("seq").values("turn_id", "step", "type", "schema", "public")


_OF_TURN = Prepared(lambda: _events().filter(turn_id=Given("turn", UUIDField())))


def with_events(found: Sequence[Turn]) -> tuple[TurnRows, ...]:
    by_turn: dict[uuid.UUID, list[Mapping[str, Any]]] = {turn.pk: [] for turn in found}
    for row in _OF_TURN.run(turn=found[0].pk) if len(found) == 1 else _events().filter(turn__in=found):
        public = up_to_date(row["type"], row["schema"], row["public"])
        by_turn[row["turn_id"]].append({**public, "type": row["type"], "step": row["step"]})
    asked = questions.asked_before(found[0].conversation_id, questions.linking(by_turn)) if found else {}
    siblings = branches.siblings(found)
    return tuple(
        TurnRows(turn, tuple(by_turn[turn.pk]), asked.get(turn.pk, NOTHING), siblings[turn.pk]) for turn in found
    )
