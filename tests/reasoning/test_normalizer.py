"""The normaliser, rule by rule. Channels of hand-written responses; cuts and generated text are tested elsewhere."""

from __future__ import annotations

from typing import Any

import pytest

from reasoning.deltas import Channel, Delta
from reasoning.normalizer import Normalizer, normalize_stream
from tests.reasoning.streamed import channels, of_text


@pytest.mark.spec("003 case 1")
@pytest.mark.spec("003 stray")
@pytest.mark.parametrize(
    ("text", "visible"),
    [
        ("...done</think>", "...done"),
        ("one</thinking>two", "onetwo"),
        ("one </REASONING> two", "one  two"),
        ("a</scratchpad>b</THINK >c", "abc"),
        ("a<think/>b<reasoning />c", "abc"),
    ],
)
def test_stray_delimiter_goes_and_its_neighbours_join(text: str, visible: str) -> None:
    assert of_text(text).visible == visible
    assert of_text(text).thinking == ""


@pytest.mark.spec("003 case 2")
@pytest.mark.spec("003 invariant 2")
def test_tagged_block_becomes_thinking() -> None:
    result = normalize_stream([{"content": "<think>hidden steps</think>Final answer"}])

    assert (result.visible, result.thinking) == ("Final answer", "hidden steps")
    assert result.counters.as_dict() == {
        "stripped_delimiters": 2,
        "extracted_blocks": 1,
        "native_reasoning": False,
        "longest_hold": 0,
    }


@pytest.mark.spec("003 case 3")
@pytest.mark.spec("003 invariant 3")
def test_split_delimiter_never_leaks() -> None:
    normalizer = Normalizer()
    pieces = [delta for text in ("ok</thi", "nk><t", "hink>secret</", "think>!") for delta in _feed(normalizer, text)]

    assert pieces == [_visible("ok"), Delta(Channel.THINKING, "secret"), _visible("!")]


@pytest.mark.spec("003 case 4")
@pytest.mark.spec("003 precedence")
@pytest.mark.spec("normaliser 8")
def test_native_text_comes_first() -> None:
    result = normalize_stream([{"reasoning_content": "native"}, {"content": "<think>tagged</think>answer"}])

    assert (result.visible, result.thinking) == ("answer", "native")
    assert result.counters.native_reasoning
    assert result.counters.extracted_blocks == 0


@pytest.mark.spec("003 case 5")
@pytest.mark.spec("normaliser 2")
@pytest.mark.parametrize("text", ["<tag>x</tag>", "a < b > c", "<thinker>", "<think about it>", "x <", "1 << 2"])
def test_other_angle_brackets_survive(text: str) -> None:
    assert of_text(text).visible == text


@pytest.mark.spec("normaliser 4")
def test_message_is_trimmed_at_its_two_ends_only() -> None:
    assert of_text(" \n<think>a</think>\n b </think> c \n<think>d</think>\n").visible == "b  c"


@pytest.mark.spec("normaliser 5")
@pytest.mark.parametrize(
    ("text", "visible", "thinking"),
    [
        ("a<think>cut off", "a", "cut off"),
        ("<think>a<think>b</think>c", "c", "a<think>b"),
        ("<think>a</thinking>b", "b", "a"),
        ("<think>a</thinking>b</think>c", "c", "a</thinking>b"),
        ("<think>a</thinking>b</thinking>c", "bc", "a"),
        ("<think>a<thinking>b</thinking>c</think>d", "d", "a<thinking>b</thinking>c"),
        ("<think>a</thinking>b<think>c</thinking>d", "bd", "a\n\nc"),
        ("<thinking>a</think>b<REASONING>c</REASONING>d", "bd", "a\n\nc"),
        ("<think> a </think> <think>\n</think> <think>b</think>", "", "a\n\nb"),
        ("<think></think>x", "x", ""),
    ],
)
def test_thought_ends_at_its_own_closer(text: str, visible: str, thinking: str) -> None:
    result = of_text(text)

    assert (result.visible, result.thinking) == (visible, thinking)


