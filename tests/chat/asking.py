"""Use a conversation as its owner does, over HTTP; follow what is published, and read what came of it."""

import asyncio
from typing import Any

from channels.db import database_sync_to_async
from django.test import AsyncClient

from accounts.models import User
from chat import eventlog
from chat.live.groups import Subscription, group_of
from chat.live.state import Event as LiveEvent
from chat.models import Conversation, Turn
from chat.socket.page import PageSession
from chat.socket.reauthorize import PageKey, authorize
from chat.turns.manager import TurnManager, turn_manager
from reasoning.events import Event
from tests.factories import client_of, session_key_of


async def signed_in(user: User) -> AsyncClient:
    client = AsyncClient()
    await client.aforce_login(user)
    return client


async def owner_of(conversation: Conversation) -> AsyncClient:
    """Return a client of the owner."""
    return await signed_in(await User.objects.aget(pk=conversation.owner_id))


async def ask(conversation: Conversation, text: str = "Why?", *, client_id: str = "", language: str = "en") -> Turn:
    """Ask as the owner does, by the API; return the ended turn."""
    client, path = await owner_of(conversation), f"/api/chats/{conversation.pk}/messages/"
    form, headers = {"text": text, "id": client_id}, {"Accept-Language": language}
    answer = await client.post(path, form, content_type="application/json", headers=headers)
    assert answer.status_code == 200, answer.content
    return await Turn.objects.aget(pk=answer.json()["id"])


async def send(conversation: Conversation, text: str, client_id: str = "") -> Any:
    """Send a message as the owner does without JavaScript, without waiting for its answer."""
    client = await owner_of(conversation)
    return await client.post(f"/chats/{conversation.pk}/messages/", {"text": text, "id": client_id})


async def ended(conversation: Conversation, number: int = 1) -> Turn:
    """Wait until the newest turn with this number has ended."""
    turns = conversation.turns.filter(number=number).order_by("-started_at")
    for _try in range(1500):
        turn = await turns.afirst()
        if turn and turn.status != Turn.Status.RUNNING:
            return turn
        await asyncio.sleep(0.02)
    raise AssertionError(await turns.afirst())


def questions(conversation: Conversation) -> list[str]:
    """Return the questions of the selected branch."""
    listed = client_of(conversation.owner).get(f"/api/chats/{conversation.pk}/messages/").json()
    return [message["text"] for message in listed if message["role"] == "user"]


def following(conversation: Conversation) -> Subscription:
    """Return a subscription to the events of a conversation."""
    return Subscription(group_of(conversation.pk))


async def until(messages: Subscription, *kinds: str) -> list[LiveEvent]:
    """Return the events up to the first one of these kinds."""
    events: list[LiveEvent] = []
    async with asyncio.timeout(30):
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
    conversation: Conversation, user: User, *, session_key: str = "", manager: TurnManager = turn_manager
) -> PageSession:
    """Return the session of a page of this user, as their socket opens it; ``manager``: the turns of its process."""
    key = session_key or await database_sync_to_async(session_key_of)(user)
    page = PageKey(user.pk, key, conversation.pk)
    return PageSession(manager, page, await authorize(page))
