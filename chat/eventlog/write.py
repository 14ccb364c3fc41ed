"""Write the log: every function is one transaction and requires the turn's lease before it adds an event.

Inside another transaction it is part of that one (no savepoint): a failure rolls back all of it.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from django.db import connection, transaction
from django.db.models import Max
from django.utils import timezone

from accounts.models import User
from chat.eventlog import attachments, branches, encryption, leases
from chat.eventlog.branches import TurnRunningError
from chat.eventlog.read import open_calls, turn_record
from chat.eventlog.serialization import to_row
from chat.models import Checkpoint, Conversation, Event, QueuedMessage, StoredCard, Turn
from chat.observability import metrics
from reasoning.events import AssistantMessage, Continuation, ToolResult, TurnEnd, TurnStatus, UserMessage
from reasoning.events import Event as CanonicalEvent
from reasoning.redaction import redact_text
from reasoning.replay.wire.calls import NOT_RUN

_atomic = transaction.atomic(savepoint=False)
Traces = Mapping[str, Mapping[str, Any]]
# Answer, thinking (None where it is stored already), public state of the live turn.
Released = tuple[str, str | None, Mapping[str, Any]]


class InactiveBranchError(Exception):
    """A turn that is not on the selected branch can't be replaced."""


class LogPosition(NamedTuple):
    """Where a conversation is: its newest turn, and what runs or waits. ``last_seq``: of its log.

    ``newest``: with its number, what it is compared with and the newest ``context_anchor`` of the selected branch;
    None: no turn yet.
    ``has_queued``: messages are to be sent. ``running_of_owner``: how many turns of its owner run, wherever.
    """

    newest: Turn | None
    last_seq: int
    has_running: bool
    has_queued: bool
    running_of_owner: int


# Written out, since every turn of everybody starts with these: building them anew takes far longer than asking them.
_CONVERSATION = "SELECT * FROM chat_conversation WHERE id = %s"
_OWNER = "SELECT * FROM accounts_user WHERE id = %s"
_POSITION = """
SELECT newest.id, newest.number, newest.compared_with_id,
  EXISTS (SELECT 1 FROM chat_turn WHERE conversation_id = %(conversation)s AND status = 'running') AS has_running,
  (SELECT context_anchor FROM chat_turn
    WHERE conversation_id = %(conversation)s AND is_active AND context_anchor IS NOT NULL
    ORDER BY number DESC LIMIT 1) AS context_anchor,
  (SELECT MAX(seq) FROM chat_event WHERE conversation_id = %(conversation)s) AS last_seq,
  EXISTS (SELECT 1 FROM chat_queuedmessage
    WHERE conversation_id = %(conversation)s AND priority < %(held)s) AS has_queued,
  (SELECT COUNT(*) FROM chat_turn running JOIN chat_conversation own ON own.id = running.conversation_id
    WHERE running.status = 'running' AND own.owner_id = %(owner)s) AS running_of_owner
FROM (SELECT 1) always LEFT JOIN chat_turn newest ON newest.id = (
  SELECT id FROM chat_turn WHERE conversation_id = %(conversation)s AND is_active ORDER BY number DESC LIMIT 1)
"""


class EndedTurn(NamedTuple):
    """A turn that ended elsewhere. ``parent`` is its place in the list of all, which has parents first."""

    question: str
    answer: Sequence[AssistantMessage]
    status: TurnStatus
    model: str
    started_at: datetime
    ended_at: datetime
    parent: int | None
    is_active: bool = True


def lock_conversation(conversation_id: uuid.UUID) -> Conversation:
    """Return a conversation with its owner, locked until the end of the transaction.

    The owner is locked too, so that limits per person hold over conversations. Raises Conversation.DoesNotExist.
    """
    lock = " FOR UPDATE" if connection.features.has_select_for_update else ""  # SQLite has one writer at a time
    conversation = next(iter(Conversation.all_objects.raw(_CONVERSATION + lock, [conversation_id.hex])), None)
    if conversation is None or not conversation.is_visible:
        raise Conversation.DoesNotExist
    conversation.owner = User.objects.raw(_OWNER + lock, [conversation.owner_id])[0]
    return conversation


def read_position(conversation: Conversation) -> LogPosition:
    """Return what decides whether and where a turn may start in a locked conversation, in one statement."""
    params = {"conversation": conversation.pk.hex, "owner": conversation.owner_id, "held": QueuedMessage.Priority.HELD}
    newest: Any = Turn.objects.raw(_POSITION, params)[0]
    return LogPosition(
        newest=newest if newest.number else None,
        last_seq=newest.last_seq or 0,
        has_running=bool(newest.has_running),
        has_queued=bool(newest.has_queued),
        running_of_owner=newest.running_of_owner,
    )


