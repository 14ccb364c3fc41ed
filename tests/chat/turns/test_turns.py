"""Turns over real HTTP against the strict model service: what is answered, stored and sent back, and how they end."""

import asyncio
import json
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import pytest
from channels.db import database_sync_to_async
from django.db import IntegrityError, connection, transaction
from django.db.backends.signals import connection_created
from django.db.models import Model

from chat import eventlog
from chat.models import Checkpoint, Conversation, Event, StoredCard, Turn
from chat.turns import heartbeat
from chat.turns.finish import recover_abandoned_turns
from chat.validation import Message
from reasoning.events import ToolCall
from tests.chat.asking import ask, ended, owner_of, send
from tests.chat.sockets import frames_until, socket_of
from tests.factories import abandon, client_of, make_conversation, open_turn, save_checkpoint
from tests.frame_words import heard

pytestmark = pytest.mark.django_db(transaction=True)
CANARY = "zebra-canary-7731"
SECRET = "sk-" + "a1b2c3d4" * 5
ARGUMENTS = f'{{"query":  "turbine {SECRET}", "limit": 2}}'
SEARCH = {"name": "searchFilings", "arguments": ARGUMENTS}


async def messages_of(conversation: Conversation) -> list[dict[str, Any]]:
    """Return what the owner reads by the API."""
    answer = await (await owner_of(conversation)).get(f"/api/chats/{conversation.pk}/messages/")
    return list(answer.json())


def rows_in(*models: type[Model]) -> str:
    """Return all that the tables of these models contain."""
    rows = [value for model in models for row in model._default_manager.values_list() for value in row]
    return repr([bytes(value) if isinstance(value, memoryview) else value for value in rows])


async def test_turn_without_tools_takes_few_statements(upstream, conversation, monkeypatch):
    monkeypatch.setattr(heartbeat, "CHECKPOINT_S", 60)  # a slow machine would have one
    statements: list[str] = []

    def note(execute, sql, params, many, context):
        statements.append(sql)
        return execute(sql, params, many, context)

    upstream.script([{"content": "one"}] * 2)
    async with socket_of(conversation, conversation.owner) as socket:
        await ask(conversation)
        await frames_until(socket, "Answer ready")
        # In the thread that has the database's connection.
        await database_sync_to_async(connection.execute_wrappers.append)(note)
        try:
            await socket.send_json_to({"text": "Why?", "id": "q2"})
            await frames_until(socket, "Answer ready")
        finally:
            await database_sync_to_async(connection.execute_wrappers.remove)(note)

    assert len([sql for sql in statements if not sql.startswith("BEGIN")]) <= 14, statements


@pytest.mark.spec("003 stray")
@pytest.mark.spec("product 12")
@pytest.mark.parametrize(
    ("reply", "answer", "absent"),
    [
        ({"reasoning": "hidden", "content": "Done.</think> Really."}, "Done. Really.", "think>"),
        ({"content": f"Yes.<scratchpad>{CANARY}</scratchpad>"}, "Yes.", CANARY),
        ({"content": f"Use {SECRET}, ask bo@example.com."}, "Use [redacted], ask bo@example.com.", SECRET),
    ],
    ids=["stray delimiter", "scratchpad", "secret"],
)
async def test_what_an_answer_may_not_contain_reaches_no_page_no_table_and_no_log(
    upstream, conversation, caplog, reply, answer, absent
):
    upstream.script([{**reply, "chunk": 2}])

    async with socket_of(conversation, conversation.owner) as socket:
        await ask(conversation)
        shown = heard(await frames_until(socket, "Answer ready"))

    listed = await messages_of(conversation)
    assert listed[-1]["answer"] == answer
    stored = await database_sync_to_async(rows_in)(Event, Turn, StoredCard, Conversation)
    assert [absent in text for text in (shown, repr(listed), stored, caplog.text)] == [False] * 4


