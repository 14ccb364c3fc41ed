"""One open page: no card twice, whatever it asks for while a turn starts or ends; without a session, nothing at all."""

from __future__ import annotations

import json

import pytest
from channels.db import database_sync_to_async
from django.conf import LazySettings
from django.contrib.sessions.backends.db import SessionStore
from django.contrib.sessions.models import Session
from django.db import OperationalError

from accounts import scratchpad as gate
from accounts.models import User
from chat import log, standing
from chat.forms import Message
from chat.models import Conversation, QueuedMessage, Turn
from chat.notices import Behind, Finished
from chat.page import Page
from chat.runner import runner
from chat.viewers import SignedOut
from chat.watchers import Asked, Watcher
from reasoning.scratchpad import Scratchpad
from tests.chat.test_socket import frames_until
from tests.chat.test_socket import page as socket_of
from tests.contract_server.fixture import ContractHandle
from tests.factories import make_conversation, make_turn, session_key_of

pytestmark = pytest.mark.django_db(transaction=True)
HOLD = [{"kind": "stall", "at": "first_event", "name": "go"}]
SYNC = Asked({"action": "sync", "last": "", "status": ""})


async def drawn_until_the_end(opened: Page, watcher: Watcher) -> list[str]:
    frames: list[str] = []
    while not isinstance(notice := await watcher.next(), Finished):
        frames += await opened.draw(notice)
    return [*frames, *await opened.draw(notice)]


def cards_in(frames: list[str]) -> int:
    return "".join(frames).count('data-role="assistant"')


@pytest.mark.parametrize("asked", [SYNC, Behind()])
async def test_turn_that_a_snapshot_brought_is_not_appended_again_by_its_start(
    upstream: ContractHandle, conversation: Conversation, watcher: Watcher, opened: Page, asked: Asked | Behind
) -> None:
    upstream.script([{"content": "one", "faults": HOLD}])
    await runner.submit(conversation.pk, conversation.owner_id, Message("hi"))

    frames = await opened.draw(asked)  # its Started still waits in the box
    upstream.release("go")
    frames += await drawn_until_the_end(opened, watcher)

    assert cards_in(frames) == 1


@pytest.mark.parametrize("asked", [SYNC, Behind()])
async def test_finished_turn_that_a_snapshot_brought_is_not_appended_again(
    upstream: ContractHandle, conversation: Conversation, watcher: Watcher, opened: Page, asked: Asked | Behind
) -> None:
    upstream.script([{"content": "one"}])
    accepted = await runner.submit(conversation.pk, conversation.owner_id, Message("hi"))
    assert accepted.turn_id is not None
    await runner.finished(conversation.pk, accepted.turn_id)

    frames = [*await opened.draw(asked), *await drawn_until_the_end(opened, watcher)]

    assert cards_in(frames) == 1


async def test_turn_that_the_page_has_from_a_reload_is_not_appended_again(
    upstream: ContractHandle, conversation: Conversation, watcher: Watcher, opened: Page
) -> None:
    upstream.script([{"content": "one"}])
    accepted = await runner.submit(conversation.pk, conversation.owner_id, Message("hi"))
    assert accepted.turn_id is not None
    await runner.finished(conversation.pk, accepted.turn_id)

    sync = Asked({"action": "sync", "last": accepted.turn_id.hex, "status": "complete"})
    frames = [*await opened.draw(sync), *await drawn_until_the_end(opened, watcher)]

    assert cards_in(frames) == 0


async def test_each_turn_is_appended_once_where_nothing_was_asked(
    upstream: ContractHandle, conversation: Conversation, watcher: Watcher, opened: Page
) -> None:
    upstream.script([{"content": "one"}])
    await runner.submit(conversation.pk, conversation.owner_id, Message("hi"))

    assert cards_in(await drawn_until_the_end(opened, watcher)) == 1


@pytest.mark.parametrize("action", ["sync", "refresh", "open", "stop"])
@pytest.mark.spec("product 14")
async def test_page_without_a_session_is_told_nothing_whatever_it_asks(
    conversation: Conversation, opened: Page, action: str
) -> None:
    await database_sync_to_async(make_turn)(conversation, question="private")
    await Session.objects.all().adelete()

    with pytest.raises(SignedOut):
        await opened.take({"action": action, "part": "thinking", "last": "", "id": ""})


