"""How turns end: failures, stops, limits and messages that wait, over real HTTP."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from channels.db import database_sync_to_async
from cryptography.fernet import Fernet
from django.conf import LazySettings

from accounts.models import User
from chat import log
from chat.cards import answer_card
from chat.forms import Message, MessageRefused
from chat.models import Conversation, Turn
from chat.notices import Finished, OpenText
from chat.runner import Runner
from chat.screens import next_request
from chat.watchers import Watcher
from reasoning.events import AssistantMessage
from reasoning.policy import SiteFlags, Viewer, visibility
from tests.chat.asking import ask, events_of, until
from tests.contract_server.fixture import ContractHandle
from tests.factories import make_conversation

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
    upstream: ContractHandle, runner: Runner, conversation: Conversation, reply: dict[str, Any], code: str
) -> None:
    upstream.script([reply, {"content": "Fine now."}])

    failed = await ask(runner, conversation, "Keep me?")
    again = await ask(runner, conversation, "And now?")

    assert (failed.status, failed.error_code) == ("errored", code)
    assert failed.error_message
    assert await database_sync_to_async(log.question_of)(failed) == "Keep me?"
    assert again.status == "completed"
    assert [request["verdict"] for request in upstream.requests()][-1] == "accepted"


async def test_upstream_that_falls_silent_is_given_up(
    upstream: ContractHandle, runner: Runner, conversation: Conversation, settings: LazySettings
) -> None:
    settings.UPSTREAM_IDLE_TIMEOUT_S = 0.2
    upstream.script([{"content": "a b c", "chunk": "word", "faults": [{"kind": "stall", "at": "event:2"}]}])

    turn = await ask(runner, conversation)

    assert (turn.status, turn.error_code) == ("errored", "timeout")


async def test_stop_keeps_what_came_and_closes_the_upstream(
    upstream: ContractHandle, runner: Runner, conversation: Conversation
) -> None:
    upstream.script(
        [
            {"content": "First part. Never sent.", "chunk": 12, "faults": [{"kind": "stall", "at": "event:2"}]},
            {"content": "Next."},
        ]
    )
    watcher = Watcher(conversation.pk)

    with runner.watching(watcher):
        accepted = await runner.submit(conversation.pk, conversation.owner_id, Message("Why?"))
        await until(watcher, OpenText)
    runner.stop(conversation.pk)
    assert accepted.turn_id is not None
    await runner.finished(conversation.pk, accepted.turn_id)

    turn = await Turn.objects.aget(pk=accepted.turn_id)
    message = next(event for event in await events_of(turn) if isinstance(event, AssistantMessage))
    assert turn.status == "aborted"
    assert message.partial
    assert message.text.startswith("First part")
    await asyncio.to_thread(upstream.wait_for, ended=1, seconds=1)
    await ask(runner, conversation, "next")
    assert "First part" not in str(upstream.requests()[-1]["body"]["messages"])


async def test_message_during_a_turn_waits_and_is_answered_next(
    upstream: ContractHandle, runner: Runner, conversation: Conversation
) -> None:
    hold = [{"kind": "stall", "at": "first_event", "name": "go"}]
    upstream.script([{"content": "one", "faults": hold}, {"content": "two"}])
    watcher = Watcher(conversation.pk)

    with runner.watching(watcher):
        first = await runner.submit(conversation.pk, conversation.owner_id, Message("first"))
        waiting = await runner.submit(conversation.pk, conversation.owner_id, Message("second", "id-2"))
        repeated = await runner.submit(conversation.pk, conversation.owner_id, Message("second", "id-2"))
        upstream.release("go")
        await until(watcher, Finished)
        await until(watcher, Finished)

    assert first.turn_id is not None
    assert waiting.turn_id is repeated.turn_id is None
    rows = await database_sync_to_async(log.turns)(conversation.pk)
    assert [row.events[0]["text"] for row in rows] == ["first", "second"]


async def test_message_that_may_not_wait_is_refused_by_name(
    upstream: ContractHandle, runner: Runner, conversation: Conversation
) -> None:
    upstream.script([{"content": "one", "faults": [{"kind": "stall", "at": "first_event", "name": "go"}]}])
    accepted = await runner.submit(conversation.pk, conversation.owner_id, Message("first"))

    with pytest.raises(MessageRefused) as refusal:
        await runner.submit(conversation.pk, conversation.owner_id, Message("second"), may_wait=False)

    upstream.release("go")
    assert accepted.turn_id is not None
    await runner.finished(conversation.pk, accepted.turn_id)
    assert refusal.value.code == "turn_running"


async def test_one_person_runs_a_limited_number_of_turns(
    upstream: ContractHandle, runner: Runner, alice: User, settings: LazySettings
) -> None:
    settings.MAX_CONCURRENT_TURNS = 1
    upstream.script([{"content": "one", "faults": [{"kind": "stall", "at": "first_event", "name": "go"}]}])
    one, two = [await database_sync_to_async(make_conversation)(owner=alice) for _ in range(2)]
    accepted = await runner.submit(one.pk, alice.pk, Message("first"))

    with pytest.raises(MessageRefused) as refusal:
        await runner.submit(two.pk, alice.pk, Message("second"))

    upstream.release("go")
    assert accepted.turn_id is not None
    await runner.finished(one.pk, accepted.turn_id)
    assert refusal.value.code == "too_many_turns"


@pytest.mark.parametrize("reason", ["length", "content_filter"])
async def test_answer_that_was_cut_short_says_so(
    upstream: ContractHandle, runner: Runner, conversation: Conversation, reason: str
) -> None:
    upstream.script([{"content": "Half of it", "finish": reason}])

    turn = await ask(runner, conversation)
    rows = await database_sync_to_async(log.turn_rows)(turn)

    assert (turn.status, turn.error_code) == ("completed", reason)
    assert answer_card(rows, visibility(SiteFlags(), Viewer())).notice


async def test_lost_key_leaves_the_page_readable(
    upstream: ContractHandle, runner: Runner, conversation: Conversation, settings: LazySettings
) -> None:
    upstream.script([{"reasoning": "hm", "content": "Yes."}])
    await ask(runner, conversation)
    settings.CONTENT_KEYS = [Fernet.generate_key().decode()]

    usage, _model = await database_sync_to_async(next_request)(conversation)

    assert usage.effective == 0
