"""Code in Markdown as the normaliser sees it: where it is, and whether it closes or breaks."""

from __future__ import annotations

import pytest

from reasoning.stream.code_spans import CodeEnd, CodeTracker
from tests.reasoning.streamed import two_ways


@pytest.mark.spec("normaliser 9")
@pytest.mark.parametrize(
    ("text", "is_inside"),
    [
        ("plain ", False),
        ("a `", True),
        ("a `b` ", False),
        ("a ``b` ", True),
        ("a `b\nc ", True),
        ("a `b\n\nc ", False),
        ("a `b\n \t\nc ", False),
        ("```\ncode ", True),
        ("```py", True),
        ("```\ncode\n```\n", False),
        ("```\ncode\n``` x\n", True),
        ("````\ncode\n```\n", True),
        ("~~~\ncode\n```\n", True),
        ("~~~\ncode\n~~~~\n", False),
        ("  > ```\ncode\n", True),
        ("text ~~~\n", False),
        ("```a` b ", True),
        ("```a``` b ", False),
        ("a `b\n```\ncode\n```\nc ", False),
    ],
)
def test_position_does_not_depend_on_cuts(text: str, is_inside: bool) -> None:
    for pieces in two_ways(text):
        code = CodeTracker()
        for piece in pieces:
            code.feed(piece)
            code.in_fence()
        assert code.is_inside() is is_inside


@pytest.mark.spec("normaliser 9")
@pytest.mark.parametrize(
    ("before", "after", "end", "verdict"),
    [
        ("a `", "b` c", 2, CodeEnd.CLOSED),
        ("a ``", "b` c`` d", 6, CodeEnd.CLOSED),
        ("a `", "b\n\nc`", 2, CodeEnd.BROKEN),
        ("```\n", "a\n```\nb", 6, CodeEnd.CLOSED),
        ("```\n", "a\n\n`b` ", 7, None),
    ],
)
def test_end_of_code_is_found(before: str, after: str, end: int, verdict: CodeEnd | None) -> None:
    code = CodeTracker()
    code.feed(before)
    assert code.is_inside()

    assert code.watch(after) == (end, verdict)


@pytest.mark.spec("normaliser 9")
@pytest.mark.parametrize(
    ("before", "after", "verdict"),
    [
        ("`", "a`", CodeEnd.CLOSED),
        ("```\n", "a\n```", CodeEnd.CLOSED),
        ("```\n", "a", CodeEnd.BROKEN),
        ("`", "a``", CodeEnd.BROKEN),
    ],
)
def test_end_of_the_text_decides(before: str, after: str, verdict: CodeEnd) -> None:
    code = CodeTracker()
    code.feed(before)
    code.is_inside()
    code.watch(after)

    assert code.finish() is verdict