@pytest.mark.spec("001 BR-002")
@pytest.mark.spec("product 3")
@pytest.mark.spec("product 10")
@pytest.mark.spec("004 summary")
@pytest.mark.engine
async def test_private_payloads_are_encrypted_in_the_log_and_the_call_is_sent_back_byte_for_byte(
    upstream, conversation, settings
):
    settings.REASONING_THINKING_FOR_USERS = "hidden"
    thought = f"{CANARY} " * 200
    upstream.script([{"reasoning": thought, "tool_calls": [SEARCH], "chunk": 4}, {"content": "No sections here."}])

    await ask(conversation)

    events = [event async for event in Event.objects.order_by("seq")]
    kinds = ["user_message", "reasoning", "tool_call", "tool_result", "assistant_message", "turn_end"]
    assert [(event.seq, event.type) for event in events] == list(enumerate(kinds, 1))
    stored = await database_sync_to_async(rows_in)(Event, Checkpoint, StoredCard)
    assert [private in stored for private in (CANARY, SECRET)] == [False, False]
    first, second = upstream.requests()
    assert (first["verdict"], second["verdict"]) == ("accepted", "accepted")
    [call] = [message["tool_calls"][0] for message in second["body"]["messages"] if message.get("tool_calls")]
    assert call["function"]["arguments"] == ARGUMENTS
    settings.REASONING_THINKING_FOR_USERS = "full"
    envelope = (await messages_of(conversation))[-1]
    assert envelope["thinking"]["text"].strip() == thought.strip()
    assert envelope["summarySource"] == "trace"
    assert envelope["reasoningSummary"]


async def test_bad_arguments_are_sent_back_to_the_model_as_a_short_error(upstream, conversation):
    upstream.script([{"tool_calls": [{"name": "searchFilings", "arguments": '{"limit": 500}'}]}, {"content": "Sorry."}])

    turn = await ask(conversation)

    result = upstream.requests()[-1]["body"]["messages"][-1]
    assert (result["role"], turn.status) == ("tool", "completed")
    assert "limit" in result["content"]
    assert [step["status"] for step in (await messages_of(conversation))[-1]["toolTrace"]] == ["error"]


async def test_loop_ends_at_the_step_limit_with_every_call_answered(upstream, conversation, settings):
    settings.MAX_STEPS = 2
    upstream.script([{"tool_calls": [SEARCH]}, {"tool_calls": [SEARCH]}, {"content": "after"}])

    turn = await ask(conversation)
    await ask(conversation, "next")

    assert turn.status == "iteration_capped"
    assert [request["verdict"] for request in upstream.requests()] == ["accepted"] * 3


@pytest.mark.parametrize(
    ("fault", "code"),
    [
        ({"kind": "server_error", "times": 3}, "server_error"),
        ({"kind": "rate_limit", "times": 3}, "rate_limited"),
        ({"kind": "disconnect", "at": "event:2"}, "disconnected"),
        ({"kind": "malformed_sse", "form": "not_json"}, "malformed"),
        ({"kind": "stall", "at": "event:2"}, "timeout"),
    ],
)
async def test_failure_ends_the_turn_and_the_question_stays_for_the_next(upstream, conversation, settings, fault, code):
    if code == "timeout":
        settings.UPSTREAM_IDLE_TIMEOUT_S = 0.2
    upstream.script([{"content": "x y z", "chunk": "word", "faults": [fault]}])

    failed = await ask(conversation, "Keep me?")
    settings.UPSTREAM_IDLE_TIMEOUT_S = 60
    upstream.script([{"content": "Fine now."}])
    again = await ask(conversation, "And now?")

    assert (failed.status, failed.error_code) == ("errored", code)
    assert again.status == "completed"
    last = upstream.requests()[-1]
    assert last["verdict"] == "accepted"
    assert "Keep me?" in json.dumps(last["body"]["messages"])


async def test_stop_stores_what_came_and_closes_the_upstream(upstream, conversation):
    stall = [{"kind": "stall", "at": "event:2"}]
    upstream.script([{"content": "First part. Never sent.", "chunk": 12, "faults": stall}, {"content": "Next."}])
    async with socket_of(conversation, conversation.owner) as socket:
        await send(conversation, "Why?")
        await frames_until(socket, "First part")
        await (await owner_of(conversation)).post(f"/chats/{conversation.pk}/stop/")
        turn = await ended(conversation)

    envelope = (await messages_of(conversation))[-1]
    assert (turn.status, envelope["status"], envelope["answer"]) == ("aborted", "stopped", "First part.")
    await asyncio.to_thread(upstream.wait_for, ended=1)
    await ask(conversation, "next")
    assert "First part" not in str(upstream.requests()[-1]["body"]["messages"])


