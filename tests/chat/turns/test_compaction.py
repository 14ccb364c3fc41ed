"""History that is too long is summarised by the model, or is sent as it was."""

import json
from typing import Any

import pytest
from channels.db import database_sync_to_async

from chat.conversations.learned_facts import learned_facts
from chat.models import Event
from chat.tools import registry
from chat.tools.base import ToolOutput, tool
from tests.chat.asking import ask, owner_of, questions
from tests.chat.sockets import frames_until, socket_of
from tests.factories import make_conversation

pytestmark = pytest.mark.django_db(transaction=True)
SUMMARY = "The reader asked for figures; sales were named."
ANSWER = "A long answer with many words in it. " * 100  # about 900 tokens


@pytest.fixture
def narrow(settings):
    settings.CONTEXT_LIMIT = 3_000


def contents(request: dict[str, Any]) -> str:
    return "\n".join(str(message.get("content")) for message in request["body"]["messages"])


@pytest.mark.usefixtures("narrow")
async def test_long_history_is_summarised_before_the_next_turn_and_stays_in_the_log(upstream, conversation):
    upstream.script([{"content": ANSWER}, {"content": ANSWER}, {"content": SUMMARY}, {"content": "Now then."}])
    await ask(conversation, "First?")
    await ask(conversation, "Second?")

    turn = await ask(conversation, "Third?")

    summariser, last = upstream.requests()[-2:]
    assert turn.status == "completed"
    assert "tools" not in summariser["body"]
    assert ("First?" in contents(summariser), "Third?" in contents(summariser)) == (True, False)
    assert [text in contents(last) for text in (SUMMARY, "Third?", "First?")] == [True, True, False]
    assert await database_sync_to_async(questions)(conversation) == ["First?", "Second?", "Third?"]
    stored = await Event.objects.aget(type="compaction")
    assert SUMMARY not in repr((stored.public, bytes(stored.sealed or b"")))


@pytest.mark.slow
@pytest.mark.usefixtures("narrow")
@pytest.mark.parametrize(
    "reply",
    [
        pytest.param({"content": ""}, id="empty"),
        pytest.param({"reasoning": "Only a thought.", "content": " "}, id="thinking alone"),
        pytest.param({"content": ANSWER + ANSWER + ANSWER}, id="no shorter"),
        pytest.param({"content": SUMMARY, "finish": "length"}, id="cut off"),
        pytest.param({"content": "x", "faults": [{"kind": "server_error", "times": 3}]}, id="failed"),
    ],
)
@pytest.mark.spec("product 23")
async def test_without_a_usable_summary_the_oldest_turns_are_left_out_and_the_card_says_so(
    upstream, conversation, reply
):
    upstream.script([{"content": ANSWER}, {"content": ANSWER}])
    await ask(conversation, "First?")
    await ask(conversation, "Second?")
    upstream.script([reply, {"content": "Now then."}, {"content": "Now then."}])

    turn = await ask(conversation, "Third?")

    assert turn.status == "completed"
    last = contents(upstream.requests()[-1])
    assert [text in last for text in ("First?", "Second?", "Third?")] == [False, True, True]
    page = (await (await owner_of(conversation)).get(f"/chats/{conversation.pk}/")).content.decode()
    assert page.count("The oldest messages are left out from here on") == 1
    assert await database_sync_to_async(questions)(conversation) == ["First?", "Second?", "Third?"]


@pytest.mark.spec("product 40")
@pytest.mark.usefixtures("narrow")
@pytest.mark.parametrize(
    "fault",
    [{"kind": "rate_limit", "retry_after": {"ms": 10}}, {"kind": "http_error", "status": 503}],
    ids=lambda fault: fault["kind"],
)
async def test_summary_that_a_busy_service_refuses_is_asked_for_again(upstream, conversation, fault):
    upstream.script([{"content": ANSWER}, {"content": ANSWER}])
    await ask(conversation, "First?")
    await ask(conversation, "Second?")
    upstream.script([{"content": SUMMARY, "faults": [{**fault, "times": 1}]}, {"content": "Now then."}])

    turn = await ask(conversation, "Third?")

    assert turn.status == "completed"
    last = contents(upstream.requests()[-1])
    assert [text in last for text in (SUMMARY, "First?", "Third?")] == [True, False, True]


async def test_overflow_that_the_service_reports_is_answered_by_one_summary_and_one_more_request(
    upstream, conversation
):
    upstream.script([{"content": ANSWER}, {"content": ANSWER}])
    await ask(conversation, "First?")
    await ask(conversation, "Second?")
    overflow = {"content": "x", "match": {"last_user_contains": "Third?"}, "faults": [{"kind": "context_overflow"}]}
    upstream.script([overflow, {"content": SUMMARY}])

    turn = await ask(conversation, "Third?")

    assert turn.status == "completed"
    assert await Event.objects.filter(type="compaction").acount() == 1


