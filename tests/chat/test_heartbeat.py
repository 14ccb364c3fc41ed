"""What a page says while the turn that it shows can't be saved."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Collection
from types import SimpleNamespace
from typing import Any, cast

import pytest
from django.db import OperationalError

from chat.models import Turn
from chat.turns import heartbeat
from chat.turns.heartbeat import NOT_SAVED
from chat.turns.run import TurnRun
from tests.live_turns import make_live_turn, published

pytestmark = pytest.mark.engine


async def test_page_says_that_its_answer_is_not_saved_until_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    live = make_live_turn()
    run = SimpleNamespace(live=live, turn=Turn(pk=live.id), has_checkpoint=False)
    live.show_status("Writing…")
    live.show_answer("So far.")
    await published(live)
    is_unavailable, beats = True, list[bool]()

    def save(_running: Collection[uuid.UUID], released: dict[uuid.UUID, Any]) -> set[uuid.UUID]:
        beats.append(bool(released))
        if is_unavailable:
            raise OperationalError("unavailable")
        return set()

    monkeypatch.setattr(heartbeat, "save_heartbeat", save)
    monkeypatch.setattr(heartbeat, "CHECKPOINT_S", 0)
    shown = []
    runs = {live.conversation_id: cast("TurnRun", run)}
    keeping = asyncio.create_task(heartbeat.keep_alive(runs))
    for is_unavailable in (True, False):  # noqa: B007 - read by save()
        beats.clear()
        async with asyncio.timeout(20):
            while len(beats) < 2 and not keeping.done():  # noqa: ASYNC110 - a thread does it
                await asyncio.sleep(0.01)
        await published(live)
        shown.append(live.status_text)
    runs.clear()
    await keeping

    assert shown == [str(NOT_SAVED), "Writing…"]
    assert run.has_checkpoint
