"""Commands over the page's socket: answered at once, in every page of the conversation, and never a turn."""

import asyncio
import json

import pytest
from channels.db import database_sync_to_async
from channels.testing import WebsocketCommunicator

from accounts.models import User
from chat.socket import consumer
from tests.chat.api_client import ask
from tests.chat.api_client import client_of as script_of
from tests.chat.sockets import frames_until, socket_of
from tests.factories import make_answer
from tests.frame_words import heard

pytestmark = pytest.mark.django_db(transaction=True)
METER = "data-context-usage"
CARDS = 'id="messages"'


async def send(socket: WebsocketCommunicator, text: str, client_id: str = "one") -> None:
    await socket.send_to(json.dumps({"text": text, "id": client_id}))


async def test_command_is_answered_in_the_page_and_makes_no_turn(upstream, alice, conversation):
    async with socket_of(conversation, alice) as socket:
        await send(socket, "/set")
        frames = "".join(await frames_until(socket, "reasoning.stripFromContext"))

    assert 'id="command"' in frames
    assert not await conversation.turns.aexists()
    assert upstream.requests() == []


@pytest.mark.spec("001 ERR-001")
async def test_wrong_value_gives_the_text_back_and_changes_nothing(alice, conversation):
    async with socket_of(conversation, alice) as socket:
        await send(socket, "/set reasoning.format xml", "mine")
        refused = (await frames_until(socket, "composer-error"))[-1]

    assert 'data-rejected="mine"' in refused
    assert "&#x27;xml&#x27; is not allowed; &#x27;field&#x27; or &#x27;native&#x27; only." in refused
    await conversation.arefresh_from_db()
    assert conversation.reasoning == {}


@pytest.mark.spec("001 EC-005")
@pytest.mark.spec("001 BR-003")
async def test_thinking_disappears_and_returns_on_every_open_page_without_a_reload(alice, conversation):
    await database_sync_to_async(make_answer)(conversation)

    async with socket_of(conversation, alice) as one, socket_of(conversation, alice) as two:
        await send(one, "/set reasoning.includeInResponse false")
        gone = [await frames_until(socket, CARDS) for socket in (one, two)]
        await send(one, "/set reasoning.includeInResponse true")
        back = [await frames_until(socket, CARDS) for socket in (one, two)]

    for frames in gone:
        assert "data-ai-reasoning" not in frames[-1]
        assert "data-answer" in frames[-1]
    assert all("data-ai-reasoning" in frames[-1] for frames in back)


async def test_setting_for_everywhere_reaches_an_open_page(alice, conversation, monkeypatch):
    monkeypatch.setattr(consumer, "CATCH_UP_EVERY_S", 0.05)
    monkeypatch.setattr(consumer, "REAUTHORIZE_EVERY_S", 0.05)
    await database_sync_to_async(make_answer)(conversation)

    async with socket_of(conversation, alice) as socket:
        await frames_until(socket, "running")
        await User.objects.filter(pk=alice.pk).aupdate(reasoning={"reasoning.includeInResponse": False})
        frames = await frames_until(socket, CARDS)

    assert "data-ai-reasoning" not in frames[-1]


@pytest.mark.spec("001 EC-004")
@pytest.mark.spec("001 BR-008")
async def test_command_works_while_a_turn_runs_and_holds_from_the_next_request(upstream, alice, conversation):
    hold = [{"kind": "stall", "at": "first_event", "name": "go"}]
    call = {"name": "searchFilings", "arguments": '{"query": "turbines"}'}
    upstream.script([{"reasoning": "First thought.", "tool_calls": [call], "faults": hold}, {"content": "Done."}])

    async with socket_of(conversation, alice) as socket:
        await send(socket, "Go", "one")
        await frames_until(socket, '"running":true')
        await send(socket, "/set reasoning.includeInContext true", "two")
        said = "".join(await frames_until(socket, METER))
        upstream.release("go")
        await frames_until(socket, '"status":"complete"')

    assert "Include earlier thinking in requests set to On" in said
    first, second = [json.dumps(one["body"]["messages"]) for one in upstream.requests()]
    assert "First thought." not in first
    assert "First thought." in second
    assert "/set" not in first + second


async def test_live_thinking_stops_at_once_where_it_is_switched_off(upstream, alice, conversation):
    hold = [{"kind": "stall", "at": "event:2", "name": "go"}]
    upstream.script([{"reasoning": "one two quokka-canary-3310", "content": "Yes.", "chunk": "word", "faults": hold}])

    async with socket_of(conversation, alice) as socket:
        await send(socket, "Go", "one")
        await frames_until(socket, '"running":true')
        await send(socket, "/set reasoning.includeInResponse false", "two")
        await frames_until(socket, CARDS)
        upstream.release("go")
        frames = await frames_until(socket, "Answer ready")

    assert "data-ai-reasoning" not in heard(frames)
    assert "quokka" not in heard(frames)


async def test_command_of_a_script_is_refused_and_no_model_is_asked(upstream, alice, conversation):
    answer = await ask(await script_of(alice), conversation, {"text": "/set reasoning.effort low"})

    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "command")
    assert upstream.requests() == []


@pytest.mark.spec("001 BR-008")
async def test_envelope_follows_what_was_set_while_its_turn_ran(upstream, alice, conversation):
    hold = [{"kind": "stall", "at": "first_event", "name": "go"}]
    upstream.script([{"reasoning": "quokka-canary-7714", "content": "Yes.", "faults": hold}])

    async with socket_of(conversation, alice) as socket:
        asking = asyncio.ensure_future(ask(await script_of(alice), conversation))
        await frames_until(socket, '"running":true')
        await send(socket, "/set reasoning.includeInResponse false")
        await frames_until(socket, "from the next message")
        upstream.release("go")
        answer = (await asking).json()

    assert answer["answer"] == "Yes."
    assert "thinking" not in answer
