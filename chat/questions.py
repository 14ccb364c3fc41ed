"""What people asked in a conversation before an answer: its links are compared with that (``chat.html.asked``)."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from chat.html.asked import NOTHING, Asked, may_link
from chat.models import Event
from reasoning.events import AssistantMessage, UserMessage


def linking(events: Mapping[uuid.UUID, Sequence[Mapping[str, Any]]]) -> set[uuid.UUID]:
    """Return the turns whose answer may hold a link: of others it does not matter what was asked."""
    return {
        turn
        for turn, listed in events.items()
        if any(event["type"] == AssistantMessage.type and may_link(event["text"]) for event in listed)
    }


def asked_before(conversation_id: uuid.UUID, turns: Collection[uuid.UUID]) -> dict[uuid.UUID, Asked]:
    """Return for each of these turns what was asked up to it, in every branch."""
    return {turn: asked for turn, asked in _asked(conversation_id) if turn in turns} if turns else {}


def asked_until_now(conversation_id: uuid.UUID) -> Asked:
    """Return all that was asked so far."""
    found = [asked for _turn, asked in _asked(conversation_id)]
    return found[-1] if found else NOTHING


def _asked(conversation_id: uuid.UUID) -> Iterator[tuple[uuid.UUID, Asked]]:
    """Yield the turns, oldest first, each with what was asked up to it."""
    asked = NOTHING
    questions = Event.objects.filter(conversation_id=conversation_id, type=UserMessage.type).order_by("seq")
    for turn, public in questions.values_list("turn_id", "public"):
        asked = asked.then(str(public["text"]))
        yield turn, asked
