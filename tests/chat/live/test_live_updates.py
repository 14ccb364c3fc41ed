"""The frames that an open page is sent make of it what a reload brings, in the process of the turn and in another."""

import asyncio
import json
import os
import re
import socket
import threading
from contextlib import AsyncExitStack
from datetime import timedelta
from urllib.parse import urlsplit

import lxml.html
import pytest
from channels.db import database_sync_to_async
from channels.layers import get_channel_layer
from django.conf import LazySettings
from django.utils import timezone

from accounts.access import visibility
from accounts.models import User
from chat.cards import rendering
from chat.filings.ingest import load_demo
from chat.filings.models import Passage
from chat.html import render
from chat.live import publish
from chat.live.blocks import RedrawPace
from chat.models import Conversation, Event, Turn
from chat.socket import consumer
from chat.turns import heartbeat
from chat.turns.manager import TurnManager
from chat.validation import Message
from reasoning.events import AssistantMessage
from replay_contract_server.fixture import ContractHandle
from tests.chat.asking import ask, ended, send, signed_in
from tests.chat.live_pages import LivePage, all_as_reloaded, page_of
from tests.factories import (
    abandon,
    end_turn,
    make_answer,
    make_conversation,
    make_profile,
    make_turn,
    open_turn,
    save_checkpoint,
)
from tests.frame_words import heard

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("quick")]
THOUGHT, TAIL, PAD, KEY = "quokka-thought", "quokka-tail", "quokka-pad", "sk-proj-quokka4711abcdefghijklmnopqrstuv"
SEARCH = {"name": "searchFilings", "arguments": json.dumps({"query": f"Northwind turbines {KEY}"}), "id": "call_0"}
ANSWER = "It says *so* [1].\n\n- one\n- two\n\n```\nx < 1 & y\n```\n\nThe **end** is near."
STALLS = [{"kind": "stall", "at": f"event:{event}", "name": f"go{event}"} for event in (3, 9, 15, 21)]


async def started(conversation: Conversation, text: str = "Why?", number: int = 1) -> Turn:
    """Ask without a socket; return the turn."""
    await send(conversation, text)
    return await conversation.turns.aget(number=number)


async def released(upstream: ContractHandle, name: str) -> None:
    await asyncio.to_thread(upstream.wait_for, held=name)
    upstream.release(name)


def held(name: str, at: str = "event:2") -> list[dict[str, str]]:
    return [{"kind": "stall", "at": at, "name": name}]


LAYERS = ["memory", pytest.param("redis", marks=pytest.mark.redis)]


@pytest.mark.parametrize("layer", LAYERS)
async def test_every_prefix_of_a_turn_and_every_action_leaves_the_page_as_a_reload(
    upstream, alice, conversation, elsewhere, layer
):
    await database_sync_to_async(load_demo)()
    short = {"content": "Short.\n\nAnd more.", "chunk": 4}
    upstream.script(
        [
            {"reasoning": THOUGHT, "tool_calls": [SEARCH], "faults": held("call", "first_event")},
            {"reasoning": THOUGHT, "tool_calls": [SEARCH], "faults": held("again", "first_event")},  # the same call id
            {"reasoning": THOUGHT, "content": ANSWER, "chunk": 4, "faults": STALLS},
            *({**short, "faults": held(name)} for name in ("second", "edited")),
            *([short] * 4),
        ]
    )
    url = f"/chats/{conversation.pk}/turns"
    async with AsyncExitStack() as stack:
        near = await stack.enter_async_context(page_of(alice, conversation))
        far = await stack.enter_async_context(page_of(alice, conversation, elsewhere))
        first = await started(conversation)
        for name in ("call", "again", *(stall["name"] for stall in STALLS)):
            await asyncio.to_thread(upstream.wait_for, held=name)
            await all_as_reloaded(near, far)
            upstream.release(name)
        await ended(conversation)
        await all_as_reloaded(near, far)

        await near.send(text="And then?")
        await asyncio.to_thread(upstream.wait_for, held="second")
        await far.send(text="And after that?")  # is queued
        await near.sees("And after that?")
        await all_as_reloaded(near, far)
        await far.send(action="stop")  # by way of the database
        upstream.release("edited")
        assert (await ended(conversation, 2)).status == "aborted"
        await all_as_reloaded(near, far)
        held_back = await conversation.queue.aget()
        await far.post(f"/chats/{conversation.pk}/queue/{held_back.pk}/", {"do": "send"})
        third = await ended(conversation, 3)
        await all_as_reloaded(near, far)

        await near.post(f"{url}/{third.pk}/retry/")
        await all_as_reloaded(near, far)
        again = await ended(conversation, 3)
        await all_as_reloaded(near, far)
        assert (again.pk == third.pk, again.status) == (False, "completed")

        await near.post(f"{url}/{first.pk}/edit/", {"text": "Why not?"})
        await all_as_reloaded(near, far)
        await ended(conversation)
        await all_as_reloaded(near, far)