@pytest.mark.parametrize(
    ("reason", "notice"), [("length", "and is cut off here"), ("content_filter", "withheld the rest of this answer")]
)
async def test_answer_that_was_cut_short_says_so(upstream, conversation, reason, notice):
    upstream.script([{"content": "Half of it", "finish": reason}])

    turn = await ask(conversation)
    page = await (await owner_of(conversation)).get(f"/chats/{conversation.pk}/")

    assert (turn.status, turn.error_code) == ("completed", reason)
    assert notice in page.content.decode()


@pytest.mark.engine
async def test_turn_of_a_dead_process_ends_with_its_checkpoint_and_can_be_followed(upstream, conversation):
    def die():
        turn = open_turn(conversation.pk, text="q")
        eventlog.append(turn, [ToolCall(call_id="c1", name="searchFilings", arguments="{}", step=0)])
        save_checkpoint(turn, answer="half an", thinking=CANARY)
        assert CANARY not in rows_in(Checkpoint)
        abandon(turn)
        recover_abandoned_turns()
        recover_abandoned_turns()

    upstream.script([{"content": "Next."}])
    await database_sync_to_async(die)()
    await ask(conversation, "next")

    listed = await messages_of(conversation)
    assert [(one["status"], one["answer"]) for one in listed[1::2]] == [
        ("interrupted", "half an"),
        ("complete", "Next."),
    ]
    assert [request["verdict"] for request in upstream.requests()] == ["accepted"]


@pytest.mark.spec("product 12")
def test_title_comes_from_the_first_question_redacted_and_cut(alice, conversation):
    open_turn(conversation.pk, text="What about alice@example.com and " + "very " * 30 + "long questions?")

    [listed] = client_of(alice).get("/api/chats/").json()

    assert listed["title"].startswith("What about a***@example.com and very")
    assert len(listed["title"]) < 100


@pytest.mark.engine
def test_database_itself_refuses_a_second_running_turn(alice):
    conversation = make_conversation(owner=alice)
    Turn.objects.create(conversation=conversation, number=1)

    with pytest.raises(IntegrityError), transaction.atomic():
        Turn.objects.create(conversation=conversation, number=2)


@contextmanager
def statements_of_all_threads() -> Iterator[list[str]]:
    """Record the SQL statements of all connections that are opened meanwhile, without BEGIN."""
    statements: list[str] = []
    connections: set[int] = set()

    def record(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        if not sql.startswith("BEGIN"):
            statements.append(sql)
        return execute(sql, params, many, context)

    with ExitStack() as stack:

        def watch(connection: Any, **_more: Any) -> None:
            if id(connection) not in connections:  # it is opened again for each call
                connections.add(id(connection))
                stack.enter_context(connection.execute_wrapper(record))

        connection_created.connect(watch)
        stack.callback(connection_created.disconnect, watch)
        yield statements


async def test_turn_without_tools_takes_at_most_14_statements(
    upstream, turn_manager, conversation, settings, monkeypatch
):
    # leases are renewed and checkpoints written for all turns of a process together
    settings.LEASE_HEARTBEAT_S = 60
    monkeypatch.setattr(heartbeat, "CHECKPOINT_S", 60)
    upstream.script([{"reasoning": "Hm.", "content": "Because."}] * 2)

    for question in ("Why?", "And then?"):
        with statements_of_all_threads() as statements:
            accepted = await turn_manager.submit(conversation.pk, Message(question))
            assert accepted.turn_id is not None
            await turn_manager.wait_until_finished(conversation.pk, accepted.turn_id)

        assert 0 < len(statements) <= 14, statements


@pytest.mark.parametrize("limit", [None, 500])
async def test_most_tokens_of_an_answer_are_what_the_site_sets(upstream, conversation, settings, limit):
    settings.MAX_OUTPUT_TOKENS = limit
    upstream.script([{"content": "Done."}])

    await ask(conversation)

    assert upstream.requests()[0]["body"].get("max_tokens") == limit


async def test_question_keeps_the_indent_of_its_first_line(upstream, conversation):
    await ask(conversation, "\n \n    if x:\n\t\treturn \n\n")

    assert (await messages_of(conversation))[0]["text"] == "    if x:\n\t\treturn"
