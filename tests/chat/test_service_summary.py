"""A service's own summary of its thinking: a status line for those who may read thinking, and nothing that is kept."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from channels.db import database_sync_to_async
from django.conf import LazySettings
from django.db import connection

from accounts.models import User
from chat import eventlog
from chat.cards.build import live_answer_card
from chat.live.turn import LiveTurn
from chat.models import Conversation, Turn
from chat.socket.frames import PageFrames
from chat.turns.manager import runner
from chat.validation import Message
from reasoning.events import Reasoning
from reasoning.visibility import Visibility
from tests.chat.api_client import client_of
from tests.chat.asking import events_of, following, until
from tests.chat.audits import audit
from tests.contract_server.fixture import ContractHandle
from tests.live_turns import make_live_turn, published

pytestmark = pytest.mark.django_db(transaction=True)
CANARY = "wombat canary 7718"
HOLD = [{"kind": "stall", "at": "event:7", "name": "go"}]  # the summary has come, its item is not finished
REPLY = {
    "items": [{"type": "reasoning", "summary": [f"**{CANARY}**"]}, {"type": "message", "text": "Forty-two."}],
    "chunk": "whole",
    "faults": HOLD,
}


@pytest.fixture(autouse=True)
def _responses(upstream: ContractHandle, settings: LazySettings) -> None:
    settings.OPENAI_API, settings.OPENAI_MODEL = "responses", "gpt-5-mini"
    upstream.script([REPLY])


@asynccontextmanager
async def thinking_aloud(upstream: ContractHandle, conversation: Conversation) -> AsyncIterator[LiveTurn]:
    """Hold a turn where its service has just said what it thinks about; at the end let it finish."""
    async with following(conversation) as messages:
        accepted = await runner.submit(conversation.pk, Message("Why?"))
        live = runner.live(conversation.pk)
        assert accepted.turn_id is not None
        assert live is not None
        while not live.thought_line:
            await until(messages, "status")
        yield live
        upstream.release("go")
        await runner.finished(conversation.pk, accepted.turn_id)


def stored_bytes() -> bytes:
    """Return the files of the database; of a server's database the audit reads the tables instead."""
    path = Path(str(connection.settings_dict["NAME"]))
    return b"".join(file.read_bytes() for file in path.parent.glob(f"{path.name}*")) if path.is_absolute() else b""


@pytest.mark.spec("product 7")
async def test_it_stands_nowhere_at_rest(
    upstream: ContractHandle, alice: User, conversation: Conversation, caplog: pytest.LogCaptureFixture
) -> None:
    async with thinking_aloud(upstream, conversation) as live:
        assert live.thought_line == CANARY
        assert await database_sync_to_async(audit)("--canary", CANARY) == ""

    turn = await Turn.objects.aget()
    assert turn.status == "completed"
    assert await database_sync_to_async(audit)("--canary", CANARY) == ""
    assert CANARY.encode() not in await database_sync_to_async(stored_bytes)()
    assert CANARY not in caplog.text
    assert live.thought_line == ""


@pytest.mark.spec("002 decision 2")
async def test_sealed_item_alone_holds_it_as_it_came(upstream: ContractHandle, conversation: Conversation) -> None:
    async with thinking_aloud(upstream, conversation):
        pass

    turn = await Turn.objects.aget()
    holding = [event for event in await events_of(turn) if CANARY in repr(event)]
    assert [event.kind for event in holding if isinstance(event, Reasoning)] == ["item"]
    assert len(holding) == 1
    assert await database_sync_to_async(eventlog.thinking_for)(turn, Visibility(thinking="whole")) is None


@pytest.mark.spec("product 4")
@pytest.mark.parametrize(
    ("flags", "is_told"),
    [
        ({}, True),
        ({"REASONING_THINKING_FOR_USERS": "full"}, True),
        ({"REASONING_THINKING_FOR_USERS": "hidden"}, False),
        ({"REASONING_SHOW_SUMMARY_DEFAULT": False}, False),
        ({"REASONING_ENABLED": False}, False),
    ],
)
async def test_page_tells_it_to_those_who_may_read_thinking(
    upstream: ContractHandle,
    alice: User,
    conversation: Conversation,
    settings: LazySettings,
    flags: dict[str, Any],
    is_told: bool,
) -> None:
    for name, value in flags.items():
        setattr(settings, name, value)
    client = await client_of(alice, by="session")

    async with thinking_aloud(upstream, conversation):
        answer = await client.get(f"/chats/{conversation.pk}/")

    assert 'data-status="streaming"' in answer.content.decode()
    assert (CANARY in answer.content.decode()) is is_told


@pytest.mark.parametrize(
    ("thinking", "is_shown"), [("whole", True), ("excerpt", True), ("withheld", False), ("none", False)]
)
async def test_frames_hold_it_for_those_who_may_read_thinking(thinking: Any, is_shown: bool) -> None:
    turn = make_live_turn()
    turn.show_status("Busy…")
    turn.show_thought_line(CANARY)
    events = await published(turn)
    sees = Visibility(thinking=thinking)

    card = live_answer_card(turn, sees)
    frames = PageFrames(sees)
    drawn = [frame for event in events for frame in frames.draw(turn, event)]
    sent = "".join([*drawn, *frames.snapshot(turn), *frames.append_live(turn)])

    assert card.status_text == (CANARY if is_shown else "Busy…")
    assert (CANARY in sent) is is_shown


async def test_events_of_the_api_leave_it_out(
    upstream: ContractHandle, alice: User, conversation: Conversation
) -> None:
    upstream.script([REPLY | {"faults": []}])
    client = await client_of(alice)
    url = f"/api/chats/{conversation.pk}/messages/"

    answer = await client.post(
        url, json.dumps({"text": "Why?"}), content_type="application/json", headers={"Accept": "text/event-stream"}
    )
    sent = b"".join([piece async for piece in answer]).decode()

    assert "Forty-two." in sent
    assert CANARY not in sent
