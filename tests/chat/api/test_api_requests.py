"""What every request to the API gets: ids, methods, addresses, strict bodies, and headers of its refusals."""

import json
import logging
import re
from typing import Any

import pytest
from channels.db import database_sync_to_async
from django.test import AsyncClient

from chat.api import messages
from chat.models import Conversation
from chat.turns.manager import TurnManager
from config.logs import RedactingJsonFormatter
from tests.chat.api_client import ask, client_of
from tests.factories import client_of as page_client_of
from tests.factories import make_profile, make_turn, open_turn

pytestmark = pytest.mark.django_db(transaction=True)
CHATS = "/api/chats/"


async def send(
    client: AsyncClient, path: str, body: str | bytes, kind: str = "application/json", **headers: str
) -> Any:
    data = body.encode() if isinstance(body, str) else body
    return await client.generic("POST", path, data, content_type=kind, headers=headers)


def error_of(answer: Any) -> tuple[int, str, str | None]:
    error = answer.json()["error"]
    assert error["message"]
    return answer.status_code, error["code"], error.get("field")


@pytest.mark.parametrize("named", ["abc-123", "0af7651916cd43dd8448eb211c80319c"])
async def test_request_keeps_the_id_that_its_client_gave_it(alice, named):
    answer = await (await client_of(alice)).get(CHATS, headers={"X-Request-Id": named})

    assert answer["X-Request-Id"] == named


@pytest.mark.parametrize("named", ["", "a b", "x" * 129, "é", 'a"b'])
@pytest.mark.parametrize("path", [CHATS, "/api/nowhere/", "/api/"])
async def test_every_response_has_an_id_of_its_own_where_the_client_gave_no_good_one(path, named):
    answers = [await AsyncClient().get(path, headers={"X-Request-Id": named}) for _time in range(2)]

    ids = [answer["X-Request-Id"] for answer in answers]
    assert [bool(re.fullmatch("[0-9a-f]{32}", each)) for each in ids] == [True, True]
    assert ids[0] != ids[1]


async def test_log_lines_of_a_request_have_its_id(upstream, alice, conversation):
    upstream.script([{"content": "Yes."}])
    lines = []

    class Lines(logging.Handler):
        def emit(self, record):
            lines.append(json.loads(RedactingJsonFormatter().format(record)))

    handler = Lines()
    logging.getLogger("chat").addHandler(handler)
    try:
        answer = await ask(await client_of(alice), conversation, headers={"X-Request-Id": "quokka-4711"})
    finally:
        logging.getLogger("chat").removeHandler(handler)

    found = [line for line in lines if line["message"] in ("message accepted", "request ended", "turn ended")]
    assert [(line["request_id"], line["turn"]) for line in found] == 3 * [("quokka-4711", answer.json()["id"])]


@pytest.mark.parametrize("token", ["", "Bearer lgb_wrong", "Basic YTpi"])
async def test_401_says_how_to_authenticate(db, token):
    answer = await AsyncClient().get(CHATS, headers={"Authorization": token} if token else {})

    assert error_of(answer)[:2] == (401, "invalid_token" if token else "not_authenticated")
    assert answer["WWW-Authenticate"].startswith('Bearer realm="Legible"')
    assert ("invalid_token" in answer["WWW-Authenticate"]) is bool(token)


async def test_429_and_503_say_when_to_try_again(alice, conversation, settings, monkeypatch):
    settings.MAX_CONCURRENT_TURNS = 0
    client = await client_of(alice)
    busy = await ask(client, conversation)
    drained = TurnManager()
    await drained.drain(within_s=0)
    monkeypatch.setattr(messages, "turn_manager", drained)
    ending = await ask(client, conversation)

    assert [error_of(each)[:2] for each in (busy, ending)] == [(429, "too_many_turns"), (503, "restarting")]
    for each in (busy, ending):
        error = each.json()["error"]
        assert (each["Retry-After"], error["retryAfter"], error["retryable"]) == ("5", 5, True)


async def test_message_during_a_turn_is_refused_and_may_be_sent_again_later(alice, conversation):
    await database_sync_to_async(open_turn)(conversation.pk, text="Why?")

    answer = await ask(await client_of(alice), conversation)

    assert error_of(answer) == (409, "turn_running", None)
    assert answer.json()["error"]["retryable"] is True


