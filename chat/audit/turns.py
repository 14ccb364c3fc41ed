"""The event log, a turn at a time: private fields are encrypted, and open texts don't repeat the thinking.

A turn with thinking is decrypted in memory for that. A payload that no key decrypts can't be compared; whether it is
encrypted shows without a key. Product 3, 12.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from itertools import groupby
from typing import Any, Final, get_args

from chat.audit.rules import Finding, FindingKind, ThoughtMatcher, has_personal_data, is_fernet_token, leaves
from chat.eventlog.maintenance import decrypted_payloads
from chat.eventlog.serialization import PRIVATE_FIELDS
from chat.models import Attachment, Checkpoint, Conversation, Document, Event, PagePicture, Turn
from reasoning.events import AssistantMessage, Reasoning, ToolCall, ToolResult, UserMessage
from reasoning.events import Event as CanonicalEvent
from reasoning.redaction import SECRETS_ONLY, Redactor

BATCH_ROWS: Final = 100
EVENTS, TURNS = Event._meta.db_table, Turn._meta.db_table
CHECKPOINTS, CONVERSATIONS = Checkpoint._meta.db_table, Conversation._meta.db_table
# The text fields that the public payload of an event with a private payload may have.
PUBLIC_FIELDS: Final[Mapping[str, frozenset[str]]] = {
    kind.type: frozenset(field.name for field in fields(kind)) - {*PRIVATE_FIELDS[kind.type]} | {"tokens_est", "trace"}
    for kind in get_args(CanonicalEvent)
    if kind.type in PRIVATE_FIELDS
}


def scan_turns() -> Iterator[Finding]:
    """Yield unencrypted private fields, repeated thinking, and personal data where it should be masked."""
    events = Event.objects.order_by("turn_id", "seq").only("turn_id", "type", "public", "sealed")
    for turn_id, group in groupby(events.iterator(chunk_size=BATCH_ROWS), key=lambda event: event.turn_id):
        of_turn = list(group)
        for event in of_turn:
            yield from unsealed_or_unmasked(event)
        yield from repetitions(turn_id, of_turn)
    for checkpoint in Checkpoint.objects.filter(sealed__isnull=False).iterator(chunk_size=BATCH_ROWS):
        if not is_fernet_token(bytes(checkpoint.sealed or b"")):
            yield Finding(CHECKPOINTS, str(checkpoint.pk), "sealed", FindingKind.UNSEALED)
    for model, column in (
        (Attachment, "sealed_content"),
        (Attachment, "sealed_text"),
        (Document, "sealed_content"),
        (PagePicture, "sealed"),
    ):
        files = model._default_manager.filter(**{f"{column}__isnull": False}).values_list("pk", column)
        for pk, sealed in files.iterator(chunk_size=2):
            if not is_fernet_token(bytes(sealed)):
                yield Finding(model._meta.db_table, str(pk), column, FindingKind.UNSEALED)
    for table, rows, column in (
        (CONVERSATIONS, Conversation.all_objects.all(), "title"),
        (TURNS, Turn.objects.all(), "error_message"),
        (TURNS, Turn.objects.all(), "error_detail"),
    ):
        for pk, text in rows.exclude(**{column: ""}).values_list("pk", column).iterator(chunk_size=BATCH_ROWS):
            if has_personal_data(text):
                yield Finding(table, str(pk), column, FindingKind.PERSONAL)


def public_payload(event: Event) -> Mapping[str, Any]:
    return event.public if isinstance(event.public, dict) else {"": event.public}


def unsealed_or_unmasked(event: Event) -> Iterator[Finding]:
    """Yield private fields of an event that are readable, and personal data in its step or summary."""
    public, row = public_payload(event), str(event.pk)
    allowed = PUBLIC_FIELDS.get(event.type)
    for name, value in public.items():
        if allowed is not None and name not in allowed and any(leaf.text for leaf in leaves(value)):
            # another name may be anybody's words
            place = f"public.{name}" if name in PRIVATE_FIELDS[event.type] else "public"
            yield Finding(EVENTS, row, place, FindingKind.UNSEALED)
    if event.sealed is not None and not is_fernet_token(bytes(event.sealed)):
        yield Finding(EVENTS, row, "sealed", FindingKind.UNSEALED)

    step = public.get("trace")
    if isinstance(step, dict) and Redactor().redact_trace([step]) != Redactor(SECRETS_ONLY).redact_trace([step]):
        yield Finding(EVENTS, row, "public.trace", FindingKind.PERSONAL)
    summary = public.get("summary") if event.type == AssistantMessage.type else None
    if any(has_personal_data(leaf.text) for leaf in leaves(summary)):
        yield Finding(EVENTS, row, "public.summary", FindingKind.PERSONAL)


def repetitions(turn_id: uuid.UUID, events: Sequence[Event]) -> Iterator[Finding]:
    """Yield the places that repeat the thinking of a turn: decrypted in memory, compared, and dropped."""
    checkpoint = Checkpoint.objects.filter(turn=turn_id).first()
    if checkpoint is None and not any(event.type == Reasoning.type for event in events):
        return
    thoughts: list[str] = []
    # what thinking may repeat: the question with its files, the calls and the results
    known = [leaf.text for event in events if event.type == UserMessage.type for leaf in leaves(event.public)]
    for kind, payload in decrypted_payloads(turn_id):
        texts = [leaf.text for leaf in leaves(payload)]
        if kind in (Reasoning.type, "checkpoint"):
            thoughts += texts
        elif kind in (ToolCall.type, ToolResult.type, UserMessage.type):
            known += texts
    matcher = ThoughtMatcher(thoughts, known)
    if not matcher:
        return

    for event in events:
        for name, value in public_payload(event).items() if event.type != UserMessage.type else ():
            # an answer may have been drafted in the thinking, so only a whole thought counts
            is_answer = event.type == AssistantMessage.type and name == "text"
            repeats = matcher.finds_whole_in if is_answer else matcher.finds_run_in
            if any(repeats(leaf.text) for leaf in leaves(value)):
                place = f"public.{name}" if name in ("text", "summary", "citations", "trace") else "public"
                yield Finding(EVENTS, str(event.pk), place, FindingKind.REPEATED)
    if checkpoint and matcher.finds_whole_in(checkpoint.answer):
        yield Finding(CHECKPOINTS, str(checkpoint.pk), "answer", FindingKind.REPEATED)
    columns = ("error_message", "error_detail", "conversation_id", "conversation__title")
    error_message, error_detail, conversation_id, title = Turn.objects.values_list(*columns).get(pk=turn_id)
    of_turn = {"error_message": error_message, "error_detail": error_detail}
    yield from (
        Finding(TURNS, str(turn_id), at, FindingKind.REPEATED) for at in of_turn if matcher.finds_run_in(of_turn[at])
    )
    if matcher.finds_run_in(title):
        yield Finding(CONVERSATIONS, str(conversation_id), "title", FindingKind.REPEATED)
