"""Two real server processes over PostgreSQL and Redis: a turn of one is watched, stopped, continued from the other."""

import asyncio
import os
import re
import socket
import time
import uuid
from contextlib import ExitStack
from urllib.parse import urlsplit

import aiohttp
import psycopg
import pytest
import pytest_asyncio

from tests.chat.api_client import EVENTS, ServerEvent, joined, parse_events
from tests.open_page import Person
from tests.server import RunningServer, empty_database, environment_in, prepare_database, serving

pytestmark = [pytest.mark.postgres, pytest.mark.redis]
TEXT = "\n\n".join(f"Paragraph {number} says this and that, at some length." for number in range(12))
HOLD = [{"kind": "stall", "at": "event:60", "name": "go"}]
SHOWN = "Paragraph 3"
FAST = {"LEASE_HEARTBEAT_S": "1", "LEASE_EXPIRY_S": "15"}


@pytest.fixture(scope="module")
def site(tmp_path_factory, server):
    """The environment that both processes share, over a database that is ready."""
    own = {"OPENAI_BASE_URL": server.base_url, "OPENAI_MODEL": "plain-model", "TOOLS_REQUIRING_APPROVAL": "readPassage"}
    with empty_database("pair") as database:
        own |= {"DATABASE_URL": database, "REDIS_URL": os.environ["TEST_REDIS_URL"], **FAST}
        shared = environment_in(tmp_path_factory.mktemp("pair"), **own)
        prepare_database(shared)
        yield shared


@pytest.fixture(scope="module")
def pair(site, tmp_path_factory):
    """Return a function that starts what is not running of two servers."""
    running = []

    def start():
        running[:] = [one for one in running if one.process.poll() is None]
        while len(running) < 2:
            running.append(stack.enter_context(serving(site, tmp_path_factory.mktemp("server"))))
        return running

    with ExitStack() as stack:
        yield start


@pytest.fixture
def servers(pair, server):
    server.reset()
    return pair()


@pytest_asyncio.fixture
async def people(servers):
    both = [Person(server.base_url) for server in servers]
    for one in both:
        await one.sign_in()
    yield both
    for one in both:
        await one.leave()


@pytest_asyncio.fixture
async def chat(people):
    chat = await people[0].new_chat()
    for one in people:
        await one.open(chat)
    return chat


async def test_turn_is_watched_and_stopped_from_the_other_process(server, people, chat):
    near, far = people
    server.script([{"content": TEXT, "chunk": "word", "faults": HOLD}])

    await near.send(text="Why?")
    await far.sees(SHOWN)
    await far.send(action="stop")
    answer = (await far.cards(chat))[-1]
    for one in people:
        await one.sees_end(answer["id"], "stopped")

    answer = (await far.cards(chat))[-1]
    assert answer["status"] == "stopped"
    assert TEXT.startswith(answer["answer"])


@pytest.mark.slow
async def test_turn_is_resumed_and_stopped_over_the_api_of_the_other_process(server, servers, people, chat):
    [token] = re.findall(r"lgb_\S+", servers[0].manage("create_token", "demo"))
    near, far = (f"{one.base_url}/api/chats/{chat}" for one in servers)
    faults = [{**HOLD[0], "at": "event:60"}, {**HOLD[0], "at": "event:90", "name": "never"}]
    server.script([{"content": TEXT, "chunk": "word", "faults": faults}])

    async with aiohttp.ClientSession(headers={"Authorization": f"Bearer {token}", **EVENTS}) as client:
        async with client.post(f"{near}/messages/", json={"text": "Why?"}) as answer:
            first = await events_until(answer, SHOWN)
        turn = first[0].data["id"]
        async with client.get(f"{far}/messages/{turn}/", headers={"Last-Event-ID": first[-1].id}) as answer:
            reading = asyncio.create_task(events_until(answer))
            server.release("go")
            await asyncio.to_thread(server.wait_for, held="never")
            async with client.post(f"{far}/stop/") as stopped:
                assert stopped.status == 204
            events = first + await reading
        async with client.get(f"{far}/messages/{turn}/", headers={"Accept": "application/json"}) as answer:
            form = await answer.json()

    assert events[-1].data == form
    assert (form["status"], form["finishReason"]) == ("stopped", "user_stop")
    assert joined(events)["answer"].rstrip() == form["answer"]
    assert SHOWN in form["answer"]
    assert TEXT.startswith(form["answer"])


@pytest.mark.slow
async def test_streams_and_ended_requests_hold_no_connection_to_the_database(server, servers, people, chat):
    [token] = re.findall(r"lgb_\S+", servers[0].manage("create_token", "demo"))
    url = f"{servers[0].base_url}/api/chats/{chat}/messages/"
    server.script([{"content": TEXT, "chunk": "word", "faults": HOLD}])
    before = connections_to(servers[0])

    async with (
        aiohttp.ClientSession(headers={"Authorization": f"Bearer {token}", **EVENTS}) as client,
        client.post(url, json={"text": "Why?"}) as first,
    ):
        turn = (await events_until(first, SHOWN))[0].data["id"]
        streams = [await client.get(f"{url}{turn}/") for _number in range(20)]
        for stream in streams:
            await events_until(stream, SHOWN)
        for _number in range(20):
            async with client.get(url) as listed:
                assert listed.status == 200
        during = connections_to(servers[0])
        server.release("go")
        for stream in (first, *streams):
            await events_until(stream)

    # a few requests may be ending at the moment
    assert (during - before < 10, connections_to(servers[0]) - before < 10) == (True, True)


