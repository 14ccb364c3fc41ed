"""Delimiters in a stream: the grammar, partial tags, and seams that must not form one."""

from __future__ import annotations

import pytest

from reasoning.stream.tags import SeamGuard, Tag, TagKind, TagScanner, has_delimiter
from tests.reasoning.streamed import calls_made, two_ways

OPEN, CLOSE, VOID = TagKind.OPEN, TagKind.CLOSE, TagKind.VOID


def scan(*pieces: str) -> list[str | Tag]:
    """Return the tokens, neighbouring texts joined."""
    scanner = TagScanner()
    merged: list[str | Tag] = [""]
    for token in (*(token for piece in pieces for token in scanner.feed(piece)), scanner.finish()):
        last = merged[-1]
        if isinstance(token, str) and isinstance(last, str):
            merged[-1] = last + token
        else:
            merged.append(token)
    return merged


@pytest.mark.spec("normaliser 2")
@pytest.mark.parametrize(
    ("text", "name", "kind"),
    [
        ("<think>", "think", OPEN),
        ("</think>", "think", CLOSE),
        ("<THINKING>", "thinking", OPEN),
        ("</Reasoning   >", "reasoning", CLOSE),
        ("<scratchPad\t>", "scratchpad", OPEN),
        ("<think/>", "think", VOID),
        ("<thinking        />", "thinking", VOID),
        ("</think/>", "think", VOID),
    ],
)
def test_delimiters_are_recognised(text: str, name: str, kind: TagKind) -> None:
    assert scan(f"a{text}b") == ["a", Tag(name, kind, text), "b"]


@pytest.mark.spec("normaliser 2")
@pytest.mark.parametrize(
    "text",
    [
        *("<tag>", "<thinker>", "<think about it>", "< think>", "<think         >", '<think a="b">', "<//think>"),
        *("<think", "a < b > c", "<th\u0131nk>", "<thin\u212a>", "<\u017fcratchpad>"),
    ],
)
def test_everything_else_is_text(text: str) -> None:
    assert scan(text) == [text]


@pytest.mark.spec("normaliser 3")
def test_any_two_way_cut_gives_the_same_tokens() -> None:
    text = "a<thi<think>b</scratchpad   >c<reasoning/>d<think about"

    assert all(scan(*pieces) == scan(text) for pieces in two_ways(text))


@pytest.mark.spec("normaliser 3")
def test_partial_tag_is_released_whole() -> None:
    scanner = TagScanner()

    assert scanner.feed("see <my-") == ["see <my-"]
    assert scanner.feed(" <think") == [" "]
    assert scanner.feed("er>") == ["<thinker>"]


@pytest.mark.spec("normaliser 3")
@pytest.mark.parametrize("text", ["<" * 500, "</scratchpad" + " " * 500, "<thinking        /" * 50])
def test_partial_tag_is_short(text: str) -> None:
    scanner = TagScanner()
    emitted = 0
    for length, char in enumerate(text, start=1):
        emitted += sum(len(str(token)) for token in scanner.feed(char))
        assert length - emitted <= 22


@pytest.mark.parametrize("text", ["<", "<think ", "<think>", "x"])
def test_cost_is_linear(text: str) -> None:
    small, large = (calls_made(lambda n=n: scan(*([text] * n))) for n in (1_000, 4_000))

    assert large < 4.6 * small


@pytest.mark.spec("normaliser 10")
@pytest.mark.parametrize("pieces", [("<thi", "nk>"), ("<", "/", "th", "ink", " ", ">x"), ("a<scratch", "pad/>")])
def test_joined_pieces_form_no_delimiter(pieces: tuple[str, ...]) -> None:
    guard = SeamGuard()
    out = "".join(guard.feed(piece) for piece in pieces)

    assert not has_delimiter(out)
    assert out == "".join(pieces).replace(">", "›")


@pytest.mark.spec("normaliser 10")
def test_guard_leaves_other_text_alone() -> None:
    guard = SeamGuard()
    pieces = ["a <", "b> <thi", "s> <think", "er> x > y"]

    assert [guard.feed(piece) for piece in pieces] == pieces
