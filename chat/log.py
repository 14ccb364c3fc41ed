"""The event log: the only writer of ``Event`` rows, and the only reader of their sealed halves.

Every write is one transaction; ``seq`` is taken inside it, so that it rises without gaps in a conversation. What is
private (thinking, raw arguments, raw results) goes into the sealed half and comes out for two callers only: the next
request (``history``), and a viewer whose ``Visibility`` allows it (``thinking_for``). All functions are synchronous;
asynchronous callers wrap one call, not many. Product 3, 7, 10; spec 001 BR-002; spec 002.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import Max
from django.utils import timezone

from chat import sealing
from chat.models import Checkpoint, Conversation, Event, Turn
from reasoning.events import (
    AssistantMessage,
    Reasoning,
    ToolResult,
    TurnEnd,
    TurnStatus,
    UserMessage,
    event_from_json,
    event_to_json,
)
from reasoning.events import Event as CanonicalEvent
from reasoning.policy import Visibility
from reasoning.redaction import redact_text
from reasoning.tokens import estimate_tokens
from reasoning.wire import NOT_RUN

SCHEMA = 1
_COMMON = ("seq", "turn", "step", "type", "active")
SEALED_FIELDS: dict[str, tuple[str, ...]] = {
    "reasoning": ("text", "item", "details"),
    "tool_call": ("arguments",),
    "tool_result": ("output",),
    "compaction": ("summary",),
}
TITLE_CHARS = 60


class TurnRunning(Exception):
    """The conversation already has a running turn."""


class NotNewest(Exception):
    """A turn that is not the newest of its branch can't be replaced."""


@dataclass(frozen=True, slots=True)
class TurnRows:
    """A turn and the public halves of its events, in order."""

    turn: Turn
    events: tuple[Mapping[str, Any], ...]


@dataclass(frozen=True, slots=True)
class ThinkingText:
    """Thinking as one viewer may read it. ``tokens_est`` counts the whole of it."""

    text: str
    tokens_est: int
    truncated: bool


@transaction.atomic
def open_turn(conversation_id: uuid.UUID, *, text: str, client_id: str = "", replaces: Turn | None = None) -> Turn:
    """Start a turn with its ``user_message``. Raises TurnRunning, NotNewest.

    ``replaces`` takes the newest turn off the selected branch and puts the new one in its place (retry).
    """
    conversation = Conversation.objects.select_for_update().get(pk=conversation_id)
    if conversation.turns.filter(status=Turn.Status.RUNNING).exists():
        raise TurnRunning(str(conversation_id))
    newest = conversation.turns.filter(is_active=True).order_by("-number").first()
    if replaces and (newest is None or newest.pk != replaces.pk):
        raise NotNewest(str(replaces.pk))
    parent = replaces.parent if replaces else newest
    if replaces:
        conversation.turns.filter(pk=replaces.pk).update(is_active=False)
    turn = Turn.objects.create(
        conversation=conversation, parent=parent, number=(parent.number if parent else 0) + 1, client_id=client_id
    )
    _append(turn, [UserMessage(text=text)], {})
    conversation.title = conversation.title or _title(text)
    conversation.updated_at = timezone.now()
    conversation.save(update_fields=["title", "updated_at"])
    return turn


@transaction.atomic
def append(turn: Turn, events: Sequence[CanonicalEvent], traces: Mapping[str, Mapping[str, Any]] | None = None) -> None:
    """Append events in one transaction. ``traces`` are redacted trace steps by call id, kept beside their results."""
    Conversation.objects.select_for_update().get(pk=turn.conversation_id)
    _append(turn, events, traces or {})


@transaction.atomic
def close_turn(turn: Turn, events: Sequence[CanonicalEvent], *, status: TurnStatus, **figures: Any) -> None:
    """Append the last events with ``turn_end``, and set the turn's own figures. A closed turn is left as it is."""
    Conversation.objects.select_for_update().get(pk=turn.conversation_id)
    changed = Turn.objects.filter(pk=turn.pk, status=Turn.Status.RUNNING).update(
        status=status, ended_at=timezone.now(), **figures
    )
    if changed:
        _append(turn, [*events, TurnEnd(status=status)], {})
        Checkpoint.objects.filter(turn=turn).delete()
    turn.refresh_from_db()


def history(conversation_id: uuid.UUID) -> tuple[CanonicalEvent, ...]:
    """Return every canonical event, unsealed, by ``seq``; those off the selected branch have ``active`` false."""
    rows = (
        Event.objects.filter(conversation_id=conversation_id)
        .order_by("seq")
        .values_list("seq", "turn_id", "step", "type", "public", "sealed", "turn__is_active")
    )
    return tuple(_canonical(*row) for row in rows)


def turns(conversation_id: uuid.UUID) -> tuple[TurnRows, ...]:
    """Return the turns of the selected branch with their public halves, oldest first."""
    found = list(Turn.objects.filter(conversation_id=conversation_id, is_active=True).order_by("number", "started_at"))
    return _with_events(found)


def turn_rows(turn: Turn) -> TurnRows:
    """Return one turn with its public halves."""
    return _with_events([turn])[0]


def thinking_for(turn: Turn, sees: Visibility) -> ThinkingText | None:
    """Return the turn's thinking as this viewer may read it, redacted, or None. Product 4, 12."""
    if not sees.may_open_thinking:
        return None
    blocks = [
        sealing.unseal(row.sealed).get("text", "")
        for row in turn.events.filter(type=Reasoning.type, public__kind="text").order_by("seq")
        if row.sealed is not None
    ]
    whole = "\n\n".join(blocks)
    if not whole:
        return None
    text, truncated = sees.thinking_text(redact_text(whole))
    return ThinkingText(text, estimate_tokens(whole), truncated)


