"""Read the log: canonical events for the next request, and what users may see of a turn."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from django.db import connection

from chat.eventlog import attachments, encryption
from chat.eventlog.serialization import ThinkingText, TurnRecord, from_row, load_records
from chat.models import Checkpoint, Event, Turn
from chat.tools.passages import passages_from_json
from reasoning.citations import Source
from reasoning.events import Continuation, Reasoning, ToolResult, TurnEnd, UserMessage
from reasoning.events import Event as CanonicalEvent
from reasoning.redaction import StreamRedactor, redact_text
from reasoning.replay.tokens import estimate_tokens
from reasoning.visibility import EXCERPT_CHARS, Visibility

# Characters: a little more than an excerpt, so that mostly one piece is enough.
REDACTED_AT_ONCE = 1000
# Written out, since every request is planned from it: building it anew takes longer than reading a short log.
_HISTORY = """
SELECT event.seq, event.turn_id, event.step, event.type, event.schema, event.public, event.sealed, turn.is_active
FROM chat_event event JOIN chat_turn turn ON turn.id = event.turn_id
WHERE event.conversation_id = %s AND turn.deleted_at IS NULL ORDER BY event.seq
"""


def history(
    conversation_id: uuid.UUID, *, with_images: bool = False, of: Turn | None = None
) -> tuple[CanonicalEvent, ...]:
    """Return the canonical events of turns that are not deleted, decrypted, by ``seq``.

    Those off the selected branch have ``active`` false.

    ``of``: the turn whose request is planned. The second of a comparison is on the branch in place of the first.
    Texts of attached files are loaded, and images for models that take them.
    """
    with connection.cursor() as cursor:
        cursor.execute(_HISTORY, [conversation_id.hex])
        events = [from_row(*row) for row in cursor.fetchall()]
    if of and of.is_beside and of.compared_with_id:
        swapped = {of.public_id: True, of.compared_with_id.hex: False}
        events = [replace(event, active=swapped.get(event.turn, event.active)) for event in events]
    return attachments.load_contents(events, with_images=with_images)


def turns(
    conversation_id: uuid.UUID, *, since: int = 1, before: int | None = None, newest: int | None = None
) -> tuple[TurnRecord, ...]:
    """Return the turns of the selected branch, oldest first.

    All of them, or those numbered from ``since`` to ``before``, or so many of the ``newest``.
    """
    found = Turn.objects.filter(conversation_id=conversation_id, is_active=True)
    found = found.filter(number__gte=since) if since > 1 else found
    found = found.filter(number__lt=before) if before is not None else found
    listed = found.select_related("feedback", "stored_card").order_by("-number", "-started_at")
    return load_records([*listed[:newest]][::-1])


def turn_record(turn: Turn, *, has_versions: bool = True) -> TurnRecord:
    """Return one turn with its public payloads; ``has_versions``: others may have been asked in its place."""
    return load_records([turn], has_versions=has_versions)[0]


def as_it_was(record: TurnRecord, at: datetime) -> TurnRecord:
    """Return a turn that had ended at a time without what has continued it since. Product 41."""
    if record.turn.resumed_at is None or record.turn.resumed_at <= at:
        return record
    # Read anew: its stored HTML is that of the whole answer.
    turn = Turn.objects.get(pk=record.turn.pk)
    written = turn.events.filter(created_at__lte=at).order_by("seq")
    end, count = written.filter(type=TurnEnd.type).last(), written.count()
    if end:
        turn.status, turn.ended_at, turn.resumed_at = end.public["status"], end.created_at, None
        # What the continuation has overwritten. Of completed answers only those that were too long are continued.
        turn.error_code = "length" if turn.status == Turn.Status.COMPLETED else ""
        # The continuation says what the turn had; one of an earlier version doesn't, and then nothing is known.
        said = next((event for event in record.events[count:] if event["type"] == Continuation.type), {})
        turn.model, turn.model_label = said.get("model", ""), said.get("model_label", "")
        turn.thinking_ms = said.get("thinking_ms", 0)
    return replace(record, turn=turn, events=record.events[:count])


def thinking_for(turn: Turn, sees: Visibility, *, until: datetime | None = None) -> ThinkingText | None:
    """Return the turn's thinking as this viewer may read it, redacted, or None. Of several turns: ``thinking_of``."""
    return thinking_of([turn], sees, until=until).get(turn.pk)


