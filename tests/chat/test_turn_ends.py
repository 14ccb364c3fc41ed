"""How turns end: failures, stops, limits and messages that wait, over real HTTP."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from channels.db import database_sync_to_async
from cryptography.fernet import Fernet
from django.conf import LazySettings

from chat import eventlog
from chat.cards.build import answer_card
from chat.models import Conversation, StoredCard, Turn
from chat.request_preview.summary import next_request
from chat.turns.manager import TurnManager
from chat.validation import Message
from reasoning.events import AssistantMessage
from reasoning.visibility import SiteFlags, Viewer, visibility
from tests.chat.asking import ANSWER_KINDS, ask, events_of, following, until
from tests.contract_server.fixture import ContractHandle

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.parametrize(
    ("reply", "code"),
    [
        ({"content": "x", "faults": [{"kind": "server_error", "times": 3}]}, "server_error"),
        ({"content": "x", "faults": [{"kind": "rate_limit", "times": 3}]}, "rate_limited"),
        ({"content": "x y z", "chunk": "word", "faults": [{"kind": "disconnect", "at": "event:2"}]}, "disconnected"),
        (
            {"content": "x", "faults": [{"kind": "malformed_sse", "form": "not_json"}]},
            "malformed",
        ),
    ],
)
async def test_failure_ends_the_turn_and_keeps_the_question(
    upstream: ContractHandle, conversation: Conversation, reply: dict[str, Any], code: str
) -> None:
    upstream.script([reply, {"content": "Fine now."}])

    failed = await ask(conversation, "Keep me?")
    again = await ask(conversation, "And now?")

    assert (failed.status, failed.error_code) == ("errored", code)
    assert failed.error_message
    assert await database_sync_to_async(eventlog.question_of)(failed) == "Keep me?"
    assert again.status == "completed"
    assert [request["verdict"] for request in upstream.requests()][-1] == "accepted"


async def test_upstream_that_falls_silent_is_given_up(
    upstream: ContractHandle, conversation: Conversation, settings: LazySettings
) -> None:
    settings.UPSTREAM_IDLE_TIMEOUT_S = 0.2
    upstream.script([{"content": "a b c", "chunk": "word", "faults": [{"kind": "stall", "at": "event:2"}]}])

    turn = await ask(conversation)

    assert (turn.status, turn.error_code) == ("errored", "timeout")


async def test_stop_keeps_what_came_and_closes_the_upstream(
    upstream: ContractHandle, runner: TurnManager, conversation: Conversation
) -> None:
    upstream.script(
        [
            {"content": "First part. Never sent.", "chunk": 12, "faults": [{"kind": "stall", "at": "event:2"}]},
            {"content": "Next."},
        ]
    )
    async with following(conversation) as messages:
        accepted = await runner.submit(conversation.pk, Message("Why?"))
        await until(messages, *ANSWER_KINDS)
    await runner.stop(conversation.pk)
    assert accepted.turn_id is not None
    await runner.finished(conversation.pk, accepted.turn_id)

    turn = await Turn.objects.aget(pk=accepted.turn_id)
    message = next(event for event in await events_of(turn) if isinstance(event, AssistantMessage))
    assert turn.status == "aborted"
    assert message.partial
    assert message.text.startswith("First part")
    await asyncio.to_thread(upstream.wait_for, ended=1, seconds=1)
    await ask(conversation, "next")
    assert "First part" not in str(upstream.requests()[-1]["body"]["messages"])


@pytest.mark.parametrize("reason", ["length", "content_filter"])
async def test_answer_that_was_cut_short_says_so(
    upstream: ContractHandle, conversation: Conversation, reason: str
) -> None:
    upstream.script([{"content": "Half of it", "finish": reason}])

    turn = await ask(conversation)
    rows = await database_sync_to_async(eventlog.turn_record)(turn)

    assert (turn.status, turn.error_code) == ("completed", reason)
    assert answer_card(rows, visibility(SiteFlags(), Viewer())).notice


async def test_lost_key_leaves_the_page_readable(
    upstream: ContractHandle, conversation: Conversation, settings: LazySettings
) -> None:
    upstream.script([{"reasoning": "hm", "content": "Yes."}])
    await ask(conversation)
    settings.CONTENT_KEYS = [Fernet.generate_key().decode()]
    await StoredCard.objects.all().adelete()

    usage, _model = await database_sync_to_async(next_request)(conversation)

    assert usage.effective == 0
