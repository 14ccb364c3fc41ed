"""A client of the JSON API, by token or by session, and a reader of its events."""

import asyncio
import json
from collections.abc import Sequence
from typing import Any, NamedTuple

from channels.db import database_sync_to_async
from django.test import AsyncClient

from accounts.access.tokens import create_token
from accounts.models import User
from chat.models import Conversation
from tests.factories import PASSWORD

JSON = {"content_type": "application/json"}
EVENTS = {"Accept": "text/event-stream"}


async def client_of(user: User, *, by: str = "token") -> AsyncClient:
    if by == "token":
        _row, token = await database_sync_to_async(create_token)(user)
        return AsyncClient(AUTHORIZATION=f"Bearer {token}")
    client = AsyncClient(enforce_csrf_checks=True)
    assert await database_sync_to_async(client.login)(username=user.username, password=PASSWORD)
    return client


async def ask(client: AsyncClient, conversation: Conversation, body: Any = None, **extra: Any) -> Any:
    url = f"/api/chats/{conversation.pk}/messages/"
    body = {"text": "Why?"} if body is None else body
    data = body if isinstance(body, str | bytes) else json.dumps(body)
    return await client.post(url, data, content_type="application/json", **extra)


async def post(client: AsyncClient, conversation: Conversation, body: dict[str, Any], **headers: str) -> Any:
    url = f"/api/chats/{conversation.pk}/messages/"
    return await client.post(url, json.dumps(body), content_type="application/json", headers=headers)


class ServerEvent(NamedTuple):
    """One server-sent event."""

    id: str
    name: str
    data: Any


def parse_events(body: str) -> list[ServerEvent]:
    """Return the complete events of a stream, without its comments."""
    events = []
    for block in body.split("\n\n")[:-1]:
        lines = [line for line in block.split("\n") if not line.startswith(":")]
        if lines:
            fields = dict(line.split(": ", 1) for line in lines)
            events.append(ServerEvent(fields["id"], fields["event"], json.loads(fields["data"])))
    return events


def joined(events: Sequence[ServerEvent]) -> dict[str, str]:
    """Return the joined deltas by channel."""
    texts: dict[str, str] = {}
    for event in events:
        if event.name == "delta":
            texts[event.data["channel"]] = texts.get(event.data["channel"], "") + event.data["text"]
    return texts


async def streamed(answer: Any) -> tuple[dict[str, str], list[str], dict[str, Any]]:
    """Return the joined deltas by channel, the names of the other events, and the envelope."""
    events = await events_of(answer)
    return joined(events), [event.name for event in events if event.name != "delta"], events[-1].data


async def events_of(answer: Any) -> list[ServerEvent]:
    async with asyncio.timeout(30):
        return parse_events(b"".join([piece async for piece in answer]).decode())