@pytest.mark.engine
async def test_every_change_of_a_conversation_leaves_the_page_as_a_reload(alice, conversation, elsewhere):
    first = await database_sync_to_async(make_turn)(conversation, question="Why?")
    again = await database_sync_to_async(open_turn)(conversation.pk, text="Why not?", replaces=first)
    await database_sync_to_async(end_turn)(again, [AssistantMessage(text="Why indeed.")])
    await database_sync_to_async(make_profile)("kimi", label="Kimi")
    url = f"/chats/{conversation.pk}/"
    async with page_of(alice, conversation) as near, page_of(alice, conversation, elsewhere) as far:
        for address, form in [
            (f"{url}turns/{first.pk}/select/", {}),
            (f"{url}turns/{again.pk}/select/", {}),
            (f"{url}model/", {"model": "kimi"}),
            (f"{url}manage/", {"do": "rename", "title": "Turbines"}),
        ]:
            before = (await far.load()).state()
            await near.post(address, form)
            assert (await far.load()).state() != before
            await all_as_reloaded(near, far)

        await near.send(text="/set reasoning.stripFromContext none")
        await near.sees("command")
        await all_as_reloaded(near, far)


async def test_refused_action_still_brings_what_the_viewer_may_see_now(alice, conversation):
    await database_sync_to_async(make_answer)(conversation)
    async with page_of(alice, conversation) as page:
        before = (await page.load()).state()
        await User.objects.filter(pk=alice.pk).aupdate(reasoning={"reasoning.includeInResponse": False})
        await page.send(action="none such")
        await page.sees("there is no such action")
        assert (await page.load()).state() != before
        await page.is_as_reloaded()


@pytest.mark.parametrize("layer", LAYERS)
async def test_page_that_comes_late_shows_the_state_and_what_follows(upstream, alice, conversation, elsewhere, layer):
    upstream.script([{"content": ANSWER, "chunk": 4, "faults": STALLS}])
    await started(conversation)
    await released(upstream, "go3")
    await asyncio.to_thread(upstream.wait_for, held="go9")

    async with page_of(alice, conversation) as near, page_of(alice, conversation, elsewhere) as far:
        await all_as_reloaded(near, far)
        for name in ("go9", "go15", "go21"):
            await released(upstream, name)
            await all_as_reloaded(near, far)
        await ended(conversation)
        await all_as_reloaded(near, far)


@pytest.mark.slow
@pytest.mark.parametrize("loses", ["every other event", "all events", "all events, with an error", "the start as well"])
async def test_events_that_are_lost_are_made_up_for(upstream, alice, conversation, elsewhere, monkeypatch, loses):
    monkeypatch.setattr(publish, "RETRY_AFTER_S", 0.0)
    layer, count = get_channel_layer(), 0
    group_send = layer.group_send

    async def lossy(group, message):
        nonlocal count
        count += 1
        if loses == "every other event" and count % 2:
            await group_send(group, message)
        if loses == "all events, with an error":
            raise ConnectionError

    upstream.script([{"content": ANSWER, "chunk": 4, "faults": STALLS}])
    async with page_of(alice, conversation) as near, page_of(alice, conversation, elsewhere) as far:
        if loses == "the start as well":
            monkeypatch.setattr(layer, "group_send", lossy)
        await started(conversation)
        await asyncio.to_thread(upstream.wait_for, held="go3")
        await all_as_reloaded(near, far)
        monkeypatch.setattr(layer, "group_send", lossy)
        for stall in STALLS:
            await released(upstream, stall["name"])
        assert (await ended(conversation)).status == "completed"
        await all_as_reloaded(near, far)


