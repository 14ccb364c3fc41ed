"""Whatever a model sends, the turn ends; events, page and API stay valid; the next question is answered."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from channels.db import database_sync_to_async
from django.test import Client

from accounts.models import User
from chat import eventlog
from chat.cards.build import answer_card
from chat.conversations import model_choice
from chat.models import Conversation, Turn
from reasoning.scratchpad import TRUNCATED
from reasoning.visibility import Visibility
from replay_contract_server.delimiters import has_delimiter
from tests.chat.api_client import EVENTS, client_of, post
from tests.chat.scripted import Delta, ScriptedProvider, call
from tests.chat.sockets import frames_until, socket_of
from tests.frame_words import heard

pytestmark = pytest.mark.django_db(transaction=True)
KILO = 1_000
PLAIN = {'<p dir="auto">', '<p class="plain" dir="auto">', "<code>", "</code>", "</p>"}
SECRET = "sk-" + "a1b2c3d4" * 5


def nested(text: str, levels: int) -> str:
    for _level in range(levels):
        text = json.dumps({"query": text})
    return text


def bullets(first: str) -> str:
    return f"Reasoning Summary:\n- {first}\n- Two.\n\nFinal Answer:\nDone."


ODD_CALLS: list[Any] = [None, 5, {"index": "a"}, {"index": 0, "function": None}, {"function": {"name": 5}}]
CASES: dict[str, list[Delta]] = {
    "a megabyte in one delta": [{"content": "word " * 200 * KILO}],
    "a million <": [{"content": "<" * KILO * KILO}],
    "openers of think": [{"content": "<think>" * 20 * KILO}],
    "openers of REASONING": [{"content": "<REASONING>" * 20 * KILO}],
    "openers of scratchpad": [{"content": "<scratchpad>" * 20 * KILO}],
    "openers of all kinds, in code": [{"content": "<think>a<REASONING>`<scratchpad>c" * 7 * KILO}],
    "lone surrogates": [{"content": "a\ud800b\udfff"}, {"reasoning_content": "c\udc00"}, {"content": "\ud83d"}],
    "lone surrogates in a call": [call('{"query": "\ud800"}', name="a\udfff", id_="c\ud800")],
    "lone surrogates escaped in a call": [call('{"query": "\\ud800"}')],
    "null and empty": [{"content": None}, {"content": ""}, {}, {"tool_calls": None}, {"tool_calls": []}],
    "no text where text should be": [{"content": 5}, {"content": {"a": 1}}, {"content": [None, {"text": 5}, 7]}],
    "no thinking where thinking should be": [{"reasoning_content": {"x": 1}}, {"reasoning_details": [None, 5]}],
    "no calls where calls should be": [{"tool_calls": "x"}, {"tool_calls": ODD_CALLS}],
    "10,000 lists in one another": [call("[" * 10 * KILO + "]" * 10 * KILO)],
    "10,000 objects in one another": [call('{"query":' * 10 * KILO + "1" + "}" * 10 * KILO)],
    "numbers that are none": [call('{"query": NaN, "a": Infinity, "b": -Infinity, "c": 1e999}')],
    "a number of 10,000 digits": [call('{"query": ' + "9" * 10 * KILO + "}")],
    "a vector": [call(json.dumps({"query": [0.25] * 5 * KILO}))],
    "JSON in strings in strings": [call(nested(json.dumps({"api_key": SECRET}), 10))],
    "a megabyte of arguments": [call('{"query": "' + "a" * KILO * KILO + '"}')],
    "a call by a name of a megabyte": [call("{}", name="n" * KILO * KILO, id_="i" * 100 * KILO)],
    "control characters": [{"content": "a\x00b\x1b[31m"}, call('{"query": "a\x00"}')],
    "markup for a name": [call("{}", name="<img src=x onerror=alert(1)>")],
    "a bullet of 100 KB": [{"content": bullets("word " * 20 * KILO)}],
    "a bullet of 100 KB without a blank": [{"content": bullets("x" * 100 * KILO)}],
}


@pytest.fixture
def model(monkeypatch, request):
    provider = ScriptedProvider(CASES[request.param])

    async def scripted(*_of):
        return provider

    monkeypatch.setattr(model_choice, "provider", scripted)


def page_of(conversation: Conversation, person: User) -> str:
    client = Client()
    client.force_login(person)
    response = client.get(f"/chats/{conversation.pk}/")
    assert response.status_code == 200
    return response.text


@pytest.mark.parametrize(
    "model",
    [pytest.param(name, marks=pytest.mark.slow if name.startswith(("a m", "openers of ")) else []) for name in CASES],
    indirect=True,
)
async def test_turn_ends_and_events_page_and_list_are_valid(model, conversation, alice):
    client = await client_of(alice)

    sent = await post(client, conversation, {"text": "Why?"}, **EVENTS)
    events = list(events_in(b"".join([piece async for piece in sent])))
    turn = await conversation.turns.aget()
    after = (await post(client, conversation, {"text": "And then?"})).json()
    page = await database_sync_to_async(page_of)(conversation, alice)
    listed = await client.get(f"/api/chats/{conversation.pk}/messages/")

    *_events, (last, form) = events
    assert (last, form["status"], turn.status) == ("done", "complete", Turn.Status.COMPLETED)
    assert text_of(events, "answer").rstrip() == form["answer"]
    assert [step for name, step in events if name == "tool_step"] == form["toolTrace"]
    assert not has_delimiter(text_of(events, "answer") + text_of(events, "summary"))
    assert SECRET not in json.dumps(events)
    assert (after["status"], after["answer"]) == ("complete", "After.")
    assert len(re.findall(r'data-role="assistant"\s+data-status="complete"', page)) == 2
    assert [form["status"] for form in strict(listed.content) if form["role"] == "assistant"] == ["complete"] * 2
    await database_sync_to_async(check_rows)(turn)


@pytest.mark.parametrize("model", ["lone surrogates", "markup for a name", "a bullet of 100 KB"], indirect=True)
async def test_open_page_gets_sound_frames_until_the_end(model, conversation, alice):
    async with socket_of(conversation, alice) as socket:
        await socket.send_to(json.dumps({"text": "Why?"}))
        frames = await frames_until(socket, "Answer ready")

    whole = heard(frames)
    whole.encode()
    assert "<img" not in whole
    assert max(map(len, frames)) < 20 * KILO


def events_in(body: bytes) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield events as a strict client reads them: an id, an event and one data line, a blank line."""
    blocks = body.decode().split("\n\n")
    assert blocks.pop() == ""
    for block in blocks:
        _id, name, data = block.split("\n")
        (form,) = strict(f"[{data.removeprefix('data: ')}]".encode())
        yield name.removeprefix("event: "), form


def text_of(events: list[tuple[str, dict[str, Any]]], channel: str) -> str:
    return "".join(form["text"] for name, form in events if name == "delta" and form["channel"] == channel)


def strict(body: bytes) -> list[dict[str, Any]]:
    """Read JSON as strictly as a database does: no NaN, no half characters."""

    def refuse(name: str) -> None:
        raise AssertionError(name)

    read: list[dict[str, Any]] = json.loads(body.decode(), parse_constant=refuse)
    json.dumps(read, ensure_ascii=False).encode()
    return read


def check_rows(turn: Turn) -> None:
    """See that the card of a turn holds sound markup, and its public payloads no secret, no NUL, no long bullet."""
    rows = eventlog.turn_record(turn)
    public = json.dumps(rows.events, ensure_ascii=False, allow_nan=False)
    html = answer_card(rows, Visibility()).answer_html
    assert SECRET not in public
    assert set(re.findall("<[^>]*>", html)) <= PLAIN
    points = [point for event in rows.events for point in event.get("summary", ())]
    assert all(len(point) <= 200 + len(TRUNCATED) for point in points)
