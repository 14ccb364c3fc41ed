"""What a page says while the turn that it shows can't be saved."""

from __future__ import annotations

import pytest
from django.db import OperationalError

from chat.eventlog import write
from chat.models import Conversation
from chat.turns import heartbeat
from tests.chat.asking import ended, send
from tests.chat.sockets import frames_until, socket_of
from tests.contract_server.fixture import ContractHandle

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.engine]


async def test_page_says_that_its_answer_is_not_saved_until_it_is(
    upstream: ContractHandle, conversation: Conversation, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unavailable(*_args: object) -> None:
        raise OperationalError("unavailable")

    monkeypatch.setattr(heartbeat, "CHECKPOINT_S", 0.02)
    hold = [{"kind": "stall", "at": "event:4", "name": "go"}]
    upstream.script([{"content": "So far. And more of it.", "chunk": "word", "faults": hold}])
    async with socket_of(conversation, conversation.owner) as socket:
        await send(conversation, "Why?")
        await frames_until(socket, "So far")
        with monkeypatch.context() as outage:
            outage.setattr(write, "save_checkpoints", unavailable)
            await frames_until(socket, "Database unavailable")
        await frames_until(socket, "Writing…")
        upstream.release("go")
        await frames_until(socket, "Answer ready")

    assert (await ended(conversation)).status == "completed"