async def test_retry_whose_start_is_lost_takes_the_place_of_the_answer(
    upstream, alice, conversation, elsewhere, monkeypatch
):
    async def lose(_group, _message): ...

    first = await database_sync_to_async(make_turn)(conversation, question="Why?")
    upstream.script([{"content": ANSWER, "chunk": 4, "faults": held("go", "event:9")}])
    async with page_of(alice, conversation) as near, page_of(alice, conversation, elsewhere) as far:
        await all_as_reloaded(near, far)
        monkeypatch.setattr(get_channel_layer(), "group_send", lose)
        await near.post(f"/chats/{conversation.pk}/turns/{first.pk}/retry/")
        await asyncio.to_thread(upstream.wait_for, held="go")
        await all_as_reloaded(near, far)
        upstream.release("go")
        assert (await ended(conversation)).status == "completed"
        await all_as_reloaded(near, far)


async def test_markup_that_cannot_be_drawn_yet_is_shown_as_text(upstream, alice, conversation, monkeypatch):
    for pace in ("markup_pace", "held_pace"):
        monkeypatch.setattr(f"chat.live.turn.{pace}", RedrawPace(1e-9))  # one redraw uses all of it
    text = "One **bold** word.\n\nA *second* block.\n\n- three\n- four"
    stalls = {3: "One", 6: "**bold**", 10: "*second*"}
    faults = [{"kind": "stall", "at": f"event:{event}", "name": str(event)} for event in stalls]
    upstream.script([{"content": text, "chunk": 4, "faults": faults}])
    async with page_of(alice, conversation) as page:
        await started(conversation)
        for event, shown in stalls.items():
            await asyncio.to_thread(upstream.wait_for, held=str(event))
            await page.sees(shown)
            await page.is_as_reloaded()
            upstream.release(str(event))
        await ended(conversation)
        await page.is_as_reloaded()
        assert "*" not in page.shown


async def test_block_whose_citations_fail_is_shown_without_them(upstream, alice, conversation, monkeypatch):
    failures = [ValueError("once")]

    def cite(*args):
        if failures:
            raise failures.pop()
        return render_cite(*args)

    render_cite = render.cite
    monkeypatch.setattr(render, "cite", cite)
    upstream.script([{"content": "*One* [1].\n\n" + "More.\n\n" * 5, "chunk": 4, "faults": held("go", "event:9")}])
    async with page_of(alice, conversation) as page:
        await started(conversation)
        await page.sees("<em>One</em>")
        upstream.release("go")
        assert (await ended(conversation)).status == "completed"
        await page.is_as_reloaded()
    assert not failures


async def test_status_names_the_results_that_the_model_reads(upstream, alice, conversation):
    await database_sync_to_async(load_demo)()
    upstream.script([{"tool_calls": [SEARCH]}, {"content": "Done.", "faults": held("go", "first_event")}])
    async with AsyncExitStack() as stack:
        pages = [
            await stack.enter_async_context(page_of(alice, conversation, language=language))
            for language in ("en", "de", "en")
        ]
        await pages[2].post("/accounts/toggles/show-trace/", {"on": "false"})
        await pages[2].send(action="none such")  # whatever a page asks, its viewer is read again first
        await pages[2].sees("there is no such action")
        await started(conversation)
        await pages[0].sees("Reading ")
        await all_as_reloaded(*pages)
        states = [(await page.load()).state() for page in pages]
        upstream.release("go")
        turn = await ended(conversation)

    count = (await Event.objects.aget(type="tool_result")).public["trace"]["results"]
    shown = [state[f"m-{turn.public_id} says"] for state in states]
    assert shown == [f"Reading {count} results…", f"Liest {count} Treffer …", "Thinking…"]