def open_turn(
    conversation: Conversation,
    *,
    text: str,
    client_id: str = "",
    replaces: Turn | None = None,
    model: str = "",
    model_label: str = "",
    provider: str = "",
    title: str = "",
    attached: Collection[uuid.UUID] | None = None,
    position: LogPosition | None = None,
) -> Turn:
    """Start a turn with its ``user_message`` in a locked conversation.

    ``replaces`` takes that turn and all after it off the selected branch and puts the new one in its place.
    ``model``, its label and ``provider``: those that are expected to answer. ``title``: of a conversation without one.
    ``attached``: files of the message; None for those of the replaced one. ``position``: where it was read since the
    lock.
    Raises TurnRunningError, InactiveBranchError, UnknownAttachmentError.
    """
    # 1. The place of the turn: after the newest one, or beside the one that it replaces.
    position = position or read_position(conversation)
    if position.has_running:
        raise TurnRunningError(str(conversation.pk))
    if position.newest:
        branches.end_comparison(position.newest)  # without a choice the answer that is shown stays
    if replaces:
        present = conversation.turns.filter(pk=replaces.pk, is_active=True).first()
        if present is None:
            raise InactiveBranchError(str(replaces.pk))
        branches.deactivate_from(present)
        position = read_position(conversation)
        parent, number = present.parent, present.number
    else:
        parent = position.newest
        number = parent.number + 1 if parent else 1
    turn = Turn.objects.create(
        conversation=conversation,
        parent=parent,
        number=number,
        client_id=client_id,
        model=model,
        model_label=model_label,
        provider=provider,
        **leases.new_lease(),
    )
    # 2. Its question, with its files.
    if replaces and attached is None:
        files = attachments.attached_to(replaces)
    else:
        files = attachments.claim(conversation, attached or ())
    _append(turn, [UserMessage(text=text, attachments=files)], {}, after_seq=position.last_seq)
    # 3. The conversation moves to the top of the list, also out of the archive.
    conversation.title = conversation.title or title
    conversation.updated_at = timezone.now()
    conversation.archived_at = None
    conversation.save(update_fields=["title", "updated_at", "archived_at"])
    return turn


@_atomic
def open_beside(turn: Turn, *, text: str, model: str, model_label: str, provider: str) -> Turn:
    """Start a second turn with the question of one that was opened just now, for another model. Product 47."""
    beside = Turn.objects.create(
        conversation=turn.conversation,
        parent=turn.parent,
        number=turn.number,
        is_active=False,
        compared_with=turn,
        model=model,
        model_label=model_label,
        provider=provider,
        **leases.new_lease(),
    )
    _append(beside, [UserMessage(text=text, attachments=attachments.attached_to(turn))], {})
    turn.compared_with = beside
    turn.save(update_fields=["compared_with"])
    return beside


@_atomic
def reopen_turn(turn: Turn) -> None:
    """Let an ended turn run again in a locked conversation, so that its answer is continued. Product 41.

    Raises InactiveBranchError where another one was answered or chosen meanwhile, or this one runs.
    """
    again = {
        "status": Turn.Status.RUNNING,
        "resumed_at": timezone.now(),
        "ended_at": None,
        "stop_requested": False,
        "waiting_call": "",
        "waiting_digest": "",
        "error_code": "",
        "error_reason": "",
        "error_params": {},
        "error_message": "",
        "error_detail": "",
        "is_retryable": None,
        "retry_after_s": None,
    }
    ended = Turn.objects.filter(pk=turn.pk, is_active=True).exclude(status=Turn.Status.RUNNING)
    if not ended.update(**again, **leases.new_lease()):
        raise InactiveBranchError(str(turn.pk))
    turn.refresh_from_db()
    said = Continuation(model=turn.model, model_label=turn.model_label, thinking_ms=turn.thinking_ms)
    _append(turn, [said], {})
    StoredCard.objects.filter(turn=turn).delete()  # of the part so far


@_atomic
def save_unasked(replaces: Turn, text: str, attached: Collection[uuid.UUID] | None = None) -> Turn:
    """Store a question in the place of a turn without asking it: as a turn that was stopped before any text came.

    ``attached``: as of ``open_turn``. Raises TurnRunningError, InactiveBranchError, UnknownAttachmentError.
    """
    conversation = lock_conversation(replaces.conversation_id)
    turn = open_turn(conversation, text=text, replaces=replaces, attached=attached)
    close_turn(turn, (), status="aborted", error_code=Turn.UNASKED)
    return turn


@_atomic
def append(turn: Turn, events: Sequence[CanonicalEvent], traces: Traces | None = None) -> None:
    """Append events in one transaction. ``traces``: redacted trace steps by call id, stored beside their results.

    Raises LeaseLostError where another process has ended the turn.
    """
    leases.require(turn)
    _append(turn, events, traces or {})