def save_checkpoint(turn: Turn, *, answer: str, thinking: str) -> None:
    """Keep what was released so far, for a restart. Thinking is sealed."""
    Checkpoint.objects.update_or_create(
        turn=turn, defaults={"answer": answer, "sealed": sealing.seal({"thinking": thinking})}
    )


def question_of(turn: Turn) -> str:
    """Return what the person asked in this turn."""
    return str(turn.events.filter(type=UserMessage.type).values_list("public", flat=True).get()["text"])


def open_calls(rows: TurnRows) -> tuple[Mapping[str, Any], ...]:
    """Return the public halves of calls that have no result."""
    answered = {(event["step"], event["call_id"]) for event in rows.events if event["type"] == "tool_result"}
    calls = (event for event in rows.events if event["type"] == "tool_call")
    return tuple(call for call in calls if (call["step"], call["call_id"]) not in answered)


def end_open_calls(turn: Turn) -> None:
    """Give every call without a result the constant one, shown as cancelled. Replay rule 8."""
    calls = open_calls(turn_rows(turn))
    results = [ToolResult(call_id=call["call_id"], output=NOT_RUN, ok=False, step=call["step"]) for call in calls]
    traces: dict[str, Mapping[str, Any]] = {
        call["call_id"]: {
            "tool": redact_text(call["name"][:80]),
            "args": {},
            "durationMs": 0,
            "results": None,
            "topCitations": [],
            "status": "cancelled",
        }
        for call in calls
    }
    if results:
        append(turn, results, traces)


def interrupt(turn: Turn) -> None:
    """End a turn that a dead process left running, with the text of its last checkpoint. Once, whoever calls."""
    kept = Checkpoint.objects.filter(turn=turn).first()
    end_open_calls(turn)
    events: list[CanonicalEvent] = []
    if kept is not None:
        step = (turn.events.aggregate(last=Max("step"))["last"] or 0) + 1
        thinking = sealing.unseal(kept.sealed)["thinking"] if kept.sealed is not None else ""
        if thinking:
            events.append(
                Reasoning(
                    kind="text", text=thinking, source_field="", model=turn.model, provider=turn.provider, step=step
                )
            )
        if kept.answer:
            events.append(AssistantMessage(text=kept.answer, partial=True, step=step))
    close_turn(turn, events, status="interrupted")


def purge_thinking(before: datetime) -> int:
    """Forget the sealed half of thinking recorded before a moment; return how many events. Product 3.

    The events stay, so order and counts do; at replay a purged one has nothing to send.
    """
    old = Event.objects.filter(type=Reasoning.type, created_at__lt=before, sealed__isnull=False)
    return old.update(sealed=None)


def opened_halves(turn_id: uuid.UUID) -> Iterator[tuple[str, Any]]:
    """Yield a turn's sealed halves, opened, each with its event's type, the checkpoint's last. For the audit alone.

    A half that no key opens is None.
    """
    events = Event.objects.filter(turn=turn_id, sealed__isnull=False).order_by("seq").values_list("type", "sealed")
    kept = Checkpoint.objects.filter(turn=turn_id, sealed__isnull=False).values_list("sealed", flat=True)
    for kind, token in (*events, *(("checkpoint", token) for token in kept)):
        yield kind, sealing.unseal_if_possible(token or b"")


def rotate_keys() -> int:
    """Seal everything again under the newest key; return how many halves. Safe to run twice and to interrupt."""
    count = 0
    for model in (Event, Checkpoint):
        for row in model.objects.filter(sealed__isnull=False).only("pk", "sealed").iterator():
            model.objects.filter(pk=row.pk).update(sealed=sealing.reseal(row.sealed or b""))
            count += 1
    return count


def _append(turn: Turn, events: Sequence[CanonicalEvent], traces: Mapping[str, Mapping[str, Any]]) -> None:
    last = Event.objects.filter(conversation_id=turn.conversation_id).aggregate(last=Max("seq"))["last"] or 0
    Event.objects.bulk_create(_row(turn, event, seq, traces) for seq, event in enumerate(events, start=last + 1))


def _row(turn: Turn, event: CanonicalEvent, seq: int, traces: Mapping[str, Mapping[str, Any]]) -> Event:
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


def _canonical(
    seq: int,
    turn_id: uuid.UUID,
    step: int | None,
    kind: str,
    public: dict[str, Any],
    sealed: Any,
    active: bool,
) -> CanonicalEvent:
    private = sealing.unseal(sealed) if sealed is not None else {}
    common = {"seq": seq, "turn": turn_id.hex, "step": step, "type": kind, "active": active}
    return event_from_json({**public, **private, **common})


def _with_events(found: Sequence[Turn]) -> tuple[TurnRows, ...]:
    by_turn: dict[uuid.UUID, list[Mapping[str, Any]]] = {turn.pk: [] for turn in found}
    rows = Event.objects.filter(turn__in=found).order_by("seq").values("turn_id", "step", "type", "public")
    for row in rows:
        by_turn[row["turn_id"]].append({**row["public"], "type": row["type"], "step": row["step"]})
    return tuple(TurnRows(turn, tuple(by_turn[turn.pk])) for turn in found)


def _title(text: str) -> str:
    line = " ".join(redact_text(text[:2000]).split())
    return line if len(line) <= TITLE_CHARS else line[:TITLE_CHARS].rsplit(" ", 1)[0] + "…"
