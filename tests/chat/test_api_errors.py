"""Whatever goes wrong in the API, the answer is the error form with a fitting status."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.conf import LazySettings
from django.db import OperationalError
from django.test import AsyncClient

from accounts.models import User
from chat import log
from chat.models import Conversation
from chat.providers.openai_client import close_clients
from tests.chat.test_api import client_of
from tests.contract_server.fixture import ContractHandle

pytestmark = pytest.mark.django_db(transaction=True)
JSON = {"content_type": "application/json"}


@pytest.fixture
def url(conversation: Conversation) -> str:
    return f"/api/chats/{conversation.pk}/messages/"


@pytest.mark.parametrize("method", ["put", "patch", "delete", "head", "options"])
async def test_wrong_method_names_the_right_ones(alice: User, url: str, method: str) -> None:
    client = await client_of(alice)

    for address in ("/api/chats/", url):
        answer = await getattr(client, method)(address)

        assert (answer.status_code, answer["Allow"]) == (405, "GET, POST")
        assert method == "head" or answer.json()["error"]["code"] == "method_not_allowed"


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        (b'{"text": "' + b"a" * 3_000_000 + b'"}', 413, "too_large"),
        (b"\xff\xfe{", 400, "invalid_json"),
        (b"[" * 100_000, 400, "invalid_json"),
        (b'{"text": ' + b"9" * 5_000 + b"}", 400, "invalid_json"),
        (b'{"text": NaN}', 400, "invalid"),
        (b'{"text": "x", "id": []}', 400, "invalid"),
        (b'{"text": "x", "model": []}', 400, "unknown_model"),
    ],
)
async def test_odd_body_gets_the_error_form(
    upstream: ContractHandle, alice: User, url: str, body: bytes, status: int, code: str
) -> None:
    answer = await (await client_of(alice)).post(url, body, **JSON)

    assert (answer.status_code, answer.json()["error"]["code"]) == (status, code)


@pytest.mark.parametrize("by", ["token", "session"])
async def test_form_instead_of_json_gets_the_error_form(alice: User, url: str, by: str) -> None:
    client = await client_of(alice, by=by)
    await client.get("/")
    page = await client.get("/accounts/settings/") if by == "session" else None
    token = page.content.decode().split('"X-CSRFToken": "')[1].split('"')[0] if page else ""

    answer = await client.post(url, {"text": "x"}, headers={"X-CSRFToken": token})  # multipart

    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "invalid_json")


async def test_longest_message_fits_in_however_it_is_escaped(
    upstream: ContractHandle, alice: User, url: str, settings: LazySettings
) -> None:
    text = "\U0001f30a" * settings.MESSAGE_MAX_CHARS
    upstream.script([{"content": "Long."}])

    answer = await (await client_of(alice)).post(url, json.dumps({"text": text}), **JSON)

    assert answer.json()["answer"] == "Long."


async def test_message_needs_no_model_service_to_be_taken(alice: User, url: str, settings: LazySettings) -> None:
    settings.OPENAI_BASE_URL, settings.OPENAI_API_KEY, settings.OPENAI_MODEL = "http://127.0.0.1:9/v1", "none", None

    answer = await (await client_of(alice)).post(url, json.dumps({"text": "x"}), **JSON)
    named = await (await client_of(alice)).post(url, json.dumps({"text": "x", "model": "m"}), **JSON)
    await close_clients()

    assert (answer.status_code, answer.json()["error"]["code"]) == (200, "unreachable")
    assert (named.status_code, named.json()["error"]["code"]) == (503, "unreachable")


async def test_database_that_does_not_answer_gets_the_error_form_without_details(
    alice: User, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def locked(*_args: Any, **_more: Any) -> None:
        raise OperationalError("database is locked: quokka-canary-7712")

    monkeypatch.setattr(log, "open_turn_in", locked)
    answer = await (await client_of(alice)).post(url, json.dumps({"text": "x"}), **JSON)

    words = "The server’s database is busy. Send it again in a moment."
    assert (answer.status_code, answer.json()) == (503, {"error": {"code": "unavailable", "message": words}})


async def test_errors_before_the_sign_in_have_the_form_too() -> None:
    answer = await AsyncClient().put("/api/chats/")

    assert (answer.status_code, answer.json()["error"]["code"]) == (405, "method_not_allowed")


async def test_signed_in_client_is_not_told_of_other_addresses_in_html(alice: User) -> None:
    client = await client_of(alice)

    for address in ("/api/nothing/", "/api/chats/no-id/messages/"):
        answer = await client.get(address)

        assert (answer.status_code, answer.json()["error"]["code"]) == (404, "not_found")
