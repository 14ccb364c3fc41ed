"""The normaliser: the public cases of its rules, and what they leave open: when text is released, counters, calls.

Generated text: test_stream_properties.
"""

import re
from pathlib import Path
from typing import Any

import pytest

from reasoning.deltas import Channel, Delta
from reasoning.services.thinking_formats import THINKING_FORMATS
from reasoning.stream.normalizer import Normalizer, normalize_stream
from reasoning.stream.output import Counters
from reasoning_stream_cases import CASES, RULES, recut
from tests.reasoning.streamed import channels

RULES_PAGE = Path(__file__).parent.parent.parent / "reasoning/RULES.md"

# Texts of which a reader sees nothing.
UNSEEN = ("\u200b", "\ufeff\u2060 ", "\u00ad", "\u2800", "\u3164", "\ufe0f", "\x00", "\U000e0020", "\u200d\u200e")


def feed(normalizer: Normalizer, text: str) -> tuple[Delta, ...]:
    delta: dict[str, Any] = {"content": text}
    return normalizer.feed(delta)


def visible(text: str) -> Delta:
    return Delta(Channel.VISIBLE, text)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_public_case_holds_however_the_stream_is_cut(case):
    options = {"starts_in_reasoning": case.starts_in_reasoning, "family": THINKING_FORMATS.get(case.format or "")}

    for deltas in (case.deltas, *(recut(case.deltas, seed) for seed in range(4))):
        result = channels(deltas, **options)
        assert (result.visible, result.stored or "") == (case.answer, case.thinking)
        assert result.scratchpads == tuple(case.scratchpads)
        assert result.thinking.endswith(case.thinking)  # native text that came late replaces what was shown before


def test_rules_of_the_public_cases_are_worded_alike_here():
    listed = dict(re.findall(r"^- `([^`]+)` (.*?)(?=\n- |\n\n)", RULES_PAGE.read_text(encoding="utf-8"), re.M | re.S))

    assert {rule: " ".join(listed[rule].split()) for rule in RULES} == RULES


def test_public_cases_have_every_format():
    assert {case.format for case in CASES if case.group == "format"} == set(THINKING_FORMATS)


@pytest.mark.spec("normaliser 3")
@pytest.mark.parametrize(
    "text",
    ["<" * 500, "&lt;" * 500, "&lt;/scratchpad" + " " * 500, "</scratchpad" + " " * 500, "<thinking        /" * 50],
)
def test_held_part_of_a_possible_delimiter_is_short(text):
    normalizer, emitted = Normalizer(live=True), 0

    for fed, char in enumerate(text, 1):
        emitted += sum(len(str(delta.text)) for delta in feed(normalizer, char))
        assert fed - emitted <= 32


@pytest.mark.spec("003 case 3")
@pytest.mark.spec("003 invariant 3")
def test_split_delimiter_never_leaks():
    normalizer = Normalizer()
    pieces = [delta for text in ("ok</thi", "nk><t", "hink>secret</", "think>!") for delta in feed(normalizer, text)]

    assert pieces == [visible("ok"), Delta(Channel.THINKING, "secret"), visible("!")]


@pytest.mark.spec("normaliser 6")
def test_reasoning_block_is_buffered_until_balanced():
    normalizer = Normalizer()

    assert feed(normalizer, "<REASONING>a<REASONING>b</REASONING>") == ()
    assert feed(normalizer, "</REASONING>c") == (Delta(Channel.THINKING, "a<REASONING>b</REASONING>"), visible("c"))


@pytest.mark.spec("normaliser 9")
def test_tag_in_code_is_held_until_the_code_closes():
    normalizer = Normalizer()

    assert feed(normalizer, "use `<think>x") == (visible("use `"),)
    assert feed(normalizer, "` now") == (visible("<think>x` now"),)


@pytest.mark.spec("normaliser 11")
def test_finish_emits_everything_once():
    normalizer = Normalizer()
    feed(normalizer, "a `<think>b</th")

    assert normalizer.finish() == (Delta(Channel.THINKING, "b</th"),)
    assert normalizer.finish() == ()
    assert feed(normalizer, "late") == ()


