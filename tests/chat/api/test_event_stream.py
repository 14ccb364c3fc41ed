"""Server-sent events: the joined pieces are the whole, whenever a client joins, and nobody is left listening."""

import asyncio
import re
from typing import Any

import pytest
from asgiref.testing import ApplicationCommunicator
from channels.db import database_sync_to_async
from channels.layers import get_channel_layer
from django.contrib.sessions.models import Session
from django.db import OperationalError
from django.utils import timezone

from accounts.access.tokens import create_token
from accounts.models import User
from chat.api import messages, sse
from chat.models import Conversation
from chat.turns import heartbeat
from chat.validation import Message
from config.asgi import application
from replay_contract_server.fixture import ContractHandle
from tests.chat.api_client import EVENTS, ServerEvent, client_of, events_of, joined, parse_events, post, streamed
from tests.chat.asking import ended
from tests.factories import make_conversation, make_turn

pytestmark = pytest.mark.django_db(transaction=True)
CALL = {"name": "searchFilings", "arguments": '{"query": "turbines"}'}
SECTIONS = "Reasoning Summary:\n- Looked.\n- Compared.\n\nFinal Answer:\nForty-two, says the filing."
LONG = "".join(f"Word {number} of many.\n\n" for number in range(200)) + "The end."


async def test_listener_who_gets_no_event_misses_nothing(upstream, alice, conversation, monkeypatch):
    async def lost(*_args):
        """Lose an event, as Redis may."""

    monkeypatch.setattr(get_channel_layer(), "group_send", lost)
    monkeypatch.setattr(sse, "LOOK_AGAIN_S", 0.01)
    upstream.script([{"content": LONG, "chunk": 10}])

    texts, _names, form = await streamed(await post(await client_of(alice), conversation, {"text": "x"}, **EVENTS))

    assert texts["answer"] == form["answer"] == LONG


async def test_stream_begins_before_the_models_first_word_and_is_kept_alive(upstream, alice, conversation, monkeypatch):
    monkeypatch.setattr(sse, "LOOK_AGAIN_S", 0.01)
    monkeypatch.setattr(sse, "KEEP_ALIVE_S", 0.01)
    upstream.script([{"content": "Yes.", "faults": [{"kind": "slow_first_token", "name": "go"}]}])

    stream = aiter(await post(await client_of(alice), conversation, {"text": "x"}, **EVENTS))
    [start] = parse_events((await anext(stream)).decode())
    comment = await anext(stream)
    upstream.release("go")
    rest = b"".join([piece async for piece in stream])

    turn = await conversation.turns.aget()
    assert (start.name, start.data) == ("start", {"id": turn.pk.hex, "model": "plain-model"})
    assert re.fullmatch(rb":[^\n]*\n", comment), "with a blank line httpx-sse reads an empty event"
    assert parse_events(rest.decode())[-1].data["answer"] == "Yes."


async def test_event_has_no_line_ends_but_those_of_the_format(upstream, alice, conversation):
    """httpx splits lines at each of these characters, and so reads half a JSON text."""
    answer = "One\x85two\u2028three\u2029four."
    upstream.script([{"content": answer}])

    stream = await post(await client_of(alice), conversation, {"text": "x"}, **EVENTS)
    body = b"".join([piece async for piece in stream]).decode()

    assert body.splitlines() == body.removesuffix("\n").split("\n")
    assert joined(parse_events(body))["answer"] == parse_events(body)[-1].data["answer"] == answer


def test_silence_is_shorter_than_what_is_promised():
    assert sse.KEEP_ALIVE_S + sse.LOOK_AGAIN_S < 15


THOUGHT = "Weighing this and that. " * 60
FULL = [{"reasoning": THOUGHT, "tool_calls": [CALL], "chunk": 150}, {"content": SECTIONS, "chunk": 10}]


async def resume(user: User, conversation: Conversation, turn_id: str, last: str) -> Any:
    client = await client_of(user)
    url = f"/api/chats/{conversation.pk}/messages/{turn_id}/"
    return await client.get(url, headers={**EVENTS, "Last-Event-ID": last})


def outcome_of(events: list[ServerEvent]) -> tuple[dict[str, str], list[tuple[str, Any]]]:
    """Return what a client has in the end, however its pieces were cut."""
    return joined(events), [(event.name, event.data) for event in events if event.name != "delta"]