async def test_address_without_its_last_slash_is_the_same_address(alice, conversation):
    client = await client_of(alice)

    made = await send(client, "/api/chats", '{"title": "Harbour"}')
    renamed = await client.generic("PATCH", f"/api/chats/{conversation.pk}", b'{"title": "Ferry"}', "application/json")
    listed = (await client.get("/api/chats?x=1")).json()

    assert (made.status_code, renamed.status_code) == (201, 200)
    assert made["Location"] == f"/api/chats/{made.json()['id']}/"
    assert {chat["title"] for chat in listed} == {"Harbour", "Ferry"}


@pytest.mark.parametrize(
    ("path", "allowed"),
    [
        ("/api/chats/", "GET, HEAD, OPTIONS, POST"),
        ("/api/chats/{}/", "DELETE, GET, HEAD, OPTIONS, PATCH"),
        ("/api/chats/{}/messages/", "GET, HEAD, OPTIONS, POST"),
        ("/api/chats/{}/stop/", "OPTIONS, POST"),
        ("/api/chats/{}/settings/", "GET, HEAD, OPTIONS, PATCH"),
        ("/api/models/", "GET, HEAD, OPTIONS"),
    ],
)
async def test_methods_are_named_where_one_is_wrong_or_asked_for(alice, conversation, path, allowed):
    client, path = await client_of(alice), path.format(conversation.pk)

    wrong, options, head = await client.put(path), await client.options(path), await client.head(path)

    assert (wrong["Allow"], options["Allow"]) == (allowed, allowed)
    assert error_of(wrong) == (405, "method_not_allowed", None)
    assert (options.status_code, options.content) == (204, b"")
    assert (head.status_code, head.content) == (200 if "HEAD" in allowed else 405, b"")


JSON, CURL = "application/json", "application/x-www-form-urlencoded"


@pytest.mark.parametrize(
    ("kind", "body", "status", "code"),
    [
        (JSON, b"", 400, "invalid_json"),
        (JSON, b"[]", 400, "invalid_json"),
        (JSON, b'"text"', 400, "invalid_json"),
        (JSON, b'{"text": NaN}', 400, "invalid_json"),
        (JSON, b'{"text": "a", "text": "b"}', 400, "invalid_json"),
        (JSON, b'{"text": "a"} x', 400, "invalid_json"),
        (JSON, b'{"text": "\xff"}', 400, "invalid_json"),
        (JSON, '{"text": "a"}'.encode("utf-16"), 400, "invalid_json"),
        (JSON, b'{"a":' * 100_000, 400, "invalid_json"),
        (CURL, b"text=Why", 415, "unsupported_media_type"),
        (CURL, b'{"text": NaN}', 400, "invalid_json"),
        ("text/html", b'{"text": "a"}', 415, "unsupported_media_type"),
        ("application/xml", b"<text/>", 415, "unsupported_media_type"),
        ("multipart/form-data; boundary=x", b'--x\r\nContent-Disposition: form-data; name="text"\r\n\r\na\r\n--x--\r\n',
         415, "unsupported_media_type"),
        ("multipart/form-data", b"x", 415, "unsupported_media_type"),
        ("application/json; charset=latin-1", b'{"text": "a"}', 415, "unsupported_media_type"),
        ("application/json; charset=klingon", b'{"text": "a"}', 415, "unsupported_media_type"),
    ],
)  # fmt: skip
async def test_body_that_is_no_json_object_is_refused_with_the_reason(alice, conversation, kind, body, status, code):
    client = await client_of(alice)

    for path in (CHATS, f"/api/chats/{conversation.pk}/messages/"):
        if body or path != CHATS:  # a conversation can be made without a body
            assert error_of(await send(client, path, body, kind)) == (status, code, None)
    assert [await conversation.turns.acount(), await Conversation.objects.acount()] == [0, 1]


