"""Reading: the canonical events for the next request, and what people may see of them."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any

from django.db.models import Max, UUIDField

from accounts.prepared import Given, Prepared
from chat import branches, sealing
from chat.log.rows import ThinkingText, TurnRows, canonical, with_events
from chat.models import Checkpoint, Event, Turn
from reasoning.events import Event as CanonicalEvent
from reasoning.events import Reasoning, UserMessage
from reasoning.policy import Visibility
from reasoning.redaction import redact_text
from reasoning.tokens import estimate_tokens

_HISTORY = Prepared(
    lambda: (
        Event.objects.filter(conversation_id=Given("conversation", UUIDField()))
        .order_by("seq")
        .values_list("seq", "turn_id", "step", "type", "schema", "public", "sealed", "turn__is_active")
    )
)


def history(conversation_id: uuid.UUID) -> tuple[CanonicalEvent, ...]:
    """Return every canonical event, unsealed, by ``seq``; those off the selected branch have ``active`` false."""
    return tuple(canonical(*row) for row in _HISTORY.run(conversation=conversation_id))


def turns(conversation_id: uuid.UUID, *, since: int = 1, before: int | None = None) -> tuple[TurnRows, ...]:
    """Return the turns of the selected branch with their public halves, oldest first; a window of them by number."""
    found = Turn.objects.filter(conversation_id=conversation_id, is_active=True)
    found = found.filter(number__gte=since) if since > 1 else found
    found = found.filter(number__lt=before) if before is not None else found
    return with_events(list(found.select_related("feedback").order_by("number", "started_at")))


def last_number(conversation_id: uuid.UUID) -> int:
    """Return the number of the newest turn of the selected branch; 0 where there is none."""
    found = Turn.objects.filter(conversation_id=conversation_id, is_active=True)
    return found.aggregate(last=Max("number"))["last"] or 0


def path_to(turn: Turn) -> tuple[TurnRows, ...]:
    """Return the turns of the branch that ends with this one, whatever is selected now, oldest first."""
    return with_events(branches.path_to(turn))


def turn_rows(turn: Turn) -> TurnRows:
    """Return one turn with its public halves."""
    return with_events([turn])[0]


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


def running_turn(conversation_id: uuid.UUID) -> Turn | None:
    """Return the turn that runs in a conversation, wherever it runs."""
    return Turn.objects.filter(conversation_id=conversation_id, status=Turn.Status.RUNNING).first()


def kept_answer(turn_id: uuid.UUID) -> str:
    """Return the answer of a running turn as far as it is kept."""
    return Checkpoint.objects.filter(turn=turn_id).values_list("answer", flat=True).first() or ""


def kept_thinking(turn_id: uuid.UUID) -> str:
    """Return the redacted thinking of a running turn as far as it is kept. Whoever shows it asks ``Visibility``."""
    sealed = Checkpoint.objects.filter(turn=turn_id).values_list("sealed", flat=True).first()
    return str(sealing.unseal(sealed).get("thinking", "")) if sealed is not None else ""


def question_of(turn: Turn) -> str:
    """Return what the person asked in this turn."""
    return str(turn.events.filter(type=UserMessage.type).values_list("public", flat=True).get()["text"])


def open_calls(rows: TurnRows) -> tuple[Mapping[str, Any], ...]:
    """Return the public halves of calls that have no result."""
    answered = {(event["step"], event["call_id"]) for event in rows.events if event["type"] == "tool_result"}
    calls = (event for event in rows.events if event["type"] == "tool_call")
    return tuple(call for call in calls if (call["step"], call["call_id"]) not in answered)