def connections_to(server: RunningServer) -> int:
    """Return how many connections to its database are open."""
    with psycopg.connect(server.environment["DATABASE_URL"], autocommit=True) as database:
        row = database.execute("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()").fetchone()
    assert row
    return int(row[0])


async def events_until(answer: aiohttp.ClientResponse, text: str = "event: done") -> list[ServerEvent]:
    """Read server-sent events up to the one with this text."""
    body = ""
    async with asyncio.timeout(60):
        while text not in body:
            body += (await answer.content.readuntil(b"\n\n")).decode()
    return parse_events(body)


@pytest.mark.slow
@pytest.mark.spec("product 26")
async def test_call_that_waits_is_shown_and_decided_at_the_other_process(server, people, chat):
    near, far = people
    call = {"name": "readPassage", "arguments": '{"url": "/filings/none/#x"}', "id": "call_a"}
    server.script([{"tool_calls": [call]}, {"content": "Read."}])

    await near.send(text="Why?")
    for one in people:
        await one.sees("data-approval")
    for _try in range(150):
        answer = (await far.cards(chat))[-1]
        if answer["toolTrace"]:  # from the next checkpoint on
            break
        await asyncio.sleep(0.2)
    step = answer["toolTrace"][-1]
    assert (step["status"], step["callId"]) == ("waiting", "call_a")
    path = f"/api/chats/{chat}/messages/{answer['id']}/calls/call_a/"
    assert await far.post(path, decision="allow", digest=step["digest"]) == 204
    for one in people:
        await one.sees_end(answer["id"], "complete")
    assert await near.post(path, decision="deny", digest=step["digest"]) == 409


async def test_message_to_the_other_process_waits_and_is_answered_once(server, people, chat):
    near, far = people
    server.script([{"content": TEXT, "chunk": "word", "faults": HOLD}, {"content": "Second answer."}])

    await near.send(text="Why?", id="q1")
    await far.sees(SHOWN)
    await far.send(text="And?", id="q2")
    await near.sees("And?")
    server.release("go")
    for one in people:
        await one.sees("Second answer.")
    second = (await far.cards(chat))[-1]
    for one in people:
        await one.sees_end(second["id"], "complete")

    cards = await far.cards(chat)
    assert [card["text"] for card in cards if card["role"] == "user"] == ["Why?", "And?"]
    assert [card["answer"] for card in cards if card["role"] == "assistant"] == [TEXT, "Second answer."]


@pytest.mark.slow
async def test_process_that_is_killed_is_noticed_and_its_turn_ended_by_the_other(server, servers, people, chat):
    near, far = people
    server.script([{"content": TEXT, "chunk": "word", "faults": HOLD}])
    await near.send(text="Why?", id="q1")
    await far.sees(SHOWN)
    await asyncio.to_thread(wait_for_checkpoint, servers[1], chat)

    running = (await far.cards(chat))[-1]
    servers[0].process.kill()
    await far.sees_end(running["id"], "interrupted")
    cards = await far.cards(chat)
    server.script([{"content": "Going on."}])
    await far.send(text="And?", id="q2")
    await far.sees("Going on.")

    assert cards[0]["text"] == "Why?"
    assert cards[1]["status"] == "interrupted"
    assert TEXT.startswith(cards[1]["answer"])
    assert SHOWN in cards[1]["answer"]
    assert server.refusals() == []


@pytest.mark.slow
async def test_process_that_is_asked_to_end_ends_its_turn_and_leaves_what_waits_to_the_other(
    server, servers, people, chat
):
    near, far = people
    server.script([{"content": TEXT, "chunk": "word", "faults": HOLD}, {"content": "Second answer."}])
    await near.send(text="Why?", id="q1")
    await far.sees(SHOWN)
    await near.send(text="And?", id="q2")
    await far.sees("And?")

    servers[0].process.terminate()
    await asyncio.to_thread(wait_until_refused, servers[0])
    server.release("go")
    await far.sees("Second answer.")
    code = await asyncio.to_thread(servers[0].process.wait, 30)

    cards = await far.cards(chat)
    assert code == 0
    assert [card["text"] for card in cards if card["role"] == "user"] == ["Why?", "And?"]
    assert [card["answer"] for card in cards if card["role"] == "assistant"] == [TEXT, "Second answer."]


def wait_until_refused(server: RunningServer) -> None:
    """Wait until a server refuses connections: it is ending."""
    where = urlsplit(server.base_url)
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        with socket.socket() as probe:
            if probe.connect_ex((where.hostname, where.port)):
                return
        time.sleep(0.02)
    raise AssertionError("it still listens")


def wait_for_checkpoint(server: RunningServer, chat: uuid.UUID) -> None:
    """Wait until what the page saw is stored: text after the last checkpoint dies with its process."""
    question = "SELECT answer FROM chat_checkpoint c JOIN chat_turn t ON t.id = c.turn_id WHERE t.conversation_id = %s"
    deadline = time.monotonic() + 60
    with psycopg.connect(server.environment["DATABASE_URL"], autocommit=True) as database:
        while not ((row := database.execute(question, [chat]).fetchone()) and SHOWN in row[0]):
            assert time.monotonic() < deadline
            time.sleep(0.1)
