"""The layers behind one another: what each keeps out by itself, and where finished blocks are rendered."""

from __future__ import annotations

import asyncio
import threading
import uuid

import pytest
from django.utils import timezone

from chat.html import render, render_markdown
from chat.html.tree import parse, serialize
from chat.live import LiveTurn
from chat.liveblocks import SHORT_CHARS
from tests.chat.test_drawing import rendered_in as rendered_in  # the fixture

FORGED = '<p id="x" hx-get="/y" style="a" onclick="b" class="c">words <script>alert(1)</script><img src="/z"></p>'


def test_tree_keeps_what_is_listed_though_the_sanitizer_let_all_through() -> None:
    html = serialize(parse(FORGED, {"p": frozenset({"class"})}).children)

    assert html == '<p class="c">words alert(1)</p>'


def test_markup_that_the_sanitizer_let_through_does_not_reach_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(render, "sanitize_html", lambda _html, **_options: FORGED)
    render.forget()

    html = render_markdown("anything")
    render.forget()

    assert html == '<p dir="auto">words alert(1)</p>'


async def test_long_blocks_of_a_running_answer_are_not_rendered_in_the_loop(
    rendered_in: set[threading.Thread],
) -> None:
    ids = {"id": uuid.uuid4(), "conversation_id": uuid.uuid4()}
    live = LiveTurn(
        **ids, owner_id=1, number=1, question="q", model="m", started_at=timezone.now(), tell=lambda _: None
    )
    pump = asyncio.create_task(live.pump())

    live.show_answer(f"*One* {'word ' * SHORT_CHARS}\n\ntwo\n\nthree\n\nfour\n\n")
    async with asyncio.timeout(10):
        await live.settle()
    pump.cancel()

    assert "<em>One</em> word" in "".join(live.frozen)
    assert rendered_in
    assert all(thread.name.startswith("render") for thread in rendered_in)
