"""Messages over the API: commands, repeats, stopping, one turn while it runs, and the trace on request."""

import asyncio
import json
from datetime import timedelta
from typing import Any

import pytest
from channels.db import database_sync_to_async
from django.test import AsyncClient
from django.utils import timezone

from chat.conversations import actions
from chat.models import Conversation, Turn
from replay_contract_server.fixture import ContractHandle
from tests.chat.api_client import EVENTS, JSON, ask, client_of, post, streamed
from tests.chat.asking import ended
from tests.factories import make_profile, make_turn

pytestmark = pytest.mark.django_db(transaction=True)
HOLD = {"kind": "stall", "at": "event:6", "name": "go"}
SLOW = {"reasoning": "One two.", "content": "Three four five six seven.", "chunk": "word", "faults": [HOLD]}
SEARCH = {"name": "searchFilings", "arguments": '{"query": "turbines"}'}


async def held(upstream: ContractHandle) -> None:
    await asyncio.to_thread(upstream.wait_for, held="go")


async def read_until(client: AsyncClient, url: str, answer: str) -> dict[str, Any]:
    """Read a running turn until it has shown this much: words are published a moment after they came."""
    for _time in range(1500):
        if (form := (await client.get(url)).json())["answer"].startswith(answer):
            return form
        await asyncio.sleep(0.02)
    raise AssertionError(form)


@pytest.mark.parametrize(
    "text", ["/set reasoning.format xml", " /SET", "/set reasoning.effort=low", "/profile load kimi", "/help", "/helpp"]
)
async def test_command_of_the_composer_is_refused_and_nothing_is_sent(upstream, alice, conversation, text):
    answer = await ask(await client_of(alice), conversation, {"text": text})

    error = answer.json()["error"]
    assert (answer.status_code, error["code"], error["field"]) == (400, "command", "text")
    assert f"/api/chats/{conversation.pk}/settings/" in error["message"]
    assert (upstream.requests(), await conversation.turns.acount()) == ([], 0)


@pytest.mark.parametrize("text", ["/etc/hosts is what?", "What does /set do?", "/usr"])
async def test_text_that_only_looks_like_a_command_is_a_question_where_the_page_takes_it_for_one(
    upstream, alice, conversation, text
):
    upstream.script([{"content": "A file."}])

    answer = await ask(await client_of(alice), conversation, {"text": text})

    assert answer.status_code == (400 if text == "/usr" else 200)


# Idempotency-Key
@pytest.mark.parametrize("headers", [{}, EVENTS])
@pytest.mark.parametrize("by_header", [True, False])
async def test_repeat_returns_the_first_turn_and_asks_nothing(upstream, alice, conversation, headers, by_header):
    upstream.script([{"content": "Once."}])
    await database_sync_to_async(make_profile)("other")
    client = await client_of(alice)
    key = {"Idempotency-Key": "order-1"} if by_header else {}
    body = {"text": "Why?"} if by_header else {"text": "Why?", "id": "order-1"}

    first = (await post(client, conversation, body, **key)).json()
    again = await post(client, conversation, {**body, "model": "other"}, **key, **headers)
    form = (await streamed(again))[2] if headers else again.json()

    assert form == first
    assert len(upstream.requests()) == 1
    assert (await Conversation.objects.select_related("profile").aget(pk=conversation.pk)).profile is None


@pytest.mark.parametrize("headers", [{}, EVENTS])
async def test_repeat_of_a_running_message_waits_for_its_end(upstream, alice, conversation, headers):
    upstream.script([SLOW])
    client, key = await client_of(alice), {"Idempotency-Key": "order-1"}

    first = asyncio.create_task(post(client, conversation, {"text": "Why?"}, **key))
    await held(upstream)
    again = asyncio.create_task(post(client, conversation, {"text": "Why?"}, **key, **headers))
    other = await post(client, conversation, {"text": "What?"}, **key)
    upstream.release("go")

    answer = await again
    form = (await streamed(answer))[2] if headers else answer.json()
    assert form == (await first).json()
    assert (other.status_code, other.json()["error"]["code"]) == (422, "idempotency_key_reused")
    assert other.json()["error"]["field"] == "Idempotency-Key"


