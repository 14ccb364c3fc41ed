"""A process that ends takes with it what it had begun towards the others; one that is alone begins nothing."""

from __future__ import annotations

import asyncio

import pytest
from django.conf import LazySettings

from chat import relaylink
from chat.forms import Message
from chat.models import Conversation
from chat.notices import Finished, OpenText
from chat.relaylink import Link
from chat.runner import Runner
from chat.watchers import Watcher
from tests.chat.two_processes import make_layer, stored_answer, told_until, two_runners
from tests.contract_server.fixture import ContractHandle

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.parametrize("kind", ["memory", pytest.param("redis", marks=pytest.mark.redis)])
async def test_processes_that_end_in_mid_stream_leave_no_task(
    upstream: ContractHandle, conversation: Conversation, kind: str
) -> None:
    upstream.script([{"content": "Word by word. " * 40, "faults": [{"kind": "stall", "at": "event:9", "name": "go"}]}])
    before = asyncio.all_tasks()

    async with two_runners(make_layer(kind)) as (here, there):
        watcher = Watcher(conversation.pk)
        with there.watching(watcher):
            await there.ready(conversation.pk)
            await here.submit(conversation.pk, conversation.owner_id, Message("Why?"))
            await told_until(watcher, OpenText)
    upstream.reset()

    assert asyncio.all_tasks() - before == set()


@pytest.mark.redis
async def test_process_that_ends_lets_its_connections_go(runner: Runner, conversation: Conversation) -> None:
    before = asyncio.all_tasks()
    with runner.watching(Watcher(conversation.pk)):
        await runner.ready(conversation.pk)
        while_watching = asyncio.all_tasks()

    await runner.drain(within_s=0)

    assert while_watching > before
    assert asyncio.all_tasks() == before


class DeafLayer:
    """A layer whose client swallows a cancellation now and then, as that of Redis does."""

    swallowed = 0

    async def new_channel(self) -> str:
        return "channel"

    async def receive(self, channel: str) -> None:
        while self.swallowed < 2:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                self.swallowed += 1
        await asyncio.Event().wait()


async def test_cancellation_that_is_swallowed_is_said_again() -> None:
    before, layer = asyncio.all_tasks(), DeafLayer()
    link = Link(lambda form: None, lambda: None, layer)
    link.start()
    while not link.channel:  # noqa: ASYNC110 - it tells nobody
        await asyncio.sleep(0)

    await link.close()

    assert layer.swallowed == 2
    assert asyncio.all_tasks() == before


async def test_single_process_says_nothing(
    upstream: ContractHandle,
    runner: Runner,
    conversation: Conversation,
    settings: LazySettings,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    settings.REDIS_URL = None
    monkeypatch.setattr(relaylink, "get_channel_layer", lambda: pytest.fail("asked for the channel layer"))
    upstream.script([{"content": "Alone."}])
    watcher = Watcher(conversation.pk)

    with runner.watching(watcher):
        before = len(asyncio.all_tasks())
        await runner.ready(conversation.pk)
        assert len(asyncio.all_tasks()) == before
        await runner.submit(conversation.pk, conversation.owner_id, Message("Why?"))
        told = await told_until(watcher, Finished)

    assert stored_answer(told) == "Alone."
