"""The seam of an answer that was cut off: what begins a block begins a line, and nothing else is changed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reasoning.stream.continuation import ContinuedText

TABLE = "| a | b |\n|---|---|\n"


def joined(before: str, pieces: list[str]) -> str:
    continuation = ContinuedText(before)
    return before + "".join([*map(continuation.feed, pieces), continuation.finish()])


@pytest.mark.parametrize(
    ("before", "text"),
    [
        (f"{TABLE}| 1 | 2 |", "| 3 | 4 |"),
        (f"{TABLE}| 1 | 2 | ", "|3|4|"),
        ("| a | b |", "|---|---|"),
        ("- one", "- two"),
        ("1. one", "12) two"),
        ("Some text.", "### A heading"),
        ("Some text.", "> A quotation"),
        ("Some text.", "```python"),
        ("```python\nx = 1", "```"),
        ("~~~\nx = 1", "~~~\n\nAfter"),
    ],
)
def test_what_begins_a_block_begins_a_line(before, text):
    assert joined(before, [text]) == f"{before}\n{text}"


@pytest.mark.parametrize(
    ("before", "text"),
    [
        ("It is a conti", "nuation"),
        (f"{TABLE}| 1 ", "| 2 |"),
        (f"{TABLE}| 1 |", " 2 |"),
        (f"{TABLE}| 1 |", "| 3 |"),  # an empty cell of the same row
        ("a or b is a |", "| b"),
        ("The range of 3", "-5 is"),
        ("Version 1", ".5 is"),
        ("All where x ", "> 5 is"),
        ("It is 8 ", "- 3"),
        ("Version ", "1.5 is"),
        ("```python\nx = 1 ", "- y"),
        ("```\n| a |", "| b |"),
        ("- one\n", "- two"),
        ("", "- one"),
        ("The sign #", "#"),
        ("It is **bo", "ld**"),
    ],
)
def test_other_text_is_joined_as_it_is(before, text):
    assert joined(before, [text]) == before + text


@given(
    before=st.sampled_from(["", "Text", "Text\n", f"{TABLE}| 1 | 2 |", "```\ncode", "1. one"]),
    pieces=st.lists(st.text("#|-*+>`~1.) a\n", max_size=4), max_size=6),
)
def test_any_chunking_gives_the_same_text(before, pieces):
    assert joined(before, pieces) == joined(before, ["".join(pieces)])
    assert joined(before, pieces).replace("\n", "") == (before + "".join(pieces)).replace("\n", "")