@pytest.mark.spec("product 23")
@pytest.mark.parametrize("states_limit", [True, False])
async def test_results_that_the_first_turn_has_no_room_for_are_cut(upstream, conversation, monkeypatch, states_limit):
    @tool()
    async def look_up(name: str) -> ToolOutput:
        return ToolOutput(f"{name} is listed. " * 250)

    monkeypatch.setitem(registry(), "lookUp", look_up)
    calls = [{"name": "lookUp", "arguments": json.dumps({"name": f"Item {number}"})} for number in range(6)]
    knobs = {"context_limit": 4_500, "states_limit": states_limit}
    upstream.script([{"tool_calls": calls}, {"content": "Six items."}], knobs=knobs)

    turn = await ask(conversation, "Which items?")

    assert turn.status == "completed"
    assert "characters left out" in contents(upstream.requests()[-1])
    assert 1 <= len(upstream.refusals()) <= 2


@pytest.mark.usefixtures("narrow")
async def test_meter_counts_what_would_be_sent_and_names_what_would_not(upstream, conversation):
    upstream.script([{"reasoning": "thought " * 500, "content": "Short."}])
    await ask(conversation, "First?")

    page = (await (await owner_of(conversation)).get(f"/chats/{conversation.pk}/")).content.decode()

    effective, _slash, limit = page.partition("data-context-usage>")[2].partition("<")[0].partition("/")
    assert (int(effective.replace(",", "")) < 2_000, limit) == (True, "3,000")
    assert "not resent" in page


@pytest.mark.slow
@pytest.mark.spec("product 23")
@pytest.mark.parametrize(
    ("knobs", "most", "summary"),
    [
        pytest.param({"lists_limit": True}, 0, {}, id="listed", marks=pytest.mark.slow),
        pytest.param({"states_limit": True}, 1, {}, id="stated in the refusal"),
        pytest.param({}, 1, {"finish": "length"}, id="not stated, and no summary can be used", marks=pytest.mark.slow),
    ],
)
async def test_conversation_lives_on_within_a_limit_that_is_learned_once(
    upstream, conversation, settings, knobs, most, summary
):
    settings.OPENAI_API_KEY = f"key-{sorted(knobs)}-{summary}"  # an endpoint whose list was not read yet
    summaries = [{"content": SUMMARY, "match": {"last_user_contains": "Assistant: A long"}, **summary}] * 20
    upstream.script([*summaries, *[{"content": ANSWER[:1_600]}] * 20], knobs={"context_limit": 2_048, **knobs})

    turns = [await ask(conversation, f"Question {number}?") for number in range(8)]
    learned_facts.forget()  # as another process, or this one after a restart
    await database_sync_to_async(learned_facts.refresh)()
    turns += [await ask(conversation, f"Question {number}?") for number in range(8, 12)]

    assert [turn.status for turn in turns] == ["completed"] * 12
    assert len(upstream.refusals()) <= most
    bodies = [json.dumps(request["body"]) for request in upstream.requests()]
    assert len(set(bodies)) == len(bodies)
    events = [event.public async for event in Event.objects.filter(type="compaction")]
    assert {event.get("left_out", False) for event in events} == {bool(summary)}


@pytest.mark.spec("product 23")
async def test_history_is_shortened_inside_a_turn_too(upstream, conversation, settings):
    settings.CONTEXT_LIMIT = 3_000
    search = {"tool_calls": [{"name": "searchFilings", "arguments": json.dumps({"query": "turbine " * 250})}]}
    summaries = [{"content": SUMMARY, "match": {"last_user_contains": "Assistant called"}}] * 9
    upstream.script([*summaries, *[search] * 5, {"content": "That is all."}, {"content": "Next."}])

    turn = await ask(conversation)
    await ask(conversation, "next")

    assert turn.status == "completed"
    assert upstream.refusals() == []
    assert await Event.objects.filter(type="compaction", turn=turn).aexists()
    sizes = [len(json.dumps(request["body"]["messages"])) // 4 for request in upstream.requests()]
    assert max(sizes) < 3_000


@pytest.mark.spec("product 23")
async def test_place_where_history_was_summarised_is_marked_and_links_the_preview_for_administrators(
    upstream, alice, ada, settings
):
    settings.CONTEXT_LIMIT = 3_000
    for owner in (alice, ada):
        conversation = await database_sync_to_async(make_conversation)(owner=owner)
        upstream.script([{"content": ANSWER}, {"content": ANSWER}, {"content": SUMMARY}, {"content": "Now then."}])
        await ask(conversation, "First?")
        await ask(conversation, "Second?")
        async with socket_of(conversation, owner) as socket:
            await ask(conversation, "Third?")
            frames = await frames_until(socket, "Now then.")

        page = (await (await owner_of(conversation)).get(f"/chats/{conversation.pk}/")).content.decode()

        mark = "Earlier messages were summarised to fit the model"
        assert any(mark in frame for frame in frames)
        assert page.count(mark) == 1
        third = page[page.index("Third?") : page.index("Now then.")]
        assert mark in third
        assert (f"/chats/{conversation.pk}/preview/" in third) is (owner is ada)
