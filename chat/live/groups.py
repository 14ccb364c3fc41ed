"""The channel layer groups of conversations and of viewers, and a subscription for code that is no consumer."""

from __future__ import annotations

import asyncio
import uuid
from contextlib import suppress
from typing import Any, Self

from channels.layers import get_channel_layer

PROCESSES_GROUP = "turns.processes"  # all that run turns


def viewer_group(user_id: int) -> str:
    """Return the name of the group of a user's open pages."""
    return f"viewer.{user_id}"


def group_of(conversation_id: uuid.UUID) -> str:
    """Return the name of a conversation's group."""
    return f"conversation.{conversation_id.hex}"


class Subscription:
    """The messages of one group: ``async with``, then ``await next()``."""

    def __init__(self, group: str) -> None:
        self._group = group
        self._layer: Any = get_channel_layer()
        self._receiving: asyncio.Task[dict[str, Any]] | None = None

    async def __aenter__(self) -> Self:
        self._channel = await self._layer.new_channel()
        await self._layer.group_add(self._group, self._channel)
        return self

    async def __aexit__(self, *_error: object) -> None:
        if self._receiving:
            self._receiving.cancel()
            with suppress(asyncio.CancelledError, Exception):
                await self._receiving
        await self._layer.group_discard(self._group, self._channel)

    async def next(self, *, within_s: float | None = None) -> dict[str, Any] | None:
        """Wait for the next message; None where none comes in time."""
        # A task of its own: a Redis layer unsubscribes a channel whose receive() is cancelled.
        self._receiving = self._receiving or asyncio.ensure_future(self._layer.receive(self._channel))
        done, _pending = await asyncio.wait({self._receiving}, timeout=within_s)
        if not done:
            return None
        task, self._receiving = self._receiving, None
        return task.result()
