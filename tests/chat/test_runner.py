"""Messages that come at the wrong moment, and a database that does not answer: nothing is lost, doubled or stuck."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pytest
from asgiref.sync import ThreadSensitiveContext
from channels.db import database_sync_to_async
from cryptography.fernet import Fernet
from django.conf import LazySettings
from django.db import OperationalError

from accounts.models import User
from chat import backlog, closing, heartbeat, log, opening, recovery
from chat.admission import Accepted
from chat.forms import Message, MessageRefused
from chat.models import Checkpoint, Conversation, QueuedMessage, Turn
from chat.notices import Finished
from chat.runner import Runner
from chat.watchers import Watcher
from reasoning.events import AssistantMessage, Reasoning
from reasoning.redaction import redact_text
from tests.chat.asking import ask, events_of, until
from tests.contract_server.fixture import ContractHandle
from tests.factories import abandon, make_conversation, open_turn

pytestmark = pytest.mark.django_db(transaction=True)
HOLD = [{"kind": "stall", "at": "first_event", "name": "go"}]


def failing(function: Callable[..., Any], *, times: int) -> Callable[..., Any]:
    """Return ``function`` as it is while the database is locked, for the first ``times`` calls."""
    left = [times]

    def locked_at_first(*args: Any, **kwargs: Any) -> Any:
        left[0] -= 1
        if left[0] >= 0:
            raise OperationalError("database is locked")
        return function(*args, **kwargs)

    return locked_at_first


async def submit(runner: Runner, conversation: Conversation, text: str, client_id: str = "") -> Accepted:
    async with ThreadSensitiveContext():  # as in a request: a thread of its own for the database
        return await runner.submit(conversation.pk, conversation.owner_id, Message(text, client_id))


class Gate:
    """Stands before a function: who comes is known, and waits until it opens."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, module: Any, name: str) -> None:
        self._function = getattr(module, name)
        self._come, self._may_pass = threading.Event(), threading.Event()
        self.passed = threading.Event()
        monkeypatch.setattr(module, name, self._pass)

    async def until_somebody_waits(self) -> None:
        await asyncio.to_thread(self._come.wait, 10)

    def open(self) -> None:
        self._may_pass.set()

    def _pass(self, *args: Any, **kwargs: Any) -> Any:
        self._come.set()
        assert self._may_pass.wait(10)
        result = self._function(*args, **kwargs)
        self.passed.set()
        return result


async def test_message_that_is_queued_as_the_turn_ends_is_answered(
    upstream: ContractHandle, runner: Runner, conversation: Conversation, monkeypatch: pytest.MonkeyPatch
) -> None:
    upstream.script([{"content": "one", "faults": HOLD}, {"content": "two"}])
    into_queue, at_end = Gate(monkeypatch, backlog, "enqueue"), Gate(monkeypatch, closing, "at_end")
    watcher = Watcher(conversation.pk)

    with runner.watching(watcher):
        await submit(runner, conversation, "first")
        second = asyncio.create_task(submit(runner, conversation, "second"))
        await into_queue.until_somebody_waits()
        upstream.release("go")
        at_end.open()
        await asyncio.to_thread(at_end.passed.wait, 10)  # the turn has ended and found nobody waiting
        into_queue.open()
        await second
        await until(watcher, Finished)
        await until(watcher, Finished)

    assert [turn.number async for turn in Turn.objects.order_by("number")] == [1, 2]
    assert not await QueuedMessage.objects.aexists()


async def test_message_sent_twice_at_the_same_moment_is_asked_once(
    upstream: ContractHandle, runner: Runner, conversation: Conversation, monkeypatch: pytest.MonkeyPatch
) -> None:
    upstream.script([{"content": "one"}, {"content": "two"}])
    into_log = Gate(monkeypatch, opening, "open_turn")
    watcher = Watcher(conversation.pk)

    with runner.watching(watcher):
        first = asyncio.create_task(submit(runner, conversation, "hi", "same"))
        await into_log.until_somebody_waits()
        await submit(runner, conversation, "hi", "same")  # waits already when the first becomes a turn
        into_log.open()
        await first
        await until(watcher, Finished)
        await submit(runner, conversation, "and", "other")
        await until(watcher, Finished)

    rows = await database_sync_to_async(log.turns)(conversation.pk)
    assert [row.events[0]["text"] for row in rows] == ["hi", "and"]
    assert not await QueuedMessage.objects.aexists()


async def test_turn_whose_first_plan_fails_as_it_is_opened_is_answered_all_the_same(
    upstream: ContractHandle, runner: Runner, conversation: Conversation, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_args: Any, **_named: Any) -> None:
        raise ValueError("not this time")

    upstream.script([{"content": "one"}])
    monkeypatch.setattr("chat.opening.planning.plan_step", broken)  # turns hold on to the real one
    watcher = Watcher(conversation.pk)

    with runner.watching(watcher):
        await submit(runner, conversation, "hi")
        await until(watcher, Finished)

    (rows,) = await database_sync_to_async(log.turns)(conversation.pk)
    assert rows.turn.status == "completed"