@pytest.mark.spec("normaliser 6")
@pytest.mark.parametrize(
    ("text", "visible", "thinking"),
    [
        ("<REASONING>\na\n</REASONING>\nb", "b", "a"),
        ("<reasoning>a<REASONING>b</REASONING>c</reasoning>d", "d", "a<REASONING>b</REASONING>c"),
        ("<REASONING>a<REASONING>b</REASONING>c", "c", "a<REASONING>b"),
        ("<REASONING>a</REASONING>b<REASONING>c</REASONING>d", "bd", "a\n\nc"),
        ("x <REASONING>a", "x a", ""),
        ("<REASONING>a<think>b</think>c", "ac", "b"),
        ("<REASONING>a<think>b</think>c</REASONING>d", "d", "a<think>b</think>c"),
        ("<REASONING>" * 3 + "a", "a", ""),
    ],
)
def test_reasoning_block_needs_a_closer(text: str, visible: str, thinking: str) -> None:
    result = of_text(text)

    assert (result.visible, result.thinking) == (visible, thinking)


@pytest.mark.spec("normaliser 6")
def test_reasoning_block_is_held_until_it_is_balanced() -> None:
    normalizer = Normalizer()

    assert _feed(normalizer, "<REASONING>a<REASONING>b</REASONING>") == ()
    assert normalizer.is_thinking
    assert _feed(normalizer, "</REASONING>c") == (
        Delta(Channel.THINKING, "a<REASONING>b</REASONING>"),
        _visible("c"),
    )
    assert not normalizer.is_thinking


@pytest.mark.spec("normaliser 7")
@pytest.mark.parametrize(
    ("text", "visible", "thinking", "scratchpads"),
    [
        ("a <scratchpad> s </scratchpad>b", "a b", "", ("s",)),
        ("<think>a<scratchpad>s</scratchpad>b</think>c", "c", "ab", ("s",)),
        ("<REASONING>a<scratchpad>s</scratchpad>b</REASONING>c", "c", "ab", ("s",)),
        ("<REASONING>a<scratchpad>s</scratchpad>b", "ab", "", ("s",)),
        ("a<scratchpad>s</think>t", "a", "", ("s</think>t",)),
        ("<think>a<scratchpad>s</think>t", "", "a", ("s</think>t",)),
        ("a<scratchpad> </scratchpad>b", "ab", "", ()),
        ("<scratchpad>s<scratchpad>t</scratchpad>u", "u", "", ("s<scratchpad>t",)),
    ],
)
def test_scratchpad_is_private_in_every_state(
    text: str, visible: str, thinking: str, scratchpads: tuple[str, ...]
) -> None:
    result = of_text(text)

    assert (result.visible, result.thinking, result.scratchpads) == (visible, thinking, scratchpads)


@pytest.mark.spec("normaliser 7")
def test_scratchpad_in_a_native_field_is_private() -> None:
    result = of_text("x", native="a<scratchpad>s</scratchpad>b</think>c")

    assert (result.thinking, result.kept, result.scratchpads) == ("abc", "abc", ("s",))


@pytest.mark.spec("normaliser 9")
@pytest.mark.parametrize(
    ("text", "visible", "thinking"),
    [
        ("use `<think>` and `</think>`.", "use `‹think›` and `‹/think›`.", ""),
        ("```xml\n<think>x</think>\n```\nok", "```xml\n‹think›x‹/think›\n```\nok", ""),
        ("``<think>x</think>` y", "``` y", "x"),
        ("a `<think>x\n\ny</think> b", "a ` b", "x\n\ny"),
        ("```\n<think>x</think>\nok", "```\n\nok", "x"),
        ("`a`<think>x</think>`b`", "`a``b`", "x"),
        ("<think>use `</think>` so", "` so", "use `"),
        ("say `<scratchpad>` and go on", "say `‹scratchpad›` and go on", ""),
        ("`<scratchpad>s</scratchpad>` x", "`` x", ""),
        ("`<think>\n</think>\n` x", "`‹think›\n‹/think›\n` x", ""),
        ("<think>see `<scratchpad>` so</think>yes", "yes", "see `‹scratchpad›` so"),
        ("<think>a `<scratchpad>s</think>c` d", "", "a `"),
        ("<think>a `<scratchpad>`</think>b", "b", "a `‹scratchpad›`"),
        ("```` \n<think>x</think>\n```py\n<think>y</think>\n", "```` \n\n```py", "x\n\ny"),
    ],
)
def test_tag_in_code_that_closes_is_a_literal(text: str, visible: str, thinking: str) -> None:
    result = of_text(text)

    assert (result.visible, result.thinking) == (visible, thinking)


