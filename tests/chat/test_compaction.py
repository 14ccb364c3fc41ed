"""History that has grown too long is summarised by the model, or goes on as it was."""

from __future__ import annotations

from typing import Any

import pytest
from channels.db import database_sync_to_async
from django.conf import LazySettings

from chat import eventlog
from chat.models import Conversation, Event
from chat.request_preview.summary import next_request
from reasoning.events import AssistantMessage, Compaction, UserMessage
from tests.chat.asking import ask
from tests.contract_server.fixture import ContractHandle

pytestmark = pytest.mark.django_db(transaction=True)
SUMMARY = "The reader asked for figures; sales were named."
ANSWER = "A long answer with many words in it. " * 100  # about 900 tokens


@pytest.fixture
def narrow(settings: LazySettings) -> None:
    settings.CONTEXT_LIMIT = 3_000


async def kept(conversation: Conversation) -> list[Any]:
    events = await database_sync_to_async(eventlog.history)(conversation.pk)
    return [event for event in events if isinstance(event, Compaction)]


def contents(body: dict[str, Any]) -> str:
    return "\n".join(str(message.get("content")) for message in body["messages"])


@pytest.mark.usefixtures("narrow")
async def test_long_history_is_summarised_before_the_next_turn(
    upstream: ContractHandle, conversation: Conversation
) -> None:
    upstream.script([{"content": ANSWER}, {"content": ANSWER}, {"content": SUMMARY}, {"content": "Now then."}])
    await ask(conversation, "First question?")
    await ask(conversation, "Second question?")

    turn = await ask(conversation, "Third question?")

    summariser, last = (request["body"] for request in upstream.requests()[-2:])
    assert turn.status == "completed"
    assert [event.summary for event in await kept(conversation)] == [SUMMARY]
    assert "tools" not in summariser
    assert "First question?" in contents(summariser)
    assert "Third question?" not in contents(summariser)
    assert SUMMARY in contents(last)
    assert "Third question?" in contents(last)
    assert "First question?" not in contents(last)


@pytest.mark.usefixtures("narrow")
async def test_history_stays_whole_and_the_summary_is_sealed(
    upstream: ContractHandle, conversation: Conversation
) -> None:
    upstream.script([{"content": ANSWER}, {"content": ANSWER}, {"content": SUMMARY}, {"content": "Now then."}])
    for question in ("First?", "Second?", "Third?"):
        await ask(conversation, question)

    events = await database_sync_to_async(eventlog.history)(conversation.pk)

    assert [event.text for event in events if isinstance(event, UserMessage)] == ["First?", "Second?", "Third?"]
    assert sum(isinstance(event, AssistantMessage) for event in events) == 3
    assert SUMMARY not in str([row async for row in Event.objects.values_list("public", flat=True)])


@pytest.mark.usefixtures("narrow")
@pytest.mark.parametrize(
    "reply",
    [
        pytest.param({"content": ""}, id="empty"),
        pytest.param({"reasoning": "Only a thought.", "content": " "}, id="thinking alone"),
        pytest.param({"content": ANSWER + ANSWER + ANSWER}, id="no shorter"),
        pytest.param({"content": SUMMARY, "finish": "length"}, id="cut off"),
        pytest.param({"content": "x", "faults": [{"kind": "server_error"}]}, id="failed"),
    ],
)
async def test_summary_that_is_not_worth_taking_is_refused_and_the_turn_goes_on(
    upstream: ContractHandle, conversation: Conversation, reply: dict[str, Any]
) -> None:
    upstream.script([{"content": ANSWER}, {"content": ANSWER}])
    await ask(conversation, "First?")
    await ask(conversation, "Second?")
    upstream.script([reply, {"content": "Now then."}, {"content": "Now then."}])

    turn = await ask(conversation, "Third?")

    assert await kept(conversation) == []
    assert turn.status == "completed"
    assert "First?" in contents(upstream.requests()[-1]["body"])


async def test_overflow_that_the_service_reports_makes_room_once_and_asks_again(
    upstream: ContractHandle, conversation: Conversation
) -> None:
    upstream.script([{"content": ANSWER}, {"content": ANSWER}])
    await ask(conversation, "First?")
    await ask(conversation, "Second?")
    overflow = {"content": "x", "match": {"last_user_contains": "Third?"}, "faults": [{"kind": "context_overflow"}]}
    upstream.script([overflow, {"content": SUMMARY}])

    turn = await ask(conversation, "Third?")

    assert turn.status == "completed"
    assert len(await kept(conversation)) == 1


@pytest.mark.usefixtures("narrow")
async def test_meter_counts_what_would_be_sent_and_says_what_would_not(
    upstream: ContractHandle, conversation: Conversation
) -> None:
    upstream.script([{"reasoning": "thought " * 500, "content": "Short."}])
    await ask(conversation, "First?")

    usage, _model = await database_sync_to_async(next_request)(conversation)

    assert usage.limit == 3_000
    assert usage.effective < 2_000
    assert usage.unsent >= 900
