"""Two runners over one channel layer, as two processes have it, and a layer that fails as Redis may."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from channels.layers import InMemoryChannelLayer
from channels_redis.pubsub import RedisPubSubChannelLayer

from chat.notices import BlockDone, Finished, Notice, OpenText
from chat.runner import Runner
from chat.watchers import Watcher

WITHIN_S = 20


class FaultyLayer:
    """A channel layer that keeps all that was said, and loses or refuses some of it where a test wants that."""

    def __init__(self, layer: Any) -> None:
        self._layer = layer
        self.said: list[dict[str, Any]] = []
        self.loses: Callable[[dict[str, Any]], bool] = lambda form: False
        self.is_away = False

    async def send(self, channel: str, message: dict[str, Any]) -> None:
        if self._passes(message):
            await self._layer.send(channel, message)

    async def group_send(self, group: str, message: dict[str, Any]) -> None:
        if self._passes(message):
            await self._layer.group_send(group, message)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._layer, name)

    def kinds(self) -> list[str]:
        return [form["kind"] for form in self.said if "kind" in form]

    def _passes(self, message: dict[str, Any]) -> bool:
        if self.is_away:
            raise ConnectionError("away")
        form = json.loads(message["body"])
        self.said.append(form)
        return not self.loses(form)


def make_layer(kind: str) -> FaultyLayer:
    """Return a layer in memory, or over the Redis that tests may use."""
    if kind == "memory":
        return FaultyLayer(InMemoryChannelLayer())
    prefix = f"legible-tests-relay-{os.getpid()}"
    url = os.environ["TEST_REDIS_URL"]
    return FaultyLayer(RedisPubSubChannelLayer(hosts=[url], prefix=prefix, symmetric_encryption_keys=["k" * 40]))


@asynccontextmanager
async def two_runners(layer: Any) -> AsyncIterator[tuple[Runner, Runner]]:
    """Yield two runners; their tasks end with the block, and so do the layer's connections, which they share."""
    here, there = Runner(layer), Runner(layer)
    try:
        yield here, there
    finally:
        for one in (here, there):
            await one.drain(within_s=0)
        await layer.flush()


async def told_until(watcher: Watcher, kind: type[Notice]) -> list[Any]:
    """Return what was told up to the first notice of ``kind``, with it."""
    told: list[Any] = []
    async with asyncio.timeout(WITHIN_S):
        while not told or not isinstance(told[-1], kind):
            told.append(await watcher.next())
    return told


async def until_it_holds(claim: Callable[[], Any]) -> None:
    """Wait until something is so."""
    async with asyncio.timeout(WITHIN_S):
        while not claim():  # noqa: ASYNC110 - what another process does has no event here
            await asyncio.sleep(0.01)


def text_of(told: list[Any]) -> str:
    """Return the answer's text as a page would join it."""
    return "".join(notice.text for notice in told if isinstance(notice, OpenText | BlockDone))


def stored_answer(told: list[Any]) -> str:
    """Return the answer as the last notice has it from the log."""
    end = next(notice for notice in told if isinstance(notice, Finished))
    return "\n\n".join(event["text"] for event in end.rows.events if event["type"] == "assistant_message")