@pytest.mark.parametrize("persona", ["alice", "ada"])
async def test_ended_turn_is_resumed_behind_any_event(upstream, conversation, request, persona):
    user = await database_sync_to_async(request.getfixturevalue)(persona)
    await Conversation.objects.filter(pk=conversation.pk).aupdate(owner=user)
    upstream.script(FULL)
    client = await client_of(user)
    events = await events_of(await post(client, conversation, {"text": "x"}, **EVENTS))
    whole, turn_id = outcome_of(events), events[0].data["id"]

    assert [len({event.id for event in events}), events[-1].name] == [len(events), "done"]
    assert ("truncated" in whole[0]["thinking"]) is (persona == "alice")
    for seen in range(len(events) - 1):
        rest = await events_of(await resume(user, conversation, turn_id, events[seen].id))
        assert outcome_of(events[: seen + 1] + rest) == whole
    assert outcome_of(await events_of(await resume(user, conversation, turn_id, ""))) == whole
    assert (await resume(user, conversation, turn_id, events[-1].id)).status_code == 204


async def test_repeat_with_the_id_of_its_last_event_is_resumed(upstream, alice, conversation):
    upstream.script(FULL)
    client, key = await client_of(alice), {"Idempotency-Key": "order-1", **EVENTS}
    events = await events_of(await post(client, conversation, {"text": "x"}, **key))

    rest = await events_of(await post(client, conversation, {"text": "x"}, **key, **{"Last-Event-ID": events[2].id}))
    end = await post(client, conversation, {"text": "x"}, **key, **{"Last-Event-ID": events[-1].id})
    new = await post(client, conversation, {"text": "y"}, **EVENTS, **{"Last-Event-ID": events[-1].id})

    assert outcome_of(events[:3] + rest) == outcome_of(events)
    assert (end.status_code, (await events_of(new))[0].name) == (204, "start")


@pytest.mark.parametrize("persona", ["alice", pytest.param("ada", marks=pytest.mark.slow)])
@pytest.mark.parametrize("loses_events", [False, True])
@pytest.mark.parametrize("is_elsewhere", [False, True])
async def test_running_turn_is_resumed_in_its_own_process_and_in_another(
    upstream, conversation, turn_manager, monkeypatch, request, is_elsewhere, loses_events, persona
):
    monkeypatch.setattr(sse, "LOOK_AGAIN_S", 0.01)
    monkeypatch.setattr(heartbeat, "CHECKPOINT_S", 0.05)
    user = await database_sync_to_async(request.getfixturevalue)(persona)
    await Conversation.objects.filter(pk=conversation.pk).aupdate(owner=user)
    hold = [{"kind": "stall", "at": f"event:{n}", "name": f"go{n}"} for n in (4, 8)]
    upstream.script([{"reasoning": THOUGHT, "tool_calls": [CALL], "chunk": 150, "faults": hold}, FULL[1]])
    layer = get_channel_layer()
    sent = 0

    async def lossy(group, message):
        nonlocal sent
        sent += 1
        if not loses_events or sent % 3:
            await type(layer).group_send(layer, group, message)

    monkeypatch.setattr(layer, "group_send", lossy)
    manager = turn_manager if is_elsewhere else sse.turn_manager
    turn_id = (await manager.submit(conversation.pk, Message("x"))).turn_id
    assert turn_id
    await asyncio.to_thread(upstream.wait_for, held="go4")

    stream = aiter(await resume(user, conversation, turn_id.hex, ""))
    body = ""
    async with asyncio.timeout(30):
        while "thinking" not in body:
            body += (await anext(stream)).decode()
    await stream.aclose()
    first = parse_events(body)
    upstream.release("go4")
    await asyncio.to_thread(upstream.wait_for, held="go8")
    second = asyncio.create_task(events_of(await resume(user, conversation, turn_id.hex, first[-1].id)))
    upstream.release("go8")
    events = first + await second

    again = await events_of(await resume(user, conversation, turn_id.hex, ""))
    assert outcome_of(events) == outcome_of(again)
    assert joined(events)["answer"] == events[-1].data["answer"] == "Forty-two, says the filing."


async def test_failed_turn_is_resumed_behind_its_error(upstream, alice, conversation):
    upstream.script([{"content": "x", "faults": [{"kind": "server_error", "times": 3}]}])
    events = await events_of(await post(await client_of(alice), conversation, {"text": "x"}, **EVENTS))

    rest = await events_of(await resume(alice, conversation, events[0].data["id"], events[1].id))

    assert [event.name for event in events] == ["start", "error", "done"]
    assert events[1].data["error"] == events[2].data["error"]
    assert rest == events[2:]


