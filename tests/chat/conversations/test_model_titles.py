"""Titles that the model writes: after the first answer, where the site wants them and nobody has named the chat."""

import asyncio
from typing import Any

import pytest
from channels.db import database_sync_to_async

from chat.conversations import actions
from tests.chat.asking import ask
from tests.chat.sockets import frames_until, socket_of
from tests.factories import SECRET

pytestmark = pytest.mark.django_db(transaction=True)
ANSWER, MORE = {"content": "Forty turbines."}, {"content": "More."}


def titled(content: str, **more: Any) -> dict[str, Any]:
    """Return the reply to the request for a title, whichever request comes first."""
    return {"content": content, "match": {"last_user_contains": "Forty turbines."}, **more}


async def test_first_answer_brings_a_title_to_open_pages(upstream, conversation, settings):
    settings.MODEL_TITLES = True
    upstream.script([ANSWER, titled(f'"Orders of {SECRET} turbines."', reasoning="Short."), MORE])

    async with socket_of(conversation, conversation.owner) as socket:
        await ask(conversation, "How many turbines?")
        await frames_until(socket, "Orders of [redacted] turbines")
    await ask(conversation, "And more?")

    await conversation.arefresh_from_db()
    assert conversation.title == "Orders of [redacted] turbines"
    assert len(upstream.requests()) == 3
    body = upstream.requests()[1]["body"]
    assert "tools" not in body
    assert "Forty turbines." in str(body["messages"])


async def test_title_of_its_owner_is_never_replaced(upstream, conversation, settings):
    settings.MODEL_TITLES = True
    hold = [{"kind": "slow_first_token", "name": "go"}]
    upstream.script([ANSWER, titled("Turbine orders", faults=hold), MORE])
    await ask(conversation, "How many turbines?")
    await asyncio.to_thread(upstream.wait_for, held="go")

    await database_sync_to_async(actions.rename)(conversation, "Mine")
    upstream.release("go")
    await ask(conversation, "And more?")

    await conversation.arefresh_from_db()
    assert conversation.title == "Mine"


@pytest.mark.spec("product 33")
async def test_thought_in_the_marks_of_a_family_is_no_title(upstream, conversation, settings):
    settings.MODEL_TITLES, settings.OPENAI_MODEL = True, "granite-3.3-8b-instruct"
    said = "Here is my thought process: short. Here is my response: Turbine orders"
    upstream.script([ANSWER, titled(said), MORE], models={"granite-3.3-8b-instruct": "openai-chat"})

    async with socket_of(conversation, conversation.owner) as socket:
        await ask(conversation, "How many turbines?")
        await frames_until(socket, "Turbine orders")
    await ask(conversation, "And more?")

    await conversation.arefresh_from_db()
    assert conversation.title == "Turbine orders"


@pytest.mark.parametrize("said", ["One line.\nAnd another.", "word " * 13, ""])
async def test_title_that_is_none_is_ignored(upstream, conversation, settings, said):
    settings.MODEL_TITLES = True
    upstream.script([ANSWER, titled(said), MORE])

    await ask(conversation, "How many turbines?")
    await asyncio.to_thread(upstream.wait_for, ended=2)
    await ask(conversation, "And more?")

    await conversation.arefresh_from_db()
    assert conversation.title == "How many turbines?"


async def test_nothing_more_is_read_of_an_answer_that_is_too_long(upstream, conversation, settings):
    settings.MODEL_TITLES = True
    stalls = [{"kind": "stall", "at": "before_done", "name": "rest"}]
    upstream.script([ANSWER, titled("word " * 100, faults=stalls), MORE])

    await ask(conversation, "How many turbines?")
    await asyncio.to_thread(upstream.wait_for, closed=2)

    await conversation.arefresh_from_db()
    assert conversation.title == "How many turbines?"
