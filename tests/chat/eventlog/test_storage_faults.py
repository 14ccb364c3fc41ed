"""A disk that is full, a database that is locked or out of connections: told plainly, nothing lost, then recovered."""

import asyncio
import json
import sqlite3
from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Any

import psycopg
import pytest
from channels.db import database_sync_to_async
from django.db import InternalError, OperationalError, connection
from django.db.backends.signals import connection_created

from chat import eventlog
from chat.eventlog import write
from chat.models import Turn
from chat.texts import db_errors
from chat.turns import finish, heartbeat, retry, run
from reasoning.events import AssistantMessage, ToolCall, ToolResult
from tests.chat.asking import ask, ended, events_of, send
from tests.chat.sockets import frames_until, socket_of
from tests.factories import make_conversation, open_turn

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.engine]
LONG = "A line that takes its room on the disk, and more of it than any page has left. " * 300
LONGER = LONG * 4  # than what the search index may leave free when it puts its parts together
FULL = "The server’s disk is full, so nothing can be stored. Send it again when there is room."


READ_ONLY = "The server’s database is read-only, so nothing can be stored. Send it again later."
# A database never has less pages than there are.
TROUBLES = [("PRAGMA max_page_count = 1", FULL), ("PRAGMA query_only = 1", READ_ONLY)]


class Disk:
    """While there is a ``trouble``, every connection that is opened begins with it."""

    trouble = ""

    def limit(self, connection: Any, **_more: Any) -> None:
        if self.trouble:
            with connection.cursor() as cursor:
                cursor.execute(self.trouble)


@pytest.fixture
def disk(transactional_db):
    with connection.cursor() as cursor:
        cursor.execute("VACUUM")  # no page is left over from before
    made = Disk()
    connection_created.connect(made.limit)
    yield made
    made.trouble = ""
    connection_created.disconnect(made.limit)


@pytest.mark.sqlite
@pytest.mark.parametrize(("trouble", "words"), TROUBLES)
async def test_message_that_cannot_be_stored_is_refused_with_the_reason_and_taken_later(
    upstream, conversation, disk, trouble, words
):
    upstream.script([{"content": "one"}])

    async with socket_of(conversation, conversation.owner) as socket:
        disk.trouble = trouble
        await database_sync_to_async(lambda: connection.close())()  # that of the thread
        await socket.send_to(json.dumps({"text": LONG, "id": "m1"}))
        refused = await frames_until(socket, 'data-rejected="m1"')
    disk.trouble = ""
    turn = await ask(conversation, LONG, client_id="m1")

    assert words in refused[-1]
    assert (turn.status, turn.client_id) == ("completed", "m1")
    assert await Turn.objects.acount() == 1


@pytest.mark.sqlite
@pytest.mark.parametrize("trouble", [trouble for trouble, _words in TROUBLES])
async def test_answer_that_cannot_be_stored_at_its_end_is_stored_later(
    upstream, conversation, disk, trouble, monkeypatch, caplog
):
    monkeypatch.setattr(retry, "DB_FIRST_WAIT_S", 0.001)
    upstream.script([{"deltas": [{"content": "Begun. "}, {"hold": "rest"}, {"content": LONGER}]}, {"content": "two"}])
    async with socket_of(conversation, conversation.owner) as socket:
        await send(conversation, "Why?")
        await frames_until(socket, "Begun")
        disk.trouble = trouble
        upstream.release("rest")
        async with asyncio.timeout(30):
            while "database does not answer" not in caplog.text:  # noqa: ASYNC110 - a log has no event for it
                await asyncio.sleep(0.01)
        assert (await conversation.turns.aget()).status == "running"
        disk.trouble = ""
        turn = await ended(conversation)

    assert (turn.status, turn.error_code) == ("completed", "")
    [message] = [event for event in await events_of(turn) if isinstance(event, AssistantMessage)]
    assert message.text == f"Begun. {LONGER}".strip()
    assert (await ask(conversation, "next")).status == "completed"


@pytest.mark.sqlite
async def test_database_that_another_process_holds_locked_delays_a_turn_and_loses_nothing(upstream, conversation):
    upstream.script([{"deltas": [{"content": "Begun. "}, {"hold": "rest"}, {"content": "Ended."}]}])
    other = sqlite3.connect(connection.settings_dict["NAME"], isolation_level=None)
    async with socket_of(conversation, conversation.owner) as socket:
        await send(conversation, "Why?")
        await frames_until(socket, "Begun")
        other.execute("BEGIN IMMEDIATE")
        upstream.release("rest")
        await frames_until(socket, "Ended")
        other.execute("ROLLBACK")
        other.close()
        assert (await ended(conversation)).status == "completed"

    assert "Begun. Ended." in str(await database_sync_to_async(eventlog.history)(conversation.pk))


@pytest.mark.parametrize(
    ("said", "words"),
    [
        (sqlite3.OperationalError("database or disk is full"), FULL),
        (psycopg.errors.DiskFull("could not extend file: No space left on device"), FULL),
        (psycopg.errors.ReadOnlySqlTransaction("cannot execute INSERT in a read-only transaction"), READ_ONLY),
        (sqlite3.OperationalError("database is locked"), "The server’s database is busy. Send it again in a moment."),
        (
            psycopg.OperationalError("FATAL: sorry, too many clients already"),
            "The server’s database is busy. Send it again in a moment.",
        ),
        (
            psycopg.OperationalError("connection refused at 10.1.2.3"),
            "The server’s database does not answer. Send it again in a moment.",
        ),
    ],
)
def test_each_trouble_has_its_own_words_and_none_of_the_databases(said, words):
    wrapped = InternalError("wrapped") if isinstance(said, psycopg.InternalError) else OperationalError("wrapped")
    wrapped.__cause__ = said

    assert db_errors.user_message(wrapped) == words
    assert db_errors.user_message(ValueError("a bug")) == "Something went wrong on this server. Send it again."


