"""The channel layer groups of conversations and of viewers, and a subscription for code that is no consumer."""

from __future__ import annotations

import asyncio
import logging
import time
import uuid
from contextlib import suppress
from typing import Any, ClassVar, Self
from weakref import WeakKeyDictionary

from channels.layers import get_channel_layer

from accounts.redis_errors import redis_errors

logger = logging.getLogger(__name__)
# A page that opens waits no longer for the layer; it reads the database instead.
OPEN_TIMEOUT_S = 2.0
RETRY_AFTER_S = 2.0
PROCESSES_GROUP = "turns.processes"  # all that run turns


def viewer_group(user_id: int) -> str:
    """Return the name of the group of a user's open pages."""
    return f"viewer.{user_id}"


def group_of(conversation_id: uuid.UUID) -> str:
    """Return the name of a conversation's group."""
    return f"conversation.{conversation_id.hex}"


class Subscription:
    """The messages of some groups: ``async with``, then ``await next()``.

    While the channel layer is unavailable there are none, and it is asked again every two seconds.
    """

    # A Redis layer remembers each channel that it couldn't open, so a process asks once in that time, not once a page.
    _asked_at: ClassVar[WeakKeyDictionary[Any, float]] = WeakKeyDictionary()

    def __init__(self, *groups: str) -> None:
        self._groups = groups
        self._layer: Any = get_channel_layer()
        self._channel = ""
        self._receiving: asyncio.Task[dict[str, Any]] | None = None
        self.is_open = False

    async def __aenter__(self) -> Self:
        await self._open()
        return self

    async def __aexit__(self, *_error: object) -> None:
        if self._receiving:
            self._receiving.cancel()
            with suppress(asyncio.CancelledError, Exception):
                await self._receiving
        for group in self._groups if self._channel else ():
            with suppress(Exception):  # the layer is unavailable
                await self._layer.group_discard(group, self._channel)

    async def next(self, *, within_s: float | None = None) -> dict[str, Any] | None:
        """Wait for the next message. Return None on timeout or while the channel layer is unavailable.

        Cancelling it ends the subscription.
        """
        if not self.is_open:
            await asyncio.sleep(min(RETRY_AFTER_S, within_s or RETRY_AFTER_S))
            await self._open()
            return None
        if within_s is None:
            received: dict[str, Any] = await self._layer.receive(self._channel)
            return received
        # A task of its own: a Redis layer unsubscribes a channel whose receive() is cancelled.
        self._receiving = self._receiving or asyncio.ensure_future(self._layer.receive(self._channel))
        done, _pending = await asyncio.wait({self._receiving}, timeout=within_s)
        if not done:
            return None
        task, self._receiving = self._receiving, None
        return task.result()

    async def _open(self) -> None:
        now = time.monotonic()
        if now - self._asked_at.get(self._layer, -RETRY_AFTER_S) < RETRY_AFTER_S:
            return
        try:
            async with asyncio.timeout(OPEN_TIMEOUT_S):
                self._channel = self._channel or await self._layer.new_channel()
                for group in self._groups:
                    await self._layer.group_add(group, self._channel)
        except redis_errors() as error:  # pages and streams read the database instead
            self._asked_at[self._layer] = now
            logger.warning("channel layer unavailable: no live updates", extra={"error": type(error).__name__})
        else:
            self.is_open = True
            self._asked_at.pop(self._layer, None)