def thinking_of(
    turns: Sequence[Turn], sees: Visibility, *, until: datetime | None = None
) -> dict[uuid.UUID, ThinkingText]:
    """Return the thinking of those of these turns that have any, as this viewer may read it. Product 4, 12.

    ``until``: what was written later is left out.
    """
    if not sees.may_open_thinking:
        return {}
    rows = Event.objects.filter(turn__in=turns, type=Reasoning.type, public__kind="text", sealed__isnull=False)
    rows = rows.filter(created_at__lte=until) if until else rows
    blocks: dict[uuid.UUID, list[str]] = {}
    for turn_id, sealed in rows.order_by("seq").values_list("turn_id", "sealed"):
        blocks.setdefault(turn_id, []).append(encryption.decrypt(sealed or b"").get("text", ""))
    found = {}
    for turn_id, texts in blocks.items():
        if whole := "\n\n".join(texts):
            shown = redact_text(whole) if sees.thinking == "whole" else _redacted_start(whole, EXCERPT_CHARS + 1)
            text, truncated = sees.thinking_text(shown)
            # A plain str: checkpoints are stored as JSON, and msgspec encodes no SafeText.
            found[turn_id] = ThinkingText(str(text), estimate_tokens(whole), truncated)
    return found


def _redacted_start(text: str, chars: int) -> str:
    """Return the redacted text, or at least so many of its first characters: all of a long one takes seconds."""
    redactor, start = StreamRedactor(), ""
    for at in range(0, len(text), REDACTED_AT_ONCE):
        start += redactor.feed(text[at : at + REDACTED_AT_ONCE])
        if len(start) >= chars:
            return start
    return start + redactor.flush()


def running_turn(conversation_id: uuid.UUID, *, beside: bool = False) -> Turn | None:
    """Return the running turn of a conversation, in whichever process it runs; ``beside``: the second of two."""
    running = Turn.objects.filter(conversation_id=conversation_id, status=Turn.Status.RUNNING)
    return running.filter(is_active=not beside).first()


def checkpoint_answer(turn_id: uuid.UUID) -> str:
    """Return the stored part of the answer of a running turn."""
    return Checkpoint.objects.filter(turn=turn_id).values_list("answer", flat=True).first() or ""


def checkpoint_thinking(turn_id: uuid.UUID) -> str:
    """Return the stored part of the redacted thinking of a running turn. To show it, ask ``Visibility``."""
    sealed = Checkpoint.objects.filter(turn=turn_id).values_list("sealed", flat=True).first()
    return str(encryption.decrypt(sealed).get("thinking", "")) if sealed is not None else ""


def question_of(turn: Turn) -> str:
    """Return what the user asked in this turn."""
    return str(turn.events.filter(type=UserMessage.type).values_list("public", flat=True).get()["text"])


def sources_of(turn: Turn) -> tuple[Source, ...]:
    """Return the passages that the tools of a turn have found, under their numbers, as far as they can be read back."""
    sealed = (
        turn.events.filter(type=ToolResult.type, sealed__isnull=False).order_by("seq").values_list("sealed", flat=True)
    )
    outputs = (encryption.decrypt(each or b"").get("output", "") for each in sealed)
    return tuple(source for output in outputs for source in passages_from_json(output))


def open_calls(record: TurnRecord) -> tuple[Mapping[str, Any], ...]:
    """Return the public payloads of tool calls that have no result."""
    answered = {(event["step"], event["call_id"]) for event in record.events if event["type"] == "tool_result"}
    calls = (event for event in record.events if event["type"] == "tool_call")
    return tuple(call for call in calls if (call["step"], call["call_id"]) not in answered)