async def test_same_id_with_another_text_is_refused(upstream, alice, conversation):
    upstream.script([{"content": "Once."}])
    client = await client_of(alice)
    await ask(client, conversation, {"text": "Why?", "id": "order-1"})

    answer = await ask(client, conversation, {"text": "What?", "id": "order-1"})

    assert (answer.status_code, answer.json()["error"]["code"]) == (422, "idempotency_key_reused")
    assert answer.json()["error"]["field"] == "id"
    assert len(upstream.requests()) == 1


@pytest.mark.parametrize("is_purged", [False, True])
async def test_id_of_a_deleted_message_is_refused(upstream, alice, conversation, is_purged):
    upstream.script([{"content": "Once."}])
    client, body = await client_of(alice), {"text": "Why?", "id": "order-1"}
    first = (await ask(client, conversation, body)).json()
    await database_sync_to_async(actions.delete_message)(await Turn.objects.aget(pk=first["id"]))
    if is_purged:
        await Turn.objects.aupdate(deleted_at=timezone.now() - timedelta(minutes=5))
        await database_sync_to_async(actions.purge)()

    answer = await ask(client, conversation, body)

    assert (answer.status_code, answer.json()["error"]["code"]) == (422, "idempotency_key_reused")
    assert len(upstream.requests()) == 1


@pytest.mark.parametrize(
    ("key", "body_id", "field"),
    [
        ("", None, "Idempotency-Key"),
        ("x" * 65, None, "Idempotency-Key"),
        ("a b", None, "Idempotency-Key"),
        ("é", None, "Idempotency-Key"),
        ("one", "two", "id"),
        (None, "x" * 65, "id"),
        (None, "a\x00b", "id"),
        (None, "\ud800", "id"),
        (None, "é", "id"),
        (None, 7, "id"),
    ],
)
async def test_id_of_a_message_is_bounded(alice, conversation, key, body_id, field):
    body = {"text": "Why?"} | ({} if body_id is None else {"id": body_id})

    answer = await post(await client_of(alice), conversation, body, **({} if key is None else {"Idempotency-Key": key}))

    error = answer.json()["error"]
    assert (answer.status_code, error["code"], error["field"]) == (400, "invalid", field)
    assert not await conversation.turns.aexists()


async def test_running_turn_is_stopped_and_what_it_wrote_is_kept(upstream, alice, bob, conversation):
    upstream.script([SLOW])
    client, url = await client_of(alice), f"/api/chats/{conversation.pk}/stop/"
    asking = asyncio.create_task(ask(client, conversation))
    await held(upstream)
    await read_until(
        client, f"/api/chats/{conversation.pk}/messages/{(await conversation.turns.aget()).pk}/", "Three four"
    )

    strangers = await (await client_of(bob)).post(url)
    stopped = await client.post(url)
    form = (await asking).json()
    again = await client.post(url)

    assert (strangers.status_code, stopped.status_code, stopped.content) == (404, 204, b"")
    assert (form["status"], form["finishReason"], form["answer"]) == ("stopped", "user_stop", "Three four five")
    assert (again.status_code, again.json()["error"]["code"]) == (409, "no_turn")


async def test_running_turn_is_read_as_far_as_it_has_come(upstream, alice, bob, conversation):
    upstream.script([{"tool_calls": [SEARCH]}, SLOW])
    client = await client_of(alice)
    asking = asyncio.create_task(ask(client, conversation))
    await held(upstream)
    turn = await conversation.turns.aget()
    url = f"/api/chats/{conversation.pk}/messages/"

    now = await read_until(client, f"{url}{turn.pk.hex}/", "Three four")
    listed = (await client.get(url)).json()
    stranger = await (await client_of(bob)).get(f"{url}{turn.pk.hex}/")
    upstream.release("go")
    end = (await asking).json()

    assert (now["status"], now["finishReason"], now["id"]) == ("streaming", None, turn.pk.hex)
    assert end["thinking"]["text"].startswith(now["thinking"]["text"])  # the redactor holds back the last words
    assert [step["tool"] for step in now["toolTrace"]] == ["searchFilings"]
    assert listed == [{"role": "user", "text": "Why?"}, {"role": "assistant", **now}]
    assert stranger.status_code == 404
    assert (await client.get(f"{url}{turn.pk}")).json() == end
    assert end["answer"].startswith(now["answer"])


