"""One open page: no card twice, whatever it asks for while a turn starts or ends; without a session, nothing."""

import json

import pytest
from channels.db import database_sync_to_async
from django.contrib.sessions.backends.db import SessionStore
from django.contrib.sessions.models import Session
from django.db import OperationalError

from accounts.access import scratchpad as gate
from accounts.models import User
from chat import eventlog
from chat.live.groups import Subscription
from chat.live.state import Event
from chat.models import Conversation, Turn
from chat.socket import consumer
from chat.socket.page import PageSession
from chat.turns.manager import turn_manager
from chat.validation import Message
from reasoning.scratchpad import Scratchpad
from tests.chat.asking import following, opened_page, until
from tests.chat.sockets import frames_until, socket_of
from tests.factories import make_conversation, make_turn, session_key_of

pytestmark = pytest.mark.django_db(transaction=True)
HOLD = [{"kind": "stall", "at": "first_event", "name": "go"}]
SYNC = {"action": "sync", "last": "", "status": ""}
REDRAW: Event = {"kind": "redraw"}


class OpenPage:
    """A page and the events that wait for it."""

    def __init__(self, session: PageSession, messages: Subscription) -> None:
        self.session, self.messages = session, messages

    async def do(self, what: dict[str, object]) -> list[str]:
        return await (self.session.on_event(what) if "kind" in what else self.session.receive(what))

    async def drawn_until_the_end(self) -> list[str]:
        events = await until(self.messages, "ended")
        return [frame for event in events for frame in await self.session.on_event(event)]


@pytest.fixture
async def opened(conversation, alice):
    async with following(conversation) as messages:
        yield OpenPage(await opened_page(conversation, alice), messages)


def cards_in(frames: list[str]) -> int:
    return "".join(frames).count('data-role="assistant"')


async def submit(conversation: Conversation, text: str = "hi") -> str:
    accepted = await turn_manager.submit(conversation.pk, Message(text))
    assert accepted.turn_id is not None
    return accepted.turn_id.hex


async def finished(conversation: Conversation) -> None:
    turn = await conversation.turns.alatest("number")
    await turn_manager.wait_until_finished(conversation.pk, turn.pk)


@pytest.mark.parametrize("asked", [SYNC, REDRAW])
async def test_turn_that_a_snapshot_brought_is_not_appended_again_by_its_start(upstream, conversation, opened, asked):
    upstream.script([{"content": "one", "faults": HOLD}])
    await submit(conversation)

    frames = await opened.do(asked)  # its start still waits
    upstream.release("go")
    frames += await opened.drawn_until_the_end()

    assert cards_in(frames) == 1


@pytest.mark.parametrize(("asked", "cards"), [(SYNC, 1), (REDRAW, 1), (None, 1), ({**SYNC, "last": "it"}, 0)])
async def test_finished_turn_is_appended_once_or_by_the_reload_that_brought_it(
    upstream, conversation, opened, asked, cards
):
    upstream.script([{"content": "First paragraph.\n\nSecond paragraph.\n\nThird."}])
    turn_id = await submit(conversation)
    await finished(conversation)
    if asked and asked.get("last"):
        asked = {**asked, "last": turn_id, "status": "complete"}

    frames = [*(await opened.do(asked) if asked else ()), *await opened.drawn_until_the_end()]

    assert cards_in(frames) == cards
    assert asked or "".join(frames).count("First paragraph.") == 1


async def test_idle_page_is_closed_after_the_sign_out_and_no_other_page(alice, bob, conversation, monkeypatch):
    monkeypatch.setattr(consumer, "CATCH_UP_EVERY_S", 0.05)
    monkeypatch.setattr(consumer, "REAUTHORIZE_EVERY_S", 0.05)
    other = await database_sync_to_async(make_conversation)(owner=bob)

    async with socket_of(conversation, alice) as socket:
        await frames_until(socket, "running")
        await Session.objects.all().adelete()
        async with socket_of(other, bob) as bobs:
            await frames_until(bobs, "running")
            assert await socket.receive_output(timeout=30) == {"type": "websocket.close", "code": 4401}
            await bobs.send_to("[]")
            assert "composer-error" in await bobs.receive_from(timeout=30)


@pytest.mark.parametrize("odd", ["[" * 900 + "]" * 900, "{}", "7", "null"])
async def test_odd_values_of_a_sync_count_as_nothing(alice, conversation, odd):
    async with socket_of(conversation, alice) as socket:
        await socket.send_to(f'{{"action": "sync", "last": {odd}, "status": {odd}}}')
        await frames_until(socket, 'id="queue"')


