"""Which part of a long conversation is drawn: the newest fifty messages, earlier ones when they are asked for.

Turns of a branch are numbered without gaps, so a window is two numbers. What a page asks for: ``?before=7`` the page of
messages before turn 7 (a page shows it with all that follows, a fragment alone), ``?since=7`` all from turn 7 on,
``?open=<id>`` as far back as that card.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.urls import reverse

from chat import log
from chat.models import Turn

TURNS = 25  # fifty messages: a question and an answer each


@dataclass(frozen=True, slots=True)
class Window:
    """Turns from ``since`` on, up to ``before`` (not included) where it is set."""

    since: int = 1
    before: int | None = None

    def holds(self, number: int) -> bool:
        return self.since <= number and (self.before is None or number < self.before)


@dataclass(frozen=True, slots=True)
class EarlierView:
    """The way to earlier messages: before which turn, for a page and for its script."""

    before: int
    url: str
    part_url: str


def newest(conversation_id: uuid.UUID) -> Window:
    """Return the window of the newest messages."""
    return Window(max(1, log.last_number(conversation_id) - TURNS + 1))


def asked(conversation_id: uuid.UUID, query: Mapping[str, str], *, is_part: bool) -> Window:
    """Return the window that a request asks for."""
    window = newest(conversation_id)
    before = _number(query.get("before"))
    if before and is_part:
        return Window(max(1, before - TURNS), before)
    wanted = (_number(query.get("since")), before and before - TURNS, _number_of(conversation_id, query.get("open")))
    return Window(max(1, min([window.since, *(number for number in wanted if number is not None)])))


def earlier(rows: Sequence[log.TurnRows]) -> EarlierView | None:
    """Return the way to what comes before these turns; None where nothing does."""
    if not rows or rows[0].turn.number <= 1:
        return None
    turn = rows[0].turn
    page, part = (reverse(f"chat:{name}", args=[turn.conversation_id]) for name in ("conversation", "messages"))
    query = f"?before={turn.number}"
    return EarlierView(turn.number, f"{page}{query}#m-{turn.public_id}-q", f"{part}{query}")


def _number(text: str | None) -> int | None:
    return int(text) if text and text.isascii() and text.isdigit() and len(text) < 9 else None


def _number_of(conversation_id: uuid.UUID, message_id: str | None) -> int | None:
    try:
        turn = uuid.UUID(message_id or "")
    except ValueError:
        return None
    return Turn.objects.filter(pk=turn, conversation=conversation_id).values_list("number", flat=True).first()
