"""How a turn begins: recorded, with the model that answers it, in one transaction. All functions are synchronous."""

from __future__ import annotations

import uuid
from dataclasses import dataclass

from django.db import IntegrityError, transaction

from chat import backlog, log, upstream
from chat.models import Conversation, Turn


@dataclass(frozen=True, slots=True)
class Opened:
    """A turn that is in the log and runs nowhere yet. ``turn.conversation`` is as it was read for it."""

    turn: Turn
    question: str
    chosen: upstream.ChosenModel


def open_turn(
    conversation_id: uuid.UUID, *, text: str, client_id: str = "", replaces: Turn | None = None
) -> Opened | backlog.Repeated:
    """Start a turn, unless this message was accepted before. Raises TurnRunning, NotSelected.

    A client-made id is unique in the database, so it is looked for only where that refuses it.
    """
    try:
        with transaction.atomic():
            return _opened(log.locked(conversation_id), text, client_id, replaces)
    except IntegrityError:
        if repeat := backlog.find_repeat(conversation_id, client_id):
            return repeat
        raise


@transaction.atomic
def open_queued_turn(conversation_id: uuid.UUID) -> Opened | None:
    """Start a turn with the oldest waiting message; None where nothing waits. Raises TurnRunning."""
    try:
        conversation = log.locked(conversation_id)
    except Conversation.DoesNotExist:  # deleted meanwhile
        return None
    waiting = backlog.take_oldest(conversation_id)
    return _opened(conversation, waiting.text, waiting.client_id) if waiting else None


def _opened(conversation: Conversation, text: str, client_id: str, replaces: Turn | None = None) -> Opened:
    chosen = upstream.chosen_model(conversation)
    target = upstream.request_target(chosen)
    turn = log.open_turn_in(
        conversation, text=text, client_id=client_id, replaces=replaces, model=target.model, provider=target.provider
    )
    return Opened(turn, text, chosen)
