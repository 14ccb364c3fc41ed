"""One turn at a time in a conversation: messages sent meanwhile are queued, nothing is lost, doubled or stuck."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pytest
from asgiref.sync import ThreadSensitiveContext
from channels.db import database_sync_to_async
from django.conf import LazySettings

from accounts.models import User
from chat import eventlog
from chat.models import Conversation, QueuedMessage, Turn
from chat.turns import finish, queue
from chat.turns.manager import TurnManager
from chat.turns.queue import Submission
from chat.validation import InvalidInputError, Message
from tests.chat.asking import ask, following, until
from tests.contract_server.fixture import ContractHandle
from tests.factories import end_turn, make_conversation, make_turn, open_turn

pytestmark = pytest.mark.engine

HOLD = [{"kind": "stall", "at": "first_event", "name": "go"}]


async def submit(runner: TurnManager, conversation: Conversation, text: str, client_id: str = "") -> Submission:
    async with ThreadSensitiveContext():  # as in a request: a database thread of its own
        return await runner.submit(conversation.pk, Message(text, client_id))


def questions(conversation: Conversation) -> list[str]:
    return [record.events[0]["text"] for record in eventlog.turns(conversation.pk)]


class Gate:
    """Holds the callers of a function after it has returned, until it is opened."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self.reached, self.opened = threading.Event(), threading.Event()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        result = self._function(*args, **kwargs)
        self.reached.set()
        assert self.opened.wait(30)
        return result


@pytest.mark.django_db(transaction=True)
async def test_message_during_a_turn_is_queued_and_answered_next(
    upstream: ContractHandle, runner: TurnManager, conversation: Conversation
) -> None:
    upstream.script([{"content": "one", "faults": HOLD}, {"content": "two"}])

    async with following(conversation) as messages:
        first = await submit(runner, conversation, "first")
        queued = await submit(runner, conversation, "second", "id-2")
        repeated = await submit(runner, conversation, "second", "id-2")
        upstream.release("go")
        await until(messages, "ended")
        await until(messages, "ended")

    assert first.turn_id is not None
    assert queued.turn_id is repeated.turn_id is None
    assert await database_sync_to_async(questions)(conversation) == ["first", "second"]


@pytest.mark.django_db(transaction=True)
async def test_message_that_arrives_as_the_turn_ends_is_answered(
    upstream: ContractHandle, runner: TurnManager, conversation: Conversation, monkeypatch: pytest.MonkeyPatch
) -> None:
    upstream.script([{"content": "one"}, {"content": "two"}])
    gate = Gate(finish.load_result)
    monkeypatch.setattr(finish, "load_result", gate)

    async with following(conversation) as messages:
        await submit(runner, conversation, "first")
        await asyncio.to_thread(gate.reached.wait, 30)  # the end is in the log, and no message was queued
        second = asyncio.create_task(submit(runner, conversation, "second"))
        gate.opened.set()
        await second
        await until(messages, "ended")
        await until(messages, "ended")

    assert [turn.number async for turn in Turn.objects.order_by("number")] == [1, 2]
    assert not await QueuedMessage.objects.aexists()


@pytest.mark.django_db(transaction=True)
async def test_message_sent_twice_at_the_same_moment_is_asked_once(
    upstream: ContractHandle, runner: TurnManager, conversation: Conversation
) -> None:
    upstream.script([{"content": "one"}, {"content": "two"}])

    sent = await asyncio.gather(*(submit(runner, conversation, "hi", "same") for _twice in range(2)))
    assert sent[0].turn_id is not None
    await runner.finished(conversation.pk, sent[0].turn_id)
    await ask(conversation, "and", client_id="other")

    assert sent[0].turn_id == sent[1].turn_id
    assert await database_sync_to_async(questions)(conversation) == ["hi", "and"]
    assert not await QueuedMessage.objects.aexists()


