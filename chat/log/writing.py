"""Writing: every function is one transaction, and asks for the turn's lease before it adds to the log.

Within another transaction it is a part of that one: what fails in it ends all of it.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from django.db import connection, transaction
from django.db.models import CharField, DateTimeField, Max, UUIDField
from django.utils import timezone

from accounts.prepared import Given, Prepared, PreparedUpdate
from chat import branches, leases, sealing
from chat.branches import TurnRunning
from chat.log.reading import open_calls, turn_rows
from chat.log.rows import row_of
from chat.models import Checkpoint, Conversation, Event, Turn
from chat.titles import title_from, title_from_answer
from reasoning.events import AssistantMessage, Reasoning, ToolResult, TurnEnd, TurnStatus, UserMessage
from reasoning.events import Event as CanonicalEvent
from reasoning.redaction import redact_text
from reasoning.wire import NOT_RUN

_together = transaction.atomic(savepoint=False)
_CONVERSATION = Given("conversation", UUIDField())
_LOCKED = Prepared(
    lambda: (
        Conversation.objects.at(Given("now", DateTimeField()))
        .filter(pk=_CONVERSATION)
        .select_for_update(of=("self",))
        .select_related("owner", "profile")
    )
)
_NEWEST = Prepared(lambda: Turn.objects.filter(conversation_id=_CONVERSATION, is_active=True).order_by("-number")[:1])
_LAST_SEQ = Prepared(
    lambda: Event.objects.filter(conversation_id=_CONVERSATION).order_by("-seq").values_list("seq", flat=True)[:1]
)
_TITLE = Given("title", CharField())
_ASKED = PreparedUpdate(
    lambda: (
        Conversation.everything.filter(pk=_CONVERSATION),
        {"title": _TITLE, "updated_at": Given("now", DateTimeField())},
    )
)
_NAMED = PreparedUpdate(lambda: (Conversation.everything.filter(pk=_CONVERSATION, is_renamed=False), {"title": _TITLE}))


class NotSelected(Exception):
    """A turn that is not on the selected branch can't be replaced."""


def locked(conversation_id: uuid.UUID) -> Conversation:
    """Return a conversation, its owner and its model, held until the end of the transaction.

    Raises Conversation.DoesNotExist.
    """
    found = _LOCKED.first(conversation=conversation_id, now=timezone.now())
    if found is None:
        raise Conversation.DoesNotExist(str(conversation_id))
    return found


def open_turn_in(
    conversation: Conversation,
    *,
    text: str,
    client_id: str = "",
    replaces: Turn | None = None,
    model: str = "",
    provider: str = "",
) -> Turn:
    """Start a turn with its ``user_message`` in a locked conversation. Raises TurnRunning, NotSelected.

    ``replaces`` takes that turn and all after it off the selected branch and puts the new one in its place. ``model``
    and ``provider``: those that are expected to answer.
    """
    newest = _NEWEST.first(conversation=conversation.pk)
    if newest and newest.status == Turn.Status.RUNNING:  # it is always the newest: no other branch can be selected
        raise TurnRunning(str(conversation.pk))
    if replaces and not conversation.turns.filter(pk=replaces.pk, is_active=True).exists():
        raise NotSelected(str(replaces.pk))
    parent = replaces.parent if replaces else newest
    if replaces:
        branches.take_off(replaces)
    turn = Turn.objects.create(
        conversation=conversation,
        parent=parent,
        number=(parent.number if parent else 0) + 1,
        client_id=client_id,
        model=model,
        provider=provider,
        **leases.fresh(),
    )
    _append(turn, [UserMessage(text=text)], {}, is_first=newest is None and replaces is None)
    conversation.title = conversation.title or title_from(text)
    conversation.updated_at = timezone.now()
    _ASKED.run(conversation=conversation.pk, title=conversation.title, now=conversation.updated_at)
    return turn


@_together
def keep_question(replaces: Turn, text: str) -> Turn:
    """Keep a question in the place of a turn without asking it: as one that was stopped before any text came.

    Raises TurnRunning, NotSelected.
    """
    turn = open_turn_in(locked(replaces.conversation_id), text=text, replaces=replaces)
    close_turn(turn, (), status="aborted", error_code=Turn.UNASKED)
    return turn


