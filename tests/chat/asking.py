"""Ask a question in a test, follow what is published, and read what came of it."""

from __future__ import annotations

import asyncio
from typing import Any

from channels.db import database_sync_to_async

from accounts.models import User
from chat import eventlog
from chat.live.broadcast import Subscription, group_of
from chat.live.state import Event as LiveEvent
from chat.models import Conversation, Turn
from chat.socket.page import PageSession
from chat.socket.reauthorize import authorize
from chat.turns.manager import TurnManager, runner
from chat.validation import Message
from reasoning.events import Event
from tests.factories import session_key_of

ANSWER_KINDS = ("text", "block")  # kinds of events that bring answer text


async def ask(runner: TurnManager, conversation: Conversation, text: str = "Why?", **more: Any) -> Turn:
    accepted = await runner.submit(conversation.pk, Message(text, **more))
    assert accepted.turn_id is not None
    await runner.finished(conversation.pk, accepted.turn_id)
    return await Turn.objects.aget(pk=accepted.turn_id)


def following(conversation: Conversation) -> Subscription:
    """Return a subscription to the events of a conversation."""
    return Subscription(group_of(conversation.pk))


async def until(messages: Subscription, *kinds: str) -> list[LiveEvent]:
    """Return the events up to the first one of these kinds."""
    events: list[LiveEvent] = []
    async with asyncio.timeout(20):
        while not events or events[-1]["kind"] not in kinds:
            message = await messages.next()
            assert message is not None
            events.append(message["event"])
    return events


async def events_of(turn: Turn) -> list[Event]:
    history = await database_sync_to_async(eventlog.history)(turn.conversation_id)
    return [event for event in history if event.turn == turn.public_id]


def kinds(events: list[Event]) -> list[str]:
    return [event.type for event in events]


async def opened_page(
    conversation: Conversation, user: User, *, session_key: str = "", manager: TurnManager = runner
) -> PageSession:
    """Return the session of a page of this user, as their socket opens it; ``manager``: the turns of its process."""
    key = session_key or await database_sync_to_async(session_key_of)(user)
    viewer = await authorize(user, key, conversation.pk)
    return PageSession(manager, conversation.pk, key, viewer)
