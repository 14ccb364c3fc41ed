"""Server-sent events: the joined pieces are the whole, whenever a client joins, and nobody is left listening."""

from __future__ import annotations

import asyncio

import pytest
from asgiref.testing import ApplicationCommunicator
from channels.db import database_sync_to_async
from channels.layers import get_channel_layer
from django.conf import LazySettings

from accounts.models import User
from accounts.tokens import create_token
from chat.api import sse
from chat.models import Conversation
from config.asgi import application
from tests.chat.api_client import EVENTS, client_of, post, streamed
from tests.chat.asking import ended
from tests.contract_server.fixture import ContractHandle
from tests.factories import make_conversation

pytestmark = pytest.mark.django_db(transaction=True)
CALL = {"name": "searchFilings", "arguments": '{"query": "turbines"}'}
LONG = "".join(f"Word {number} of many.\n\n" for number in range(200)) + "The end."


async def test_repeat_of_an_answered_message_gets_the_same_turn_and_ends(
    upstream: ContractHandle, alice: User, conversation: Conversation
) -> None:
    upstream.script([{"reasoning": "Hm.", "tool_calls": [CALL]}, {"content": "Once."}])
    client = await client_of(alice)

    first = await streamed(await post(client, conversation, {"text": "x", "id": "same"}, **EVENTS))
    again = await streamed(await post(client, conversation, {"text": "x", "id": "same"}, **EVENTS))

    assert first == again
    assert first[0]["answer"] == "Once."
    assert first[1] == ["tool_step", "done"]


async def test_repeat_of_a_running_message_joins_its_turn_from_the_start(
    upstream: ContractHandle, alice: User, conversation: Conversation
) -> None:
    hold = [{"kind": "stall", "at": "event:6", "name": "go"}]
    upstream.script(
        [{"reasoning": "One two.", "content": "Three four five six seven.", "chunk": "word", "faults": hold}]
    )
    client = await client_of(alice)

    first = asyncio.create_task(post(client, conversation, {"text": "x", "id": "same"}))
    await asyncio.to_thread(upstream.wait_for, held="go")
    second = await post(client, conversation, {"text": "x", "id": "same"}, **EVENTS)
    upstream.release("go")
    texts, _names, form = await streamed(second)

    assert texts["answer"] == form["answer"] == (await first).json()["answer"]
    assert texts["thinking"] == "One two."


async def test_listener_who_gets_no_event_misses_nothing(
    upstream: ContractHandle, alice: User, conversation: Conversation, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def lost(*_args: object) -> None:
        """Lose an event, as Redis may."""

    monkeypatch.setattr(get_channel_layer(), "group_send", lost)
    monkeypatch.setattr(sse, "LOOK_AGAIN_S", 0.01)
    upstream.script([{"content": LONG, "chunk": 10}])

    texts, _names, form = await streamed(await post(await client_of(alice), conversation, {"text": "x"}, **EVENTS))

    assert texts["answer"] == form["answer"] == LONG


async def test_client_that_leaves_stops_nothing_and_leaves_nobody_listening(
    upstream: ContractHandle, alice: User, conversation: Conversation
) -> None:
    hold = [{"kind": "stall", "at": "event:4", "name": "go"}]
    upstream.script([{"content": "One two three.", "chunk": "word", "faults": hold}])

    client = await http_client(alice, conversation)
    assert (await client.receive_output(timeout=30))["status"] == 200
    assert b"One" in (await client.receive_output(timeout=30))["body"]
    await client.send_input({"type": "http.disconnect"})
    await client.wait(timeout=30)
    upstream.release("go")

    assert (await ended(conversation)).status == "completed"
    assert get_channel_layer().groups == {}


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
async def test_answer_comes_in_the_form_that_the_client_prefers(
    upstream: ContractHandle, alice: User, conversation: Conversation, accept: str, kind: str
) -> None:
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
    upstream: ContractHandle,
    ada: User,
    settings: LazySettings,
    headers: dict[str, str],
    by: str,
    is_on: bool,
    seen: bool,
) -> None:
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
async def test_events_after_a_repeated_scratchpad_continue_the_stored_text(  # review B D3
    upstream: ContractHandle, alice: User, conversation: Conversation
) -> None:
    notes = "ZEBRA9 unique private plan of the assistant here"
    step = {"content": f"I noted: {notes}.<scratchpad>{notes}</scratchpad>", "tool_calls": [CALL]}
    upstream.script([step, {"content": "And this."}])

    texts, names, form = await streamed(await post(await client_of(alice), conversation, {"text": "x"}, **EVENTS))

    assert form["answer"] == "I noted: [redacted].\n\nAnd this."
    assert texts["answer"] in (form["answer"], f"I noted: {notes}.\n\nAnd this.")
    assert "ZEBRA9" not in str(form)
    assert names[-1] == "done"