async def test_turn_of_another_conversation_is_not_found(alice, conversation):
    other = await Conversation.objects.acreate(owner=alice)
    turn = await database_sync_to_async(make_turn)(other)

    answer = await (await client_of(alice)).get(f"/api/chats/{conversation.pk}/messages/{turn.pk}/")

    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "not_found")


@pytest.mark.spec("product 4")
@pytest.mark.parametrize("thinking", ["hidden", "excerpt"])
async def test_running_turn_shows_no_more_than_its_viewer_may_see(upstream, alice, conversation, settings, thinking):
    settings.REASONING_THINKING_FOR_USERS = thinking
    thought = "quokka " * 200 + "end-of-the-thought"
    upstream.script([{**SLOW, "reasoning": thought, "chunk": 700, "faults": [{**HOLD, "at": "before_done"}]}])
    client = await client_of(alice)
    asking = asyncio.create_task(ask(client, conversation))
    await held(upstream)
    turn = await conversation.turns.aget()
    url = f"/api/chats/{conversation.pk}/messages/{turn.pk}/"

    now = await read_until(client, url, "Three four")
    stream = await client.get(url, headers=EVENTS)
    upstream.release("go")
    texts, _names, form = await streamed(stream)
    await asking

    assert "end-of-the-thought" not in json.dumps([now, texts, form])
    assert ("thinking" in now, "thinking" in texts) == (thinking == "excerpt",) * 2
    if thinking == "excerpt":
        assert now["thinking"]["truncated"] is True
        assert texts["thinking"].rstrip().endswith("…(truncated)")


@pytest.mark.spec("product 13")
@pytest.mark.parametrize("by_default", [True, False])
async def test_trace_is_included_where_it_is_asked_for(upstream, alice, conversation, settings, by_default):
    settings.REASONING_TOOL_TRACE_DEFAULT = by_default
    upstream.script([{"tool_calls": [SEARCH]}, {"content": "Yes."}] * 4)
    client = await client_of(alice)
    url = f"/api/chats/{conversation.pk}/messages/"

    async def answers(query):
        asked = (await client.post(url + query, json.dumps({"text": "Why?"}), **JSON)).json()
        stream = await client.post(url + query, json.dumps({"text": "Why?"}), **JSON, headers=EVENTS)
        _texts, names, done = await streamed(stream)
        one = (await client.get(f"{url}{asked['id']}/{query}")).json()
        listed = (await client.get(url + query)).json()[1]
        return [bool(form["toolTrace"]) for form in (asked, done, one, listed)] + ["tool_step" in names]

    assert await answers("") == [by_default] * 5
    assert await answers("?include=trace") == [True] * 5


@pytest.mark.parametrize(
    "query", ["include=", "include=scratchpad", "include=trace,thinking", "include=trace&include=x"]
)
async def test_unknown_include_is_refused(alice, conversation, query):
    client, url = await client_of(alice), f"/api/chats/{conversation.pk}/messages/?{query}"

    for answer in (await client.get(url), await client.post(url, '{"text": "Why?"}', **JSON)):
        error = answer.json()["error"]
        assert (answer.status_code, error["code"], error["field"]) == (400, "unknown_include", "include")
    assert not await conversation.turns.aexists()


async def test_client_that_leaves_a_json_request_stops_nothing_and_may_come_back(upstream, alice, conversation):
    upstream.script([SLOW])
    client, key = await client_of(alice), {"Idempotency-Key": "order-1"}
    asking = asyncio.create_task(post(client, conversation, {"text": "Why?"}, **key))
    await held(upstream)

    asking.cancel()
    upstream.release("go")
    assert (await ended(conversation)).status == Turn.Status.COMPLETED
    again = (await post(client, conversation, {"text": "Why?"}, **key)).json()

    assert again["answer"] == SLOW["content"]
    assert len(upstream.requests()) == 1
