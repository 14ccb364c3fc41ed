"""A socket and a turn speak the language of their page; what is stored is English."""

import asyncio
import uuid
from unittest.mock import AsyncMock

import pytest
from channels.db import database_sync_to_async
from channels.testing import WebsocketCommunicator
from django.test import Client
from django.utils.translation import override

from accounts.models import User
from chat.models import Conversation
from chat.texts.stored_text import translate_stored
from chat.turns.execute import execute_tool_call
from config.asgi import application
from reasoning.events import ToolCall
from reasoning.scratchpad import Scratchpad
from tests.chat.asking import ask
from tests.chat.sockets import frames_until, socket_of
from tests.factories import PASSWORD, make_conversation

pytestmark = pytest.mark.django_db(transaction=True)


def signed_in(user: User) -> Client:
    client = Client()
    assert client.login(username=user.username, password=PASSWORD)
    return client


async def answer_to(ask: str, conversation: Conversation, user: User, *, accept: str = "") -> str:
    """Return the frame that a socket of this person answers with."""
    session = (await database_sync_to_async(signed_in)(user)).cookies["sessionid"].value
    headers = {"origin": "http://localhost", "host": "localhost", "cookie": f"sessionid={session}"}
    headers |= {"accept-language": accept} if accept else {}
    sent = [(name.encode(), value.encode()) for name, value in headers.items()]
    socket = WebsocketCommunicator(application, f"/ws/chats/{conversation.pk}/", headers=sent)
    await socket.connect(timeout=30)
    try:
        await socket.receive_from(timeout=30)
        await socket.send_to(text_data=ask)
        return await socket.receive_from(timeout=30)
    finally:
        await socket.disconnect()


@pytest.mark.parametrize(("accept", "shown"), [("de,en;q=0.5", "diese Aktion"), ("fr", "there is no such action")])
async def test_frames_come_in_the_language_of_the_page(alice, accept, shown):
    conversation = await database_sync_to_async(make_conversation)(owner=alice)

    frame = await answer_to('{"action": "dance"}', conversation, alice, accept=accept)

    assert shown in frame


async def test_language_that_a_user_chose_counts_on_every_device(alice):
    await User.objects.filter(pk=alice.pk).aupdate(language="de")
    conversation = await database_sync_to_async(make_conversation)(owner=alice)

    client = await database_sync_to_async(signed_in)(alice)
    page = await database_sync_to_async(client.get)(f"/chats/{conversation.pk}/", headers={"accept-language": "en"})
    frame = await answer_to("no JSON", conversation, alice, accept="en")

    assert '<html lang="de"' in page.content.decode()
    assert "Das war kein JSON." in frame


async def test_blocks_are_drawn_in_the_language_of_who_asked(upstream, conversation):
    hold = [{"kind": "stall", "at": "event:20", "name": "go"}]
    upstream.script([{"content": "```\nx = 1\n```\n\n" + "More.\n\n" * 12, "chunk": 4, "faults": hold}])
    async with socket_of(conversation, conversation.owner) as socket:
        asking = asyncio.create_task(ask(conversation, language="de"))
        await frames_until(socket, ">Kopieren</button>")
        upstream.release("go")
        await asking


async def test_stored_texts_are_english():
    call = ToolCall(call_id="c1", name="fly", arguments="{}", step=0)

    with override("de"):
        finished = await execute_tool_call(
            call, None, scratchpad=Scratchpad(), conversation_id=uuid.uuid4(), ask=AsyncMock()
        )

        shown = translate_stored(finished.trace.error or "")

    assert finished.trace.error == "The model asked for a tool that doesn't exist: fly"
    assert shown == "Das Modell wollte ein Werkzeug benutzen, das es nicht gibt: fly"
