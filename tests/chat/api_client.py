"""A client of the JSON API, by token or by session."""

from __future__ import annotations

import json
from typing import Any

from channels.db import database_sync_to_async
from django.test import AsyncClient

from accounts.models import User
from accounts.tokens import create_token
from chat.models import Conversation
from tests.factories import PASSWORD

JSON = {"content_type": "application/json"}


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
    data = body if isinstance(body, str) else json.dumps(body)
    return await client.post(url, data, content_type="application/json", **extra)
