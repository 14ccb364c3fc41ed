"""The page's socket: who is let in, what it accepts, and what it sends to whom."""

import asyncio
import json
import re
from contextlib import suppress

import pytest
from channels.db import database_sync_to_async
from channels.layers import get_channel_layer
from channels_redis.pubsub import RedisPubSubChannelLayer
from django.contrib.sessions.models import Session
from django.db import OperationalError
from django.test import Client

from chat.live import groups, publish
from chat.models import Conversation, QueuedMessage
from chat.socket import consumer
from chat.turns import queue
from tests.chat.asking import ended, owner_of
from tests.chat.card_samples import HOSTILE
from tests.chat.sockets import frames_until, session_of, socket_of
from tests.factories import PASSWORD, client_of, make_profile
from tests.frame_words import heard

pytestmark = pytest.mark.django_db(transaction=True)
CANARY = "quokka-canary-9152"


def hold(at: int = 3) -> list[dict[str, str]]:
    return [{"kind": "stall", "at": f"event:{at}", "name": "go"}]


@pytest.mark.spec("product 14")
async def test_stranger_gets_the_same_answer_as_for_an_unknown_conversation(conversation, bob):
    for target in (conversation, Conversation(owner=bob)):
        async with socket_of(target, bob) as socket:
            assert await socket.receive_output(timeout=30) == {"type": "websocket.close", "code": 4404}


async def test_socket_without_a_session_is_closed(conversation):
    async with socket_of(conversation, None) as socket:
        assert (await socket.receive_output(timeout=30))["code"] == 4401


@pytest.mark.parametrize(
    ("host", "origin", "is_own"),
    [
        ("localhost", "http://localhost", True),
        ("localhost:8123", "http://localhost:8123", True),
        ("localhost:8123", "http://localhost:9999", False),
        ("localhost:8123", "http://localhost", False),
        ("localhost", "http://127.0.0.1", False),
        ("localhost", "https://localhost:8443", False),
        ("localhost", "https://localhost", True),  # behind a proxy that ends TLS: in CSRF_TRUSTED_ORIGINS
        ("localhost", "https://app.example.com", True),
        ("localhost", "http://app.example.com", False),
        ("localhost", "https://example.com.evil.test", False),
        ("localhost", "https://elsewhere.example", False),
        ("localhost", "http://[", False),
        ("localhost", "null", False),
        ("localhost", "", False),
        ("elsewhere.example", "http://elsewhere.example", False),
        ("", "http://localhost", False),
    ],
)
async def test_only_pages_of_this_site_are_let_in(alice, conversation, settings, host, origin, is_own):
    settings.ALLOWED_HOSTS = ["localhost", "127.0.0.1"]
    settings.CSRF_TRUSTED_ORIGINS = ["https://localhost", "https://*.example.com"]

    async with socket_of(conversation, alice, origin=origin, host=host) as socket:
        assert socket.accepted == is_own


@pytest.mark.parametrize("header", [None, ("HTTP_X_FORWARDED_PROTO", "https")])
async def test_the_proxy_says_that_the_page_is_https_where_it_may(alice, conversation, settings, header):
    settings.SECURE_PROXY_SSL_HEADER, settings.CSRF_TRUSTED_ORIGINS = header, []

    async with socket_of(conversation, alice, origin="https://localhost", proto="https") as socket:
        assert socket.accepted == (header is not None)