@pytest.mark.spec("normaliser 13")
def test_counters():
    normalizer = Normalizer()
    feed(normalizer, "<think>a</think>b</think><think>c</think><scratchpad>d</scratchpad><REASONING>12345")
    normalizer.finish()

    assert normalizer.counters == Counters(stripped_delimiters=8, extracted_blocks=2, longest_hold=5)


@pytest.mark.spec("normaliser 13")
def test_blocks_that_native_text_replaced_count_as_dropped():
    late = normalize_stream([{"content": "<think>a</think><think>b</think>x"}, {"reasoning": "n"}])
    early = normalize_stream([{"reasoning": "n"}, {"content": "<think>a</think>x"}])

    assert (late.counters.extracted_blocks, late.counters.dropped_blocks) == (0, 2)
    assert (early.counters.extracted_blocks, early.counters.dropped_blocks) == (0, 1)


# Native fields


DETAILS = (
    {"type": "reasoning.summary", "summary": "a"},
    {"type": "reasoning.text", "text": "b", "signature": None},
    {"type": "reasoning.encrypted", "data": "opaque"},
)


@pytest.mark.spec("normaliser 8")
@pytest.mark.spec("003 case 4")
@pytest.mark.spec("003 precedence")
@pytest.mark.spec("001 EC-003")
@pytest.mark.parametrize("field", ["reasoning_content", "reasoning", "thinking"])
def test_native_text_is_one_untrimmed_block_and_replaces_tagged_text(field):
    deltas = [{field: " a", "content": "x"}, {"content": "<think>tagged</think>y"}, {field: "b \n"}, {"content": "z"}]
    result = normalize_stream(deltas)

    assert (result.visible, result.thinking) == ("xyz", " ab \n")
    assert (result.counters.native_reasoning, result.counters.extracted_blocks) == (True, 0)


@pytest.mark.spec("normaliser 8")
@pytest.mark.parametrize(
    ("deltas", "thinking", "source", "details"),
    [
        ([{"reasoning": "a", "thinking": "a", "reasoning_details": DETAILS[:1]}], "a", "reasoning", DETAILS[:1]),
        ([{"reasoning": "ab"}, {"reasoning_details": [DETAILS[1]]}], "ab", "reasoning", DETAILS[1:2]),
        ([{"thinking": "c", "reasoning": "b", "reasoning_content": "a"}], "a", "reasoning_content", ()),
        ([{"reasoning_details": DETAILS[:2]}, {"reasoning_details": DETAILS[2:]}], "ab", "reasoning_details", DETAILS),
        ([{"content": "<think>a</think>"}], "a", "think_tags", ()),
        ([{"content": "<think>tagged</think>x"}, {"reasoning": "native"}], "native", "reasoning", ()),
    ],
    ids=["mirrored", "repeated in details", "first field", "details alone", "tags", "late native text"],
)
def test_text_that_servers_repeat_counts_once(deltas, thinking, source, details):
    normalizer = Normalizer()
    for delta in deltas:
        normalizer.feed(delta)

    assert (normalizer.thinking, normalizer.source_field) == (thinking, source)
    assert normalizer.reasoning_details == details


@pytest.mark.spec("001 EC-001")
@pytest.mark.spec("001 EC-002")
@pytest.mark.parametrize("native", [{}, {"reasoning_content": ""}, {"reasoning": None}, {"reasoning_details": []}])
def test_empty_native_field_is_no_thinking(native):
    normalizer = Normalizer()
    normalizer.feed({**native, "content": "x"})
    normalizer.finish()

    assert (normalizer.thinking, normalizer.source_field) == (None, None)
    assert not normalizer.counters.native_reasoning


@pytest.mark.spec("product 18")
@pytest.mark.parametrize(
    "native",
    [
        *({name: blanks} for name in ("reasoning_content", "reasoning", "thinking") for blanks in ("\n", " \t\n\n")),
        *({"reasoning_content": unseen} for unseen in UNSEEN),
        {
            "reasoning_details": [
                {"type": "reasoning.text", "text": " "},
                {"type": "reasoning.summary", "summary": "\n"},
            ]
        },
    ],
)
def test_blank_native_text_is_no_thinking(native):
    tagged = normalize_stream([native, {"content": "<think>real</think>A"}, native])

    assert (tagged.visible, tagged.thinking) == ("A", "real")
    assert (tagged.counters.native_reasoning, tagged.counters.extracted_blocks) == (False, 1)
    assert channels([native, {"content": "A"}]).thinking == ""
    assert normalize_stream([native, {"content": "A"}]).thinking is None