async def test_label_of_the_thinking_follows_it_and_says_how_much_is_shown(upstream, alice, conversation, elsewhere):
    upstream.script(
        [
            {
                "reasoning": "One thought more. " * 100,
                "content": "It is so. And more.",
                "chunk": 9,
                "faults": [{"kind": "stall", "at": f"event:{at}", "name": f"go{at}"} for at in (20, 150, 202)],
            },
        ]
    )
    labels = []
    async with AsyncExitStack() as stack:
        near = await stack.enter_async_context(page_of(alice, conversation))
        far = await stack.enter_async_context(page_of(alice, conversation, elsewhere))
        turn = await started(conversation)
        for at, words in ((20, "Thinking…"), (150, "· excerpt"), (202, "Thought ")):
            await asyncio.to_thread(upstream.wait_for, held=f"go{at}")
            await near.sees(words)
            await all_as_reloaded(near, far)
            labels.append(near.label_of_thinking(turn))
            upstream.release(f"go{at}")
        await ended(conversation)
        await all_as_reloaded(near, far)
        labels.append(near.label_of_thinking(turn))

    excerpt = "Thought some time · excerpt of ~450 tokens"
    labels = [re.sub(r"briefly|for \d+ s", "some time", label) for label in labels]
    assert labels == ["Thinking…", "Thinking… · excerpt", excerpt, excerpt]


async def test_card_names_the_model_by_the_label_of_its_profile(upstream, alice, conversation, elsewhere):
    conversation.profile = await database_sync_to_async(make_profile)(
        "kimi", label="Kimi at home", base_url=upstream.base_url, model="plain-model"
    )
    await conversation.asave()
    upstream.script([{"content": ANSWER, "faults": held("go")}])
    async with page_of(alice, conversation) as near, page_of(alice, conversation, elsewhere) as far:
        turn = await started(conversation)
        await asyncio.to_thread(upstream.wait_for, held="go")
        await all_as_reloaded(near, far)
        assert "Kimi at home" in far.state()[f"m-{turn.public_id}-head"]
        upstream.release("go")
        turn = await ended(conversation)
        await all_as_reloaded(near, far)

    assert "Kimi at home" in near.state()[f"m-{turn.public_id}-head"]
    assert (turn.model, turn.model_label) == ("plain-model", "Kimi at home")  # scripts get the model


async def test_wait_for_a_busy_service_counts_down(upstream, alice, conversation):
    upstream.script([{"content": "Done.", "faults": [{"kind": "rate_limit", "retry_after": 25, "times": 1}]}])
    async with page_of(alice, conversation) as page:
        await started(conversation)
        await page.sees("next try in")
        await page.is_as_reloaded()
        left = lxml.html.fromstring((await page.html()).encode()).xpath("//@data-remaining")
        await page.send(action="stop")
        await ended(conversation)

    assert [0 < int(seconds) <= 25 for seconds in left] == [True]


async def test_phases_of_many_steps_are_the_same_live_as_after_a_reload(upstream, alice, conversation, elsewhere):
    searches = [{**SEARCH, "id": f"call_{n}"} for n in range(4)]
    reads = [{"name": "readPassage", "arguments": "{}", "id": f"call_{n}"} for n in (4, 5)]
    upstream.script(
        [
            {"tool_calls": searches[:3]},
            {"tool_calls": searches[3:]},
            {"tool_calls": reads},
            {"content": "Done.", "faults": held("go", "first_event")},
        ]
    )
    async with page_of(alice, conversation) as near, page_of(alice, conversation, elsewhere) as far:
        await started(conversation)
        for page in (near, far):
            await page.sees("4 searches")
            await page.sees("2 failed")
        await asyncio.to_thread(upstream.wait_for, held="go")
        await all_as_reloaded(near, far)
        upstream.release("go")
        turn = await ended(conversation)
        await all_as_reloaded(near, far)
        steps = near.state()[f"m-{turn.public_id}-steps"]
        assert steps.count("3 calls made together") == 1
        assert steps.count('class="phase"') == 2


@pytest.mark.engine
async def test_turn_of_a_dead_process_ends_on_every_page(alice, conversation, elsewhere):
    turn = await database_sync_to_async(open_turn)(conversation.pk, text="q")
    await database_sync_to_async(save_checkpoint)(turn, answer="So far", thinking="")
    async with page_of(alice, conversation) as near, page_of(alice, conversation, elsewhere) as far:
        await all_as_reloaded(near, far)
        await database_sync_to_async(abandon)(turn)
        looking = asyncio.create_task(elsewhere.recover_abandoned())
        for page in (near, far):
            await page.sees('"status":"interrupted"')
        looking.cancel()
        await all_as_reloaded(near, far)


