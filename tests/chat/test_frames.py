"""What a page is sent of thinking that is still coming is what its viewer may read, and no more."""

from __future__ import annotations

import json
import uuid
from datetime import UTC, datetime

import pytest

from chat.frames import PageFrames, visible_thinking
from chat.live import LiveTurn
from chat.notices import OpenText, ThinkingText
from reasoning.policy import EXCERPT_CHARS, TRUNCATED, Visibility


@pytest.fixture
def turn() -> LiveTurn:
    ids = {"id": uuid.uuid4(), "conversation_id": uuid.uuid4()}
    started = datetime(2026, 1, 1, tzinfo=UTC)
    return LiveTurn(**ids, owner_id=1, number=1, question="q", model="m", started_at=started, tell=lambda notice: None)


@pytest.mark.spec("product 4")
def test_live_excerpt_ends_with_its_mark_once(turn: LiveTurn) -> None:
    sees = Visibility(thinking="excerpt")
    pieces = [ThinkingText(turn, n, n * 300, "x" * 300) for n in range(5)]

    shown = "".join(visible_thinking(piece, sees) for piece in pieces)

    assert shown == "x" * EXCERPT_CHARS + TRUNCATED


@pytest.mark.spec("product 4")
@pytest.mark.parametrize("thinking", ["withheld", "none"])
def test_live_thinking_that_is_withheld_is_not_sent(turn: LiveTurn, thinking: str) -> None:
    frames = PageFrames(Visibility(thinking=thinking))  # type: ignore[arg-type]
    turn.thinking.append("quokka")

    assert frames.open_thinking(turn) == []
    assert frames.draw(ThinkingText(turn, 1, 0, "quokka")) == []


def test_piece_after_a_snapshot_says_where_it_stands(turn: LiveTurn) -> None:
    frames = PageFrames(Visibility())
    frames.draw(OpenText(turn, 1, "One "))

    frames.snapshot(turn)
    [piece] = frames.draw(OpenText(turn, 2, "two"))

    assert json.loads(piece)["n"] == 2
    assert frames.draw(OpenText(turn, 3, " three")) == ['" three"']