async def test_database_that_does_not_answer_gives_the_text_back_and_the_next_message_works(
    upstream, alice, conversation, monkeypatch
):
    def locked(*_args, **_more):
        raise OperationalError("database is locked")

    upstream.script([{"content": "Here."}])
    async with socket_of(conversation, alice) as socket:
        with monkeypatch.context() as patch:
            patch.setattr(eventlog, "open_turn", locked)
            await socket.send_to(json.dumps({"text": "first", "id": "one"}))
            refused = await frames_until(socket, 'data-rejected="one"')
        await socket.send_to(json.dumps({"text": "second", "id": "two"}))
        await frames_until(socket, "Answer ready")

    assert "The server’s database is busy." in refused[-1]
    assert await Turn.objects.acount() == 1


@pytest.mark.spec("004 scratchpad")
async def test_page_that_may_never_show_a_scratchpad_is_sent_none(upstream, conversation, opened, settings):
    settings.REASONING_SCRATCHPAD_ENABLED = True
    upstream.script([{"content": "Yes.", "faults": HOLD}])
    await submit(conversation)
    turn = turn_manager.live(conversation.pk)
    assert turn is not None

    assert await opened.session.reveal(turn, Scratchpad("quokka-canary-9921")) == []
    upstream.release("go")
    await finished(conversation)


@pytest.mark.spec("product 9")
async def test_each_reveal_asks_the_gate_again(upstream, ada, settings):
    settings.REASONING_SCRATCHPAD_ENABLED = True
    upstream.script([{"content": "Yes.", "faults": HOLD}])
    conversation = await database_sync_to_async(make_conversation)(owner=ada)
    key = await database_sync_to_async(session_key_of)(ada)
    await database_sync_to_async(_switch)(ada, key, on=True)
    page = await opened_page(conversation, ada, session_key=key)

    await submit(conversation, "Why?")
    turn = turn_manager.live(conversation.pk)
    assert turn is not None
    shown = await page.reveal(turn, Scratchpad("quokka-canary-5513"))
    await database_sync_to_async(_switch)(ada, key, on=False)
    after = await page.reveal(turn, Scratchpad("more"))
    upstream.release("go")
    await finished(conversation)

    assert "quokka-canary-5513" in "".join(shown)
    assert after == []


def _switch(user: User, key: str, *, on: bool) -> None:
    session = SessionStore(key)
    gate.switch(user, session, on=on)
    session.save()


async def test_page_that_was_loaded_before_the_running_turn_gets_its_card_whole_and_nothing_before(
    upstream, conversation, opened
):
    upstream.script([{"content": "one two three four", "chunk": "word", "faults": HOLD}])
    earlier = await database_sync_to_async(make_turn)(conversation)
    await submit(conversation)

    first = await opened.session.opened(earlier.public_id)
    upstream.release("go")
    frames = await opened.drawn_until_the_end()
    synced = await opened.do({"action": "sync", "last": earlier.public_id, "status": "complete"})

    assert first == ['{"type":"turn","running":true}']
    assert frames == []
    assert cards_in(synced) == 1


@pytest.mark.parametrize("names_it", [True, False])
async def test_page_that_was_loaded_with_the_running_turn_is_sent_its_state(upstream, conversation, opened, names_it):
    upstream.script([{"content": "one", "faults": HOLD}])
    turn_id = await submit(conversation)

    frames = await opened.session.opened(turn_id if names_it else None)

    assert f'id="m-{turn_id}-answer"' in "".join(frames)
    assert cards_in(frames) == 0
    upstream.release("go")
    await finished(conversation)


@pytest.mark.parametrize("is_running", [True, False])
async def test_page_that_was_drawn_again_without_a_new_card_gets_it_once_more(
    upstream, conversation, opened, is_running
):
    earlier = await database_sync_to_async(make_turn)(conversation)
    upstream.script([{"content": "one", "faults": HOLD}])
    turn_id = await submit(conversation)
    for event in await until(opened.messages, "started"):
        await opened.do(event)  # its card, which the page's own drawing then wiped away
    if not is_running:
        upstream.release("go")
        await finished(conversation)

    frames = await opened.do({"action": "sync", "last": earlier.public_id, "status": "complete", "fresh": True})

    upstream.release("go")
    await finished(conversation)
    assert cards_in(frames) == 1
    assert f'id="m-{turn_id}"' in "".join(frames)
