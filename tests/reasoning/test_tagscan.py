"""Delimiters in a stream: the grammar, the carry, and what must not be glued together."""

from __future__ import annotations

import pytest

from reasoning.tagscan import GlueGuard, Tag, TagKind, TagScanner, has_delimiter
from tests.reasoning.streamed import calls_made, two_ways

OPEN, CLOSE, VOID = TagKind.OPEN, TagKind.CLOSE, TagKind.VOID


def scan(*pieces: str) -> list[str | Tag]:
    scanner = TagScanner()
    tokens = [token for piece in pieces for token in scanner.feed(piece)]
    return [*tokens, scanner.finish()]


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
    assert scan(f"a{text}b") == ["a", Tag(name, kind, text), "b", ""]


@pytest.mark.spec("normaliser 2")
@pytest.mark.parametrize(
    "text",
    [
        "<tag>",
        "<thinker>",
        "<think about it>",
        "< think>",
        "<think         >",
        '<think a="b">',
        "<//think>",
        "<think",
        "a < b > c",
        "<th\u0131nk>",
        "<thin\u212a>",
        "<\u017fcratchpad>",
    ],
)
def test_everything_else_is_text(text: str) -> None:
    tokens = scan(text)

    assert not any(isinstance(token, Tag) for token in tokens)
    assert "".join(str(token) for token in tokens) == text


@pytest.mark.spec("normaliser 3")
def test_any_two_way_cut_gives_the_same_tokens() -> None:
    text = "a<thi<think>b</scratchpad   >c<reasoning/>d<think about"
    whole = _merged(scan(text))

    for pieces in two_ways(text):
        assert _merged(scan(*pieces)) == whole


@pytest.mark.spec("normaliser 3")
def test_held_candidate_is_let_go_whole() -> None:
    scanner = TagScanner()

    assert scanner.feed("see <my-") == ["see <my-"]
    assert scanner.feed(" <think") == [" "]
    assert scanner.feed("er>") == ["<thinker>"]


@pytest.mark.spec("normaliser 3")
@pytest.mark.parametrize("text", ["<" * 500, "</scratchpad" + " " * 500, "<thinking        /" * 50])
def test_carry_stays_short(text: str) -> None:
    scanner = TagScanner()
    came = 0
    for length, char in enumerate(text, start=1):
        came += sum(len(str(token)) for token in scanner.feed(char))
        assert length - came <= 32


@pytest.mark.parametrize("text", ["<", "<think ", "<think>", "x"])
def test_cost_grows_with_the_length_alone(text: str) -> None:
    small, large = (calls_made(lambda n=n: [scan(*([text] * n))]) for n in (1_000, 4_000))

    assert large < 4.6 * small


@pytest.mark.spec("normaliser 10")
@pytest.mark.parametrize("pieces", [("<thi", "nk>"), ("<", "/", "th", "ink", " ", ">x"), ("a<scratch", "pad/>")])
def test_pieces_are_not_glued_to_a_delimiter(pieces: tuple[str, ...]) -> None:
    guard = GlueGuard()
    out = "".join(guard.pass_on(piece) for piece in pieces)

    assert not has_delimiter(out)
    assert out == "".join(pieces).replace(">", "›")


@pytest.mark.spec("normaliser 10")
def test_guard_leaves_other_text_alone() -> None:
    guard = GlueGuard()
    pieces = ["a <", "b> <thi", "s> <think", "er> x > y"]

    assert [guard.pass_on(piece) for piece in pieces] == pieces


def _merged(tokens: list[str | Tag]) -> list[str | Tag]:
    merged: list[str | Tag] = [""]
    for token in tokens:
        last = merged[-1]
        if isinstance(token, str) and isinstance(last, str):
            merged[-1] = last + token
        else:
            merged.append(token)
    return merged
