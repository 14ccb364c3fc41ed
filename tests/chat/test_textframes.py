"""What of a growing answer travels to one page, and how little of it twice. Ui bar S8."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any, cast

import pytest
from django.utils.safestring import SafeString

from chat.notices import BlockDone
from chat.textframes import TextFrames
from tests.chat.card_samples import HOSTILE

TAIL = "m-a1-tail"
TURN = cast("Any", SimpleNamespace(public_id="a1"))


def block(html: str, tail: str, text: str) -> BlockDone:
    return BlockDone(TURN, SafeString(html), tail, text)


def test_piece_that_follows_travels_alone() -> None:
    texts = TextFrames()

    first, second = texts.piece(TAIL, 1, "One "), texts.piece(TAIL, 2, "two")

    assert json.loads(first) == {"id": TAIL, "n": 1, "text": "One "}
    assert second == '"two"'


@pytest.mark.parametrize(("element", "n"), [(TAIL, 1), (TAIL, 3), ("m-a1-thinking-text", 2)])
def test_piece_that_follows_something_else_says_where_it_stands(element: str, n: int) -> None:
    texts = TextFrames()
    texts.piece(TAIL, 1, "One ")

    assert json.loads(texts.piece(element, n, "two")) == {"id": element, "n": n, "text": "two"}


def test_piece_alone_cannot_be_taken_for_markup() -> None:
    texts = TextFrames()
    texts.piece(TAIL, 1, "One ")

    frame = texts.piece(TAIL, 2, HOSTILE)

    assert not set("<>&") & set(frame)
    assert json.loads(frame) == HOSTILE


@pytest.mark.parametrize(
    ("tail", "text", "said"),
    [
        ("two beg", "o beg", [2, "o beg"]),
        ("😀 two beg", " beg", [6, " beg"]),
        ("beg", "one.\n\nbeg", [0, "beg"]),
        ("", "one.\n\n", [0, ""]),
        (HOSTILE, HOSTILE, [0, HOSTILE]),
    ],
)
def test_finished_block_says_what_its_page_keeps_of_the_open_one(tail: str, text: str, said: list[Any]) -> None:
    texts = TextFrames()
    texts.piece(TAIL, 1, "One. tw")

    stays, done = texts.block(block("<p>One.</p>", tail, text))

    assert json.loads(stays) == said
    assert not set("<>&") & set(stays)
    assert done == f'<div hx-swap-oob="beforebegin:#{TAIL}"><p>One.</p></div>'
    assert texts.piece(TAIL, 1, "in") == '"in"'