async def test_limit_counts_the_turns_of_other_processes(upstream, alice, conversation, settings):
    settings.MAX_CONCURRENT_TURNS, settings.REDIS_URL = 1, "redis://elsewhere"
    other = await database_sync_to_async(make_conversation)(owner=alice)
    turn = await database_sync_to_async(open_turn)(other.pk, text="q")
    await Turn.objects.filter(pk=turn.pk).aupdate(worker="elsewhere:1:0")

    assert (await send(conversation, "Why?")).status_code == 400
    assert not await conversation.turns.aexists()


# Privacy


async def private_talk(
    upstream: ContractHandle, ada: User, conversation: Conversation, elsewhere: TurnManager
) -> tuple[LivePage, LivePage]:
    """Run a turn with every private thing in it before two pages of an administrator, each at another process."""
    content = f"<scratchpad>{PAD}</scratchpad>A wombat.\n\n" + "And more of this.\n\n" * 5
    thought = f"{THOUGHT} {'and so on ' * 100} {TAIL}"
    calls = [SEARCH, {"name": f"search-{KEY}", "arguments": "{}"}]
    upstream.script([{"reasoning": thought, "tool_calls": calls, "chunk": 20}, {"content": content}])
    async with page_of(ada, conversation) as near, page_of(ada, conversation, elsewhere) as far:
        for page in (near, far):
            await page.post("/accounts/toggles/show-scratchpad/", {"on": "true"})
            await page.send(action="refresh")
        await ask(conversation)
        for page in (near, far):
            await page.sees("Answer ready")
        return near, far


@pytest.mark.spec("product 9")
@pytest.mark.spec("product 4")
@pytest.mark.parametrize(("flag", "thoughts"), [("hidden", []), ("excerpt", [THOUGHT]), ("full", [THOUGHT, TAIL])])
async def test_channel_layer_carries_nothing_private(upstream, ada, elsewhere, settings, monkeypatch, flag, thoughts):
    settings.REASONING_SCRATCHPAD_ENABLED, settings.REASONING_THINKING_FOR_USERS = True, flag
    await database_sync_to_async(load_demo)()
    passages = [passage async for passage in Passage.objects.values_list("text", flat=True)]
    conversation = await database_sync_to_async(make_conversation)(owner=ada)
    layer, sent = get_channel_layer(), []
    group_send = layer.group_send

    async def recorded(group, message):
        sent.append(message)
        await group_send(group, message)

    monkeypatch.setattr(layer, "group_send", recorded)
    near, far = await private_talk(upstream, ada, conversation, elsewhere)

    said = json.dumps(sent, ensure_ascii=False)
    assert [text for text in (PAD, KEY, *passages) if text in said] == []
    assert [text for text in (THOUGHT, TAIL) if text in said] == thoughts
    assert "wombat" in said
    assert PAD in heard(near.frames)
    assert PAD not in heard(far.frames)
    assert "in another server process" in heard(far.frames)


@pytest.mark.spec("product 9")
@pytest.mark.parametrize("ends_by", ["switch", "expiry", "permission"])
async def test_scratchpad_leaves_every_open_page_when_the_right_to_it_ends(
    upstream: ContractHandle,
    ada: User,
    settings: LazySettings,
    monkeypatch: pytest.MonkeyPatch,
    elsewhere: TurnManager,
    ends_by: str,
) -> None:
    settings.REASONING_SCRATCHPAD_ENABLED = True
    monkeypatch.setattr(consumer, "REAUTHORIZE_EVERY_S", 60.0 if ends_by == "switch" else 0.2)
    upstream.script([{"content": f"A wombat.<scratchpad>{PAD}</scratchpad>"}])
    conversation = await database_sync_to_async(make_conversation)(owner=ada)
    client = await signed_in(ada)
    async with AsyncExitStack() as stack:
        tabs = [await stack.enter_async_context(page_of(ada, conversation, client=client)) for _tab in range(2)]
        far = await stack.enter_async_context(page_of(ada, conversation, elsewhere, client=client))
        await tabs[0].post("/accounts/toggles/show-scratchpad/", {"on": "true"})
        for page in (*tabs, far):
            await page.sees('"name":"show-scratchpad","on":true')
        await ask(conversation)
        for page in tabs:
            await page.sees(PAD)
            await page.sees("Answer ready")
            assert page.state()["panels"] == 1

        if ends_by == "switch":
            await tabs[1].post("/accounts/toggles/show-scratchpad/", {"on": "false"})
        elif ends_by == "expiry":
            later = timezone.now() + timedelta(minutes=settings.SCRATCHPAD_TOGGLE_MINUTES, seconds=1)
            monkeypatch.setattr(visibility.timezone, "now", lambda: later)
        else:
            await ada.user_permissions.aclear()

        for page in (*tabs, far):
            await page.sees('"name":"show-scratchpad","on":false')
            await page.is_as_reloaded()
            assert page.state()["panels"] == 0
            assert page.state()["scratchpad"] == ([] if ends_by == "permission" else ["false"])


