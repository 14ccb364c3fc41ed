"""The end of an answer for who saw it grow: the final HTML, whatever its blocks were drawn as. Ui bar S8."""

from __future__ import annotations

import json
import re
import uuid
from typing import Any

import pytest
from django.utils import timezone
from django.utils.safestring import SafeString

from chat.grown import growth
from chat.live import LiveTurn

ONE, TWO, THREE = "<p>One.</p>\n", '<div class="scroll"><p>Two</p><hr></div>\n', "<p>Three &lt;</p>\n"


def live(*frozen: str, tail: str = "Three") -> LiveTurn:
    fields: dict[str, Any] = {"number": 1, "question": "?", "model": "m", "started_at": timezone.now()}
    turn = LiveTurn(id=uuid.uuid4(), conversation_id=uuid.uuid4(), owner_id=1, tell=lambda _notice: None, **fields)
    turn.frozen, turn.tail_pieces = [SafeString(html) for html in frozen], [tail]
    return turn


def test_blocks_that_stay_are_not_sent() -> None:
    grown = growth(live(ONE, TWO), ONE + TWO + THREE)

    assert grown is not None
    assert grown.changed == ""
    assert json.loads(grown.frame) == [5, THREE, 0, 0]


def test_block_that_ends_otherwise_goes_to_its_place() -> None:
    turn = live(ONE * 40, TWO)
    other = '<p dir="auto">Other.</p>\n'

    grown = growth(turn, ONE * 3 + other + ONE * 36 + TWO + THREE)

    assert grown is not None
    place = f'hx-swap-oob="outerHTML:#m-{turn.public_id}-answer>:nth-child(4)"'
    assert grown.changed == f'<p {place} dir="auto">Other.</p>'
    assert json.loads(grown.frame)[1] == THREE


def test_element_without_attributes_is_marked_as_well() -> None:
    grown = growth(live(ONE * 40), ONE * 39 + "<hr>\n")

    assert grown is not None
    assert re.fullmatch(r'<hr hx-swap-oob="[^"]+nth-child\(40\)">', grown.changed)


@pytest.mark.parametrize(
    "html",
    ["", ONE, "text at the top", TWO + ONE + THREE],
    ids=["nothing", "fewer blocks", "no elements", "most of it is other"],
)
def test_answer_that_is_another_one_is_sent_whole(html: str) -> None:
    assert growth(live(ONE, TWO), html) is None


def test_answer_that_came_at_once_is_drawn_in_the_open_block() -> None:
    grown = growth(live(tail=""), ONE)

    assert grown is not None
    assert json.loads(grown.frame) == [0, ONE, 0, 0]
