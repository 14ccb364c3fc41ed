"""The two halves of the log, a turn at a time: what should be sealed, is; what lies open repeats nothing of it.

Only of a turn with thinking are the sealed halves opened, in memory. A half that no key opens can't be compared;
whether it is sealed shows without a key.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import groupby
from typing import Any, Final, get_args

from django.db.models import QuerySet

from chat import log
from chat.audit.encoded import is_token
from chat.audit.findings import Finding, Kind, has_personal_data, leaves, step_has_personal_data
from chat.audit.repeats import Thoughts
from chat.models import Checkpoint, Conversation, Event, Turn
from reasoning.events import AssistantMessage, Reasoning, ToolCall, ToolResult, UserMessage
from reasoning.events import Event as CanonicalEvent

ROWS_AT_ONCE: Final = 100
CHECKPOINT: Final = "checkpoint"
_EVENTS, _TURNS = Event._meta.db_table, Turn._meta.db_table
_CHECKPOINTS, _CONVERSATIONS = Checkpoint._meta.db_table, Conversation._meta.db_table
_ADDED: Final = frozenset({"tokens_est", "trace"})
# What the public half of an event with a sealed half may hold beside figures and flags.
_OPEN_FIELDS: Final[Mapping[str, frozenset[str]]] = {
    kind.type: frozenset(field.name for field in fields(kind)) - set(log.SEALED_FIELDS[kind.type]) | _ADDED
    for kind in get_args(CanonicalEvent)
    if kind.type in log.SEALED_FIELDS
}


@dataclass(frozen=True, slots=True)
class _Row:
    pk: int
    turn: uuid.UUID
    type: str
    public: Mapping[str, Any]
    sealed: bytes | None


def look_through_turns() -> Iterator[Finding]:
    """Yield what is unsealed, what repeats thinking, and personal data where it should be masked. Product 3, 12."""
    for turn, rows in groupby(_rows(), key=lambda row: row.turn):
        yield from _look_through_turn(turn, list(rows))
    yield from _look_through_checkpoints()
    yield from _masked(Conversation.everything.exclude(title=""), "title", _CONVERSATIONS)
    yield from _masked(Turn.objects.exclude(error_message=""), "error_message", _TURNS)


def _rows() -> Iterator[_Row]:
    found = Event.objects.order_by("turn_id", "seq").values_list("pk", "turn_id", "type", "public", "sealed")
    for pk, turn, kind, public, sealed in found.iterator(chunk_size=ROWS_AT_ONCE):
        half = public if isinstance(public, dict) else {"": public}
        yield _Row(pk, turn, kind, half, None if sealed is None else bytes(sealed))


def _look_through_turn(turn: uuid.UUID, rows: Sequence[_Row]) -> Iterator[Finding]:
    for row in rows:
        yield from (Finding(_EVENTS, str(row.pk), column, Kind.UNSEALED) for column in _unsealed(row))
        yield from (Finding(_EVENTS, str(row.pk), column, Kind.PERSONAL) for column in _unmasked(row))
    kept = Checkpoint.objects.filter(turn=turn).first()
    if kept or any(row.type == Reasoning.type for row in rows):
        thoughts = _thoughts(turn, rows)
        yield from _repeats(thoughts, turn, rows, kept) if thoughts else ()


def _unsealed(row: _Row) -> Iterator[str]:
    may = _OPEN_FIELDS.get(row.type)
    for name, value in row.public.items() if may is not None else ():
        if may is not None and name not in may and any(leaf.text for leaf in leaves(value)):
            yield f"public.{name}" if name in log.SEALED_FIELDS[row.type] else "public"
    if row.sealed is not None and not is_token(row.sealed):
        yield "sealed"


def _unmasked(row: _Row) -> Iterator[str]:
    step = row.public.get("trace")
    if isinstance(step, dict) and step_has_personal_data(step):
        yield "public.trace"
    if row.type == AssistantMessage.type and any(
        has_personal_data(leaf.text) for leaf in leaves(row.public.get("summary"))
    ):
        yield "public.summary"


def _thoughts(turn: uuid.UUID, rows: Sequence[_Row]) -> Thoughts:
    """Open the turn: what was thought, and what was asked, called and found, in whose words it was thought."""
    thought: list[str] = []
    known = [leaf.text for row in rows if row.type == UserMessage.type for leaf in leaves(row.public)]
    for kind, half in log.opened_halves(turn):
        texts = [leaf.text for leaf in leaves(half)]
        if kind in (Reasoning.type, CHECKPOINT):
            thought += texts
        elif kind in (ToolCall.type, ToolResult.type):
            known += texts
    return Thoughts(thought, known)


def _repeats(thoughts: Thoughts, turn: uuid.UUID, rows: Sequence[_Row], kept: Checkpoint | None) -> Iterator[Finding]:
    for row in rows:
        for name, value in row.public.items() if row.type != UserMessage.type else ():
            is_answer = row.type == AssistantMessage.type and name == "text"
            repeats = thoughts.are_whole_in if is_answer else thoughts.are_in
            if any(repeats(leaf.text) for leaf in leaves(value)):
                place = f"public.{name}" if name in ("text", "summary", "citations", "trace") else "public"
                yield Finding(_EVENTS, str(row.pk), place, Kind.REPEATED)
    if kept and thoughts.are_whole_in(kept.answer):
        yield Finding(_CHECKPOINTS, str(kept.pk), "answer", Kind.REPEATED)
    beside = Turn.objects.values_list("error_message", "conversation_id", "conversation__title").get(pk=turn)
    if thoughts.are_in(beside[0]):
        yield Finding(_TURNS, str(turn), "error_message", Kind.REPEATED)
    if thoughts.are_in(beside[2]):
        yield Finding(_CONVERSATIONS, str(beside[1]), "title", Kind.REPEATED)


def _look_through_checkpoints() -> Iterator[Finding]:
    for pk, sealed in Checkpoint.objects.filter(sealed__isnull=False).values_list("pk", "sealed").iterator():
        if sealed is not None and not is_token(bytes(sealed)):
            yield Finding(_CHECKPOINTS, str(pk), "sealed", Kind.UNSEALED)


def _masked(rows: QuerySet[Any], column: str, table: str) -> Iterator[Finding]:
    for pk, text in rows.values_list("pk", column).iterator(chunk_size=ROWS_AT_ONCE):
        if has_personal_data(text):
            yield Finding(table, str(pk), column, Kind.PERSONAL)