@_atomic
def append_missing(turn: Turn, events: Sequence[CanonicalEvent], traces: Traces | None = None) -> None:
    """Append events unless they are the last ones of the turn, for a retry whose first attempt may have committed."""
    leases.require(turn)
    # Compared by value: the first attempt has given no event an id that could be looked up.
    last = turn.events.order_by("-seq").values_list("type", "step", "public")[: len(events)]
    rows = [to_row(turn, event, 0, traces or {}) for event in events]
    if list(last) != [(row.type, row.step, json.loads(json.dumps(row.public))) for row in reversed(rows)]:
        _append(turn, events, traces or {})


@_atomic
def close_turn(
    turn: Turn,
    events: Sequence[CanonicalEvent],
    *,
    status: TurnStatus,
    after_seq: int | None = None,
    has_checkpoint: bool = True,
    **fields: Any,
) -> bool:
    """Append the last events with ``turn_end``, and set the turn's own fields; False where it had ended before.

    ``after_seq``: the last ``seq`` of the conversation, where the caller knows it; ``has_checkpoint``: it may have one.
    """
    # Somebody may have set the clock back meanwhile.
    end = {"status": status, "ended_at": max(timezone.now(), turn.started_at), "sealed_answers": None, **fields}
    if not leases.held(turn).update(**end):
        turn.refresh_from_db()
        return False
    _append(turn, [*events, TurnEnd(status=status)], {}, after_seq=after_seq)
    if has_checkpoint:
        Checkpoint.objects.filter(turn=turn).delete()
    for name, value in end.items():
        setattr(turn, name, value)
    transaction.on_commit(metrics.TURN_ENDS.labels(turn.status, turn.error_code).inc)
    return True


@_atomic
def add_ended_turns(conversation: Conversation, ended: Sequence[EndedTurn]) -> None:
    """Store turns that ended elsewhere in a new conversation."""
    turns: list[Turn] = []
    events: list[Event] = []
    for each in ended:
        parent = None if each.parent is None else turns[each.parent]
        turn = Turn(
            conversation=conversation,
            parent=parent,
            number=parent.number + 1 if parent else 1,
            is_active=each.is_active,
            status=each.status,
            model=each.model,
            started_at=each.started_at,
            ended_at=each.ended_at,
        )
        turns.append(turn)
        of_turn: list[CanonicalEvent] = [UserMessage(text=each.question), *each.answer, TurnEnd(status=each.status)]
        events += [to_row(turn, event, seq, {}) for seq, event in enumerate(of_turn, len(events) + 1)]
    Turn.objects.bulk_create(turns)
    Event.objects.bulk_create(events)


def save_checkpoints(released: Mapping[uuid.UUID, Released]) -> None:
    """Store what was published so far: answer, thinking and public state by turn, in at most two statements."""
    now = timezone.now()
    rows = [
        Checkpoint(
            turn_id=turn_id,
            answer=answer,
            sealed=None if thinking is None else encryption.encrypt({"thinking": thinking}),
            state=state,
            updated_at=now,
        )
        for turn_id, (answer, thinking, state) in released.items()
    ]
    has_new_thinking = [row for row in rows if row.sealed is not None]
    others = [row for row in rows if row.sealed is None]
    fields = ["answer", "state", "updated_at"]
    for group, updated in ((has_new_thinking, [*fields, "sealed"]), (others, fields)):
        Checkpoint.objects.bulk_create(group, update_conflicts=True, unique_fields=["turn"], update_fields=updated)


def cancel_open_calls(turn: Turn) -> None:
    """Give every tool call without a result the constant one, shown as cancelled. Replay 8."""
    calls = open_calls(turn_record(turn))
    results = [ToolResult(call_id=call["call_id"], output=NOT_RUN, ok=False, step=call["step"]) for call in calls]
    cancelled = {"args": {}, "durationMs": 0, "results": None, "topCitations": [], "status": "cancelled"}
    traces = {call["call_id"]: {"tool": redact_text(call["name"][:80]), **cancelled} for call in calls}
    if results:
        append(turn, results, traces)


def _append(turn: Turn, events: Sequence[CanonicalEvent], traces: Traces, *, after_seq: int | None = None) -> None:
    # Only the process that holds the lease of the running turn appends to its conversation, so ``seq`` has no gaps. Two
    # that are compared take turns.
    if turn.compared_with_id:
        Conversation.all_objects.select_for_update().values_list("pk").get(pk=turn.conversation_id)
        after_seq = None
    if after_seq is None:
        after_seq = Event.objects.filter(conversation=turn.conversation_id).aggregate(last=Max("seq"))["last"] or 0
    Event.objects.bulk_create(to_row(turn, event, seq, traces) for seq, event in enumerate(events, start=after_seq + 1))