def failing(function: Callable[..., Any], *, times: int) -> Callable[..., Any]:
    """Return ``function`` as it is while the database is locked, for the first ``times`` calls."""
    left = [times]

    def locked_at_first(*args: Any, **kwargs: Any) -> Any:
        left[0] -= 1
        if left[0] >= 0:
            raise OperationalError("database is locked")
        return function(*args, **kwargs)

    return locked_at_first


async def test_end_that_cannot_be_written_at_once_is_written_later(upstream, conversation, monkeypatch):
    monkeypatch.setattr(retry, "DB_FIRST_WAIT_S", 0.001)
    monkeypatch.setattr(eventlog, "close_turn", failing(eventlog.close_turn, times=4))
    upstream.script([{"content": "one"}, {"content": "two"}])

    turn = await ask(conversation)
    following = await ask(conversation, "next")

    assert (turn.status, turn.error_code) == ("completed", "")
    assert following.status == "completed"


async def test_end_that_is_written_but_cannot_be_read_back_at_once_is_written_once(upstream, conversation, monkeypatch):
    monkeypatch.setattr(retry, "DB_FIRST_WAIT_S", 0.001)
    monkeypatch.setattr(finish, "load_result", failing(finish.load_result, times=2))
    upstream.script([{"content": "one"}])

    turn = await ask(conversation)

    assert (turn.status, turn.error_code) == ("completed", "")
    kept = [event.type for event in await events_of(turn)]
    assert kept == ["user_message", "assistant_message", "turn_end"]


async def test_text_that_was_shown_is_kept_when_its_step_cannot_be_written(upstream, conversation, monkeypatch):
    def locked(*_args, **_more):
        raise OperationalError("database is locked")

    monkeypatch.setattr(run, "retry_on_db_outage", partial(retry.retry_on_db_outage, timeout_s=0))
    monkeypatch.setattr(finish, "finish_turn", locked)
    upstream.script([{"content": "All of it."}])

    turn = await ask(conversation)

    kept = [event for event in await events_of(turn) if isinstance(event, AssistantMessage)]
    assert [(message.text, message.partial) for message in kept] == [("All of it.", True)]
    assert turn.status == "errored"


CALLS = [ToolCall(call_id=one, name="searchFilings", arguments="{}", step=0) for one in ("c1", "c2")]
RESULTS = [ToolResult(call_id=one, output="same", ok=True, step=0) for one in ("c1", "c2")]


def unheard(*args: Any) -> None:
    """Append, and lose the word of it."""
    write.append(*args)
    raise OperationalError("server closed the connection unexpectedly")


async def test_step_and_result_stand_in_the_log_once(upstream, conversation, monkeypatch):
    monkeypatch.setattr(retry, "DB_FIRST_WAIT_S", 0)
    monkeypatch.setattr(eventlog, "append", unheard)
    search = {"name": "searchFilings", "arguments": json.dumps({"query": "covenants"})}
    upstream.script([{"reasoning": "I look.", "content": "First.", "tool_calls": [search]}, {"content": "Done."}])

    turn = await ask(conversation, "Why?")

    found = Counter(event.type for event in await events_of(turn))
    assert turn.status == "completed"
    assert found == {
        "user_message": 1,
        "reasoning": 1,
        "tool_call": 1,
        "tool_result": 1,
        "assistant_message": 2,
        "turn_end": 1,
    }


def test_events_that_are_missing_are_appended_and_those_that_are_there_are_not(alice):
    turn = open_turn(make_conversation(owner=alice).pk, text="q")

    for events in (CALLS, RESULTS[:1], RESULTS[1:], [AssistantMessage(text="a", step=1)]):
        for _twice in range(2):
            write.append_missing(turn, events)

    assert [event.type for event in eventlog.history(turn.conversation_id)] == [
        "user_message",
        "tool_call",
        "tool_call",
        "tool_result",
        "tool_result",
        "assistant_message",
    ]


# What a page says while the turn that it shows can't be saved.


async def test_page_says_that_its_answer_is_not_saved_until_it_is(upstream, conversation, monkeypatch):
    def unavailable(*_args):
        raise OperationalError("unavailable")

    monkeypatch.setattr(heartbeat, "CHECKPOINT_S", 0.02)
    hold = [{"kind": "stall", "at": "event:4", "name": "go"}]
    upstream.script([{"content": "So far. And more of it.", "chunk": "word", "faults": hold}])
    async with socket_of(conversation, conversation.owner) as socket:
        await send(conversation, "Why?")
        await frames_until(socket, "So far")
        with monkeypatch.context() as outage:
            outage.setattr(write, "save_checkpoints", unavailable)
            await frames_until(socket, "Database unavailable")
        await frames_until(socket, "Writing…")
        upstream.release("go")
        await frames_until(socket, "Answer ready")

    assert (await ended(conversation)).status == "completed"
