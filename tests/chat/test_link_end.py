"""The link to other processes ends when it is asked to, even where the client of Redis swallows the asking."""

from __future__ import annotations

import asyncio
from typing import Any

from chat.relaylink import Link


class SwallowingLayer:
    """A channel layer whose sending takes a cancellation for the end of its own wait, as a client may."""

    def __init__(self) -> None:
        self.asked = asyncio.Event()

    async def new_channel(self) -> str:
        return "own"

    async def receive(self, channel: str) -> dict[str, Any]:
        return await asyncio.Future()

    async def send(self, channel: str, message: dict[str, Any]) -> None:
        self.asked.set()
        try:
            await asyncio.Future()
        except asyncio.CancelledError:
            return


async def test_link_ends_though_a_cancellation_was_swallowed() -> None:
    before = asyncio.all_tasks()
    layer = SwallowingLayer()
    Link(lambda form: None, lambda: None, layer).start()
    await layer.asked.wait()

    tasks = asyncio.all_tasks() - before
    for task in tasks:
        task.cancel()
    ended, running = await asyncio.wait(tasks, timeout=10)

    assert len(ended) == 3
    assert not running
