"""A turn that runs in one process is watched and stopped from another, and what is sent there is answered once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta

import pytest
from channels.db import database_sync_to_async
from django.conf import LazySettings
from django.utils import timezone

from accounts.models import User
from chat import log, relay, relaylink, relaymirror
from chat.forms import Message, MessageRefused
from chat.models import Conversation, Turn
from chat.notices import Behind, Finished, ModelChanged, QueueChanged, SettingsChanged, Started, StatusChanged
from chat.runner import Runner
from chat.watchers import Watcher
from tests.chat.two_processes import (
    FaultyLayer,
    make_layer,
    stored_answer,
    text_of,
    told_until,
    two_runners,
    until_it_holds,
)
from tests.contract_server.fixture import ContractHandle
from tests.factories import abandon, make_conversation, open_turn

pytestmark = pytest.mark.django_db(transaction=True)
TEXT = "\n\n".join(f"Paragraph {number} says **this** and that, at some length." for number in range(12))
HOLD = [{"kind": "stall", "at": "event:30", "name": "go"}]
Pair = tuple[Runner, Runner]


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(relaymirror, "FOLLOW_EVERY_S", 0.1)
    monkeypatch.setattr(relaymirror, "ANSWER_WITHIN_S", 0.1)
    monkeypatch.setattr(relay, "STOP_AGAIN_S", 0.05)
    monkeypatch.setattr(relaylink, "PING_EVERY_S", 0.1)
    monkeypatch.setattr(relaylink, "LONGEST_PAUSE_S", 0.2)


@pytest.fixture(params=["memory", pytest.param("redis", marks=pytest.mark.redis)])
def layer(request: pytest.FixtureRequest) -> FaultyLayer:
    return make_layer(request.param)


@pytest.fixture
async def pair(layer: FaultyLayer) -> AsyncIterator[Pair]:
    async with two_runners(layer) as both:
        yield both


async def begin(runner: Runner, conversation: Conversation, text: str = "Why?", client_id: str = "") -> Turn:
    accepted = await runner.submit(conversation.pk, conversation.owner_id, Message(text, client_id))
    assert accepted.turn_id is not None
    return await Turn.objects.aget(pk=accepted.turn_id)


async def test_watcher_elsewhere_is_told_the_same_text(
    upstream: ContractHandle, pair: Pair, conversation: Conversation
) -> None:
    here, there = pair
    upstream.script([{"content": TEXT, "chunk": 5, "faults": HOLD}])
    watcher = Watcher(conversation.pk)

    with there.watching(watcher):
        await there.ready(conversation.pk)
        turn = await begin(here, conversation)
        told = await told_until(watcher, Started)
        upstream.release("go")
        told += await told_until(watcher, Finished)

    assert isinstance(told[0], Started)
    assert told[0].turn.id == turn.pk
    assert stored_answer(told) == TEXT
    assert TEXT.startswith(text_of(told))
    assert there.live(conversation.pk) is None


async def test_who_comes_late_gets_what_was_said_and_then_the_rest(
    upstream: ContractHandle, pair: Pair, conversation: Conversation
) -> None:
    here, there = pair
    upstream.script([{"content": TEXT, "chunk": 5, "faults": HOLD}])
    await begin(here, conversation)
    await until_it_holds(lambda: (live := here.live(conversation.pk)) and live.answer_so_far)
    watcher = Watcher(conversation.pk)

    with there.watching(watcher):
        await there.ready(conversation.pk)
        mirror = there.live(conversation.pk)
        assert mirror is not None
        await until_it_holds(lambda: here.live(conversation.pk).answer_so_far == mirror.answer_so_far)  # type: ignore[union-attr]
        upstream.release("go")
        told = await told_until(watcher, Finished)
        await there.finished(conversation.pk, mirror.id)

    assert stored_answer(told) == TEXT
    assert TEXT.startswith(mirror.answer_so_far)


async def test_what_gets_lost_on_the_way_is_asked_for(
    upstream: ContractHandle, pair: Pair, layer: FaultyLayer, conversation: Conversation
) -> None:
    here, there = pair
    texts: list[dict[str, object]] = []

    def every_other(form: dict[str, object]) -> bool:
        texts.extend([form] if form.get("text") else [])
        return bool(form.get("text")) and len(texts) % 2 == 1

    layer.loses = every_other
    holds = [{"kind": "stall", "at": f"event:{event}", "name": f"go{event}"} for event in range(20, 140, 20)]
    upstream.script([{"content": TEXT, "chunk": 5, "faults": holds}])
    watcher = Watcher(conversation.pk)

    with there.watching(watcher):
        await there.ready(conversation.pk)
        await begin(here, conversation)
        await until_it_holds(lambda: there.live(conversation.pk))
        source, mirror = here.live(conversation.pk), there.live(conversation.pk)
        assert source is not None
        assert mirror is not None
        for hold in holds:
            await asyncio.to_thread(upstream.wait_for, held=hold["name"])
            await until_it_holds(lambda: mirror.answer_so_far == source.answer_so_far != "")
            upstream.release(str(hold["name"]))
        told = await told_until(watcher, Finished)

    assert len(texts) >= len(holds)
    assert TEXT.startswith(text_of(told))
    assert stored_answer(told) == TEXT


async def test_stop_from_elsewhere_reaches_the_turn_and_can_be_said_twice(
    upstream: ContractHandle, pair: Pair, conversation: Conversation
) -> None:
    here, there = pair
    upstream.script([{"content": TEXT, "chunk": 5, "faults": HOLD}, {"content": "Next."}])
    turn = await begin(here, conversation)
    await until_it_holds(lambda: (live := here.live(conversation.pk)) and live.answer_so_far)

    for _twice in range(2):
        there.stop(conversation.pk)
    await here.finished(conversation.pk, turn.pk)
    following = await begin(here, conversation, "And?")
    await here.finished(conversation.pk, following.pk)

    await turn.arefresh_from_db()
    await following.arefresh_from_db()
    assert (turn.status, following.status) == ("aborted", "completed")


async def test_lost_stop_is_said_again(
    upstream: ContractHandle, pair: Pair, layer: FaultyLayer, conversation: Conversation
) -> None:
    here, there = pair
    layer.loses = lambda form: form.get("kind") == "stop" and layer.kinds().count("stop") < 3
    upstream.script([{"content": TEXT, "chunk": 5, "faults": HOLD}])
    turn = await begin(here, conversation)

    there.stop(conversation.pk)
    await here.finished(conversation.pk, turn.pk)

    await turn.arefresh_from_db()
    assert turn.status == "aborted"


async def test_message_sent_elsewhere_waits_and_is_answered_once(
    upstream: ContractHandle, pair: Pair, conversation: Conversation
) -> None:
    here, there = pair
    holds = [[{"kind": "stall", "at": "first_event", "name": name}] for name in ("one", "two")]
    upstream.script([{"content": "One.", "faults": holds[0]}, {"content": "Two.", "faults": holds[1]}])
    near, far = Watcher(conversation.pk), Watcher(conversation.pk)

    with here.watching(near), there.watching(far):
        await here.ready(conversation.pk)
        await there.ready(conversation.pk)
        await begin(here, conversation)
        await told_until(far, Started)
        accepted = await there.submit(conversation.pk, conversation.owner_id, Message("And?", "c1"))
        told = await told_until(near, QueueChanged)
        upstream.release("one")
        ends = [await told_until(far, Finished)]
        await told_until(far, Started)  # a turn that is over before it was seen elsewhere is drawn with all others
        upstream.release("two")
        ends += [await told_until(far, Finished)]

    assert accepted.turn_id is None
    assert [text for _id, text in told[-1].waiting] == ["And?"]
    assert [stored_answer(end) for end in ends] == ["One.", "Two."]
    rows = await database_sync_to_async(log.turns)(conversation.pk)
    assert [row.events[0]["text"] for row in rows] == ["Why?", "And?"]


async def test_changes_beside_the_turn_are_told_elsewhere(pair: Pair, conversation: Conversation) -> None:
    here, there = pair
    watcher = Watcher(conversation.pk)

    with there.watching(watcher):
        await there.ready(conversation.pk)
        here.tell(conversation.pk, ModelChanged())
        here.tell(conversation.pk, SettingsChanged())
        told = await told_until(watcher, SettingsChanged)

    assert told == [ModelChanged(), SettingsChanged()]


async def test_page_elsewhere_says_that_it_is_behind_and_recovers(
    upstream: ContractHandle, pair: Pair, layer: FaultyLayer, conversation: Conversation
) -> None:
    here, there = pair
    upstream.script([{"content": TEXT, "chunk": 5, "faults": HOLD}])
    watcher = Watcher(conversation.pk)

    with there.watching(watcher):
        await there.ready(conversation.pk)
        turn = await begin(here, conversation)
        await until_it_holds(lambda: there.live(conversation.pk))
        mirror = there.live(conversation.pk)
        assert mirror is not None
        layer.is_away = True
        await until_it_holds(lambda: mirror.status_text is relaymirror.BEHIND)
        await database_sync_to_async(log.save_checkpoint)(turn, answer=TEXT[:200], thinking="")
        await until_it_holds(lambda: mirror.answer_so_far == TEXT[:200])
        upstream.release("go")
        layer.is_away = False
        told = await told_until(watcher, Finished)

    assert any(isinstance(notice, StatusChanged) for notice in told)
    assert stored_answer(told) == TEXT


async def test_turn_of_a_dead_process_ends_for_those_who_watch_elsewhere(
    pair: Pair, conversation: Conversation
) -> None:
    here, there = pair
    turn = await database_sync_to_async(open_turn)(conversation.pk, text="q")
    await database_sync_to_async(log.save_checkpoint)(turn, answer="So far", thinking="")
    near, far = Watcher(conversation.pk), Watcher(conversation.pk)

    with here.watching(near), there.watching(far):
        for runner in pair:
            await runner.ready(conversation.pk)
        mirror = there.live(conversation.pk)
        assert mirror is not None
        assert mirror.answer_so_far == "So far"
        await database_sync_to_async(abandon)(turn)
        looking = asyncio.create_task(here.look_after_others())
        ends = [(await told_until(watcher, Finished))[-1] for watcher in (near, far)]
        looking.cancel()

    assert [end.rows.turn.status for end in ends] == ["interrupted"] * 2


async def test_turn_that_nobody_told_of_is_found(pair: Pair, layer: FaultyLayer, conversation: Conversation) -> None:
    _here, there = pair
    watcher = Watcher(conversation.pk)

    with there.watching(watcher):
        await there.ready(conversation.pk)
        await database_sync_to_async(open_turn)(conversation.pk, text="q")
        await there._relay.look()
        await told_until(watcher, Behind)

        assert there.live(conversation.pk) is not None


async def test_limit_counts_the_turns_of_other_processes(
    alice: User, conversation: Conversation, settings: LazySettings
) -> None:
    settings.MAX_CONCURRENT_TURNS = 1
    other = await database_sync_to_async(make_conversation)(owner=alice)
    turn = await database_sync_to_async(open_turn)(other.pk, text="q")
    elsewhere = Turn.objects.filter(pk=turn.pk)
    await elsewhere.aupdate(worker="elsewhere:1:0", lease_until=timezone.now() + timedelta(hours=1))

    async with two_runners(make_layer("memory")) as (here, _there):
        with pytest.raises(MessageRefused) as refused:
            await here.submit(conversation.pk, alice.pk, Message("hi"))

    assert refused.value.code == "too_many_turns"