@pytest.mark.spec("product 14")
@pytest.mark.parametrize("is_running", [True, False])
@pytest.mark.parametrize(
    "form",
    [
        {"text": "Still here?"},
        {"text": "/set reasoning.effort low"},
        {"action": "sync"},
        {"action": "refresh"},
        {"action": "open", "part": "thinking", "id": ""},
        {"action": "stop"},
    ],
)
async def test_page_that_was_signed_out_is_sent_nothing_obeyed_in_nothing_and_closed(
    upstream, alice, conversation, form, is_running
):
    upstream.script([{"content": "one", "faults": hold(0)}])
    async with socket_of(conversation, alice) as socket:
        await frames_until(socket, "running")
        if is_running:
            await socket.send_to(text_data=json.dumps({"text": "First?"}))
            await asyncio.to_thread(upstream.wait_for, held="go")
            await frames_until(socket, '"running":true')
        await Session.objects.all().adelete()
        await socket.send_to(text_data=json.dumps(form))
        sent = [await socket.receive_output(timeout=30)]
        while sent[-1]["type"] != "websocket.close":
            sent.append(await socket.receive_output(timeout=30))
    upstream.release("go")

    assert sent[-1]["code"] == 4401
    assert not any(part in str(sent) for part in ('id="messages"', 'id="queue"', "composer-error"))
    assert not is_running or (await ended(conversation)).status == "completed"
    assert (await conversation.turns.acount(), await QueuedMessage.objects.acount()) == (int(is_running), 0)
    await conversation.arefresh_from_db()
    assert conversation.reasoning == {}


@pytest.mark.parametrize("end", ["signed out", "deactivated", "password", "deleted"])
async def test_sockets_close_at_once_when_their_session_or_user_ends(alice, bob, conversation, end):
    def finish():
        match end:
            case "signed out":  # of the first session alone
                client = Client()
                client.cookies["sessionid"] = first
                client.post("/accounts/logout/")
            case "deactivated":
                alice.is_active = False
                alice.save()
            case "password":
                new = {"new_password1": "a quite different phrase", "new_password2": "a quite different phrase"}
                client_of(alice).post("/accounts/password/", {"old_password": PASSWORD, **new})
            case _:
                alice.delete()

    theirs = await Conversation.objects.acreate(owner=bob)
    async with (
        socket_of(conversation, alice) as socket,
        socket_of(conversation, alice) as other,
        socket_of(theirs, bob) as of_bob,
    ):
        for each in (socket, other, of_bob):
            await frames_until(each, "running")
        first = session_of(socket)
        await database_sync_to_async(finish)()

        closed = await socket.receive_output(timeout=30)
        assert closed == {"type": "websocket.close", "code": 4401}
        if end == "signed out":
            await other.send_to("{")
            assert "That was not JSON." in await other.receive_from(timeout=30)
        else:
            assert await other.receive_output(timeout=30) == closed
        await of_bob.send_to("{")
        assert "That was not JSON." in await of_bob.receive_from(timeout=30)


async def test_a_flood_is_told_once_and_closed_and_no_other_page_is(alice, conversation, monkeypatch):
    monkeypatch.setattr(consumer, "FRAMES_PER_S", 0)  # however long the frames take
    async with socket_of(conversation, alice) as socket, socket_of(conversation, alice) as other:
        await frames_until(other, "running")
        await frames_until(socket, "running")
        for number in range(1000):
            await socket.send_to(text_data=json.dumps({"action": "close", "part": "thinking", "id": str(number)}))

        sent = [await socket.receive_output(timeout=30) for _each in range(2)]
        await other.send_to("{")

        assert "Too many messages at once" in sent[0]["text"]
        assert re.search(r'data-rejected="\d+"', sent[0]["text"]), "the page gives the text back that was refused"
        assert sent[1] == {"type": "websocket.close", "code": 4429}
        assert await socket.receive_nothing()
        assert "That was not JSON." in await other.receive_from(timeout=30)


async def test_longer_frames_count_for_more(alice, conversation, settings, monkeypatch):
    monkeypatch.setattr(consumer, "FRAMES_PER_S", 0)  # however long the frames take
    long = json.dumps({"action": "close", "padding": "x" * (settings.DATA_UPLOAD_MAX_MEMORY_SIZE - 100)})
    async with socket_of(conversation, alice) as socket:
        await frames_until(socket, "running")
        for _each in range(8):
            await socket.send_to(text_data=long)

        assert "Too many messages at once" in await socket.receive_from(timeout=30)


async def test_pages_of_one_user_are_limited(alice, bob, conversation, settings):
    settings.MAX_OPEN_PAGES = 2
    theirs = await Conversation.objects.acreate(owner=bob)
    async with socket_of(conversation, alice) as first, socket_of(conversation, alice):
        async with socket_of(conversation, alice) as third, socket_of(theirs, bob) as of_bob:
            assert await third.receive_output(timeout=30) == {"type": "websocket.close", "code": 4429}
            await frames_until(of_bob, "running")
        await first.disconnect()
        async with socket_of(conversation, alice) as third:
            await frames_until(third, "running")


