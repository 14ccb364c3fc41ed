"""One turn at a time in a conversation: messages sent meanwhile are queued; nothing is lost, doubled or stuck."""

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pytest
from asgiref.sync import ThreadSensitiveContext, sync_to_async
from channels.db import database_sync_to_async
from django.db import connections

from accounts.models import User
from chat.models import Conversation, QueuedMessage, Turn
from chat.turns import finish, queue
from chat.turns.manager import TurnManager
from chat.validation import Message
from tests.chat import api_client
from tests.chat.asking import ask, ended, owner_of, questions, send, signed_in
from tests.factories import make_conversation, make_turn, open_turn

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.engine]
HOLD = [{"kind": "stall", "at": "first_event", "name": "go"}]


async def in_its_own_thread(work: Any) -> Any:
    """Await a request whose database work runs in a thread of its own, as a server's requests do."""
    async with ThreadSensitiveContext():
        try:
            return await work
        finally:
            await sync_to_async(connections.close_all)()  # a test client leaves them open


async def two_messages_are_stored() -> None:
    while await Turn.objects.acount() + await QueuedMessage.objects.acount() < 2:  # noqa: ASYNC110 - no event for it
        await asyncio.sleep(0.02)


class Gate:
    """Blocks the callers of a function after it has returned, until it is opened."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self.reached, self.opened = threading.Event(), threading.Event()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        result = self._function(*args, **kwargs)
        self.reached.set()
        assert self.opened.wait(30)
        return result


async def test_three_messages_are_queued_in_order_and_a_repeated_one_counts_once(upstream, conversation):
    upstream.script([{"content": "0", "faults": HOLD}, *({"content": str(number)} for number in range(1, 4))])

    for text, client_id in (("0", "a"), ("0", "a"), ("1", "b"), ("2", ""), ("1", "b"), ("3", "")):
        assert (await send(conversation, text, client_id)).status_code == 303
    refused = await send(conversation, "4")
    repeated = await send(conversation, "1", "b")
    upstream.release("go")
    await ended(conversation, 4)

    assert (refused.status_code, repeated.status_code) == (400, 303)
    assert "3 messages wait already" in refused.content.decode()
    assert ">4</textarea>" in refused.content.decode()
    assert await database_sync_to_async(questions)(conversation) == ["0", "1", "2", "3"]
    assert not await QueuedMessage.objects.aexists()


async def test_message_that_arrives_as_the_turn_ends_is_answered(upstream, conversation, monkeypatch):
    upstream.script([{"content": "one"}, {"content": "two"}])
    gate = Gate(finish.finish_turn)
    monkeypatch.setattr(finish, "finish_turn", gate)

    await in_its_own_thread(send(conversation, "first"))
    assert await asyncio.to_thread(gate.reached.wait, 30)
    await in_its_own_thread(ended(conversation))  # its end is in the log, and no message was queued
    second = asyncio.create_task(in_its_own_thread(send(conversation, "second")))
    await asyncio.wait_for(in_its_own_thread(two_messages_are_stored()), 30)
    gate.opened.set()
    await second
    await ended(conversation, 2)

    assert await database_sync_to_async(questions)(conversation) == ["first", "second"]
    assert not await QueuedMessage.objects.aexists()


async def test_message_sent_twice_at_the_same_moment_is_asked_once(upstream, conversation):
    upstream.script([{"content": "one"}, {"content": "two"}])

    await asyncio.gather(*(in_its_own_thread(send(conversation, "hi", "same")) for _twice in range(2)))
    await ended(conversation)
    await ask(conversation, "and", client_id="other")

    assert await database_sync_to_async(questions)(conversation) == ["hi", "and"]
    assert not await QueuedMessage.objects.aexists()


async def test_limit_of_running_turns_holds_for_starts_at_the_same_moment(upstream, alice, settings):
    settings.MAX_CONCURRENT_TURNS = 1
    upstream.script([{"content": "one", "faults": HOLD}])
    chats = [await database_sync_to_async(make_conversation)(owner=alice) for _ in range(3)]

    answers = await asyncio.gather(*(in_its_own_thread(send(chat, "hi")) for chat in chats))

    assert sorted(answer.status_code for answer in answers) == [303, 400, 400]
    assert await Turn.objects.acount() == 1
    upstream.release("go")
    await ended((await Turn.objects.select_related("conversation").aget()).conversation)


async def test_messages_left_in_the_queue_of_an_idle_conversation_are_answered_first(upstream, conversation):
    upstream.script([{"content": "one"}, {"content": "two"}])
    asked = await database_sync_to_async(make_turn)(conversation, question="asked")
    await Turn.objects.filter(pk=asked.pk).aupdate(client_id="a")
    for client_id, text in (("a", "asked"), ("b", "left")):  # the first has become a turn meanwhile
        await QueuedMessage.objects.acreate(conversation=conversation, text=text, client_id=client_id)

    await send(conversation, "new")
    await ended(conversation, 3)

    assert await database_sync_to_async(questions)(conversation) == ["asked", "left", "new"]


async def test_what_may_not_wait_is_refused_while_a_turn_runs(alice, conversation):
    old = await database_sync_to_async(make_turn)(conversation)
    await database_sync_to_async(open_turn)(conversation.pk, text="running")
    client = await signed_in(alice)

    by_api = await api_client.ask(client, conversation)
    by_page = [
        await client.post(f"/chats/{conversation.pk}/turns/{old.pk}/{action}/", {"text": "again"})
        for action in ("retry", "edit")
    ]

    assert (by_api.status_code, by_api.json()["error"]["code"]) == (409, "turn_running")
    assert all("An answer is being written" in answer.content.decode() for answer in by_page)
    assert (await Turn.objects.acount(), await QueuedMessage.objects.acount()) == (2, 0)


async def test_deleted_conversation_starts_nothing_more(upstream, alice, conversation):
    upstream.script([{"content": "one", "faults": HOLD}, {"content": "two"}, {"content": "three"}])
    await send(conversation, "first")
    await send(conversation, "second")

    client = await owner_of(conversation)
    await client.post(f"/chats/{conversation.pk}/manage/", {"do": "delete"})
    upstream.release("go")
    await ended(conversation)
    await ask(await database_sync_to_async(make_conversation)(owner=alice), "elsewhere")

    assert await conversation.turns.acount() == 1


async def test_stored_turn_runs_although_its_request_was_cancelled(upstream, conversation, monkeypatch):
    upstream.script([{"content": "one"}])
    gate = Gate(queue.submit)
    monkeypatch.setattr(queue, "submit", gate)

    request = asyncio.create_task(send(conversation, "first"))
    assert await asyncio.to_thread(gate.reached.wait, 30)
    request.cancel()
    gate.opened.set()

    assert (await ended(conversation)).status == Turn.Status.COMPLETED


async def change(conversation: Conversation, message: QueuedMessage, user: User | None = None, **form: str) -> int:
    client = await signed_in(user) if user else await owner_of(conversation)
    return (await client.post(f"/chats/{conversation.pk}/queue/{message.pk}/", form)).status_code


async def test_stop_holds_what_is_queued_until_its_user_sends_it(upstream, conversation):
    upstream.script([{"content": "0", "faults": HOLD}, {"content": "new"}, {"content": "1"}])
    for text in ("0", "1", "2"):
        await send(conversation, text)
    await asyncio.to_thread(upstream.wait_for, held="go")
    client = await owner_of(conversation)

    await client.post(f"/chats/{conversation.pk}/stop/")
    await ended(conversation)
    await ask(conversation, "new")
    held = [message async for message in QueuedMessage.objects.all()]
    assert [message.text for message in held] == ["1", "2"]
    assert await database_sync_to_async(queue.conversations_with_queue)() == []

    assert await change(conversation, held[1], do="remove") == 303
    assert await change(conversation, held[0], do="send") == 303
    await ended(conversation, 3)
    assert await database_sync_to_async(questions)(conversation) == ["0", "new", "1"]
    assert await change(conversation, held[0], do="send") == 409
    assert not await QueuedMessage.objects.aexists()


async def test_held_message_is_not_sent_beyond_the_limit_of_turns(upstream, conversation, settings):
    settings.MAX_CONCURRENT_TURNS = 1
    held = await QueuedMessage.objects.acreate(conversation=conversation, text="held", priority=queue.HELD)
    upstream.script([{"content": "0", "faults": HOLD}, {"content": "1"}])
    other = await database_sync_to_async(make_conversation)(owner=conversation.owner)
    await send(other, "0")
    await asyncio.to_thread(upstream.wait_for, held="go")

    assert await change(conversation, held, do="send") == 409
    upstream.release("go")
    await ended(other)
    assert await change(conversation, held, do="send") == 303
    assert (await ended(conversation)).status == Turn.Status.COMPLETED


async def test_message_sent_now_stops_the_answer_and_goes_before_the_others(upstream, conversation):
    upstream.script([{"content": "0", "faults": HOLD}, {"content": "2"}, {"content": "1"}])
    for text in ("0", "1", "2"):
        await send(conversation, text)
    await asyncio.to_thread(upstream.wait_for, held="go")
    later = await QueuedMessage.objects.aget(text="2")

    assert await change(conversation, later, do="save", text="two") == 303
    assert await change(conversation, later, do="send") == 303
    await ended(conversation, 3)

    assert await database_sync_to_async(questions)(conversation) == ["0", "two", "1"]
    assert (await Turn.objects.aget(number=1)).status == Turn.Status.ABORTED


async def test_wrong_changes_of_the_queue_are_refused(upstream, conversation, bob):
    upstream.script([{"content": "0", "faults": HOLD}, {"content": "1"}])
    for text in ("0", "1"):
        await send(conversation, text)
    await asyncio.to_thread(upstream.wait_for, held="go")
    message = await QueuedMessage.objects.aget()

    assert await change(conversation, message, bob, do="remove") == 404
    assert await change(conversation, message, do="shout") == 409
    assert await change(conversation, message, do="save", text="  ") == 400
    assert (await QueuedMessage.objects.aget()).text == "1"
    upstream.release("go")
    await ended(conversation, 2)


async def test_message_that_is_being_stored_when_the_server_ends_is_answered(upstream, conversation):
    upstream.script([{"content": "In time."}])
    arrived, stored = threading.Event(), threading.Event()

    def store_later(_owner: User) -> None:
        arrived.set()
        stored.wait(30)

    manager = TurnManager()
    sending = asyncio.create_task(manager.submit(conversation.pk, Message("Why?"), authorize=store_later))
    await asyncio.to_thread(arrived.wait, 30)
    draining = asyncio.create_task(manager.drain(within_s=30))
    await asyncio.sleep(0)
    stored.set()
    await asyncio.gather(draining, sending, return_exceptions=True)

    assert (await conversation.turns.aget()).status == "completed"
