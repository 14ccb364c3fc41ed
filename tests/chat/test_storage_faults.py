"""A disk that is full, a database that is locked or out of connections: told plainly, nothing lost, then recovered."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from channels.db import database_sync_to_async
from django.db import OperationalError, connection
from django.db.backends.signals import connection_created

from chat import log, outage, recovery
from chat.forms import Message
from chat.models import Conversation, Turn
from chat.notices import OpenText
from chat.runner import Runner
from chat.watchers import Watcher
from reasoning.events import AssistantMessage
from tests.chat.asking import ask, events_of, until
from tests.contract_server.fixture import ContractHandle

pytestmark = pytest.mark.django_db(transaction=True)
LONG = "A line that takes its room on the disk, and more of it than any page has left. " * 300
LONGER = LONG * 4  # than what the search index may leave free when it puts its parts together
FULL = "The server’s disk is full, so nothing can be kept. Send it again when there is room."


class FullDisk:
    """While ``is_full``, every connection that is opened may not make the database any larger."""

    is_full = False

    def limit(self, connection: Any, **_more: Any) -> None:
        if self.is_full:
            with connection.cursor() as cursor:
                cursor.execute("PRAGMA max_page_count = 1")  # it never is less than what there is


@pytest.fixture
def disk(transactional_db: None) -> Iterator[FullDisk]:
    with connection.cursor() as cursor:
        cursor.execute("VACUUM")  # no page is left over from before
    made = FullDisk()
    connection_created.connect(made.limit)
    yield made
    made.is_full = False
    connection_created.disconnect(made.limit)


@pytest.mark.sqlite
async def test_message_that_finds_no_room_is_refused_with_the_reason_and_taken_later(
    upstream: ContractHandle, runner: Runner, conversation: Conversation, disk: FullDisk
) -> None:
    upstream.script([{"content": "one"}])
    disk.is_full = True

    with pytest.raises(OperationalError) as full:
        await runner.submit(conversation.pk, conversation.owner_id, Message(LONG, "m1"))
    disk.is_full = False
    turn = await ask(runner, conversation, LONG, client_id="m1")

    assert outage.words_for(full.value) == FULL
    assert (turn.status, turn.client_id) == ("completed", "m1")
    assert await Turn.objects.acount() == 1


@pytest.mark.sqlite
async def test_answer_that_finds_no_room_at_its_end_is_kept_when_there_is_some(
    upstream: ContractHandle,
    runner: Runner,
    conversation: Conversation,
    disk: FullDisk,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(recovery, "FIRST_PAUSE_S", 0.001)
    upstream.script([{"deltas": [{"content": "Begun. "}, {"hold": "rest"}, {"content": LONGER}]}, {"content": "two"}])
    watcher = Watcher(conversation.pk)
    with runner.watching(watcher):
        accepted = await runner.submit(conversation.pk, conversation.owner_id, Message("Why?"))
        await until(watcher, OpenText)
        disk.is_full = True
        upstream.release("rest")
        async with asyncio.timeout(10):
            while "database does not answer" not in caplog.text:  # noqa: ASYNC110 - a log has no event for it
                await asyncio.sleep(0.01)
        assert accepted.turn_id is not None
        assert (await Turn.objects.aget(pk=accepted.turn_id)).status == "running"
        disk.is_full = False
        await runner.finished(conversation.pk, accepted.turn_id)

    turn = await Turn.objects.aget(pk=accepted.turn_id)
    assert (turn.status, turn.error_code) == ("completed", "")
    [message] = [event for event in await events_of(turn) if isinstance(event, AssistantMessage)]
    assert message.text == f"Begun. {LONGER}".strip()
    assert (await ask(runner, conversation, "next")).status == "completed"


@pytest.mark.sqlite
async def test_database_that_another_process_holds_locked_delays_a_turn_and_loses_nothing(
    upstream: ContractHandle, runner: Runner, conversation: Conversation
) -> None:
    upstream.script([{"deltas": [{"content": "Begun. "}, {"hold": "rest"}, {"content": "Ended."}]}])
    watcher = Watcher(conversation.pk)
    other = sqlite3.connect(connection.settings_dict["NAME"], isolation_level=None)
    with runner.watching(watcher):
        accepted = await runner.submit(conversation.pk, conversation.owner_id, Message("Why?"))
        await until(watcher, OpenText)
        other.execute("BEGIN IMMEDIATE")
        upstream.release("rest")
        await until(watcher, OpenText)
        other.execute("ROLLBACK")
        other.close()
        assert accepted.turn_id is not None
        await runner.finished(conversation.pk, accepted.turn_id)

    turn = await Turn.objects.aget(pk=accepted.turn_id)
    assert turn.status == "completed"
    assert "Begun. Ended." in str(await database_sync_to_async(log.history)(conversation.pk))


@pytest.mark.parametrize(
    ("said", "words"),
    [
        (sqlite3.OperationalError("database or disk is full"), FULL),
        (psycopg.errors.DiskFull("could not extend file: No space left on device"), FULL),
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
def test_each_trouble_has_its_own_words_and_none_of_the_databases(said: Exception, words: str) -> None:
    wrapped = OperationalError("wrapped")
    wrapped.__cause__ = said

    assert outage.words_for(wrapped) == words
    assert outage.words_for(ValueError("a bug")) == "Something went wrong on this server. Send it again."