@pytest.mark.parametrize("last", ["7", "a1-t2", "a-1-t0-s0-b0", "a1-t2-s3-b4-ended", "x" * 500])
async def test_id_that_is_of_no_event_is_refused(alice, conversation, last):
    turn = await database_sync_to_async(make_turn)(conversation)

    answer = await resume(alice, conversation, turn.pk.hex, last)

    error = answer.json()["error"]
    assert (answer.status_code, error["code"], error["field"]) == (400, "invalid_event_id", "Last-Event-ID")


async def test_stream_that_breaks_says_so_in_an_event(upstream, alice, conversation, monkeypatch):
    async def broken(_events):
        raise OperationalError("database is locked: quokka-canary-7713")

    turn = await database_sync_to_async(make_turn)(conversation)
    monkeypatch.setattr(sse.TurnEvents, "look", broken)

    [event] = await events_of(await resume(alice, conversation, turn.pk.hex, ""))

    assert (event.name, event.data["error"]["code"], event.data["error"]["retryable"]) == ("error", "unavailable", True)
    assert "quokka" not in str(event)


@pytest.mark.parametrize(
    ("ends", "code"),
    [("token", "invalid_token"), ("user", "invalid_token"), ("session", "not_authenticated"), ("chat", "not_found")],
)
async def test_stream_ends_with_the_access_of_its_viewer(upstream, alice, conversation, monkeypatch, ends, code):
    monkeypatch.setattr(sse, "LOOK_AGAIN_S", 0.01)
    monkeypatch.setattr(sse, "REAUTHORIZE_EVERY_S", 0.01)
    hold = [{"kind": "stall", "at": "event:4", "name": "go"}]
    upstream.script([{"content": "One two three.", "chunk": "word", "faults": hold}])
    client = await client_of(alice, by="session" if ends == "session" else "token")
    client.handler.enforce_csrf_checks = False
    answer = await post(client, conversation, {"text": "x"}, **EVENTS)
    await asyncio.to_thread(upstream.wait_for, held="go")

    match ends:
        case "token":
            await alice.access_tokens.all().adelete()
        case "user":
            await User.objects.filter(pk=alice.pk).aupdate(is_active=False)
        case "session":
            await Session.objects.all().adelete()
        case "chat":
            await Conversation.objects.filter(pk=conversation.pk).aupdate(deleted_at=timezone.now())
    events = await events_of(answer)
    upstream.release("go")

    assert (events[-1].name, events[-1].data["error"]["code"]) == ("error", code)
    assert "three" not in str(events)
    assert (await ended(conversation)).status == "completed"


async def test_client_that_leaves_stops_nothing_and_leaves_nobody_listening(upstream, alice, conversation):
    hold = [{"kind": "stall", "at": "event:4", "name": "go"}]
    upstream.script([{"content": "One two three.", "chunk": "word", "faults": hold}])

    client = await http_client(alice, conversation)
    assert (await client.receive_output(timeout=30))["status"] == 200
    assert b"event: start" in (await client.receive_output(timeout=30))["body"]
    assert b"One" in (await client.receive_output(timeout=30))["body"]
    await client.send_input({"type": "http.disconnect"})
    await client.wait(timeout=30)
    upstream.release("go")

    assert (await ended(conversation)).status == "completed"
    assert get_channel_layer().groups == {}


async def test_stream_that_was_read_to_its_end_leaves_no_queue(upstream, alice, conversation):
    upstream.script([{"content": "One two three.", "chunk": "word"}])

    await streamed(await post(await client_of(alice), conversation, {"text": "x"}, **EVENTS))

    assert (get_channel_layer().channels, get_channel_layer().groups) == ({}, {})


async def test_requests_of_a_user_that_wait_are_limited(upstream, alice, conversation, monkeypatch):
    monkeypatch.setattr(messages, "MAX_WAITING", 1)
    upstream.script(
        [{"content": "One two.", "chunk": "word", "faults": [{"kind": "stall", "at": "event:2", "name": "go"}]}]
    )
    client = await client_of(alice)

    first = asyncio.create_task(post(client, conversation, {"text": "x", "id": "same"}))
    await asyncio.to_thread(upstream.wait_for, held="go")
    refused = await post(client, conversation, {"text": "x", "id": "same"}, **EVENTS)
    upstream.release("go")
    answered = await first
    again = await streamed(await post(client, conversation, {"text": "x", "id": "same"}, **EVENTS))

    assert (refused.status_code, refused.json()["error"]["code"]) == (429, "too_many_requests")
    assert again[2]["answer"] == answered.json()["answer"] == "One two."


