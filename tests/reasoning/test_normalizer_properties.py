"""What holds for any text and any cut: the same channels, nothing lost, nothing leaked, a cost that is linear."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from reasoning.normalizer import Normalizer, normalize_stream
from tests.reasoning.streamed import PIECES, calls_made, channels, of_text, recut, two_ways

CANARY = "Zq7Zq7Zq7"
DELIMITER = re.compile(r"</?(?:think|thinking|reasoning|scratchpad)\s*/?>", re.IGNORECASE)
TOOL = {"tool_calls": [{"index": 0, "id": "c1", "function": {"name": "f", "arguments": "{}"}}]}

texts = st.lists(st.sampled_from(PIECES), max_size=24).map("".join)
plain_texts = st.text(st.sampled_from("ab <>/`\n~thinksratchpad"), max_size=60)
natives = st.sampled_from(["", "", "n", "<think>n", "a</think>b"])
bounded = settings(max_examples=250, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@pytest.mark.spec("003 invariant 3")
@bounded
@given(text=texts, native=natives, hint=st.booleans(), seed=st.integers(0, 10**6))
def test_any_cut_gives_the_same_channels(text: str, native: str, hint: bool, seed: int) -> None:
    deltas = [{"reasoning": native}, {"content": text}]

    assert channels(recut(deltas, seed), starts_in_reasoning=hint) == channels(deltas, starts_in_reasoning=hint)


@bounded
@given(before=texts, after=texts, seed=st.integers(0, 10**6))
def test_any_cut_around_a_tool_call_gives_the_same_channels(before: str, after: str, seed: int) -> None:
    deltas = [{"content": before}, TOOL, {"content": after}]

    assert channels(recut(deltas, seed)) == channels(deltas)


@settings(max_examples=40, deadline=None)
@given(text=texts)
def test_every_two_way_cut_gives_the_same_channels(text: str) -> None:
    whole = of_text(text)

    for pieces in two_ways(text):
        assert channels({"content": piece} for piece in pieces) == whole


@pytest.mark.spec("003 invariant 1")
@bounded
@given(text=st.one_of(texts, plain_texts), native=natives, hint=st.booleans())
def test_no_delimiter_is_visible(text: str, native: str, hint: bool) -> None:
    assert not DELIMITER.search(of_text(text, native=native, starts_in_reasoning=hint).visible)


@bounded
@given(text=st.one_of(texts, plain_texts))
def test_answer_goes_through_a_second_time_unchanged(text: str) -> None:
    visible = of_text(text).visible

    assert of_text(visible).visible == visible


@pytest.mark.spec("normaliser 3")
@bounded
@given(
    pieces=st.lists(st.sampled_from([*PIECES[:10], "`", "``", "\n\n", "```\n", "#"]), max_size=24), hint=st.booleans()
)
def test_nothing_is_lost_and_nothing_doubled(pieces: list[str], hint: bool) -> None:
    """Each # becomes a character that occurs once, so that every one of them can be looked for."""
    marks = [chr(0x4E00 + at) for at in range(len(pieces))]
    text = "".join(mark if piece == "#" else piece for piece, mark in zip(pieces, marks, strict=True))
    result = of_text(text, starts_in_reasoning=hint)

    came = result.visible + result.thinking + "".join(result.scratchpads)
    assert sorted(char for char in came if char in marks) == sorted(char for char in text if char in marks)


@pytest.mark.spec("003 case 5")
@bounded
@given(text=st.text())
def test_text_without_delimiters_comes_out_as_it_went_in(text: str) -> None:
    text = DELIMITER.sub("", text).encode("utf-8", "replace").decode()

    assert normalize_stream([{"content": text}]).visible == text.strip()


@pytest.mark.spec("normaliser 7")
@bounded
@given(before=texts, after=texts, native=natives, hint=st.booleans(), seed=st.integers(0, 10**6))
def test_scratchpad_reaches_no_other_channel(before: str, after: str, native: str, hint: bool, seed: int) -> None:
    text = f"{before}<scratchpad>{CANARY}</scratchpad>{after}"
    result = channels(recut([{"reasoning": native}, {"content": text}], seed), starts_in_reasoning=hint)

    assert CANARY not in result.visible + result.thinking + (result.kept or "")
    assert any(CANARY in pad for pad in result.scratchpads)


@pytest.mark.spec("normaliser 7")
@bounded
@given(before=texts, after=texts, seed=st.integers(0, 10**6))
def test_scratchpad_in_native_text_reaches_no_other_channel(before: str, after: str, seed: int) -> None:
    native = f"{before}<scratchpad>{CANARY}</scratchpad>{after}"
    result = channels(recut([{"thinking": native}, {"content": "x"}], seed))

    assert CANARY not in result.visible + result.thinking + (result.kept or "")


_HARD: dict[str, Callable[[int], str]] = {
    "prose": lambda n: "Net sales rose. " * n,
    "openers": lambda n: "<think>" * n,
    "blocks": lambda n: "<REASONING>" * n,
    "wrong closers": lambda n: "<think>a</thinking>b" * n,
    "mixed openers": lambda n: "<think><REASONING><thinking>" * n,
    "mentions": lambda n: "`<think>` " * n,
    "open spans": lambda n: "a `<think>\n\n" * n,
    "open fences": lambda n: "```py\n<think></think>\n" * n,
    "unequal runs": lambda n: "".join("`" * (1 + at % 40) + "<think></think>x" for at in range(n)),
    "cut delimiters": lambda n: "<thi</think>nk>" * n,
    "scratchpads": lambda n: "<think><scratchpad>a</scratchpad>" * n,
}


@pytest.mark.parametrize("native", ["", "n"])
@pytest.mark.parametrize("text_of", _HARD.values(), ids=_HARD)
@pytest.mark.parametrize("size", [7, 10**9], ids=["streamed", "whole"])
def test_cost_grows_with_the_length_alone(text_of: Callable[[int], str], native: str, size: int) -> None:
    small, large = (calls_made(lambda n=n: _run(text_of(n), native, size)) for n in (200, 800))

    assert large < 4.6 * small


_BAD = {
    "angles": "<" * 1_000_000,
    "plain": "x" * 1_000_000,
    "openers": "<think>" * 20_000,
    "blanks": "<think" + " " * 100_000 + ">",
    "surrogates": "\ud800" * 100_000,
    "line breaks": "\n" * 200_000,
    "backticks": "`" * 1_000_000 + "<think>",
}


@pytest.mark.parametrize("text", _BAD.values(), ids=_BAD)
@pytest.mark.timeout(10)
def test_bad_input_costs_little(text: str) -> None:
    result = of_text(text)

    assert len(result.visible) + len(result.thinking) <= len(text)


def _run(text: str, native: str, size: int) -> None:
    normalizer = Normalizer()
    normalizer.feed({"reasoning": native})
    for at in range(0, len(text), size):
        normalizer.feed({"content": text[at : at + size]})
    normalizer.finish()
