"""What one process tells another: never thinking, a scratchpad, a raw argument or a result, and nothing in clear."""

from __future__ import annotations

import json
import os
import socket
import threading
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest
from channels.db import database_sync_to_async
from django.conf import LazySettings

from accounts.models import User
from chat import log, relaymirror
from chat.filings.demo import load_demo
from chat.filings.search import search_passages
from chat.forms import Message
from chat.models import Conversation, Passage
from chat.notices import BlockDone, Finished, ThinkingText
from chat.page import Page
from chat.retrieval import SearchQuery
from chat.watchers import Watcher
from reasoning.policy import Visibility
from tests.chat.two_processes import FaultyLayer, make_layer, stored_answer, told_until, two_runners, until_it_holds
from tests.contract_server.fixture import ContractHandle
from tests.factories import open_turn

pytestmark = pytest.mark.django_db(transaction=True)
THOUGHT, PAD, KEY, ANSWER = "quokka-thought", "quokka-pad", "sk-proj-quokka4711abcdefghijklmnopqrstuv", "wombat"
SEARCH = {"name": "searchFilings", "arguments": json.dumps({"query": f"Northwind turbines {KEY}"})}


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(relaymirror, "FOLLOW_EVERY_S", 0.05)


async def hold_talk(layer: FaultyLayer, upstream: ContractHandle, conversation: Conversation) -> list[object]:
    """Run a turn with every private thing in it, watched with its thinking open from another process."""
    hold = [{"kind": "stall", "at": "event:60", "name": "go"}]
    content = f"<scratchpad>{PAD}</scratchpad>A {ANSWER}.\n\n" + "And more of this and that.\n\n" * 20
    upstream.script(
        [{"reasoning": THOUGHT, "tool_calls": [SEARCH]}, {"reasoning": THOUGHT, "content": content, "faults": hold}]
    )
    watcher = Watcher(conversation.pk, reads_thinking=True)
    async with two_runners(layer) as (here, there):
        with there.watching(watcher):
            await there.ready(conversation.pk)
            await here.submit(conversation.pk, conversation.owner_id, Message("Why?"))
            await until_it_holds(lambda: (mirror := there.live(conversation.pk)) and THOUGHT in mirror.thinking_so_far)
            await until_it_holds(lambda: ANSWER in json.dumps(layer.said))
            upstream.release("go")
            return await told_until(watcher, Finished)