async def test_compressed_body_is_refused(alice, conversation):
    answer = await send(await client_of(alice), CHATS, b"\x1f\x8b", **{"Content-Encoding": "gzip"})

    assert error_of(answer)[:2] == (415, "unsupported_media_type")


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        (JSON, b'{"text": "Why?"}'),
        ("application/json; charset=UTF-8", b'\xef\xbb\xbf{"text": "Why?"}'),
        ("application/vnd.api+json", b'{"text": "Why?"}'),
        (CURL, b'{"text": "Why?"}'),  # what `curl -d` sends
        ("", b'{"text": "Why?"}'),
    ],
)
async def test_json_is_accepted_by_the_types_that_clients_send_it_with(upstream, alice, conversation, kind, body):
    upstream.script([{"content": "Yes."}])

    answer = await send(await client_of(alice), f"/api/chats/{conversation.pk}/messages/", body, kind)

    assert answer.json()["answer"] == "Yes."


@pytest.mark.parametrize(
    ("method", "path", "body", "field", "allowed"),
    [
        ("POST", "/api/chats/", {"name": "Harbour"}, "name", "title, model, settings"),
        ("PATCH", "/api/chats/{}/", {"title": "x", "model": "y"}, "model", "title, pinned"),
        ("POST", "/api/chats/{}/messages/", {"text": "Why?", "modle": "y"}, "modle", "text, model, compare_model, id"),
        ("PATCH", "/api/chats/{}/settings/", {"reasoning.efort": "low"}, "reasoning.efort", "reasoning.effort"),
        ("POST", "/api/chats/{}/stop/", {"turn": 1}, "turn", "none is allowed"),
    ],
)
async def test_unknown_field_is_refused_with_those_there_are(alice, conversation, method, path, body, field, allowed):
    client = await client_of(alice)

    answer = await client.generic(method, path.format(conversation.pk), json.dumps(body).encode(), JSON)

    assert error_of(answer) == (400, "unknown_field", field)
    assert allowed in answer.json()["error"]["message"]
    assert [await conversation.turns.acount(), await Conversation.objects.acount()] == [0, 1]


async def test_conversation_is_made_with_title_model_and_settings(alice):
    await database_sync_to_async(make_profile)("kimi")
    client = await client_of(alice)
    body = {"title": "Harbour", "model": "kimi", "settings": {"reasoning.effort": "low", "reasoning.format": None}}

    made = await send(client, CHATS, json.dumps(body))

    found = await Conversation.objects.select_related("profile").aget(pk=made.json()["id"])
    assert (found.title, found.is_renamed, found.profile and found.profile.name) == ("Harbour", True, "kimi")
    assert found.reasoning == {"reasoning.effort": "low"}


@pytest.mark.parametrize(
    ("body", "code", "field"),
    [
        ({"title": ""}, "invalid_title", "title"),
        ({"title": "ok", "model": "nobody"}, "unknown_model", "model"),
        ({"title": "ok", "settings": []}, "invalid", "settings"),
        ({"title": "ok", "settings": {"colour": "red"}}, "unknown_field", "colour"),
        ({"title": "ok", "settings": {"effort": "loud"}}, "invalid_setting", "reasoning.effort"),
    ],
)
async def test_nothing_is_made_where_a_field_is_refused(alice, body, code, field):
    answer = await send(await client_of(alice), CHATS, json.dumps(body))

    assert error_of(answer) == (400, code, field)
    assert not await Conversation.objects.aexists()


async def test_conversation_is_made_by_a_request_with_an_empty_body(alice):
    client = await client_of(alice, by="session")
    client.handler.enforce_csrf_checks = False

    answers = [await client.post(CHATS), await send(client, CHATS, b"{}")]
    answers += [await send(client, CHATS, b"", kind) for kind in ("", JSON, CURL, "application/octet-stream")]

    assert [answer.status_code for answer in answers] == [201] * 6


def test_lists_are_bounded_and_read_in_a_bounded_number_of_statements(
    conversation, django_assert_max_num_queries, monkeypatch
):
    monkeypatch.setattr(messages, "MAX_LISTED_TURNS", 10)
    client = page_client_of(conversation.owner)
    for number in range(12):
        make_turn(conversation, question=f"Question {number}")
    Conversation.objects.bulk_create(Conversation(owner=conversation.owner) for _number in range(201))

    with django_assert_max_num_queries(12):
        listed = client.get(f"/api/chats/{conversation.pk}/messages/").json()
    assert (len(listed), listed[0]["text"], listed[-2]["text"]) == (20, "Question 2", "Question 11")
    assert len(client.get(CHATS).json()) == 200
