"""Limits of one turn: it ends, or refuses what is too much, says which limit that was, and keeps what came."""

import asyncio
import json
from typing import Any

import pytest
from channels.db import database_sync_to_async
from django.test import AsyncClient

from chat.eventlog.link_tokens import token_of
from chat.models import Checkpoint, Conversation, Event
from chat.providers import openai_responses
from chat.sharing.export import Choice
from chat.sharing.links import create_link
from chat.texts.error_texts import turn_error_text
from reasoning.redaction import RedactionPolicy
from tests.chat.api_client import streamed
from tests.chat.asking import ask, owner_of
from tests.chat.sockets import frames_until, socket_of

pytestmark = pytest.mark.django_db(transaction=True)
SEARCH = {"name": "searchFilings", "arguments": '{"query": "turbine", "limit": 1}'}
PROSE = "The turbine turned. " * 500  # 10,000 bytes


async def envelope_of(conversation: Conversation) -> dict[str, Any]:
    answer = await (await owner_of(conversation)).get(f"/api/chats/{conversation.pk}/messages/")
    return dict(answer.json()[-1])


async def page_of(conversation: Conversation) -> str:
    return (await (await owner_of(conversation)).get(f"/chats/{conversation.pk}/")).content.decode()


@pytest.mark.spec("product 25")
@pytest.mark.parametrize(
    ("reply", "limit"),
    [
        pytest.param({"content": PROSE, "chunk": "word"}, "MAX_ANSWER_BYTES", id="answer"),
        pytest.param({"content": PROSE, "chunk": "whole"}, "MAX_ANSWER_BYTES", id="answer in one piece"),
        pytest.param({"reasoning": PROSE, "content": "Late."}, "MAX_THINKING_BYTES", id="thinking"),
        pytest.param({"reasoning": PROSE, "tags": "think", "content": "Late."}, "MAX_THINKING_BYTES", id="tagged"),
        pytest.param(
            {"tool_calls": [{"name": "searchFilings", "arguments": '{"query": "' + PROSE + '"}'}], "chunk": 100},
            "MAX_ARGUMENTS_BYTES",
            id="arguments",
        ),
    ],
)
async def test_size_limit_ends_the_turn_with_what_came(upstream, conversation, settings, reply, limit):
    settings.REASONING_THINKING_FOR_USERS = "full"
    setattr(settings, limit, 2_000)
    upstream.script([reply, {"content": "Next."}])

    turn = await ask(conversation)
    envelope = await envelope_of(conversation)
    again = await ask(conversation, "And now?")

    kept = envelope["answer"] if limit == "MAX_ANSWER_BYTES" else envelope.get("thinking", {}).get("text", "")
    assert (turn.status, envelope["status"], envelope["finishReason"]) == ("completed", "complete", "length")
    assert limit == "MAX_ARGUMENTS_BYTES" or 1_900 < len(kept) <= 2_000
    assert limit in turn_error_text(turn, for_staff=True)
    assert again.status == "completed"
    assert [request["verdict"] for request in upstream.requests()] == ["accepted"] * 2


@pytest.mark.slow
async def test_opaque_items_end_the_turn_before_the_service_ends_its_answer(
    upstream, conversation, settings, monkeypatch
):
    settings.OPENAI_API, settings.OPENAI_MODEL, settings.MAX_THINKING_BYTES = "responses", "gpt-5-mini", 2_000
    monkeypatch.setattr(openai_responses, "MAX_ITEMS_BYTES", 15_000)
    items = [{"type": "reasoning", "summary": [PROSE]}] * 2
    upstream.script([{"items": items, "faults": [{"kind": "stall", "at": "before_done"}]}, {"content": "Next."}])

    turn = await ask(conversation)
    envelope = await envelope_of(conversation)

    assert (turn.status, envelope["finishReason"]) == ("completed", "length")
    assert "MAX_THINKING_BYTES" in turn_error_text(turn, for_staff=True)
    assert (await ask(conversation, "And now?")).status == "completed"
    assert upstream.refusals() == []


async def test_limit_closes_the_upstream_connection(upstream, conversation, settings):
    settings.MAX_ANSWER_BYTES = 2_000
    upstream.script([{"content": PROSE, "chunk": "word", "faults": [{"kind": "stall", "at": "event:450"}]}])

    await ask(conversation)

    await asyncio.to_thread(upstream.wait_for, closed=upstream.requests()[0]["serial"])


