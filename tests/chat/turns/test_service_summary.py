"""A service's own summary of its thinking: shown live to those who may read thinking, and stored nowhere."""

import asyncio
import json
from pathlib import Path

import pytest
from channels.db import database_sync_to_async
from django.db import connection

from tests.chat.api_client import EVENTS, client_of, post, streamed
from tests.chat.asking import ask, ended, send, signed_in
from tests.chat.audits import audit
from tests.chat.sockets import frames_until, socket_of
from tests.frame_words import heard

pytestmark = pytest.mark.django_db(transaction=True)
CANARY = "wombat canary 7718"
HOLD = [{"kind": "stall", "at": "event:7", "name": "go"}]  # the summary has come, its item is not finished
REPLY = {
    "items": [{"type": "reasoning", "summary": [f"**{CANARY}**"]}, {"type": "message", "text": "Forty-two."}],
    "chunk": "whole",
    "faults": HOLD,
}


@pytest.fixture(autouse=True)
def _responses(upstream, settings):
    settings.OPENAI_API, settings.OPENAI_MODEL = "responses", "gpt-5-mini"
    upstream.script([REPLY])


def stored_bytes() -> bytes:
    """Return the files of the database; of a server's database the audit reads the tables instead."""
    path = Path(str(connection.settings_dict["NAME"]))
    return b"".join(file.read_bytes() for file in path.parent.glob(f"{path.name}*")) if path.is_absolute() else b""


@pytest.mark.spec("product 7")
async def test_it_is_stored_nowhere_in_the_clear(upstream, conversation, caplog):
    async with socket_of(conversation, conversation.owner) as socket:
        await send(conversation, "Why?")
        await frames_until(socket, CANARY)
        assert await database_sync_to_async(audit)("--canary", CANARY) == ""
        upstream.release("go")
        assert (await ended(conversation)).status == "completed"

    assert await database_sync_to_async(audit)("--canary", CANARY) == ""
    assert CANARY.encode() not in await database_sync_to_async(stored_bytes)()
    assert CANARY not in caplog.text


@pytest.mark.spec("002 decision 2")
async def test_only_the_opaque_item_contains_it_and_is_sent_back_as_it_came(upstream, alice, conversation):
    upstream.script([REPLY | {"faults": []}, REPLY | {"faults": []}])
    client, url = await client_of(alice), f"/api/chats/{conversation.pk}/messages/"

    await ask(conversation)
    await ask(conversation, "And then?")

    last = upstream.requests()[-1]
    [item] = [item for item in last["body"]["input"] if item.get("type") == "reasoning"]
    assert last["verdict"] == "accepted"
    assert CANARY in json.dumps(item["summary"])
    assert CANARY not in (await client.get(url)).content.decode()


@pytest.mark.spec("product 4")
@pytest.mark.parametrize(
    ("flags", "is_shown"),
    [
        ({}, True),
        ({"REASONING_THINKING_FOR_USERS": "full"}, True),
        ({"REASONING_THINKING_FOR_USERS": "hidden"}, False),
        ({"REASONING_SHOW_SUMMARY_DEFAULT": False}, False),
        ({"REASONING_ENABLED": False}, False),
    ],
)
async def test_page_shows_it_live_to_those_who_may_read_thinking(
    upstream, alice, conversation, settings, flags, is_shown
):
    for name, value in flags.items():
        setattr(settings, name, value)
    client = await signed_in(alice)

    async with socket_of(conversation, alice) as socket:
        await send(conversation, "Why?")
        await asyncio.to_thread(upstream.wait_for, held="go")
        frames = await frames_until(socket, CANARY if is_shown else "Working on the answer")
        page = (await client.get(f"/chats/{conversation.pk}/")).content.decode()
        upstream.release("go")
        frames += await frames_until(socket, "Answer ready")

    assert 'data-status="streaming"' in page
    assert [CANARY in sent for sent in (page, heard(frames))] == [is_shown] * 2


async def test_events_of_the_api_leave_it_out(upstream, alice, conversation):
    upstream.script([REPLY | {"faults": []}])

    sent = await streamed(await post(await client_of(alice), conversation, {"text": "Why?"}, **EVENTS))

    assert sent[0]["answer"] == "Forty-two."
    assert CANARY not in repr(sent)
