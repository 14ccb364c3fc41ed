"""How a turn ends in the log: its last events, its own figures, and the rows that its card is drawn from.

All functions are synchronous.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django.db import DatabaseError, transaction
from django.db.models import UUIDField

from accounts.prepared import Given, Prepared
from chat import log
from chat.models import QueuedMessage, Turn
from reasoning.events import Event, TurnStatus

AtEnd = tuple[log.TurnRows, bool]
_WAITING = Prepared(
    lambda: QueuedMessage.objects.filter(conversation_id=Given("conversation", UUIDField())).values_list("pk")[:1]
)


def close(
    turn: Turn, unwritten: Sequence[Event], status: TurnStatus, figures: Mapping[str, Any], *, has_calls: bool
) -> AtEnd | None:
    """End a turn with what of it is not in the log yet; calls without a result get one.

    Return what is there then, or None where that can't be read at the moment: the turn has ended all the same.
    """
    with transaction.atomic():
        if has_calls:
            if unwritten:
                log.append(turn, unwritten)
            log.end_open_calls(turn)
        log.close_turn(turn, () if has_calls else unwritten, status=status, **figures)
    try:
        return at_end(turn)
    except DatabaseError:
        return None


def at_end(turn: Turn) -> AtEnd:
    """Return the rows of a turn that is over, and whether a message waits behind it."""
    return log.turn_rows(turn), bool(_WAITING.run(conversation=turn.conversation_id))