@pytest.mark.spec("product 14")
@pytest.mark.parametrize("is_running", [True, False])
async def test_message_without_a_session_is_neither_asked_nor_kept(
    upstream: ContractHandle, conversation: Conversation, opened: Page, is_running: bool
) -> None:
    upstream.script([{"content": "one", "faults": HOLD}])
    if is_running:
        await opened.take({"text": "first", "id": "m1"})
    asked = await Turn.objects.acount()
    await Session.objects.all().adelete()

    with pytest.raises(SignedOut):
        await opened.take({"text": "second", "id": "m2"})

    upstream.release("go")
    assert await Turn.objects.acount() == asked == int(is_running)
    assert not await QueuedMessage.objects.aexists()


async def test_idle_page_is_closed_after_the_sign_out(
    alice: User, conversation: Conversation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(standing, "LOOK_EVERY_S", 0.05)

    async with socket_of(conversation, alice) as socket:
        await frames_until(socket, "running")
        await Session.objects.all().adelete()
        assert await socket.receive_output(timeout=5) == {"type": "websocket.close", "code": 4401}


@pytest.mark.parametrize("sent", ['{"action": []}', '{"action": {}}', '{"action": null}', '{"action": 1}'])
async def test_action_of_an_odd_kind_gets_an_error_and_the_socket_stays_open(
    alice: User, conversation: Conversation, sent: str
) -> None:
    async with socket_of(conversation, alice) as socket:
        for _twice in range(2):
            await socket.send_to(sent)
            assert "there is no such action" in (await frames_until(socket, "composer-error"))[-1]


@pytest.mark.parametrize("odd", ["[" * 900 + "]" * 900, "{}", "7", "null"])
async def test_odd_values_of_a_sync_count_as_nothing(alice: User, conversation: Conversation, odd: str) -> None:
    async with socket_of(conversation, alice) as socket:
        await socket.send_to(f'{{"action": "sync", "last": {odd}, "status": {odd}}}')
        await frames_until(socket, 'id="queue"')


async def test_database_that_does_not_answer_gives_the_text_back_and_the_next_message_works(
    upstream: ContractHandle, alice: User, conversation: Conversation, monkeypatch: pytest.MonkeyPatch
) -> None:
    def locked(*_args: object, **_more: object) -> None:
        raise OperationalError("database is locked")

    upstream.script([{"content": "Here."}])
    async with socket_of(conversation, alice) as socket:
        with monkeypatch.context() as patch:
            patch.setattr(log, "open_turn_in", locked)
            await socket.send_to(json.dumps({"text": "first", "id": "one"}))
            refused = await frames_until(socket, 'data-rejected="one"')
        await socket.send_to(json.dumps({"text": "second", "id": "two"}))
        await frames_until(socket, "Answer ready")

    assert "The server’s database is busy." in refused[-1]
    assert await Turn.objects.acount() == 1


@pytest.mark.spec("004 scratchpad")
async def test_page_that_may_never_show_a_scratchpad_keeps_none(
    upstream: ContractHandle, conversation: Conversation, watcher: Watcher, opened: Page, settings: LazySettings
) -> None:
    settings.REASONING_SCRATCHPAD_ENABLED = True
    upstream.script([{"content": "Yes.<scratchpad>quokka-canary-9921</scratchpad>"}])
    accepted = await runner.submit(conversation.pk, conversation.owner_id, Message("hi"))
    turn = runner.live(conversation.pk)
    assert accepted.turn_id is not None
    assert turn is not None
    await runner.finished(conversation.pk, accepted.turn_id)

    assert await opened.reveal(turn, Scratchpad("quokka-canary-9921")) == []
    assert not opened._scratchpads


@pytest.mark.spec("product 9")
async def test_each_reveal_asks_the_gate_again(upstream: ContractHandle, ada: User, settings: LazySettings) -> None:
    settings.REASONING_SCRATCHPAD_ENABLED = True
    upstream.script([{"content": "Yes.", "faults": HOLD}])
    conversation = await database_sync_to_async(make_conversation)(owner=ada)
    key = await database_sync_to_async(session_key_of)(ada)
    await database_sync_to_async(_switch)(ada, key, on=True)
    watcher = Watcher(conversation.pk)

    with runner.watching(watcher):
        opened = await Page.of(watcher, ada, key)
        assert opened is not None
        accepted = await runner.submit(conversation.pk, ada.pk, Message("Why?"))
        turn = runner.live(conversation.pk)
        assert turn is not None
        shown = await opened.reveal(turn, Scratchpad("quokka-canary-5513"))
        await database_sync_to_async(_switch)(ada, key, on=False)
        after = await opened.reveal(turn, Scratchpad("more"))
        upstream.release("go")
        assert accepted.turn_id is not None
        await runner.finished(conversation.pk, accepted.turn_id)

    assert "quokka-canary-5513" in "".join(shown)
    assert after == []


def _switch(user: User, key: str, *, on: bool) -> None:
    session = SessionStore(key)
    gate.switch(user, session, on=on)
    session.save()


async def test_page_that_was_loaded_before_the_running_turn_gets_its_card_whole_and_nothing_before(
    upstream: ContractHandle, conversation: Conversation, watcher: Watcher, opened: Page
) -> None:
    upstream.script([{"content": "one two three four", "chunk": "word", "faults": HOLD}])
    earlier = await database_sync_to_async(make_turn)(conversation)
    await runner.submit(conversation.pk, conversation.owner_id, Message("hi"))

    first = opened.opened(earlier.public_id)
    upstream.release("go")
    frames = await drawn_until_the_end(opened, watcher)
    synced = await opened.draw(Asked({"action": "sync", "last": earlier.public_id, "status": "complete"}))

    assert first == ['{"running":true}']
    assert frames == []
    assert cards_in(synced) == 1


@pytest.mark.parametrize("names_it", [True, False])
async def test_page_that_was_loaded_with_the_running_turn_is_sent_how_it_stands(
    upstream: ContractHandle, conversation: Conversation, opened: Page, names_it: bool
) -> None:
    upstream.script([{"content": "one", "faults": HOLD}])
    accepted = await runner.submit(conversation.pk, conversation.owner_id, Message("hi"))
    assert accepted.turn_id is not None

    frames = opened.opened(accepted.turn_id.hex if names_it else None)

    assert f'id="m-{accepted.turn_id.hex}-answer"' in "".join(frames)
    assert cards_in(frames) == 0
    upstream.release("go")
    await runner.finished(conversation.pk, accepted.turn_id)


async def test_start_that_is_drawn_late_brings_no_block_twice(
    upstream: ContractHandle, conversation: Conversation, watcher: Watcher, opened: Page
) -> None:
    upstream.script([{"content": "First paragraph.\n\nSecond paragraph.\n\nThird."}])
    accepted = await runner.submit(conversation.pk, conversation.owner_id, Message("hi"))
    assert accepted.turn_id is not None
    await runner.finished(conversation.pk, accepted.turn_id)

    frames: list[str] = []
    while not isinstance(notice := await watcher.next(), Finished):
        frames += await opened.draw(notice)

    assert "".join(frames).count("First paragraph.") == 1


@pytest.mark.parametrize("is_running", [True, False])
async def test_page_that_was_drawn_again_without_a_new_card_gets_it_once_more(
    upstream: ContractHandle, conversation: Conversation, watcher: Watcher, opened: Page, is_running: bool
) -> None:
    earlier = await database_sync_to_async(make_turn)(conversation)
    upstream.script([{"content": "one", "faults": HOLD}])
    accepted = await runner.submit(conversation.pk, conversation.owner_id, Message("hi"))
    assert accepted.turn_id is not None
    await opened.draw(await watcher.next())  # its card, which the page's own drawing then wiped away
    if not is_running:
        upstream.release("go")
        await runner.finished(conversation.pk, accepted.turn_id)

    sync = {"action": "sync", "last": earlier.public_id, "status": "complete", "fresh": True}
    frames = await opened.draw(Asked(sync))

    upstream.release("go")
    await runner.finished(conversation.pk, accepted.turn_id)
    assert cards_in(frames) == 1
    assert f'id="m-{accepted.turn_id.hex}"' in "".join(frames)
