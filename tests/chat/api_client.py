"""A client of the JSON API, by token or by session, and a reader of its events."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from channels.db import database_sync_to_async
from django.test import AsyncClient

from accounts.models import User
from accounts.tokens import create_token
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


def read_events(body: str) -> tuple[dict[str, str], list[str], dict[str, Any]]:
    """Return the joined deltas by channel, the names of the other events, and the envelope."""
    texts: dict[str, str] = {}
    names: list[str] = []
    form: dict[str, Any] = {}
    for block in filter(None, body.split("\n\n")):
        name, data = (line.split(": ", 1)[1] for line in block.split("\n"))
        form = json.loads(data)
        if name == "delta":
            texts[form["channel"]] = texts.get(form["channel"], "") + form["text"]
        else:
            names.append(name)
    return texts, names, form


async def streamed(answer: Any) -> tuple[dict[str, str], list[str], dict[str, Any]]:
    async with asyncio.timeout(30):
        return read_events(b"".join([piece async for piece in answer]).decode())
