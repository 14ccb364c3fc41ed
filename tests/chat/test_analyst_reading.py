"""How the offline analyst reads: sentences, rows and quotations, all verbatim; and what a question asks for."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chat.providers.analyst.passages import Passage, split_sentences
from chat.providers.analyst.question import read_question
from chat.providers.analyst.quoting import MAX_QUOTE_CHARS, quotation


@pytest.mark.parametrize(
    ("paragraph", "expected"),
    [
        ("It was made in the U.S. District Court ruled. Then it ended.", 2),
        ("A.M. Best Co. rates us. Moody's does too.", 2),
        ("Apple Inc. The end came.", 1),
        ("See Note No. 5 for more. It is long.", 2),
        ("He said “Go.” They went. Sales rose 3.5 percent.", 3),
        ("Sales fell 2.0% to $1.2 billion. Costs rose.", 2),
        ("one line without an end", 1),
    ],
)
def test_sentences_end_where_sentences_end(paragraph: str, expected: int) -> None:
    assert len(list(split_sentences(paragraph))) == expected


@settings(max_examples=100, deadline=None)
@given(st.text(alphabet="aB1 .|\n“”\"'[]$%<>*", max_size=300))
def test_every_piece_is_verbatim(body: str) -> None:
    one = Passage(1, "C", "10-K", None, None, "Item 1", "/f", body)

    assert all(piece.text in body for piece in one.pieces)


@settings(max_examples=100, deadline=None)
@given(st.text(alphabet=st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=900))
def test_quotation_is_never_too_long_and_holds_no_marker(body: str) -> None:
    shown = quotation(body, frozenset({"a"}))

    assert len(shown) <= MAX_QUOTE_CHARS + 8
    assert "[1]" not in quotation(f"{body} [1] more", frozenset())


def test_long_quotation_keeps_the_part_that_was_asked_for() -> None:
    body = "filler words " * 60 + "the crew counted 77 seals " + "more filler " * 60

    shown = quotation(body, frozenset({"seal", "crew"}))

    assert "77 seals" in shown
    assert shown.startswith('"… ')


@pytest.mark.parametrize(
    ("asked", "kind"),
    [
        ("How many ferries?", "number"),
        ("How much did fuel cost?", "money"),
        ("What share of revenue came from tickets?", "percent"),
        ("When was it built?", "date"),
        ("Who is the captain?", "person"),
        ("Where is the yard?", "place"),
        ("Why did hulls leak?", "reason"),
        ("Describe the fleet", "any"),
    ],
)
def test_kind_of_answer_is_read_off_the_question(asked: str, kind: str) -> None:
    assert read_question(asked).kind == kind
