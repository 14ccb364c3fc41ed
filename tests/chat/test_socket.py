"""The page's socket: who is let in, what it takes, and what it sends to whom."""

from __future__ import annotations

import json
from typing import Any

import pytest
from channels.db import database_sync_to_async
from django.conf import LazySettings

from accounts.models import User
from chat import eventlog
from chat.models import Conversation
from tests.chat.sockets import frames_until, socket_of
from tests.contract_server.fixture import ContractHandle
from tests.factories import make_conversation

pytestmark = pytest.mark.django_db(transaction=True)
CANARY = "quokka-canary-9152"


async def test_stranger_and_unknown_are_told_the_same(alice: User, bob: User) -> None:
    conversation = await database_sync_to_async(make_conversation)(owner=alice)
    unknown = Conversation(owner=bob)

    for target in (conversation, unknown):
        async with socket_of(target, bob) as socket:
            assert (await socket.receive_output(timeout=30)) == {"type": "websocket.close", "code": 4404}


async def test_socket_without_a_session_is_closed(alice: User) -> None:
    conversation = await database_sync_to_async(make_conversation)(owner=alice)

    async with socket_of(conversation, None) as socket:
        assert (await socket.receive_output(timeout=30))["code"] == 4401


async def test_foreign_origin_is_refused(alice: User) -> None:
    conversation = await database_sync_to_async(make_conversation)(owner=alice)

    async with socket_of(conversation, alice, origin="https://elsewhere.example") as socket:
        assert not socket.accepted


@pytest.mark.parametrize(
    ("sent", "said"),
    [
        ("{", "That was not JSON."),
        ("[1]", "A JSON object is needed."),
        ('{"action": "dance"}', "there is no such action"),
        ('{"text": "  "}', "the message is empty"),
        ('{"text": 5}', "a string is needed"),
        ('{"text": "abcdef"}', "the message has 6 characters; at most 5 are allowed"),
    ],
)
async def test_bad_input_gets_a_clear_error_and_the_socket_stays_open(
    alice: User, settings: LazySettings, sent: str, said: str
) -> None:
    settings.MESSAGE_MAX_CHARS = 5
    conversation = await database_sync_to_async(make_conversation)(owner=alice)

    async with socket_of(conversation, alice) as socket:
        for _twice in range(2):
            await socket.send_to(sent)
            frames = await frames_until(socket, "composer-error")
            assert said in frames[-1]


async def test_turn_is_drawn_as_it_grows(upstream: ContractHandle, alice: User) -> None:
    upstream.script(
        [{"reasoning": "hm", "content": "First *block*.\n\nSecond block.\n\nThird <b>one</b>.", "chunk": 4}]
    )
    conversation = await database_sync_to_async(make_conversation)(owner=alice)

    async with socket_of(conversation, alice) as socket:
        await socket.send_to(json.dumps({"text": "Why <so>?", "id": "one", "unknown": 1}))
        frames = await frames_until(socket, "Answer ready")

    whole = "\n".join(frames)
    assert 'data-status="streaming"' in whole
    assert "Why &lt;so&gt;?" in whole
    assert "<em>block</em>" in whole
    assert "<b>one" not in whole
    assert any(json.loads(frame).get("status") == "complete" for frame in frames if frame.startswith("{"))


async def test_open_text_cannot_forge_an_element(upstream: ContractHandle, alice: User) -> None:
    upstream.script([{"content": '<div id="composer-error">x</div> & more', "chunk": 7}])
    conversation = await database_sync_to_async(make_conversation)(owner=alice)

    async with socket_of(conversation, alice) as socket:
        await socket.send_to(json.dumps({"text": "Forge", "id": "one"}))
        frames = await frames_until(socket, "Answer ready")

    assert not [frame for frame in frames if frame[0] in '{"' and set("<>&") & set(frame)]


async def test_repeated_client_id_starts_one_turn(upstream: ContractHandle, alice: User) -> None:
    upstream.script([{"content": "Once."}, {"content": "Twice."}])
    conversation = await database_sync_to_async(make_conversation)(owner=alice)

    async with socket_of(conversation, alice) as socket:
        await socket.send_to(json.dumps({"text": "Hello", "id": "same"}))
        await frames_until(socket, "Answer ready")
        await socket.send_to(json.dumps({"text": "Hello", "id": "same"}))
        await socket.send_to(json.dumps({"action": "sync"}))
        await frames_until(socket, "queue")

    assert await conversation.turns.acount() == 1


async def test_page_that_comes_late_gets_the_state_and_then_the_rest(upstream: ContractHandle, alice: User) -> None:
    hold = [{"kind": "stall", "at": "event:3", "name": "go"}]
    upstream.script([{"content": "One two three four.", "chunk": "word", "faults": hold}])
    conversation = await database_sync_to_async(make_conversation)(owner=alice)

    async with socket_of(conversation, alice) as first:
        await first.send_to(json.dumps({"text": "Count"}))
        await frames_until(first, "One")
        async with socket_of(conversation, alice) as late:
            joined = await frames_until(late, '"running":true')
            upstream.release("go")
            rest = await frames_until(late, "Answer ready")

    assert "One" in "".join(joined)
    assert "three" in "".join(rest)