@pytest.mark.spec("normaliser 9")
def test_tag_in_code_is_held_until_the_code_closes() -> None:
    normalizer = Normalizer()

    assert _feed(normalizer, "use `<think>x") == (_visible("use `"),)
    assert _feed(normalizer, "` now") == (_visible("‹think›x` now"),)


@pytest.mark.spec("normaliser 10")
@pytest.mark.spec("003 invariant 1")
@pytest.mark.parametrize(
    "text",
    [
        "<thi</think>nk>x",
        "<thi<think>x</think>nk>",
        "<scr<scratchpad>s</scratchpad>atchpad>",
        "<<think/>think>",
        "<th<th</think>ink>ink>",
    ],
)
def test_nothing_is_glued_together_by_a_cut(text: str) -> None:
    visible = of_text(text).visible

    assert "think>" not in visible
    assert "scratchpad>" not in visible


@pytest.mark.spec("normaliser 1")
@pytest.mark.parametrize(
    ("text", "visible", "thinking"),
    [
        ("thought</think>answer", "answer", "thought"),
        ("thought</thinking>answer", "answer", "thought"),
        ("\n<think>thought</think>answer", "answer", "thought"),
        ("thought <think> more</think>answer", "answer", "thought <think> more"),
        ("<think>a</thinking>b</think>c", "c", "a</thinking>b"),
        ("cut off", "", "cut off"),
    ],
)
def test_hint_starts_inside_the_thought(text: str, visible: str, thinking: str) -> None:
    result = of_text(text, starts_in_reasoning=True)

    assert (result.visible, result.thinking) == (visible, thinking)


@pytest.mark.spec("normaliser 5")
@pytest.mark.parametrize(
    ("text", "visible"),
    [
        ("a <think>b", "a b"),
        ("a<think>b</think>c", "ac"),
        ("<think>a</thinking>b", "b"),
        ("<think>a<thinking>b<think>c", "abc"),
    ],
)
def test_lone_opener_after_native_text_is_a_stray(text: str, visible: str) -> None:
    assert of_text(text, native="n").visible == visible


@pytest.mark.spec("normaliser 5")
@pytest.mark.parametrize(("text", "visible"), [("answer", "answer"), ("thought</think>answer", "answer")])
def test_hint_is_a_stray_where_native_text_came(text: str, visible: str) -> None:
    assert of_text(text, native="n", starts_in_reasoning=True).visible == visible


@pytest.mark.spec("normaliser 11")
def test_finish_lets_go_of_everything_once() -> None:
    normalizer = Normalizer()
    _feed(normalizer, "a `<think>b</th")

    assert normalizer.finish() == (Delta(Channel.THINKING, "b</th"),)
    assert normalizer.finish() == ()
    assert _feed(normalizer, "late") == ()


@pytest.mark.spec("normaliser 12")
@pytest.mark.parametrize(
    ("pieces", "visible"),
    [
        (["a\ud83d", "\ude00b"], "a😀b"),
        (["a\ud83d", "b"], "a\ufffdb"),
        (["\ude00a\ud83d"], "\ufffda\ufffd"),
        (["İ<think>x</think>ß"], "İß"),
    ],
)
def test_halves_of_a_character_are_joined_or_replaced(pieces: list[str], visible: str) -> None:
    assert channels({"content": piece} for piece in pieces).visible == visible


@pytest.mark.spec("normaliser 13")
def test_counters_tell_figures_only() -> None:
    normalizer = Normalizer()
    _feed(normalizer, "<think>a</think>b</think><think>c</think><scratchpad>d</scratchpad><REASONING>12345")
    normalizer.finish()

    assert normalizer.counters.as_dict() == {
        "stripped_delimiters": 8,
        "extracted_blocks": 2,
        "native_reasoning": False,
        "longest_hold": 5,
    }


def _feed(normalizer: Normalizer, text: str) -> tuple[Delta, ...]:
    delta: dict[str, Any] = {"content": text}
    return normalizer.feed(delta)


def _visible(text: str) -> Delta:
    return Delta(Channel.VISIBLE, text)