async def http_client(user: User, conversation: Conversation) -> ApplicationCommunicator:
    """Post a message over bare ASGI, as a server does, for its client may leave."""
    _row, token = await database_sync_to_async(create_token)(user)
    headers = {"host": "localhost", "accept": "text/event-stream", "authorization": f"Bearer {token}"}
    path = f"/api/chats/{conversation.pk}/messages/"
    scope = {
        "type": "http",
        "method": "POST",
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
    }
    client = ApplicationCommunicator(application, scope)
    await client.send_input({"type": "http.request", "body": b'{"text": "x"}'})
    return client


@pytest.mark.parametrize(
    ("accept", "kind"),
    [
        ("text/event-stream", "text/event-stream"),
        ("text/event-stream, application/json;q=0.5", "text/event-stream"),
        ("*/*", "application/json"),
        ("text/html, */*;q=0.8", "application/json"),
    ],
)
async def test_answer_comes_in_the_form_that_the_client_prefers(upstream, alice, conversation, accept, kind):
    upstream.script([{"content": "Yes."}])

    answer = await post(await client_of(alice), conversation, {"text": "x"}, Accept=accept)

    assert answer["Content-Type"].split(";")[0] == kind
    if answer.streaming:
        await streamed(answer)


@pytest.mark.parametrize("headers", [{}, EVENTS])
@pytest.mark.parametrize(
    ("by", "is_on", "seen"), [("session", True, True), ("session", False, False), ("token", True, False)]
)
@pytest.mark.spec("004 scratchpad")
async def test_scratchpad_is_in_the_envelope_of_an_entitled_session_only(
    upstream, ada, settings, headers, by, is_on, seen
):
    settings.REASONING_SCRATCHPAD_ENABLED = True
    upstream.script([{"content": "Yes.<scratchpad>quokka-canary-3307</scratchpad>"}])
    conversation = await database_sync_to_async(make_conversation)(owner=ada)
    client = await client_of(ada, by=by)
    client.handler.enforce_csrf_checks = False
    if by == "session" and is_on:
        await client.post("/accounts/toggles/show-scratchpad/", {"on": "true"})

    answer = await post(client, conversation, {"text": "x"}, **headers)
    body = b"".join([piece async for piece in answer]) if answer.streaming else answer.content

    assert (b'"scratchpad"' in body, b"quokka-canary-3307" in body) == (seen, seen)


@pytest.mark.spec("product 22")
async def test_events_after_a_repeated_scratchpad_continue_the_stored_text(
    upstream: ContractHandle, alice: User, conversation: Conversation
) -> None:
    notes = "ZEBRA9 unique private plan of the assistant here"
    step = {"content": f"I noted: {notes}.<scratchpad>{notes}</scratchpad>", "tool_calls": [CALL]}
    upstream.script([step, {"content": "And this."}])

    texts, names, form = await streamed(await post(await client_of(alice), conversation, {"text": "x"}, **EVENTS))

    assert form["answer"] == "I noted: [redacted].\n\nAnd this."
    before = texts["answer"].removesuffix("\n\nAnd this.")  # how much was sent before it was replaced may differ
    assert before != texts["answer"]
    assert f"I noted: {notes}.".startswith(before) or before == "I noted: [redacted]."
    assert "ZEBRA9" not in str(form)
    assert names[-1] == "done"


@pytest.mark.spec("product 22")
async def test_text_that_is_replaced_in_another_process_is_not_stored_and_the_stream_goes_on(
    upstream, alice, conversation, turn_manager, monkeypatch
):
    monkeypatch.setattr(sse, "LOOK_AGAIN_S", 0.01)
    monkeypatch.setattr(heartbeat, "CHECKPOINT_S", 0.05)
    notes = "ZEBRA9 unique private plan of the assistant here"
    hold = [{"kind": "stall", "at": "event:14", "name": "go"}]
    first = f"I noted: {notes}. That is all there is to say about it.<scratchpad>{notes}</scratchpad>"
    upstream.script(
        [{"content": first, "tool_calls": [CALL], "chunk": "word", "faults": hold}, {"content": "And this."}]
    )
    turn_id = (await turn_manager.submit(conversation.pk, Message("x"))).turn_id
    assert turn_id
    await asyncio.to_thread(upstream.wait_for, held="go")

    stream = aiter(await resume(alice, conversation, turn_id.hex, ""))
    body = ""
    async with asyncio.timeout(30):
        while "ZEBRA9" not in body:
            body += (await anext(stream)).decode()
    upstream.release("go")
    body += "".join([piece.decode() async for piece in stream])

    *_events, done = parse_events(body)
    assert (done.name, done.data["status"]) == ("done", "complete")
    assert done.data["answer"] == "I noted: [redacted]. That is all there is to say about it.\n\nAnd this."
    assert [event.name for event in _events].count("tool_step") == 1