@pytest.mark.spec("product 18")
@pytest.mark.parametrize("live", [False, True])
@pytest.mark.parametrize("unseen", UNSEEN)
def test_thought_of_unseen_characters_is_no_thinking(unseen, *, live):
    normalizer = Normalizer(live=live)
    pieces = feed(normalizer, f"<think>{unseen}</think>A")
    pieces += normalizer.finish()

    assert [str(piece.text) for piece in pieces if piece.channel is Channel.THINKING] == []
    assert normalizer.thinking is None
    assert normalizer.counters.extracted_blocks == 0


@pytest.mark.spec("product 18")
def test_blanks_before_native_text_belong_to_it():
    blanks_first = [{"reasoning_content": "\n", "reasoning": "a"}, {"reasoning": " b"}]

    assert normalize_stream([{"reasoning": "\n"}, {"reasoning": " a"}]).thinking == "\n a"
    assert normalize_stream(blanks_first).thinking == "a b"
    assert (
        normalize_stream([{"reasoning": "\u200b"}, {"reasoning": "\ud83d"}, {"reasoning": "\ude00"}]).thinking
        == "\u200b😀"
    )


@pytest.mark.parametrize("odd", [None, 3, 1.5, True, b"x", [], [None, 3], {}, {"text": "x"}, object()])
def test_odd_values_count_as_absent(odd):
    for field in ("content", "reasoning", "thinking", "reasoning_details", "tool_calls"):
        assert channels([{field: odd}, {"content": "x"}]).visible == "x"
    assert channels([odd, {"content": "y"}]).visible == "y"  # type: ignore[list-item]


# Tool calls


def piece(
    arguments: object, call_id: str | None = None, name: str | None = None, **index: int | None
) -> dict[str, Any]:
    return {**index, "id": call_id, "function": {"name": name, "arguments": arguments}}


@pytest.mark.spec("normaliser 5")
@pytest.mark.spec("001 EC-006")
def test_tool_call_ends_an_open_thought_and_follows_it():
    normalizer = Normalizer()
    feed(normalizer, "<thinking>a</think>b")
    out = normalizer.feed({"tool_calls": [piece("{}", "c1", "f", index=0)]})

    assert [delta.channel for delta in out] == [Channel.VISIBLE, Channel.TOOL]
    assert feed(normalizer, "c") == (visible("c"),)


@pytest.mark.parametrize(
    ("pieces", "calls"),
    [
        ([piece("", "a", "f", index=0), piece("{", index=0), piece("}", index=0)], ((0, "a", "f", "{}"),)),
        ([piece({"q": 1}, "a", "f"), piece(None, "b", "g")], ((0, "a", "f", '{"q": 1}'), (1, "b", "g", ""))),
        ([piece("{", None, "f", index=None), piece("}", index=None)], ((0, "", "f", "{}"),)),
        (
            [piece("{}", "a", "f", index=0), piece("[", "b", "f", index=0), piece("]", index=0)],
            ((0, "a", "f", "{}"), (1, "b", "f", "[]")),
        ),
        ([piece("{}", "a", "f", index=1)], ((1, "a", "f", "{}"),)),
        ([piece("{", "a", "f"), piece("[", "b", "g"), piece("}", "a")], ((0, "a", "f", "{}"), (1, "b", "g", "["))),
        ([piece("\ud83d", index=0), piece("\ude00", index=0)], ((0, "", "", "😀"),)),
        ([{}, None, 3, {"function": None}], ()),
    ],
    ids=["pieces", "objects", "null index", "all numbered 0", "from 1", "by id", "surrogates", "nothing"],
)
def test_pieces_are_joined_to_their_call(pieces, calls):
    assert channels({"tool_calls": [each]} for each in pieces).tools == calls