async def test_thinking_is_sent_only_where_it_was_opened(upstream: ContractHandle, alice: User) -> None:
    hold = [{"kind": "stall", "at": "event:4", "name": "go"}]
    upstream.script([{"reasoning": f"{CANARY} and so on", "content": "Done now.", "chunk": "word", "faults": hold}])
    conversation = await database_sync_to_async(make_conversation)(owner=alice)

    async with socket_of(conversation, alice) as closed, socket_of(conversation, alice) as opened:
        await closed.send_to(json.dumps({"text": "Think"}))
        started = await frames_until(opened, "tokensEst")
        turn = await conversation.turns.aget()
        await opened.send_to(json.dumps({"action": "open", "part": "thinking", "id": turn.public_id}))
        seen = await frames_until(opened, CANARY)
        upstream.release("go")
        unseen = await frames_until(closed, "Answer ready")

    assert CANARY not in "".join(started)
    assert CANARY in seen[-1]
    assert CANARY not in "".join(unseen)


async def test_message_during_a_turn_is_shown_as_waiting_then_asked(upstream: ContractHandle, alice: User) -> None:
    hold = [{"kind": "stall", "at": "event:2", "name": "go"}]
    upstream.script([{"content": "First answer.", "chunk": "word", "faults": hold}, {"content": "Second answer."}])
    conversation = await database_sync_to_async(make_conversation)(owner=alice)

    async with socket_of(conversation, alice) as socket:
        await socket.send_to(json.dumps({"text": "One"}))
        await frames_until(socket, '"running":true')
        await socket.send_to(json.dumps({"text": "Two <b>"}))
        waiting = await frames_until(socket, "Queued, sent when this answer is finished")
        upstream.release("go")
        await frames_until(socket, "Second answer.")

    assert "Two &lt;b&gt;" in waiting[-1]


async def test_many_steps_are_not_all_drawn_again_for_each(upstream: ContractHandle, alice: User) -> None:
    calls = [{"name": "searchFilings", "arguments": '{"query": "x"}'} for _call in range(60)]
    upstream.script([{"tool_calls": calls}, {"content": "Done now."}])
    conversation = await database_sync_to_async(make_conversation)(owner=alice)

    async with socket_of(conversation, alice) as socket:
        await socket.send_to(json.dumps({"text": "Go"}))
        frames = await frames_until(socket, "Answer ready")

    drawn = [frame for frame in frames if "data-tool-trace" not in frame and "-steps" in frame]
    assert len(drawn) < 60
    assert drawn[-1].count("data-tool-step") == 60


async def test_stop_from_one_page_ends_the_turn_in_another(upstream: ContractHandle, alice: User) -> None:
    upstream.script([{"content": "a b c", "chunk": "word", "faults": [{"kind": "stall", "at": "event:2"}]}])
    conversation = await database_sync_to_async(make_conversation)(owner=alice)

    async with socket_of(conversation, alice) as one, socket_of(conversation, alice) as two:
        await one.send_to(json.dumps({"text": "Go"}))
        await frames_until(two, '"running":true')
        await two.send_to(json.dumps({"action": "stop"}))
        frames = await frames_until(one, '"status":"stopped"')

    assert "Stopped after" in "".join(frames)


async def test_closing_the_page_does_not_stop_the_turn(upstream: ContractHandle, alice: User) -> None:
    upstream.script(
        [{"content": "a b c", "chunk": "word", "faults": [{"kind": "stall", "at": "event:2", "name": "go"}]}]
    )
    conversation = await database_sync_to_async(make_conversation)(owner=alice)

    async with socket_of(conversation, alice) as socket:
        await socket.send_to(json.dumps({"text": "Go"}))
        await frames_until(socket, '"running":true')
    async with socket_of(conversation, alice) as again:
        upstream.release("go")
        await frames_until(again, '"status":"complete"')

    rows = await database_sync_to_async(eventlog.turns)(conversation.pk)
    assert rows[0].turn.status == "completed"


async def test_signed_out_page_is_closed(upstream: ContractHandle, alice: User) -> None:
    conversation = await database_sync_to_async(make_conversation)(owner=alice)

    async with socket_of(conversation, alice) as socket:
        await frames_until(socket, "running")
        await database_sync_to_async(_end_sessions)()
        await socket.send_to(json.dumps({"text": "Still here?"}))
        closed: Any = await socket.receive_output(timeout=30)

    assert closed == {"type": "websocket.close", "code": 4401}
    assert not await conversation.turns.aexists()


def _end_sessions() -> None:
    from django.contrib.sessions.models import Session  # noqa: PLC0415 - needs the app registry

    Session.objects.all().delete()
