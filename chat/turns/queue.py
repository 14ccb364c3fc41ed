"""The one way to start a turn: submit a message, or start the next one that is queued. Synchronous.

A message is stored in one transaction: as a turn where its conversation is idle, else in the queue of the conversation,
from which the end of the running turn starts the next. A client-made id is used once, whether its message is queued or
has become a turn (htmx sends again after a reconnect). The lock of the conversation orders all of this over processes.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass

from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import Value
from django.utils.translation import gettext as _

from chat import eventlog
from chat.models import Conversation, QueuedMessage, Turn
from chat.turns.start import StartedTurn, start_turn
from chat.validation import InvalidInputError, Message

MAX_QUEUED = 3


@dataclass(frozen=True, slots=True)
class Submission:
    """What became of a message: ``turn_id`` is None while it is queued; ``started`` is set by what started the turn."""

    turn_id: uuid.UUID | None
    started: StartedTurn | None = None


def submit(
    conversation_id: uuid.UUID, message: Message, *, replaces: Turn | None = None, may_wait: bool = True
) -> Submission:
    """Store a message. One whose client id was used before is ignored, and what became of that one is returned.

    ``replaces``: the turn in whose place to ask it. Raises Conversation.DoesNotExist and InvalidInputError:
    ``turn_running`` where it may not wait, ``queue_full``, ``too_many_turns``, ``not_selected``.
    """
    try:
        return _submit(conversation_id, message, replaces, may_wait=may_wait and replaces is None)
    except (InvalidInputError, IntegrityError):
        # Client ids are unique in the database, so a duplicate is looked for only after a refusal.
        if duplicate := find_duplicate(conversation_id, message.client_id):
            return duplicate
        raise
    except eventlog.InactiveBranchError as error:
        raise InvalidInputError("not_selected", _("This answer is not on the branch that is shown.")) from error


@transaction.atomic
def _submit(conversation_id: uuid.UUID, message: Message, replaces: Turn | None, *, may_wait: bool) -> Submission:
    conversation = eventlog.lock_conversation(conversation_id)
    running, queued = running_and_queued(conversation)
    if conversation.pk not in running and not queued:
        if len(running) >= settings.MAX_CONCURRENT_TURNS:
            words = _("You already have %(most)s answers in progress; wait for one or stop one.")
            raise InvalidInputError("too_many_turns", words % {"most": settings.MAX_CONCURRENT_TURNS})
        started = start_turn(conversation, message, replaces=replaces)
        return Submission(started.turn.pk, started)
    if replaces:
        raise InvalidInputError("turn_running", _("An answer is being written; stop it first."))
    if not may_wait:
        raise InvalidInputError("turn_running", _("An answer is being written in this conversation."))
    if duplicate := find_duplicate(conversation_id, message.client_id):
        return duplicate
    if queued >= MAX_QUEUED:
        words = _("%(most)s messages wait already; let one be answered first.")
        raise InvalidInputError("queue_full", words % {"most": MAX_QUEUED})
    QueuedMessage.objects.create(conversation=conversation, text=message.text, client_id=message.client_id)
    return Submission(None)


def running_and_queued(conversation: Conversation) -> tuple[set[uuid.UUID], int]:
    """Return the conversations of this owner in which a turn runs, and how many messages are queued in this one."""
    running = Turn.objects.filter(conversation__owner=conversation.owner_id, status=Turn.Status.RUNNING).order_by()
    queued = QueuedMessage.objects.filter(conversation=conversation).order_by()
    # One statement: every question of every user asks this.
    columns = (running.values_list(Value("turn"), "conversation"), queued.values_list(Value("message"), "conversation"))
    rows = list(columns[0].union(columns[1], all=True))
    return {pk for kind, pk in rows if kind == "turn"}, sum(kind == "message" for kind, _pk in rows)


@transaction.atomic
def start_next(conversation_id: uuid.UUID) -> StartedTurn | None:
    """Start a turn with the oldest queued message; None where a turn runs or nothing is queued."""
    try:
        conversation = eventlog.lock_conversation(conversation_id)
    except Conversation.DoesNotExist:  # deleted meanwhile
        return None
    if conversation.turns.filter(status=Turn.Status.RUNNING).exists():
        return None
    for queued in queued_messages(conversation_id):
        queued.delete()
        # Sent twice at the same moment, it may have become a turn: it would be refused for ever, and block the others.
        if not (queued.client_id and conversation.turns.filter(client_id=queued.client_id).exists()):
            return start_turn(conversation, Message(queued.text, queued.client_id))
    return None


def queued_messages(conversation_id: uuid.UUID) -> tuple[QueuedMessage, ...]:
    """Return the messages that wait for the running turn, oldest first."""
    return tuple(QueuedMessage.objects.filter(conversation=conversation_id))


def conversations_with_queue() -> list[uuid.UUID]:
    """Return the conversations where messages are queued and no turn runs."""
    queued = Conversation.objects.filter(queue__isnull=False).exclude(turns__status=Turn.Status.RUNNING)
    return list(queued.distinct().values_list("id", flat=True))


def find_duplicate(conversation_id: uuid.UUID, client_id: str) -> Submission | None:
    """Return what an earlier message with this client-made id became, if there was one."""
    if not client_id:
        return None
    same = {"conversation": conversation_id, "client_id": client_id}
    turn_id = Turn.objects.filter(**same).values_list("pk", flat=True).first()
    if turn_id or QueuedMessage.objects.filter(**same).exists():
        return Submission(turn_id)
    return None
