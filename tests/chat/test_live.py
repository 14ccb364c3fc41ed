"""A turn in memory: what goes wrong while it is drawn holds nobody up, and its steps are told apart."""

from __future__ import annotations

import asyncio
import uuid
from typing import Any

import pytest
from django.utils import timezone

from chat import liveblocks
from chat.live import LiveTurn
from chat.notices import BlockDone, Notice, OpenText
from reasoning.trace import ToolTraceStep, finish, start


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


async def pumped(live: LiveTurn, *pieces: str) -> None:
    pump = asyncio.create_task(live.pump())
    for piece in pieces:
        live.show_answer(piece)
        async with asyncio.timeout(5):
            await live.settle()
    pump.cancel()


def trace_step(tool: str) -> ToolTraceStep:
    return finish(start("c", tool, "{}", at_ms=0, shown=None), at_ms=1, status="ok")


async def test_block_that_cannot_be_cited_is_shown_without_its_citations(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_args: Any) -> None:
        raise ValueError

    monkeypatch.setattr(liveblocks, "render_blocks", broken)
    told: list[Notice] = []

    await pumped(live_turn(told), "*One*\n\ntwo\n\n", "three\n\nfour")

    html = "".join(notice.html for notice in told if isinstance(notice, BlockDone))
    assert "<em>One</em>" in html


async def test_turn_ends_although_a_piece_could_not_be_passed_on() -> None:
    told: list[Notice] = []
    live = live_turn(told)

    def broken_once(notice: Notice) -> None:
        live.tell = told.append
        raise RuntimeError

    live.tell = broken_once
    await pumped(live, "one ", "two")

    assert [notice.text for notice in told if isinstance(notice, OpenText)] == ["two"]


async def test_what_was_told_is_counted() -> None:
    told: list[Notice] = []
    live = live_turn(told)

    await pumped(live, "one\n\ntwo\n\nthree\n\n", "four")

    texts = "".join(notice.text for notice in told if isinstance(notice, BlockDone | OpenText))
    assert live.answer_so_far == texts
    assert live.answer_told == len(texts)


def test_call_id_that_a_server_used_again_leaves_the_earlier_step_alone() -> None:
    live = live_turn([])
    for tool in ("first", "second"):
        live.step_started("call_0", tool)
        live.step_finished("call_0", trace_step(tool))

    assert [step.trace.tool for step in live.steps if step.trace] == ["first", "second"]


def test_name_of_a_running_tool_is_redacted_and_cut() -> None:
    live = live_turn([])
    secret = "sk-" + "a1b2c3d4" * 5

    live.step_started("c", f"{secret} " + "n" * 10_000)

    assert secret not in live.steps[0].tool
    assert len(live.steps[0].tool) <= 120
