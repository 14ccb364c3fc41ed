"""A running turn without a model, and what it publishes."""

from __future__ import annotations

import asyncio
import uuid
from typing import Any

from django.utils import timezone

from chat.live.broadcast import Subscription, group_of
from chat.live.state import Event
from chat.live.turn import LiveTurn


def make_live_turn(**fields: Any) -> LiveTurn:
    known: dict[str, Any] = {
        "id": uuid.uuid4(),
        "conversation_id": uuid.uuid4(),
        "owner_id": 1,
        "number": 1,
        "question": "Why?",
        "model": "m",
        "started_at": timezone.now(),
    }
    return LiveTurn(**{**known, **fields})


async def published(turn: LiveTurn) -> list[Event]:
    """Publish what the turn showed since the last call; return the events as followers get them."""
    events: list[Event] = []
    async with Subscription(group_of(turn.conversation_id)) as messages:
        pump = asyncio.create_task(turn.pump())
        async with asyncio.timeout(20):
            await turn.settle()
            pump.cancel()
            await asyncio.gather(pump, return_exceptions=True)
            while (events[-1]["seq"] if events else 0) < turn.seq:
                message = await messages.next(within_s=0.01)
                if message is None:
                    break
                events.append(message["event"])
    return events
