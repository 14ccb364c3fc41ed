"""Which messages are taken now, which wait, and which are refused, in words."""

from __future__ import annotations

import uuid
from dataclasses import dataclass

from channels.db import database_sync_to_async
from django.conf import settings
from django.utils.translation import gettext as _

from chat import backlog
from chat.forms import Message, MessageRefused
from chat.models import QueuedMessage

MAX_WAITING = 3


@dataclass(frozen=True, slots=True)
class Accepted:
    """What became of a message: the turn that it started, or None while it waits."""

    turn_id: uuid.UUID | None


def require_room(running: int, *, is_draining: bool) -> None:
    """Raise MessageRefused where a person with so many running turns may not start one more."""
    if is_draining:
        raise MessageRefused("restarting", _("The server is restarting; try again in a moment."))
    if running >= settings.MAX_CONCURRENT_TURNS:
        raise MessageRefused(
            "too_many_turns",
            _("%(most)s of your answers are being written already; wait for one or stop one.")
            % {"most": settings.MAX_CONCURRENT_TURNS},
        )


async def keep_waiting(
    conversation_id: uuid.UUID, message: Message, *, may_wait: bool
) -> QueuedMessage | backlog.Repeated:
    """Keep a message until the running turn has ended; raises MessageRefused where that may or can not be."""
    if not may_wait:
        raise MessageRefused("turn_running", _("An answer is being written in this conversation."))
    kept = await database_sync_to_async(backlog.enqueue)(
        conversation_id, text=message.text, client_id=message.client_id, most=MAX_WAITING
    )
    if kept is None:
        raise MessageRefused(
            "queue_full", _("%(most)s messages wait already; let one be answered first.") % {"most": MAX_WAITING}
        )
    return kept
