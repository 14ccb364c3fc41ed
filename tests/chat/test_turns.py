"""Turns over real HTTP against the strict upstream: what is shown, what is kept, what goes back."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import pytest
from django.conf import LazySettings
from django.db.backends.signals import connection_created

from chat.models import Conversation
from chat.turns import heartbeat
from chat.turns.manager import TurnManager
from chat.validation import Message
from reasoning.events import AssistantMessage, Reasoning, ToolCall, ToolResult
from tests.chat.asking import ask, events_of, following, kinds, until
from tests.contract_server.fixture import ContractHandle

pytestmark = pytest.mark.django_db(transaction=True)
SECTIONS = "Reasoning Summary:\n- Looked at one thing.\n- Then at another.\n\nFinal Answer:\nThe answer is 42."


async def test_answer_summary_and_thinking_end_in_their_places(
    upstream: ContractHandle, conversation: Conversation
) -> None:
    upstream.script([{"reasoning": "Let me see.", "content": SECTIONS, "chunk": 3}])

    turn = await ask(conversation)
    _question, thought, message, end = await events_of(turn)

    assert isinstance(thought, Reasoning)
    assert (thought.text, thought.source_field) == ("Let me see.", "reasoning_content")
    assert isinstance(message, AssistantMessage)
    assert message.text == "The answer is 42."
    assert message.summary == ("Looked at one thing.", "Then at another.")
    assert (turn.status, turn.summary_source, end.type) == ("completed", "model", "turn_end")


@pytest.mark.spec("003 stray")
async def test_leaked_closing_tag_reaches_neither_log_nor_watchers(
    upstream: ContractHandle, conversation: Conversation
) -> None:
    upstream.script([{"reasoning": "hidden", "content": "Done.</think> Really.", "chunk": "char"}])
    async with following(conversation) as messages:
        turn = await ask(conversation)
        told = await until(messages, "ended")

    message = next(event for event in await events_of(turn) if isinstance(event, AssistantMessage))
    assert message.text == "Done. Really."
    assert "think>" not in repr(told)


async def test_tool_call_split_over_chunks_runs_and_goes_back_byte_for_byte(
    upstream: ContractHandle, conversation: Conversation
) -> None:
    arguments = '{"query":  "turbine outage", "limit": 2}'
    call = {"name": "searchFilings", "arguments": arguments}
    upstream.script([{"reasoning": "search", "tool_calls": [call], "chunk": 4}, {"content": SECTIONS}])

    turn = await ask(conversation)

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
    upstream: ContractHandle, conversation: Conversation
) -> None:
    upstream.script([{"tool_calls": [{"name": "searchFilings", "arguments": '{"limit": 500}'}]}, {"content": "Sorry."}])

    turn = await ask(conversation)

    result = next(event for event in await events_of(turn) if isinstance(event, ToolResult))
    assert not result.ok
    assert "limit" in result.output
    assert turn.status == "completed"


async def test_loop_ends_at_the_step_limit_with_every_call_answered(
    upstream: ContractHandle, conversation: Conversation, settings: LazySettings
) -> None:
    settings.MAX_STEPS = 2
    call = {"name": "searchFilings", "arguments": '{"query": "x"}'}
    upstream.script([{"tool_calls": [call]}, {"tool_calls": [call]}, {"content": "after"}])

    turn = await ask(conversation)
    await ask(conversation, "next")

    assert turn.status == "iteration_capped"
    assert [request["verdict"] for request in upstream.requests()] == ["accepted"] * 3


async def test_scratchpad_reaches_no_record(
    upstream: ContractHandle, conversation: Conversation, caplog: pytest.LogCaptureFixture
) -> None:
    canary = "quokka-canary-4410"
    content = f"{SECTIONS}\n<scratchpad>{canary} private</scratchpad>"
    upstream.script([{"reasoning": f"<scratchpad>{canary}</scratchpad>ok", "content": content, "chunk": 2}])

    turn = await ask(conversation)

    assert canary not in repr(await events_of(turn))
    assert canary not in caplog.text


async def test_secret_in_the_answer_is_masked_before_it_is_kept(
    upstream: ContractHandle, conversation: Conversation
) -> None:
    secret = "sk-" + "a1b2c3d4" * 5
    upstream.script([{"content": f"Use {secret} for it, write to bo@example.com.", "chunk": 5}])

    turn = await ask(conversation)

    message = next(event for event in await events_of(turn) if isinstance(event, AssistantMessage))
    assert secret not in message.text
    assert "bo@example.com" in message.text


@pytest.mark.spec("004 summary")
async def test_summary_is_built_from_the_trace_where_the_model_gave_none(
    upstream: ContractHandle, conversation: Conversation
) -> None:
    call = {"name": "searchFilings", "arguments": '{"query": "turbines"}'}
    upstream.script([{"tool_calls": [call]}, {"content": "No sections here."}])

    turn = await ask(conversation)

    message = next(event for event in await events_of(turn) if isinstance(event, AssistantMessage))
    assert turn.summary_source == "trace"
    assert message.summary
    assert message.text == "No sections here."


@contextmanager
def statements_of_all_threads() -> Iterator[list[str]]:
    """Record the SQL statements of every connection that is opened meanwhile, without BEGIN."""
    found: list[str] = []
    connections: set[int] = set()

    def record(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        if not sql.startswith("BEGIN"):
            found.append(sql)
        return execute(sql, params, many, context)

    with ExitStack() as stack:

        def watch(connection: Any, **_more: Any) -> None:
            if id(connection) not in connections:  # it is opened again for each call
                connections.add(id(connection))
                stack.enter_context(connection.execute_wrapper(record))

        connection_created.connect(watch)
        stack.callback(connection_created.disconnect, watch)
        yield found


async def test_turn_without_tools_takes_at_most_14_statements(
    upstream: ContractHandle,
    runner: TurnManager,
    conversation: Conversation,
    settings: LazySettings,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    settings.LEASE_HEARTBEAT_S = 60  # its statements are shared by all turns
    monkeypatch.setattr(heartbeat, "CHECKPOINT_S", 60)
    upstream.script([{"reasoning": "Hm.", "content": SECTIONS}] * 2)

    for question in ("Why?", "And then?"):
        with statements_of_all_threads() as statements:
            accepted = await runner.submit(conversation.pk, Message(question))
            assert accepted.turn_id is not None
            await runner.finished(conversation.pk, accepted.turn_id)

        assert 0 < len(statements) <= 14, statements