async def test_nothing_private_is_said_to_other_processes(
    upstream: ContractHandle, conversation: Conversation, settings: LazySettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.REASONING_SCRATCHPAD_ENABLED = True
    monkeypatch.setattr("chat.heartbeat.CHECKPOINT_S", 0.05)
    await database_sync_to_async(load_demo)()
    passages = [passage async for passage in Passage.objects.values_list("text", flat=True)]
    layer = make_layer("memory")

    told = await hold_talk(layer, upstream, conversation)

    said = json.dumps(layer.said, ensure_ascii=False)
    assert ANSWER in said
    assert "searchFilings" in said
    assert [text for text in (THOUGHT, PAD, KEY, *passages) if text in said] == []
    assert any(isinstance(notice, ThinkingText) and THOUGHT in notice.text for notice in told)
    assert ANSWER in stored_answer(told)


async def test_thinking_is_read_only_while_somebody_has_it_open(
    conversation: Conversation, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[object] = []
    monkeypatch.setattr(log, "kept_thinking", lambda turn_id: asked.append(turn_id) or "")
    watcher = Watcher(conversation.pk)
    async with two_runners(make_layer("memory")) as (_here, there):
        with there.watching(watcher):
            await database_sync_to_async(open_turn)(conversation.pk, text="q")
            await there._relay.look()
            await until_it_holds(lambda: there.live(conversation.pk))
            place = there._relay._places[conversation.pk]
            await place._tend()
            assert asked == []
            watcher.reads_thinking = True
            await place._tend()

    assert len(asked) == 1


@pytest.mark.parametrize("may_read", [True, False])
async def test_page_subscribes_to_thinking_only_where_its_viewer_may_read_it(
    alice: User, conversation: Conversation, monkeypatch: pytest.MonkeyPatch, may_read: bool
) -> None:
    sees = Visibility(thinking="excerpt" if may_read else "withheld")
    watcher = Watcher(conversation.pk)
    page = Page(watcher, alice, None, sees)

    async def reread(*_args: object) -> tuple[User, Visibility]:
        return alice, sees

    monkeypatch.setattr("chat.page.look_again", reread)
    async with two_runners(make_layer("memory")) as (_here, there):
        monkeypatch.setattr("chat.page.runner", there)
        with there.watching(watcher):
            turn = await database_sync_to_async(open_turn)(conversation.pk, text="q")
            await there._relay.look()
            await until_it_holds(lambda: there.live(conversation.pk))
            await page.take({"action": "open", "part": "thinking", "id": turn.public_id})
            opened = watcher.reads_thinking
            await page.take({"action": "close", "part": "thinking", "id": turn.public_id})

    assert (opened, watcher.reads_thinking) == (may_read, False)


async def test_citations_of_a_mirrored_answer_are_checked_against_stored_passages(
    upstream: ContractHandle, conversation: Conversation
) -> None:
    await database_sync_to_async(load_demo)()
    found = await database_sync_to_async(search_passages)(SearchQuery("turbine outage"))
    quote = " ".join(found[0].text.split()[:7]).rstrip(".,;:")
    search = {"name": "searchFilings", "arguments": json.dumps({"query": "turbine outage"})}
    content = f"It says “{quote}” [1].\n\n" + "And more of this and that.\n\n" * 20
    hold = [{"kind": "stall", "at": "event:70", "name": "go"}]
    upstream.script([{"tool_calls": [search]}, {"content": content, "chunk": "word", "faults": hold}])
    watcher = Watcher(conversation.pk)
    async with two_runners(make_layer("memory")) as (here, there):
        with there.watching(watcher):
            await there.ready(conversation.pk)
            await here.submit(conversation.pk, conversation.owner_id, Message("Why?"))
            await until_it_holds(lambda: (mirror := there.live(conversation.pk)) and mirror.frozen)
            upstream.release("go")
            told = await told_until(watcher, Finished)

    html = "".join(notice.html for notice in told if isinstance(notice, BlockDone))
    assert 'data-verified="true"' in html


@pytest.fixture
def redis_bytes() -> Iterator[list[bytes]]:
    """Every byte that Redis says it gets, as its own monitor shows it."""
    where = urlsplit(os.environ["TEST_REDIS_URL"])
    seen: list[bytes] = []
    with socket.create_connection((where.hostname, where.port or 6379), timeout=10) as monitor:
        monitor.sendall(b"MONITOR\r\n")
        assert monitor.recv(100) == b"+OK\r\n"
        monitor.settimeout(0.1)
        done = threading.Event()
        thread = threading.Thread(target=read_all, args=(monitor, seen, done))
        thread.start()
        yield seen
        done.set()
        thread.join()


@pytest.mark.redis
async def test_redis_sees_neither_private_texts_nor_the_answer(
    upstream: ContractHandle,
    conversation: Conversation,
    settings: LazySettings,
    monkeypatch: pytest.MonkeyPatch,
    redis_bytes: list[bytes],
) -> None:
    settings.REASONING_SCRATCHPAD_ENABLED = True
    monkeypatch.setattr("chat.heartbeat.CHECKPOINT_S", 0.05)

    await hold_talk(make_layer("redis"), upstream, conversation)
    await until_it_holds(lambda: conversation.pk.hex.encode() in b"".join(redis_bytes))

    everything = b"".join(redis_bytes)
    assert [text for text in (THOUGHT, PAD, KEY, ANSWER, "searchFilings") if text.encode() in everything] == []


def read_all(monitor: socket.socket, seen: list[bytes], done: threading.Event) -> None:
    while not done.is_set():
        try:
            seen.append(monitor.recv(65536))
        except TimeoutError:
            continue