@pytest.mark.spec("004 scratchpad")
async def test_scratchpad_is_shown_while_it_is_written(upstream, ada, settings):
    settings.REASONING_SCRATCHPAD_ENABLED = True
    pad = f"<scratchpad>{PAD} comes first, {TAIL} comes later</scratchpad>"
    upstream.script([{"content": f"A wombat.{pad}", "chunk": 8, "faults": held("pad", "event:7")}])
    conversation = await database_sync_to_async(make_conversation)(owner=ada)
    client = await signed_in(ada)
    async with page_of(ada, conversation, client=client) as page, page_of(ada, conversation) as without_switch:
        await page.post("/accounts/toggles/show-scratchpad/", {"on": "true"})
        await page.sees('"name":"show-scratchpad","on":true')
        await started(conversation)
        await asyncio.to_thread(upstream.wait_for, held="pad")
        await page.sees(PAD)
        assert "Turns off in" in heard(page.frames)
        assert TAIL not in heard(page.frames)

        upstream.release("pad")
        await page.sees(TAIL)
        await without_switch.sees("Answer ready")
        assert PAD not in heard(without_switch.frames)


NOTES = "The owner wants us to hide the wallaby breach from the bank, so cite only Item 1A."
REPEATED = "the  OWNER wants us to hide the\nwallaby breach from the bank"


@pytest.mark.spec("product 22")
async def test_repeated_scratchpad_is_replaced_where_it_is_stored_and_where_it_was_shown(
    upstream: ContractHandle, ada: User, settings: LazySettings, elsewhere: TurnManager
) -> None:
    settings.REASONING_SCRATCHPAD_ENABLED = True
    await database_sync_to_async(load_demo)()
    conversation = await database_sync_to_async(make_conversation)(owner=ada)
    search = {"name": "searchFilings", "arguments": json.dumps({"query": REPEATED}), "id": "call_0"}
    pad, said = f"<scratchpad>{NOTES}</scratchpad>", f"I noted: {REPEATED}.\n\nAnd a wombat."
    upstream.script(
        [
            {
                "reasoning": said,
                "content": said + pad,
                "tool_calls": [search],
                "chunk": 8,
                "faults": held("pad", "event:24"),
            },
            {"content": "Then more.", "faults": held("second", "first_event")},
            {"content": "Next."},
        ]
    )
    async with page_of(ada, conversation) as near, page_of(ada, conversation, elsewhere) as far:
        await started(conversation)
        for page in (near, far):
            await page.sees("wallaby")  # until the step ends
        upstream.release("pad")

        # the next request, and so the page, has the text that is stored
        await asyncio.to_thread(upstream.wait_for, held="second")
        for page in (near, far):
            await page.is_as_reloaded()
            assert "I noted: [redacted]." in page.shown
            assert "wallaby" not in page.shown
        upstream.release("second")
        turn = await ended(conversation)
        await all_as_reloaded(near, far)

    sent = upstream.requests()[1]["body"]["messages"]
    assert json.loads(sent[-2]["tool_calls"][0]["function"]["arguments"])["query"] == REPEATED  # product 10
    assert "wallaby" not in sent[-2]["content"]
    envelope = (await (await signed_in(ada)).get(f"/api/chats/{conversation.pk}/messages/")).json()[-1]
    assert envelope["answer"] == "I noted: [redacted].\n\nAnd a wombat.\n\nThen more."
    assert envelope["toolTrace"][0]["args"]["query"] == "[redacted]"
    assert "wallaby" not in json.dumps(envelope)
    assert turn.masked >= 3
    stored = [event.public async for event in turn.events.all()]
    assert "wallaby" not in json.dumps(stored)


