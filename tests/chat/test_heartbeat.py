"""What a page says while the turn that it shows cannot be kept."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Collection
from typing import Any, cast

import pytest
from django.db import OperationalError
from django.utils import timezone

from chat import heartbeat
from chat.heartbeat import NOT_KEPT, Entry
from chat.live import LiveTurn
from chat.models import Turn
from chat.notices import Notice, StatusChanged
from chat.turns import RunningTurn
from tests.chat.two_processes import until_it_holds


def live_turn(told: list[Notice]) -> LiveTurn:
    return LiveTurn(
        id=uuid.uuid4(),
        conversation_id=uuid.uuid4(),
        owner_id=1,
        number=1,
        question="Why?",
        model="m",
        started_at=timezone.now(),
        tell=told.append,
    )


def test_trouble_stays_on_the_status_line_until_it_is_over() -> None:
    told: list[Notice] = []
    live = live_turn(told)
    live.show_status("Thinking…")
    for _twice in range(2):
        live.show_trouble("Trouble.")
        live.show_status("Writing…", aloud=True)

    during = live.status_text, live.status_is_aloud
    live.show_trouble("")
    live.show_trouble("")

    assert during == ("Trouble.", True)
    assert (live.status_text, live.status_is_aloud) == ("Writing…", True)
    assert [type(notice) for notice in told] == [StatusChanged] * 3


async def test_page_says_that_its_answer_is_not_kept_until_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    live = live_turn([])
    entry = Entry(live, Turn(pk=live.id), cast("RunningTurn", None))
    live.show_status("Writing…")
    live.show_answer("So far.")
    is_away, beats = True, list[bool]()

    def keep(running: Collection[uuid.UUID], released: dict[uuid.UUID, Any]) -> set[uuid.UUID]:
        beats.append(is_away)
        if is_away:
            raise OperationalError("away")
        return set()

    monkeypatch.setattr(heartbeat, "_keep", keep)
    monkeypatch.setattr(heartbeat, "CHECKPOINT_S", 0)
    said = []
    entries = {live.conversation_id: entry}
    keeping = asyncio.create_task(heartbeat.keep_alive(entries))
    for is_away in (True, False):  # noqa: B007 - what the database does
        beats.clear()
        await until_it_holds(lambda: len(beats) > 1 or keeping.done())
        said.append(live.status_text)
    entries.clear()
    await keeping

    assert said == [NOT_KEPT, "Writing…"]
    assert entry.released() is None