@pytest.mark.spec("product 25")
async def test_surplus_calls_are_refused_in_words_and_the_model_goes_on(upstream, conversation, settings):
    settings.MAX_CALLS_PER_RESPONSE, settings.MAX_CALLS_PER_TURN = 4, 6
    calls = {"tool_calls": [SEARCH] * 5}
    upstream.script([calls, calls, calls, {"content": "That is all."}, {"content": "Next."}])

    turn = await ask(conversation)
    envelope = await envelope_of(conversation)
    await ask(conversation, "next")

    assert (turn.status, envelope["answer"]) == ("completed", "That is all.")
    denied = [step["status"] == "denied" for step in envelope["toolTrace"]]
    assert denied == [*[False] * 4, True, *[False] * 2, *[True] * 3, *[True] * 5]
    results = [
        message["content"] for message in upstream.requests()[1]["body"]["messages"] if message["role"] == "tool"
    ]
    assert ("too many tool calls in one response" in results[4], len(results)) == (True, 5)
    assert upstream.refusals() == []


@pytest.mark.parametrize("count", [65, 5_000])
async def test_flood_of_calls_ends_the_turn_before_any_is_run(upstream, conversation, count):
    piece = {"id": None, "type": "function", "function": SEARCH}
    calls = [{**piece, "index": n, "id": f"call_{n}"} for n in range(count)]
    pieces = [{"tool_calls": calls[at : at + 100]} for at in range(0, count, 100)]
    upstream.script([{"deltas": pieces}])

    turn = await ask(conversation)

    assert (turn.status, turn.error_code) == ("iteration_capped", "too_many_calls")
    assert "than this site allows." in await page_of(conversation)
    assert await Event.objects.filter(turn=turn).acount() == 2


@pytest.mark.slow
@pytest.mark.spec("product 25")
async def test_turn_that_takes_too_long_ends_with_what_came(upstream, conversation, settings):
    settings.MAX_TURN_S = 4  # its first part must have come by then
    upstream.script(
        [{"content": "First part. Never sent.", "chunk": 12, "faults": [{"kind": "stall", "at": "event:2"}]}]
    )

    turn = await ask(conversation)

    envelope = await envelope_of(conversation)
    assert (turn.status, turn.error_code, envelope["answer"]) == ("errored", "turn_timeout", "First part.")
    assert "the answer took longer than this site allows." in await page_of(conversation)
    assert not await Checkpoint.objects.filter(turn=turn).aexists()
    await asyncio.to_thread(upstream.wait_for, ended=1)


@pytest.mark.spec("product 25")
async def test_trace_is_bounded_at_every_door(upstream, conversation, settings, monkeypatch):
    settings.MAX_CALLS_PER_RESPONSE = 60
    # ten times smaller than it is, so that few calls reach it
    monkeypatch.setattr("reasoning.trace.DEFAULT", RedactionPolicy(trace_bytes=10_240))
    search = {"name": "searchFilings", "arguments": '{"query": "' + "turbine " * 30 + '"}'}
    upstream.script([{"tool_calls": [search] * 60}, {"content": "That is all."}])
    owner = await owner_of(conversation)
    url = f"/chats/{conversation.pk}/"

    async with socket_of(conversation, conversation.owner) as socket:
        stream = await owner.post(
            f"/api{url}messages/",
            {"text": "Why?"},
            content_type="application/json",
            headers={"Accept": "text/event-stream"},
        )
        _texts, names, form = await streamed(stream)
        frames = await frames_until(socket, "not shown")
    shown, last = form["toolTrace"][:-1], form["toolTrace"][-1]
    export = f"{url}export/?trace=1&format="
    doors = {
        name: (await owner.get(at)).content
        for name, at in [
            ("trace", f"{url}turns/{form['id']}/trace/"),
            ("page", url),
            ("markdown", f"{export}md"),
            ("json", f"{export}json"),
        ]
    }
    link = await database_sync_to_async(create_link)(conversation.owner, conversation, Choice(trace=True), days=7)
    doors["shared"] = (await AsyncClient().get(f"/s/{token_of(link)}/")).content

    assert (len(shown) + last["omitted"], len(shown) > 5) == (60, True)
    assert names.count("tool_step") == len(form["toolTrace"])
    assert len(doors["trace"]) <= 10_240
    assert json.loads(doors["trace"]) == form["toolTrace"]
    for name in ("page", "shared"):
        assert doors[name].count(b"data-tool-step") == len(form["toolTrace"]), name
    for name in ("page", "markdown", "shared"):
        assert f"{last['omitted']} more steps are not shown" in doors[name].decode(), name
    assert len(json.loads(doors["json"])["messages"][1]["toolTrace"]) == len(form["toolTrace"])
    assert max(frame.count("data-tool-step") for frame in frames) <= 60  # queued steps have a line each
    assert frames[-1].count("data-tool-step") == len(form["toolTrace"])
