"""Ask a question in a test, and read what came of it."""

from __future__ import annotations

import asyncio
from typing import Any

from channels.db import database_sync_to_async

from chat import log
from chat.forms import Message
from chat.models import Conversation, Turn
from chat.notices import Notice
from chat.runner import Runner
from chat.watchers import Watcher
from reasoning.events import Event


async def ask(runner: Runner, conversation: Conversation, text: str = "Why?", **more: Any) -> Turn:
    accepted = await runner.submit(conversation.pk, conversation.owner_id, Message(text, **more))
    assert accepted.turn_id is not None
    await runner.finished(conversation.pk, accepted.turn_id)
    return await Turn.objects.aget(pk=accepted.turn_id)


async def until(watcher: Watcher, kind: type[Notice]) -> list[str]:
    """Return what was told before the first notice of ``kind``."""
    told = []
    async with asyncio.timeout(10):
        while not isinstance(notice := await watcher.next(), kind):
            told.append(repr(notice))
    return told


async def events_of(turn: Turn) -> list[Event]:
    history = await database_sync_to_async(log.history)(turn.conversation_id)
    return [event for event in history if event.turn == turn.public_id]


def kinds(events: list[Event]) -> list[str]:
    return [event.type for event in events]
