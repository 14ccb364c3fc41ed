"""What of a growing answer travels to one page, and how little of it twice. Ui bar S8."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any, cast

import pytest
from django.utils.safestring import SafeString

from benchmarks.texts import answer
from chat.html import render_markdown, split_blocks
from chat.notices import BlockDone
from chat.textframes import TextFrames, last_blocks
from tests.chat.card_samples import HOSTILE

TAIL = "m-a1-tail"
TURN = cast("Any", SimpleNamespace(public_id="a1"))
TEXTS = [
    "A paragraph of plain words, as most of them are.\n\n",
    "Some **words of a sentence** that [1] are _bold or so_, and 5 < 6 && `code of it`.\n\n",
    "- the first of several points\n- the second of several points\n\n",
    "| Name of a test | Limit of it |\n|---|---|\n| Debt service coverage | 1.20 or more |\n\n",
    "```python\nheadroom = round(100 * (1.31 - 1.20) / 1.20, 1)  # in percent\n```\n\n",
    "The same words, the same words, the same words and then others.\n\n",
    "Words before one 😀 and words behind it, which a browser counts as two.\n\n",
]


def block(html: str, tail: str, text: str, before: str = "One. tw") -> BlockDone:
    return BlockDone(TURN, SafeString(html), tail, text, before)


def drawn(frame: str, open_text: str) -> str:
    """Make HTML of a frame and the open text, as the page does."""
    length, *parts, _kept, _more = json.loads(frame)
    units = open_text.encode("utf-16-le")
    assert length == len(units) // 2
    at, html = 0, ""
    for part in parts:
        if isinstance(part, str):
            html += part
        else:
            taken = units[2 * at : 2 * (at + part)].decode("utf-16-le") if part > 0 else ""
            assert not set(taken) & set("<&")
            html, at = html + taken, at + abs(part)
    return html


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
    ("before", "tail", "text", "said"),
    [
        ("One. tw", "two beg", "o beg", [7, 2, "o beg"]),
        ("One. 😀 two", "😀 two beg", " beg", [11, 6, " beg"]),
        ("One. tw", "beg", "one.\n\nbeg", [7, 0, "beg"]),
        ("One.\r\n\r\ntw", "\n\ntwo", "o", [10, 0, "\n\ntwo"]),
        ("One. tw", "", "one.\n\n", [7, 0, ""]),
        ("One. tw", HOSTILE, HOSTILE, [7, 0, HOSTILE]),
    ],
)
def test_finished_block_says_what_its_page_keeps_of_the_open_one(
    before: str, tail: str, text: str, said: list[Any]
) -> None:
    texts = TextFrames()
    texts.piece(TAIL, 1, before)

    frame = texts.block(block("<p>One.</p>", tail, text, before))

    assert json.loads(frame) == [said[0], "<p>One.</p>", *said[1:]]
    assert not set("<>&") & set(frame.replace(',"<p>One.</p>",', "", 1))
    assert texts.piece(TAIL, 1, "in") == '"in"'


@pytest.mark.parametrize("text", [*TEXTS, "".join(TEXTS), answer(3_000), HOSTILE])
def test_block_is_drawn_from_its_markup_and_the_words_that_are_there(text: str) -> None:
    html = render_markdown(text)

    assert drawn(last_blocks(text, html), text) == html


def test_answer_without_a_word_ends_as_any_other() -> None:
    assert drawn(last_blocks("", ""), "") == ""
    assert drawn(last_blocks("Held back.", ""), "Held back.") == ""


def test_words_that_the_page_has_are_not_sent_again() -> None:
    plain = "Words that nobody marked in any way. " * 20

    frame = last_blocks(plain, render_markdown(plain))

    assert len(frame) < 60
    assert sum(len(last_blocks(one, render_markdown(one))) for one in split_blocks(answer(10_000))) < 18_000


@pytest.mark.parametrize("page_has", ["", "other words than those"])
def test_words_that_the_page_lacks_are_sent(page_has: str) -> None:
    html = render_markdown("Quite a few words that come at once.")

    assert drawn(last_blocks(page_has, html), page_has) == html