async def test_page_opens_while_redis_is_down_and_is_live_when_it_is_back(upstream, alice, conversation, monkeypatch):
    monkeypatch.setattr(groups, "RETRY_AFTER_S", 0.05)
    monkeypatch.setattr(publish, "RETRY_AFTER_S", 0.0)
    monkeypatch.setattr(consumer, "CATCH_UP_EVERY_S", 0.05)
    upstream.script([{"content": "Found in the database."}, {"content": "Found live."}])
    layer, redis_down = get_channel_layer(), RedisPubSubChannelLayer(hosts=["redis://127.0.0.1:1/0"])
    with monkeypatch.context() as outage:
        for name in ("new_channel", "group_send"):
            outage.setattr(layer, name, getattr(redis_down, name))
        async with socket_of(conversation, alice) as socket:
            await frames_until(socket, '"live":false')
            await socket.send_to(text_data=json.dumps({"text": "Why?"}))
            await frames_until(socket, "Found in the database.")

            outage.undo()
            await frames_until(socket, '"live":true')
            await socket.send_to(text_data=json.dumps({"text": "And?"}))
            await frames_until(socket, "Found live.")


async def test_event_that_cannot_be_drawn_is_made_up_for_when_the_database_is_back(alice, conversation, monkeypatch):
    monkeypatch.setattr(consumer, "CATCH_UP_EVERY_S", 0.05)
    async with socket_of(conversation, alice) as socket:
        await frames_until(socket, "running")
        with monkeypatch.context() as outage:
            tried = asyncio.Event()

            def fail(_conversation_id):
                loop.call_soon_threadsafe(tried.set)
                raise OperationalError("terminating connection due to administrator command")

            loop = asyncio.get_running_loop()
            outage.setattr(queue, "queued_messages", fail)
            await publish.publish(conversation.pk, {"kind": "queue"})
            await asyncio.wait_for(tried.wait(), 30)
        await frames_until(socket, 'id="messages"')
        await publish.publish(conversation.pk, {"kind": "queue"})
        await frames_until(socket, 'id="queue"')


async def test_failure_of_the_server_closes_the_socket_with_a_code_that_daphne_sends(alice, conversation, monkeypatch):
    def fail(_conversation_id):
        raise RuntimeError("broken")

    async with socket_of(conversation, alice) as socket:
        await frames_until(socket, "running")
        monkeypatch.setattr(queue, "queued_messages", fail)
        await publish.publish(conversation.pk, {"kind": "queue"})
        closed = await socket.receive_output(timeout=30)

    assert closed["type"] == "websocket.close"
    assert 3000 <= closed["code"] < 5000  # autobahn raises for others


async def test_page_that_can_receive_no_more_events_is_closed(alice, conversation, monkeypatch):
    async def fail(_channel):
        raise RuntimeError("broken")

    monkeypatch.setattr(get_channel_layer(), "receive", fail)
    async with socket_of(conversation, alice) as socket:
        await frames_until(socket, "running")
        closed = await socket.receive_output(timeout=30)

    assert closed == {"type": "websocket.close", "code": consumer.BROKEN}


async def test_socket_that_daphne_cancels_leaves_no_page(alice, conversation, monkeypatch):
    reached = asyncio.Event()

    async def slow(*_arguments, **_options):
        reached.set()
        await asyncio.Event().wait()

    monkeypatch.setattr(consumer.ConversationConsumer.manager, "submit", slow)
    with suppress(asyncio.CancelledError):  # the client of the test raises it as well
        async with socket_of(conversation, alice) as socket:
            await frames_until(socket, "running")
            await socket.send_to(text_data='{"text": "Why?"}')
            await asyncio.wait_for(reached.wait(), 30)
            socket.future.cancel()
            await asyncio.wait({socket.future}, timeout=30)

    assert consumer.open_pages == {}
    assert get_channel_layer().groups == {}