@pytest.fixture
def redis_bytes():
    """Every byte that Redis says it gets, as its own monitor shows it."""
    where = urlsplit(os.environ["TEST_REDIS_URL"])
    seen = []
    with socket.create_connection((where.hostname, where.port or 6379), timeout=10) as monitor:
        monitor.sendall(b"MONITOR\r\n")
        assert monitor.recv(5) == b"+OK\r\n"  # and no more: it reports what other clients send at once
        monitor.settimeout(0.1)
        done = threading.Event()
        thread = threading.Thread(target=_read_all, args=(monitor, seen, done))
        thread.start()
        yield seen
        done.set()
        thread.join()


@pytest.mark.redis
async def test_redis_sees_neither_private_texts_nor_the_answer(upstream, ada, elsewhere, settings, redis_bytes):
    settings.REASONING_SCRATCHPAD_ENABLED = True
    conversation = await database_sync_to_async(make_conversation)(owner=ada)

    await private_talk(upstream, ada, conversation, elsewhere)

    everything = b"".join(redis_bytes)
    assert conversation.pk.hex.encode() in everything
    assert [text for text in (THOUGHT, PAD, KEY, "wombat", "searchFilings") if text.encode() in everything] == []


def _read_all(monitor: socket.socket, seen: list[bytes], done: threading.Event) -> None:
    while not done.is_set():
        try:
            seen.append(monitor.recv(65536))
        except TimeoutError:
            continue


@pytest.mark.spec("product 26")
@pytest.mark.parametrize("layer", LAYERS)
async def test_call_that_waits_is_shown_everywhere_and_decided_in_any_page(
    upstream, alice, conversation, elsewhere, settings, layer
):
    settings.TOOLS_REQUIRING_APPROVAL = ["searchFilings"]
    other = {**SEARCH, "id": "call_1"}
    upstream.script([{"tool_calls": [SEARCH, other], "faults": held("call", "first_event")}, {"content": ANSWER}])
    async with page_of(alice, conversation) as near, page_of(alice, conversation, elsewhere) as far:
        turn = await started(conversation)
        await released(upstream, "call")
        for call_id, decision, page in (("call_0", "deny", near), ("call_1", "allow", far)):
            url = f"/chats/{conversation.pk}/turns/{turn.pk}/calls/{call_id}/"
            for each in (near, far):
                await each.sees(url)
            await all_as_reloaded(near, far)
            async with page_of(alice, conversation, elsewhere) as late:
                await late.is_as_reloaded()
                assert url in late.shown
            await turn.arefresh_from_db()
            await page.post(f"{url}?digest={turn.waiting_digest}", {"decision": decision})
        await ended(conversation)
        await all_as_reloaded(near, far)
        assert "Denied by the user." in near.shown
        assert KEY not in near.shown + "".join([*near.frames, *far.frames])


async def test_page_of_another_process_follows_a_turn_from_its_start(
    upstream, alice, conversation, elsewhere, settings, monkeypatch
):
    """Its first words do not wait for the first checkpoint."""
    monkeypatch.setattr(heartbeat, "CHECKPOINT_S", 600)
    settings.LEASE_HEARTBEAT_S, settings.LEASE_EXPIRY_S = 600, 3600
    upstream.script([{"content": "Early words of it. " * 9, "chunk": 20, "faults": held("go", "event:6")}])
    async with page_of(alice, conversation, elsewhere) as far:
        await far.sees('"running":false')
        await started(conversation)
        await asyncio.to_thread(upstream.wait_for, held="go")
        await far.sees("Early words")
        upstream.release("go")
        await ended(conversation)


