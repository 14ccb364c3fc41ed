"""Turns over real HTTP against the strict upstream: what is shown, what is kept, what goes back."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from channels.db import database_sync_to_async
from django.conf import LazySettings

from accounts.models import User
from chat import log
from chat.forms import Message, MessageRefused
from chat.live import Finished, Notice, OpenText
from chat.models import Conversation, Turn
from chat.runner import Runner, Watcher
from reasoning.events import AssistantMessage, Event, Reasoning, ToolCall, ToolResult
from tests.contract_server.fixture import ContractHandle
from tests.factories import make_conversation

pytestmark = pytest.mark.django_db(transaction=True)
SECTIONS = "Reasoning Summary:\n- Looked at one thing.\n- Then at another.\n\nFinal Answer:\nThe answer is 42."


@pytest.fixture
def runner() -> Runner:
    return Runner()


@pytest.fixture
def conversation(alice: User) -> Conversation:
    return make_conversation(owner=alice)


async def ask(runner: Runner, conversation: Conversation, text: str = "Why?", **more: Any) -> Turn:
    accepted = await runner.submit(conversation.pk, conversation.owner_id, Message(text, **more))
    assert accepted.turn_id is not None
    await runner.finished(conversation.pk, accepted.turn_id)
    return await Turn.objects.aget(pk=accepted.turn_id)


async def until(watcher: Watcher, kind: type[Notice]) -> list[str]:
    """Return what was told before the first notice of ``kind``."""
    told = []
    async with asyncio.timeout(10):
        while not isinstance(notice := await watcher.next(), kind):
            told.append(repr(notice))
    return told


async def events_of(turn: Turn) -> list[Event]:
    history = await database_sync_to_async(log.history)(turn.conversation_id)
    return [event for event in history if event.turn == turn.public_id]


def kinds(events: list[Event]) -> list[str]:
    return [event.type for event in events]


async def test_answer_summary_and_thinking_end_in_their_places(
    upstream: ContractHandle, runner: Runner, conversation: Conversation
) -> None:
    upstream.script([{"reasoning": "Let me see.", "content": SECTIONS, "chunk": 3}])

    turn = await ask(runner, conversation)
    _question, thought, message, end = await events_of(turn)

    assert isinstance(thought, Reasoning)
    assert (thought.text, thought.source_field) == ("Let me see.", "reasoning_content")
    assert isinstance(message, AssistantMessage)
    assert message.text == "The answer is 42."
    assert message.summary == ("Looked at one thing.", "Then at another.")
    assert (turn.status, turn.summary_source, end.type) == ("completed", "model", "turn_end")


@pytest.mark.spec("003 stray")
async def test_leaked_closing_tag_reaches_neither_log_nor_watchers(
    upstream: ContractHandle, runner: Runner, conversation: Conversation
) -> None:
    upstream.script([{"reasoning": "hidden", "content": "Done.</think> Really.", "chunk": "char"}])
    watcher = Watcher(conversation.pk)

    with runner.watching(watcher):
        turn = await ask(runner, conversation)
        told = await until(watcher, Finished)

    message = next(event for event in await events_of(turn) if isinstance(event, AssistantMessage))
    assert message.text == "Done. Really."
    assert "think>" not in "".join(told)


async def test_tool_call_split_over_chunks_runs_and_goes_back_byte_for_byte(
    upstream: ContractHandle, runner: Runner, conversation: Conversation
) -> None:
    arguments = '{"query":  "turbine outage", "limit": 2}'
    call = {"name": "searchFilings", "arguments": arguments}
    upstream.script([{"reasoning": "search", "tool_calls": [call], "chunk": 4}, {"content": SECTIONS}])

    turn = await ask(runner, conversation)

    events = await events_of(turn)
    recorded = next(event for event in events if isinstance(event, ToolCall))
    assert kinds(events) == [
        "user_message",
        "reasoning",
        "tool_call",
        "tool_result",
        "assistant_message",
        "turn_end",
    ]
    assert recorded.arguments == arguments
    assert [request["verdict"] for request in upstream.requests()] == ["accepted", "accepted"]
    sent = upstream.requests()[1]["body"]["messages"]
    assert next(m for m in sent if m.get("tool_calls"))["tool_calls"][0]["function"]["arguments"] == arguments


async def test_bad_arguments_go_back_to_the_model_as_a_short_error(
    upstream: ContractHandle, runner: Runner, conversation: Conversation
) -> None:
    upstream.script([{"tool_calls": [{"name": "searchFilings", "arguments": '{"limit": 500}'}]}, {"content": "Sorry."}])

    turn = await ask(runner, conversation)

    result = next(event for event in await events_of(turn) if isinstance(event, ToolResult))
    assert not result.ok
    assert "limit" in result.output
    assert turn.status == "completed"


async def test_loop_ends_at_the_step_limit_with_every_call_answered(
    upstream: ContractHandle, runner: Runner, conversation: Conversation, settings: LazySettings
) -> None:
    settings.MAX_STEPS = 2
    call = {"name": "searchFilings", "arguments": '{"query": "x"}'}
    upstream.script([{"tool_calls": [call]}, {"tool_calls": [call]}, {"content": "after"}])

    turn = await ask(runner, conversation)
    await ask(runner, conversation, "next")

    assert turn.status == "iteration_capped"
    assert [request["verdict"] for request in upstream.requests()] == ["accepted"] * 3


@pytest.mark.parametrize(
    ("reply", "code"),
    [
        ({"content": "x", "faults": [{"kind": "server_error"}]}, "server_error"),
        ({"content": "x", "faults": [{"kind": "rate_limit"}]}, "rate_limited"),
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


async def test_scratchpad_reaches_no_record(
    upstream: ContractHandle, runner: Runner, conversation: Conversation, caplog: pytest.LogCaptureFixture
) -> None:
    canary = "quokka-canary-4410"
    content = f"{SECTIONS}\n<scratchpad>{canary} private</scratchpad>"
    upstream.script([{"reasoning": f"<scratchpad>{canary}</scratchpad>ok", "content": content, "chunk": 2}])

    turn = await ask(runner, conversation)

    assert canary not in repr(await events_of(turn))
    assert canary not in caplog.text


async def test_secret_in_the_answer_is_masked_before_it_is_kept(
    upstream: ContractHandle, runner: Runner, conversation: Conversation
) -> None:
    secret = "sk-" + "a1b2c3d4" * 5
    upstream.script([{"content": f"Use {secret} for it, write to bo@example.com.", "chunk": 5}])

    turn = await ask(runner, conversation)

    message = next(event for event in await events_of(turn) if isinstance(event, AssistantMessage))
    assert secret not in message.text
    assert "bo@example.com" in message.text


@pytest.mark.spec("004 summary")
async def test_summary_is_built_from_the_trace_where_the_model_gave_none(
    upstream: ContractHandle, runner: Runner, conversation: Conversation
) -> None:
    call = {"name": "searchFilings", "arguments": '{"query": "turbines"}'}
    upstream.script([{"tool_calls": [call]}, {"content": "No sections here."}])

    turn = await ask(runner, conversation)

    message = next(event for event in await events_of(turn) if isinstance(event, AssistantMessage))
    assert turn.summary_source == "trace"
    assert message.summary
    assert message.text == "No sections here."