async def test_bad_input_gets_a_clear_error_and_the_socket_stays_open(alice, conversation, settings):
    settings.MESSAGE_MAX_CHARS = 5
    errors = {
        "{": "That was not JSON.",
        "[1]": "A JSON object is needed.",
        '{"action": "dance"}': "there is no such action",
        '{"text": "  "}': "the message is empty",
        '{"text": 5}': "a string is needed",
        '{"text": "abcdef"}': "the message has 6 characters; at most 5 are allowed",
        '{"text": "a\\u0000b"}': "text: NUL characters",
        '{"text": "", "id": "\\ud800"}': "id: NUL characters and halves of surrogate pairs are not allowed",
        '{"action": "sync", "last": "\\ud800"}': "last: NUL characters",
    }

    async with socket_of(conversation, alice) as socket:
        for sent in errors:
            await socket.send_to(text_data=sent)
            assert errors[sent] in (await frames_until(socket, "composer-error"))[-1]


async def test_whatever_a_text_contains_reaches_the_page_as_text(upstream, alice, conversation):
    await database_sync_to_async(make_profile)("kimi", label=f"label {HOSTILE}")
    forged = '<div id="composer-error" hx-swap-oob="true">x</div> </script><!-- &lt;b&gt; \u2028'
    texts = f"{HOSTILE} {forged}"
    upstream.script([{"reasoning": texts, "content": f"{texts}\n\n{texts}", "chunk": 7, "faults": hold(30)}])
    client = await owner_of(conversation)
    async with socket_of(conversation, alice) as socket:
        await socket.send_to(text_data=json.dumps({"text": f"question {HOSTILE}", "id": "one", "unknown": 1}))
        frames = await frames_until(socket, '"running":true')
        turn = await conversation.turns.aget()
        for sent, seen in [
            ({"action": "open", "part": "thinking", "id": turn.public_id}, "onerror"),
            ({"text": f"queued {HOSTILE}"}, "queued &lt;img"),
            ({"action": "dance", "id": HOSTILE}, "no such action"),
            ({"text": f"/set {HOSTILE}", "id": "two"}, "composer-error"),
        ]:
            await socket.send_to(text_data=json.dumps(sent))
            frames += await frames_until(socket, seen)
        for address, form, seen in [
            ("manage", {"do": "rename", "title": f"title {HOSTILE}"}, r"title \u003cimg"),
            ("model", {"model": "kimi"}, r"label \u003cimg"),
        ]:
            await client.post(f"/chats/{conversation.pk}/{address}/", form, headers={"HX-Request": "true"})
            frames += await frames_until(socket, seen)
        upstream.release("go")
        frames += await frames_until(socket, "Answer ready")

    assert "question &lt;img" in heard(frames)
    for frame in frames:
        assert "<img" not in frame
        assert "composer-error" not in frame or 'hx-swap-oob="true">x' not in frame
        if frame.startswith("{"):
            assert "<" not in frame
            json.loads(frame)


async def test_thinking_is_sent_only_where_it_was_opened(upstream, alice, conversation):
    upstream.script([{"reasoning": f"{CANARY} and so on", "content": "Done now.", "chunk": "word", "faults": hold(4)}])

    async with socket_of(conversation, alice) as closed, socket_of(conversation, alice) as opened:
        await closed.send_to(json.dumps({"text": "Think"}))
        before = await frames_until(opened, "tokensEst")
        turn = await conversation.turns.aget()
        await opened.send_to(json.dumps({"action": "open", "part": "thinking", "id": turn.public_id}))
        after = await frames_until(opened, CANARY)
        upstream.release("go")
        unseen = await frames_until(closed, "Answer ready")

    assert [CANARY in heard(frames) for frames in (before, after, unseen)] == [False, True, False]


async def test_closing_the_page_does_not_stop_the_turn(upstream, alice, conversation):
    upstream.script([{"content": "a b c", "chunk": "word", "faults": hold()}])

    async with socket_of(conversation, alice) as socket:
        await socket.send_to(text_data=json.dumps({"text": "Go"}))
        await frames_until(socket, '"running":true')
    async with socket_of(conversation, alice) as again:
        upstream.release("go")
        await frames_until(again, "Answer ready")

    assert (await ended(conversation)).status == "completed"
