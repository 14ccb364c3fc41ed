"""How a turn begins: recorded, with the model that answers it, in one transaction, and its first request planned.

All functions are synchronous.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Callable
from dataclasses import dataclass, replace

from django.db import IntegrityError, transaction

from chat import backlog, log, planning, upstream
from chat.forms import Message
from chat.models import Conversation, Turn
from reasoning.egress import EgressPlan

logger = logging.getLogger(__name__)
SHORT_TURNS = 20  # planning a longer history would hold up the word that the question arrived


@dataclass(frozen=True, slots=True)
class Opened:
    """A turn that is in the log and runs nowhere yet. ``turn.conversation`` is as it was read for it."""

    turn: Turn
    question: str
    chosen: upstream.ChosenModel
    plan: EgressPlan | None = None  # of the first request, where it was made already


Check = Callable[[], None] | None
OpenTurn = Callable[[], Opened | backlog.Repeated]


def open_turn(
    conversation_id: uuid.UUID, message: Message, *, replaces: Turn | None = None, first: Check = None
) -> Opened | backlog.Repeated:
    """Start a turn, unless this message was accepted before. Raises TurnRunning, NotSelected, and what ``first`` does.

    A client-made id is unique in the database, so it is looked for only where that refuses it.
    """
    if first:
        first()
    try:
        with transaction.atomic():
            opened = _opened(log.locked(conversation_id), message, replaces)
    except IntegrityError:
        if repeat := backlog.find_repeat(conversation_id, message.client_id):
            return repeat
        raise
    return replace(opened, plan=_first_plan(opened))


@transaction.atomic
def open_queued_turn(conversation_id: uuid.UUID) -> Opened | None:
    """Start a turn with the oldest waiting message; None where nothing waits. Raises TurnRunning."""
    try:
        conversation = log.locked(conversation_id)
    except Conversation.DoesNotExist:  # deleted meanwhile
        return None
    waiting = backlog.take_oldest(conversation_id)
    return _opened(conversation, Message(waiting.text, waiting.client_id)) if waiting else None


def _opened(conversation: Conversation, message: Message, replaces: Turn | None = None) -> Opened:
    chosen = upstream.chosen_model(conversation)
    provider = upstream.known_provider(chosen)
    names = {"model": provider.name, "provider": provider.identity} if provider else {}
    turn = log.open_turn_in(conversation, text=message.text, client_id=message.client_id, replaces=replaces, **names)
    return Opened(turn, message.text, chosen)


def _first_plan(opened: Opened) -> EgressPlan | None:
    """Plan the first request, where nobody has to be asked.

    Never raises: the turn is in the log, and must run. It plans again, and says what is wrong.
    """
    provider = upstream.known_provider(opened.chosen)
    if provider is None or opened.turn.number > SHORT_TURNS:
        return None
    turn = opened.turn
    try:
        return planning.plan_step(turn, turn.conversation, opened.chosen, provider, None, omit_items=False)
    except Exception:
        logger.exception("first request not planned at once", extra={"turn": turn.public_id})
        return None
