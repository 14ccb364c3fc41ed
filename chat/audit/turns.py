"""The event log, a turn at a time: private fields are encrypted, and open texts don't repeat the thinking.

A turn with thinking is decrypted in memory for that. A payload that no key decrypts can't be compared; whether it is
encrypted shows without a key. Product 3, 12.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import groupby
from typing import Any, Final, get_args

from django.db.models import QuerySet

from chat.audit.rules import (
    Finding,
    Kind,
    ThoughtMatcher,
    has_personal_data,
    is_fernet_token,
    leaves,
    step_has_personal_data,
)
from chat.eventlog.maintenance import decrypted_payloads
from chat.eventlog.serialization import PRIVATE_FIELDS
from chat.models import Checkpoint, Conversation, Event, Turn
from reasoning.events import AssistantMessage, Reasoning, ToolCall, ToolResult, UserMessage
from reasoning.events import Event as CanonicalEvent

BATCH_ROWS: Final = 100
CHECKPOINT: Final = "checkpoint"
_EVENTS, _TURNS = Event._meta.db_table, Turn._meta.db_table
_CHECKPOINTS, _CONVERSATIONS = Checkpoint._meta.db_table, Conversation._meta.db_table
_ADDED_FIELDS: Final = frozenset({"tokens_est", "trace"})
# The text fields that the public payload of an event with a private payload may have.
_PUBLIC_FIELDS: Final[Mapping[str, frozenset[str]]] = {
    kind.type: frozenset(field.name for field in fields(kind)) - set(PRIVATE_FIELDS[kind.type]) | _ADDED_FIELDS
    for kind in get_args(CanonicalEvent)
    if kind.type in PRIVATE_FIELDS
}


@dataclass(frozen=True, slots=True)
class _Row:
    pk: int
    turn: uuid.UUID
    type: str
    public: Mapping[str, Any]
    sealed: bytes | None


def scan_turns() -> Iterator[Finding]:
    """Yield unencrypted private fields, repeated thinking, and personal data where it should be masked."""
    for turn, rows in groupby(_rows(), key=lambda row: row.turn):
        yield from _scan_turn(turn, list(rows))
    for pk, sealed in Checkpoint.objects.filter(sealed__isnull=False).values_list("pk", "sealed").iterator():
        if sealed is not None and not is_fernet_token(bytes(sealed)):
            yield Finding(_CHECKPOINTS, str(pk), "sealed", Kind.UNSEALED)
    yield from _unmasked_column(Conversation.all_objects.exclude(title=""), "title", _CONVERSATIONS)
    yield from _unmasked_column(Turn.objects.exclude(error_message=""), "error_message", _TURNS)


def _rows() -> Iterator[_Row]:
    found = Event.objects.order_by("turn_id", "seq").values_list("pk", "turn_id", "type", "public", "sealed")
    for pk, turn, kind, public, sealed in found.iterator(chunk_size=BATCH_ROWS):
        payload = public if isinstance(public, dict) else {"": public}
        yield _Row(pk, turn, kind, payload, None if sealed is None else bytes(sealed))


def _scan_turn(turn: uuid.UUID, rows: Sequence[_Row]) -> Iterator[Finding]:
    for row in rows:
        yield from (Finding(_EVENTS, str(row.pk), column, Kind.UNSEALED) for column in _unsealed(row))
        yield from (Finding(_EVENTS, str(row.pk), column, Kind.PERSONAL) for column in _unmasked(row))
    checkpoint = Checkpoint.objects.filter(turn=turn).first()
    if checkpoint or any(row.type == Reasoning.type for row in rows):
        thoughts = _thoughts(turn, rows)
        if thoughts:
            yield from _repeats(thoughts, turn, rows, checkpoint)


def _unsealed(row: _Row) -> Iterator[str]:
    if (allowed := _PUBLIC_FIELDS.get(row.type)) is not None:
        for name, value in row.public.items():
            if name not in allowed and any(leaf.text for leaf in leaves(value)):
                yield f"public.{name}" if name in PRIVATE_FIELDS[row.type] else "public"
    if row.sealed is not None and not is_fernet_token(row.sealed):
        yield "sealed"


def _unmasked(row: _Row) -> Iterator[str]:
    step = row.public.get("trace")
    if isinstance(step, dict) and step_has_personal_data(step):
        yield "public.trace"
    summary = row.public.get("summary") if row.type == AssistantMessage.type else None
    if any(has_personal_data(leaf.text) for leaf in leaves(summary)):
        yield "public.summary"


def _thoughts(turn: uuid.UUID, rows: Sequence[_Row]) -> ThoughtMatcher:
    """Decrypt the turn: its thinking, and the question, calls and results whose words thinking may repeat."""
    thought: list[str] = []
    known = [leaf.text for row in rows if row.type == UserMessage.type for leaf in leaves(row.public)]
    for kind, payload in decrypted_payloads(turn):
        texts = [leaf.text for leaf in leaves(payload)]
        if kind in (Reasoning.type, CHECKPOINT):
            thought += texts
        elif kind in (ToolCall.type, ToolResult.type):
            known += texts
    return ThoughtMatcher(thought, known)


def _repeats(
    thoughts: ThoughtMatcher, turn: uuid.UUID, rows: Sequence[_Row], checkpoint: Checkpoint | None
) -> Iterator[Finding]:
    for row in rows:
        for name, value in row.public.items() if row.type != UserMessage.type else ():
            # an answer may have been drafted in the thinking, so only a whole thought counts
            is_answer = row.type == AssistantMessage.type and name == "text"
            repeats = thoughts.finds_whole_in if is_answer else thoughts.finds_run_in
            if any(repeats(leaf.text) for leaf in leaves(value)):
                place = f"public.{name}" if name in ("text", "summary", "citations", "trace") else "public"
                yield Finding(_EVENTS, str(row.pk), place, Kind.REPEATED)
    if checkpoint and thoughts.finds_whole_in(checkpoint.answer):
        yield Finding(_CHECKPOINTS, str(checkpoint.pk), "answer", Kind.REPEATED)
    columns = Turn.objects.values_list("error_message", "conversation_id", "conversation__title")
    error_message, conversation_id, title = columns.get(pk=turn)
    if thoughts.finds_run_in(error_message):
        yield Finding(_TURNS, str(turn), "error_message", Kind.REPEATED)
    if thoughts.finds_run_in(title):
        yield Finding(_CONVERSATIONS, str(conversation_id), "title", Kind.REPEATED)


def _unmasked_column(rows: QuerySet[Any], column: str, table: str) -> Iterator[Finding]:
    for pk, text in rows.values_list("pk", column).iterator(chunk_size=BATCH_ROWS):
        if has_personal_data(text):
            yield Finding(table, str(pk), column, Kind.PERSONAL)