@_together
def append(turn: Turn, events: Sequence[CanonicalEvent], traces: Mapping[str, Mapping[str, Any]] | None = None) -> None:
    """Append events in one transaction. ``traces`` are redacted trace steps by call id, kept beside their results.

    Raises LeaseLost where another process has ended the turn.
    """
    _lock(turn)
    leases.require(turn)
    _append(turn, events, traces or {})


@_together
def append_missing(
    turn: Turn, events: Sequence[CanonicalEvent], traces: Mapping[str, Mapping[str, Any]] | None = None
) -> None:
    """Append events unless they are the last ones of the turn: the word that they were written may have been lost."""
    _lock(turn)
    leases.require(turn)
    last = turn.events.order_by("-seq").values_list("type", "step", "public")[: len(events)]
    rows = [row_of(turn, event, 0, traces or {}) for event in events]
    if list(last) != [(row.type, row.step, json.loads(json.dumps(row.public))) for row in reversed(rows)]:
        _append(turn, events, traces or {})


@_together
def close_turn(turn: Turn, events: Sequence[CanonicalEvent], *, status: TurnStatus, **figures: Any) -> None:
    """Append the last events with ``turn_end``, and set the turn's own figures. A closed turn is left as it is."""
    _lock(turn)
    end = {"status": status, "ended_at": timezone.now(), **figures}
    if not leases.held(turn).update(**end):
        turn.refresh_from_db()
        return
    _append(turn, [*events, TurnEnd(status=status)], {})
    if turn.number == 1 and status == "completed":
        _name_after_answer(turn, events)
    Checkpoint.objects.filter(turn=turn).delete()
    for name, value in end.items():
        setattr(turn, name, value)


def save_checkpoints(released: Mapping[uuid.UUID, tuple[str, str]]) -> None:
    """Keep what was released so far, for a restart: answer and thinking by turn, all in one statement."""
    now = timezone.now()
    rows = [
        Checkpoint(turn_id=turn_id, answer=answer, sealed=sealing.seal({"thinking": thinking}), updated_at=now)
        for turn_id, (answer, thinking) in released.items()
    ]
    fields = ["answer", "sealed", "updated_at"]
    Checkpoint.objects.bulk_create(rows, update_conflicts=True, unique_fields=["turn"], update_fields=fields)


def save_checkpoint(turn: Turn, *, answer: str, thinking: str) -> None:
    """Keep what was released so far of one turn."""
    save_checkpoints({turn.pk: (answer, thinking)})


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
                    kind="text",
                    text=thinking,
                    source_field="think_tags",
                    model=turn.model,
                    provider=turn.provider,
                    step=step,
                )
            )
        if kept.answer:
            events.append(AssistantMessage(text=kept.answer, partial=True, step=step))
    close_turn(turn, events, status="interrupted")


def _lock(turn: Turn) -> None:
    """Let no other process write to this conversation meanwhile. On SQLite the transaction itself sees to that."""
    if connection.features.has_select_for_update:
        Conversation.everything.select_for_update().values_list("pk").get(pk=turn.conversation_id)


def _name_after_answer(turn: Turn, last_events: Sequence[CanonicalEvent]) -> None:
    """Name a conversation after its first answer, unless its person named it. Thinking is never looked at."""
    texts = [event.text for event in last_events if isinstance(event, AssistantMessage)] or _recorded_answers(turn)
    title = title_from_answer(texts[-1]) if texts else ""
    if title:
        _NAMED.run(conversation=turn.conversation_id, title=title)


def _recorded_answers(turn: Turn) -> list[str]:
    recorded = turn.events.filter(type=AssistantMessage.type).order_by("seq").values_list("public", flat=True)
    return [str(public["text"]) for public in recorded]


def _append(
    turn: Turn, events: Sequence[CanonicalEvent], traces: Mapping[str, Mapping[str, Any]], *, is_first: bool = False
) -> None:
    last = 0 if is_first else _LAST_SEQ.first(conversation=turn.conversation_id) or 0
    Event.objects.bulk_create(row_of(turn, event, seq, traces) for seq, event in enumerate(events, start=last + 1))
