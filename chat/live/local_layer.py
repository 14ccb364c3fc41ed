"""The channel layer of a site with one process.

Channels' in-memory layer copies every message and looks through all channels for expired ones each time; with a
thousand open pages that costs more than the answers. Here a message is put into the queue of each member.
"""

from __future__ import annotations

import asyncio
import secrets
from collections import defaultdict
from functools import partial
from typing import Any

from channels.exceptions import ChannelFull
from channels.layers import BaseChannelLayer


class LocalChannelLayer(BaseChannelLayer):
    """Groups of queues in one event loop. Messages are shared, so a receiver must not change them."""

    extensions = ("groups", "flush")

    def __init__(self, capacity: int = 100) -> None:
        super().__init__(capacity=capacity)
        self.channels: defaultdict[str, asyncio.Queue[dict[str, Any]]] = defaultdict(partial(asyncio.Queue, capacity))
        self.groups: dict[str, set[str]] = {}
        self._groups_of: dict[str, set[str]] = {}  # by channel

    async def new_channel(self, prefix: str = "specific") -> str:
        return f"{prefix}.local!{secrets.token_hex(12)}"

    async def send(self, channel: str, message: dict[str, Any]) -> None:
        """Put a message into a channel's queue. Raises ChannelFull."""
        try:
            self.channels[channel].put_nowait(message)
        except asyncio.QueueFull:
            raise ChannelFull(channel) from None

    async def receive(self, channel: str) -> dict[str, Any]:
        try:
            return await self.channels[channel].get()
        except asyncio.CancelledError:
            self.channels.pop(channel, None)  # its consumer has ended
            raise

    async def group_add(self, group: str, channel: str) -> None:
        self.groups.setdefault(group, set()).add(channel)
        self._groups_of.setdefault(channel, set()).add(group)

    async def group_discard(self, group: str, channel: str) -> None:
        members = self.groups.get(group, set())
        members.discard(channel)
        if not members:
            self.groups.pop(group, None)
        left = self._groups_of.get(channel, set())
        left.discard(group)
        if not left:  # its consumer has ended
            self._groups_of.pop(channel, None)
            self.channels.pop(channel, None)

    async def group_send(self, group: str, message: dict[str, Any]) -> None:
        """Send to each member; a full queue misses it, which its page sees as a gap in ``seq``."""
        for channel in self.groups.get(group, ()):
            queue = self.channels[channel]
            if not queue.full():
                queue.put_nowait(message)

    async def flush(self) -> None:
        self.channels.clear()
        self.groups.clear()
        self._groups_of.clear()
