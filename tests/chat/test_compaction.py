"""History that is too long is summarised by the model, or is sent as it was."""

from __future__ import annotations

from typing import Any

import pytest
from channels.db import database_sync_to_async
from django.conf import LazySettings

from chat.models import Conversation, Event
from tests.chat.asking import ask, owner_of, questions
from tests.contract_server.fixture import ContractHandle

pytestmark = pytest.mark.django_db(transaction=True)
SUMMARY = "The reader asked for figures; sales were named."
ANSWER = "A long answer with many words in it. " * 100  # about 900 tokens


@pytest.fixture
def narrow(settings: LazySettings) -> None:
    settings.CONTEXT_LIMIT = 3_000


def contents(request: dict[str, Any]) -> str:
    return "\n".join(str(message.get("content")) for message in request["body"]["messages"])


@pytest.mark.usefixtures("narrow")
async def test_long_history_is_summarised_before_the_next_turn_and_stays_in_the_log(
    upstream: ContractHandle, conversation: Conversation
) -> None:
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
async def test_summary_that_is_of_no_use_is_refused_and_the_turn_continues(
    upstream: ContractHandle, conversation: Conversation, reply: dict[str, Any]
) -> None:
    upstream.script([{"content": ANSWER}, {"content": ANSWER}])
    await ask(conversation, "First?")
    await ask(conversation, "Second?")
    upstream.script([reply, {"content": "Now then."}, {"content": "Now then."}])

    turn = await ask(conversation, "Third?")

    assert not await Event.objects.filter(type="compaction").aexists()
    assert turn.status == "completed"
    assert "First?" in contents(upstream.requests()[-1])


async def test_overflow_that_the_service_reports_is_answered_by_one_summary_and_one_more_request(
    upstream: ContractHandle, conversation: Conversation
) -> None:
    upstream.script([{"content": ANSWER}, {"content": ANSWER}])
    await ask(conversation, "First?")
    await ask(conversation, "Second?")
    overflow = {"content": "x", "match": {"last_user_contains": "Third?"}, "faults": [{"kind": "context_overflow"}]}
    upstream.script([overflow, {"content": SUMMARY}])

    turn = await ask(conversation, "Third?")

    assert turn.status == "completed"
    assert await Event.objects.filter(type="compaction").acount() == 1


@pytest.mark.usefixtures("narrow")
async def test_meter_counts_what_would_be_sent_and_names_what_would_not(
    upstream: ContractHandle, conversation: Conversation
) -> None:
    upstream.script([{"reasoning": "thought " * 500, "content": "Short."}])
    await ask(conversation, "First?")

    page = (await (await owner_of(conversation)).get(f"/chats/{conversation.pk}/")).content.decode()

    effective, _slash, limit = page.partition("data-context-usage>")[2].partition("<")[0].partition("/")
    assert (int(effective) < 2_000, limit) == (True, "3000")
    assert "stored, not sent" in page