@pytest.mark.django_db(transaction=True)
async def test_limit_of_running_turns_holds_for_starts_at_the_same_moment(
    upstream: ContractHandle, runner: TurnManager, alice: User, settings: LazySettings
) -> None:
    settings.MAX_CONCURRENT_TURNS = 1
    upstream.script([{"content": "one", "faults": HOLD}])
    chats = [await database_sync_to_async(make_conversation)(owner=alice) for _ in range(3)]

    got = await asyncio.gather(*(submit(runner, chat, "hi") for chat in chats), return_exceptions=True)

    upstream.release("go")
    started = [(chat, one) for chat, one in zip(chats, got, strict=True) if isinstance(one, Submission)]
    for chat, one in started:
        assert one.turn_id is not None
        await runner.finished(chat.pk, one.turn_id)
    assert [one.code for one in got if isinstance(one, InvalidInputError)] == ["too_many_turns"] * 2


@pytest.mark.django_db
def test_queue_holds_three_messages_and_starts_them_in_order(alice: User) -> None:
    conversation = make_conversation(owner=alice)
    running = open_turn(conversation.pk, text="0")
    for text in ("1", "2", "3"):
        assert queue.submit(conversation.pk, Message(text)).turn_id is None

    with pytest.raises(InvalidInputError) as refused:
        queue.submit(conversation.pk, Message("4"))
    assert queue.start_next(conversation.pk) is None  # a turn runs
    end_turn(running, [])
    started = queue.start_next(conversation.pk)

    assert refused.value.code == "queue_full"
    assert started is not None
    assert started.question == eventlog.question_of(started.turn) == "1"
    assert [message.text for message in queue.queued_messages(conversation.pk)] == ["2", "3"]


@pytest.mark.django_db
def test_message_goes_behind_those_that_are_queued_in_an_idle_conversation(alice: User) -> None:
    conversation = make_conversation(owner=alice)
    QueuedMessage.objects.create(conversation=conversation, text="first")

    assert queue.submit(conversation.pk, Message("second")).turn_id is None
    assert queue.conversations_with_queue() == [conversation.pk]
    started = queue.start_next(conversation.pk)

    assert started is not None
    assert started.question == "first"


@pytest.mark.django_db
def test_queued_duplicate_of_a_turn_is_dropped(alice: User) -> None:
    conversation = make_conversation(owner=alice)
    end_turn(open_turn(conversation.pk, text="hi", client_id="a"), [])
    for client_id, text in (("a", "hi"), ("b", "next")):
        QueuedMessage.objects.create(conversation=conversation, text=text, client_id=client_id)

    started = queue.start_next(conversation.pk)

    assert started is not None
    assert started.question == "next"


@pytest.mark.django_db
def test_client_id_is_used_once_in_turns_and_queue(alice: User) -> None:
    conversation = make_conversation(owner=alice)
    first = queue.submit(conversation.pk, Message("q", "a"))
    queue.submit(conversation.pk, Message("next", "b"))

    for _twice in range(2):
        assert queue.submit(conversation.pk, Message("q", "a"), may_wait=False) == Submission(first.turn_id)
        assert queue.submit(conversation.pk, Message("next", "b")) == Submission(None)
    assert (Turn.objects.count(), QueuedMessage.objects.count()) == (1, 1)


@pytest.mark.django_db
def test_what_may_not_wait_is_refused_while_a_turn_runs(alice: User) -> None:
    conversation = make_conversation(owner=alice)
    old = make_turn(conversation)
    open_turn(conversation.pk, text="running")

    for more in ({"may_wait": False}, {"replaces": old}):
        with pytest.raises(InvalidInputError) as refused:
            queue.submit(conversation.pk, Message("q"), **more)  # type: ignore[arg-type]
        assert refused.value.code == "turn_running"
    assert not QueuedMessage.objects.exists()


@pytest.mark.django_db
def test_turn_that_left_the_branch_is_not_replaced(alice: User) -> None:
    conversation = make_conversation(owner=alice)
    old = make_turn(conversation)
    end_turn(open_turn(conversation.pk, text="q", replaces=old), [])

    with pytest.raises(InvalidInputError) as refused:
        queue.submit(conversation.pk, Message("q"), replaces=old)

    assert refused.value.code == "not_selected"


@pytest.mark.django_db
def test_deleted_conversation_starts_nothing(alice: User) -> None:
    conversation = make_conversation(owner=alice)
    conversation.queue.create(text="q")
    conversation.delete()

    assert queue.start_next(conversation.pk) is None