async def test_limit_counts_turns_that_are_just_starting(
    upstream: ContractHandle, runner: Runner, alice: User, settings: LazySettings
) -> None:
    settings.MAX_CONCURRENT_TURNS = 1
    upstream.script([{"content": "one", "faults": HOLD}])
    chats = [await database_sync_to_async(make_conversation)(owner=alice) for _ in range(3)]

    got = await asyncio.gather(*(submit(runner, chat, "hi") for chat in chats), return_exceptions=True)

    upstream.release("go")
    started = [(chat, one) for chat, one in zip(chats, got, strict=True) if isinstance(one, Accepted)]
    for chat, one in started:
        assert one.turn_id is not None
        await runner.finished(chat.pk, one.turn_id)
    assert [one.code for one in got if isinstance(one, MessageRefused)] == ["too_many_turns"] * 2


async def test_end_that_cannot_be_written_at_once_is_written_later(
    upstream: ContractHandle, runner: Runner, conversation: Conversation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recovery, "FIRST_PAUSE_S", 0.001)
    monkeypatch.setattr(log, "close_turn", failing(log.close_turn, times=4))
    upstream.script([{"content": "one"}, {"content": "two"}])

    turn = await ask(runner, conversation)
    following = await ask(runner, conversation, "next")

    assert (turn.status, turn.error_code) == ("completed", "")
    assert following.status == "completed"


async def test_end_that_is_written_but_cannot_be_read_back_at_once_is_written_once(
    upstream: ContractHandle, runner: Runner, conversation: Conversation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recovery, "FIRST_PAUSE_S", 0.001)
    for module in (closing, recovery):
        monkeypatch.setattr(module, "at_end", failing(closing.at_end, times=2))
    upstream.script([{"content": "one"}])
    watcher = Watcher(conversation.pk)

    with runner.watching(watcher):
        turn = await ask(runner, conversation)
        told = await until(watcher, Finished)

    assert told
    assert (turn.status, turn.error_code) == ("completed", "")
    kept = [event.type for event in await events_of(turn)]
    assert kept == ["user_message", "assistant_message", "turn_end"]


async def test_text_that_was_shown_is_kept_when_its_step_cannot_be_written(
    upstream: ContractHandle, runner: Runner, conversation: Conversation, monkeypatch: pytest.MonkeyPatch
) -> None:
    def locked(*_args: Any) -> None:
        raise OperationalError("database is locked")

    monkeypatch.setattr("chat.turns._append", database_sync_to_async(locked))
    monkeypatch.setattr("chat.turns._close_turn", database_sync_to_async(locked))
    upstream.script([{"content": "All of it."}])

    turn = await ask(runner, conversation)

    kept = [event for event in await events_of(turn) if isinstance(event, AssistantMessage)]
    assert [(message.text, message.partial) for message in kept] == [("All of it.", True)]
    assert turn.status == "errored"


async def test_no_checkpoint_outlives_its_turn(
    upstream: ContractHandle, runner: Runner, conversation: Conversation
) -> None:
    upstream.script([{"content": "one"}])
    await ask(runner, conversation)
    turn = await Turn.objects.aget()

    lost = await database_sync_to_async(heartbeat._keep)([turn.pk], {turn.pk: ("late", "private")})

    assert lost == {turn.pk}
    assert not await Checkpoint.objects.aexists()


async def test_restart_ends_a_turn_whose_checkpoint_no_key_opens(
    conversation: Conversation, settings: LazySettings
) -> None:
    turn = await database_sync_to_async(open_turn)(conversation.pk, text="q")
    await database_sync_to_async(log.save_checkpoint)(turn, answer="so far", thinking="private")
    await database_sync_to_async(abandon)(turn)
    settings.CONTENT_KEYS = [Fernet.generate_key().decode()]

    assert await database_sync_to_async(recovery.recover)() == [turn]

    await turn.arefresh_from_db()
    assert turn.status == "interrupted"


def test_restart_does_not_double_the_text_of_steps_that_are_recorded(alice: User) -> None:
    turn = open_turn(make_conversation(owner=alice).pk, text="q")
    thought = Reasoning(
        kind="text", text="Ask bo@example.com.", source_field="reasoning", model="m", provider="p", step=0
    )
    log.append(turn, [thought, AssistantMessage(text="Let me look.", step=0)])
    shown = redact_text("Ask bo@example.com.")
    log.save_checkpoint(turn, answer="Let me look.\n\nFound", thinking=f"{shown}\n\nNow I")
    abandon(turn)

    recovery.recover()

    events = log.history(turn.conversation_id)
    assert [event.text for event in events if isinstance(event, AssistantMessage)] == ["Let me look.", "Found"]
    assert [event.text for event in events if isinstance(event, Reasoning)] == ["Ask bo@example.com.", "Now I"]


def test_restart_does_not_double_a_step_that_was_recorded_after_the_checkpoint(alice: User) -> None:
    turn = open_turn(make_conversation(owner=alice).pk, text="q")
    thought = Reasoning(kind="text", text="First I look.", source_field="reasoning", model="m", provider="p", step=0)
    log.append(turn, [thought, AssistantMessage(text="Let me look.", step=0)])
    log.save_checkpoint(turn, answer="Let me lo", thinking="First")
    abandon(turn)

    recovery.recover()

    events = log.history(turn.conversation_id)
    assert [event.text for event in events if isinstance(event, AssistantMessage)] == ["Let me look."]
    assert [event.text for event in events if isinstance(event, Reasoning)] == ["First I look."]