@pytest.mark.spec("product 48")
async def test_pages_follow_a_turn_that_another_process_has_taken_up(
    upstream, alice, conversation, elsewhere, settings
):
    settings.TOOLS_REQUIRING_APPROVAL = ["searchFilings"]
    looks = {"content": "Let me look.\n\nOnce more.\n\n" * 9, "chunk": 4, "reasoning": THOUGHT, "tool_calls": [SEARCH]}
    upstream.script([looks, {"content": ANSWER, "chunk": 4, "faults": STALLS}])
    dead = TurnManager()
    async with page_of(alice, conversation) as near, page_of(alice, conversation, elsewhere) as far:
        for page in (near, far):
            await page.sees('"running":false')
        await dead.submit(conversation.pk, Message("Why?"))
        turn = await conversation.turns.aget()
        url = f"/chats/{conversation.pk}/turns/{turn.pk}/calls/call_0/"
        for page in (near, far):
            await page.sees(url)
        for run in dead._runs.values():
            run.calls.approvals.is_handed_over = True  # it writes nothing more
        await database_sync_to_async(abandon)(turn)
        for task in dead._run_tasks:
            task.cancel()
        await dead.drain(within_s=5)
        recovering = asyncio.create_task(elsewhere.recover_abandoned())
        while elsewhere.live(conversation.pk) is None:  # noqa: ASYNC110 - the manager has no event for it
            await asyncio.sleep(0.02)
        await turn.arefresh_from_db()
        await near.post(f"{url}?digest={turn.waiting_digest}", {"decision": "deny"})
        for stall in STALLS:
            await asyncio.to_thread(upstream.wait_for, held=stall["name"])
            await all_as_reloaded(near, far)
            upstream.release(stall["name"])
        await ended(conversation)
        await all_as_reloaded(near, far)
        recovering.cancel()


@pytest.mark.slow
@pytest.mark.spec("product 20")
@pytest.mark.parametrize("interleaved", [False, True])
async def test_messages_of_one_response_are_shown_live_as_after_a_reload(
    upstream, alice, conversation, elsewhere, settings, interleaved
):
    settings.OPENAI_API, settings.OPENAI_MODEL = "responses", "gpt-5-mini"
    texts = (
        "Looking **now",
        "into** it.\n\nReasoning Summary:\n- One.\n- Two.\n\nFinal Answer:\nIt is *so*.",
        "And so on.",
    )
    items = [part for text in texts for part in ({"type": "message", "text": text}, {"type": "reasoning"})]
    stalls = [{"kind": "stall", "at": f"event:{event}", "name": f"at{event}"} for event in range(5, 32, 5)]
    upstream.script([{"items": items, "chunk": 8, "faults": stalls}], knobs={"interleaved": interleaved})
    async with page_of(alice, conversation) as near, page_of(alice, conversation, elsewhere) as far:
        await started(conversation)
        for stall in stalls:
            await asyncio.to_thread(upstream.wait_for, held=stall["name"])
            await all_as_reloaded(near, far)
            upstream.release(stall["name"])
        await ended(conversation)
        await all_as_reloaded(near, far)

    turn = await conversation.turns.aget()
    assert turn.summary_source == "model"
    for text in ('<p dir="auto">Looking **now</p>', '<p dir="auto">into** it.</p>', "And so on."):
        assert text in (await (await signed_in(alice)).get(f"/chats/{conversation.pk}/")).content.decode()


@pytest.mark.spec("product 45")
async def test_answer_that_is_too_large_for_a_page_ends_as_a_reload_shows_it(
    upstream, alice, conversation, elsewhere, monkeypatch
):
    monkeypatch.setattr(rendering, "MAX_ANSWER_BYTES", 2_000)
    upstream.script([{"content": "A *word*.\n\n" * 300, "chunk": 300, "faults": held("middle", "event:9")}])
    async with AsyncExitStack() as stack:
        near = await stack.enter_async_context(page_of(alice, conversation))
        far = await stack.enter_async_context(page_of(alice, conversation, elsewhere))
        await started(conversation)
        await asyncio.to_thread(upstream.wait_for, held="middle")
        late = await stack.enter_async_context(page_of(alice, conversation))
        upstream.release("middle")
        await ended(conversation)
        await all_as_reloaded(near, far, late)

        assert "too long for the page" in near.shown
        assert near.shown.count("<em>word</em>") < 100
