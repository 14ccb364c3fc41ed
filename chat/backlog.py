"""Messages that were accepted while a turn ran: kept in the database until their own turn starts.

A client-made id is taken once, whether its message waits or has become a turn (htmx sends again after a reconnect).
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass

from django.db import transaction

from chat.models import Conversation, QueuedMessage, Turn


@dataclass(frozen=True, slots=True)
class Repeated:
    """A message with this client-made id was accepted before."""

    turn_id: uuid.UUID | None


def find_repeat(conversation_id: uuid.UUID, client_id: str) -> Repeated | None:
    """Return what an earlier message with this client-made id became, if there was one."""
    if not client_id:
        return None
    turn = Turn.objects.filter(conversation_id=conversation_id, client_id=client_id).only("id").first()
    if turn:
        return Repeated(turn.id)
    queued = QueuedMessage.objects.filter(conversation_id=conversation_id, client_id=client_id).exists()
    return Repeated(None) if queued else None


def waiting(conversation_id: uuid.UUID) -> tuple[QueuedMessage, ...]:
    """Return the messages that wait for the running turn, oldest first."""
    return tuple(QueuedMessage.objects.filter(conversation_id=conversation_id))


def enqueue(conversation_id: uuid.UUID, *, text: str, client_id: str, most: int) -> QueuedMessage | Repeated | None:
    """Keep a message until the running turn ends; None when ``most`` wait already. A repeat is not kept again."""
    with transaction.atomic():
        Conversation.objects.select_for_update().get(pk=conversation_id)
        repeat = find_repeat(conversation_id, client_id)
        if repeat is not None:
            return repeat
        if QueuedMessage.objects.filter(conversation_id=conversation_id).count() >= most:
            return None
        return QueuedMessage.objects.create(conversation_id=conversation_id, text=text, client_id=client_id)


def take_oldest(conversation_id: uuid.UUID) -> QueuedMessage | None:
    """Take the oldest waiting message out; None when nothing waits. The caller holds the lock of the conversation.

    A message that has become a turn in the meantime (sent twice at the same moment) is dropped: it would be refused
    for ever, and all behind it would wait. Whoever asks second, in another process, finds it gone.
    """
    for waiting in QueuedMessage.objects.filter(conversation_id=conversation_id):
        waiting.delete()
        if not (waiting.client_id and _has_turn(conversation_id, waiting.client_id)):
            return waiting
    return None


def _has_turn(conversation_id: uuid.UUID, client_id: str) -> bool:
    return Turn.objects.filter(conversation_id=conversation_id, client_id=client_id).exists()
