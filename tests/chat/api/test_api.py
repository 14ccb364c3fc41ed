"""The JSON API: the same turns and the same gates as the page."""

import json
import time

import pytest
from channels.db import database_sync_to_async
from django.contrib.sessions.backends.db import SessionStore
from django.db import OperationalError
from django.test import AsyncClient

from accounts.access.tokens import create_token
from accounts.access.visibility import SCRATCHPAD_UNTIL
from chat import eventlog
from chat.models import Conversation
from chat.providers.connections import close_clients
from tests.chat.api_client import EVENTS, JSON, ask, client_of, post
from tests.factories import make_conversation

pytestmark = pytest.mark.django_db(transaction=True)
CALL = {"name": "searchFilings", "arguments": '{"query": "turbines"}'}
SECTIONS = "Reasoning Summary:\n- Looked.\n- Compared.\n\nFinal Answer:\nForty-two."
REPLIES = [{"reasoning": "Let me see.", "tool_calls": [CALL]}, {"reasoning": "Now I know.", "content": SECTIONS}]


@pytest.fixture
def url(conversation):
    return f"/api/chats/{conversation.pk}/messages/"


async def test_script_makes_a_conversation_asks_and_reads_it_back(upstream, alice):
    upstream.script(REPLIES)
    client = await client_of(alice)

    made = await client.post("/api/chats/")
    conversation = await Conversation.objects.aget(pk=made.json()["id"])
    answered = (await ask(client, conversation)).json()
    listed = (await client.get(f"/api/chats/{conversation.pk}/messages/")).json()

    assert made.status_code == 201
    assert answered["answer"] == "Forty-two."
    assert answered["reasoningSummary"] == ["Looked.", "Compared."]
    assert (answered["status"], answered["summarySource"]) == ("complete", "model")
    assert answered["thinking"]["text"] == "Let me see.\n\nNow I know."
    assert [step["tool"] for step in answered["toolTrace"]] == ["searchFilings"]
    assert "scratchpad" not in answered
    assert listed == [{"role": "user", "text": "Why?"}, {"role": "assistant", **answered}]
    assert [chat["id"] for chat in (await client.get("/api/chats/")).json()] == [str(conversation.pk)]


async def test_session_needs_the_csrf_token(alice):
    client = await client_of(alice, by="session")

    answer = await client.post("/api/chats/")

    assert (answer.status_code, answer.json()["error"]["code"]) == (403, "csrf")
    assert (await client.get("/api/chats/")).status_code == 200


@pytest.mark.parametrize(
    ("body", "status", "code", "field"),
    [
        ("{", 400, "invalid_json", None),
        ("[]", 400, "invalid_json", None),
        ({}, 400, "invalid", "text"),
        ({"text": " "}, 400, "empty", "text"),
        ({"text": "abcdef"}, 400, "too_long", "text"),
        ({"text": "\ud800"}, 400, "invalid", "text"),
        ({"text": "a\x00"}, 400, "invalid", "text"),
        ({"text": "abc", "model": "gpt-99"}, 400, "unknown_model", "model"),
        ({"text": "abc", "model": []}, 400, "unknown_model", "model"),
        ({"text": "abc", "id": []}, 400, "invalid", "id"),
        (b'{"text": "' + b"a" * 3_000_000 + b'"}', 413, "too_large", None),
        (b"\xff\xfe{", 400, "invalid_json", None),
        (b"[" * 100_000, 400, "invalid_json", None),
        (b'{"text": ' + b"9" * 5_000 + b"}", 400, "invalid_json", None),
    ],
)
async def test_bad_input_names_the_field(upstream, alice, settings, body, status, code, field):
    settings.MESSAGE_MAX_CHARS = 5
    conversation = await database_sync_to_async(make_conversation)(owner=alice)

    answer = await ask(await client_of(alice), conversation, body)

    error = answer.json()["error"]
    assert (answer.status_code, error["code"], error.get("field")) == (status, code, field)
    assert error["message"]


async def test_events_are_never_compressed(upstream, alice, conversation):
    upstream.script([{"content": "Yes."}])

    answer = await post(await client_of(alice), conversation, {"text": "Why?"}, **EVENTS, **{"Accept-Encoding": "gzip"})

    assert "Content-Encoding" not in answer.headers
    assert b"event: done" in b"".join([piece async for piece in answer])


@pytest.mark.spec("product 14")
async def test_token_with_a_session_cookie_has_none_of_the_rights_of_that_session(upstream, ada, settings):
    settings.REASONING_SCRATCHPAD_ENABLED = True
    conversation = await database_sync_to_async(make_conversation)(owner=ada)
    client = AsyncClient()
    await client.aforce_login(ada)
    session = SessionStore(client.cookies[settings.SESSION_COOKIE_NAME].value)
    await session.aset(SCRATCHPAD_UNTIL, int(time.time()) + 600)
    await session.asave()
    _row, token = await database_sync_to_async(create_token)(ada)
    reply = {"content": "Yes.<scratchpad>quokka-canary-3308</scratchpad>"}
    upstream.script([reply, reply])

    by_session = await ask(client, conversation)
    by_both = await ask(client, conversation, headers={"Authorization": f"Bearer {token}"})

    assert "quokka-canary-3308" in by_session.json()["scratchpad"]
    assert by_both.json()["answer"] == "Yes."
    assert b"quokka" not in by_both.content


async def test_other_addresses_answer_in_the_form_of_the_api(alice):
    client = await client_of(alice)

    for address in ("/api/nowhere/", "/api/chats/no-id/messages/"):
        answer = await client.get(address)
        assert (answer.status_code, answer.json()["error"]["code"]) == (404, "not_found")


# Errors.


async def test_longest_message_fits_in_however_it_is_escaped(upstream, alice, url, settings):
    text = "\U0001f30a" * settings.MESSAGE_MAX_CHARS
    upstream.script([{"content": "Long."}])

    answer = await (await client_of(alice)).post(url, json.dumps({"text": text}), **JSON)

    assert answer.json()["answer"] == "Long."


async def test_message_is_accepted_while_the_model_service_is_unreachable(alice, url, settings):
    settings.OPENAI_BASE_URL, settings.OPENAI_API_KEY, settings.OPENAI_MODEL = "http://127.0.0.1:9/v1", "none", None

    answer = await (await client_of(alice)).post(url, json.dumps({"text": "x"}), **JSON)
    named = await (await client_of(alice)).post(url, json.dumps({"text": "x", "model": "m"}), **JSON)
    await close_clients()

    assert (answer.status_code, answer.json()["error"]["code"]) == (200, "unreachable")
    assert (named.status_code, named.json()["error"]["code"]) == (503, "unreachable")


async def test_database_that_does_not_answer_gets_the_error_form_without_details(alice, url, monkeypatch):
    def locked(*_args, **_more):
        raise OperationalError("database is locked: quokka-canary-7712")

    monkeypatch.setattr(eventlog, "open_turn", locked)
    answer = await (await client_of(alice)).post(url, json.dumps({"text": "x"}), **JSON)

    words = "The server’s database is busy. Send it again in a moment."
    error = {"code": "unavailable", "message": words, "retryable": True, "retryAfter": 5}
    assert (answer.status_code, answer["Retry-After"], answer.json()) == (503, "5", {"error": error})
