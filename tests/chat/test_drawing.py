"""Markdown is rendered off the event loop: a long conversation that is opened must not hold up everybody's streams."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from typing import Any

import pytest
from channels.db import database_sync_to_async
from django.test import AsyncClient

from accounts.models import User
from chat import drawing, liveblocks, log
from chat.html import render
from chat.models import Conversation, Turn
from tests.chat.test_api import client_of
from tests.chat.test_socket import frames_until
from tests.chat.test_socket import page as socket_of
from tests.contract_server.fixture import ContractHandle
from tests.factories import make_turn, open_turn

pytestmark = pytest.mark.django_db(transaction=True)
ANSWER = "*One* paragraph.\n\n- a list\n- of two\n\nThe end."


@pytest.fixture
def rendered_in(monkeypatch: pytest.MonkeyPatch) -> set[threading.Thread]:
    """Return the threads that rendered or cited anything, from a cold start."""
    threads: set[threading.Thread] = set()

    def watched(function: Callable[..., str]) -> Callable[..., str]:
        def run(*args: Any) -> str:
            threads.add(threading.current_thread())
            return function(*args)

        return run

    render.forget()
    monkeypatch.setattr(render, "_block", watched(render._block))
    monkeypatch.setattr(render, "cite", watched(render.cite))
    return threads


async def test_opening_a_page_renders_nothing_in_the_loop(
    alice: User, conversation: Conversation, rendered_in: set[threading.Thread]
) -> None:
    await database_sync_to_async(make_turn)(conversation, answer=ANSWER)
    client: AsyncClient = await client_of(alice, by="session")

    answer = await client.get(f"/chats/{conversation.pk}/")

    assert "<em>One</em>" in answer.content.decode()
    assert rendered_in
    assert threading.current_thread() not in rendered_in


async def test_sync_renders_nothing_in_the_loop(
    alice: User, conversation: Conversation, rendered_in: set[threading.Thread]
) -> None:
    await database_sync_to_async(make_turn)(conversation, answer=ANSWER)

    async with socket_of(conversation, alice) as socket:
        await socket.send_to('{"action": "sync", "last": ""}')
        await frames_until(socket, "<em>One</em>")

    assert threading.current_thread() not in rendered_in


async def test_end_of_a_long_turn_renders_nothing_in_the_loop(
    upstream: ContractHandle, alice: User, conversation: Conversation, rendered_in: set[threading.Thread]
) -> None:
    paragraph = "And so on. " * liveblocks.SHORT_CHARS
    upstream.script([{"content": "\n\n".join([paragraph] * 3)}])
    assert 3 * len(paragraph) > drawing.SHORT_CHARS

    async with socket_of(conversation, alice) as socket:
        await socket.send_to(json.dumps({"text": "Why?"}))
        await frames_until(socket, "Answer ready")

    assert rendered_in
    assert threading.current_thread() not in rendered_in


async def test_turn_that_ends_while_its_page_is_read_is_shown_as_it_ended(
    alice: User, conversation: Conversation, monkeypatch: pytest.MonkeyPatch
) -> None:
    turn: Turn = await database_sync_to_async(open_turn)(conversation.pk, text="Why?")
    client: AsyncClient = await client_of(alice, by="session")
    read_turns = log.turns

    def ends_after_the_first_look(conversation_id: object, **window: object) -> tuple[log.TurnRows, ...]:
        rows = read_turns(conversation.pk)
        log.close_turn(turn, [], status="completed")
        return rows

    monkeypatch.setattr(log, "turns", ends_after_the_first_look)
    answer = await client.get(f"/chats/{conversation.pk}/")

    assert 'data-status="streaming"' not in answer.content.decode()
