"""The normaliser, rule by rule, and the fields of a delta. Cuts and generated text: test_stream_properties."""

from typing import Any

import pytest

from reasoning.deltas import Channel, Delta
from reasoning.stream.normalizer import Normalizer, normalize_stream
from reasoning.stream.output import Counters
from tests.reasoning.streamed import channels, of_text

# Texts of which a reader sees nothing.
UNSEEN = ("\u200b", "\ufeff\u2060 ", "\u00ad", "\u2800", "\u3164", "\ufe0f", "\x00", "\U000e0020", "\u200d\u200e")


def feed(normalizer: Normalizer, text: str) -> tuple[Delta, ...]:
    delta: dict[str, Any] = {"content": text}
    return normalizer.feed(delta)


def visible(text: str) -> Delta:
    return Delta(Channel.VISIBLE, text)


def check(text: str, answer: str, thinking: str = "", *scratchpads: str, **options: Any) -> None:
    result = of_text(text, **options)

    assert (result.visible, result.thinking, result.scratchpads) == (answer, thinking, scratchpads)


@pytest.mark.spec("003 case 1")
@pytest.mark.spec("003 stray")
@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("...done</think>", "...done"),
        ("one</thinking>two", "onetwo"),
        ("one </REASONING> two", "one  two"),
        ("a</scratchpad\t>b</THINK        >c", "abc"),
        ("a<think/>b<reasoning />c</think/>d", "abcd"),
    ],
)
def test_stray_delimiter_is_removed(text, answer):
    check(text, answer)


@pytest.mark.spec("003 case 5")
@pytest.mark.spec("normaliser 2")
@pytest.mark.parametrize(
    "text",
    [
        *("<tag>x</tag>", "a < b > c", "<thinker>", "<think about it>", "x <", "1 << 2", "< think>", "<//think>"),
        *("<think         >", '<think a="b">', "<think", "<th\u0131nk>", "<thin\u212a>", "<\u017fcratchpad>"),
    ],
)
def test_other_angle_brackets_survive(text):
    check(text, text)


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


@pytest.mark.spec("003 case 2")
@pytest.mark.spec("003 invariant 2")
def test_tagged_block_becomes_thinking():
    result = normalize_stream([{"content": "<think>hidden steps</think>Final answer"}])

    assert (result.visible, result.thinking) == ("Final answer", "hidden steps")


@pytest.mark.spec("003 case 3")
@pytest.mark.spec("003 invariant 3")
def test_split_delimiter_never_leaks():
    normalizer = Normalizer()
    pieces = [delta for text in ("ok</thi", "nk><t", "hink>secret</", "think>!") for delta in feed(normalizer, text)]

    assert pieces == [visible("ok"), Delta(Channel.THINKING, "secret"), visible("!")]


@pytest.mark.spec("normaliser 4")
def test_message_is_trimmed_at_its_ends_only():
    check(" \n<think>a</think>\n b </think> c \n<think>d</think>\n", "b  c", "a\n\nd")


@pytest.mark.spec("normaliser 5")
@pytest.mark.parametrize(
    ("text", "answer", "thinking"),
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
def test_thought_ends_at_its_own_closer(text, answer, thinking):
    check(text, answer, thinking)


@pytest.mark.spec("normaliser 6")
@pytest.mark.parametrize(
    ("text", "answer", "thinking"),
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
def test_reasoning_block_needs_a_closer(text, answer, thinking):
    check(text, answer, thinking)


@pytest.mark.spec("normaliser 6")
def test_reasoning_block_is_buffered_until_balanced():
    normalizer = Normalizer()

    assert feed(normalizer, "<REASONING>a<REASONING>b</REASONING>") == ()
    assert feed(normalizer, "</REASONING>c") == (Delta(Channel.THINKING, "a<REASONING>b</REASONING>"), visible("c"))


@pytest.mark.spec("normaliser 7")
@pytest.mark.parametrize(
    ("text", "answer", "thinking", "scratchpads"),
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
def test_scratchpad_is_private_in_every_state(text, answer, thinking, scratchpads):
    check(text, answer, thinking, *scratchpads)


@pytest.mark.spec("product 22")
@pytest.mark.parametrize(
    "heading",
    [
        *(
            "Scratchpad:",
            "scratchpad:",
            "**Scratchpad:**",
            "**Scratchpad**:",
            "## Scratchpad",
            "### SCRATCHPAD:",
            " Scratchpad :",
        ),
        *("Notizblock:", "__Notizblock__", "<scratchpad>", "&lt;scratchpad&gt;", "&LT;".lower() + "Scratchpad &gt;"),
        *("&#60;scratchpad&#62;", "&#x3C;scratchpad&#x3e;", "<scratchpad\\>"),
    ],
)
@pytest.mark.parametrize("field", ["content", "thinking"])
def test_heading_and_escaped_tag_open_a_scratchpad(heading, field):
    text = f"Intro\n{heading}\ns\nt\n"
    for pieces in ([text], list(text)):
        result = channels({field: piece} for piece in [*pieces])

        assert (result.visible + result.thinking).strip() == "Intro"
        assert result.scratchpads == ("s\nt",)


@pytest.mark.spec("product 22")
@pytest.mark.parametrize(
    ("text", "answer", "thinking", "scratchpads"),
    [
        ("Scratchpad:\ns\n\nFinal Answer:\na", "Final Answer:\na", "", ("s",)),
        ("Scratchpad: s\n**Reasoning Summary**\n- a", "**Reasoning Summary**\n- a", "", ("s",)),
        ("Scratchpad: s\nEndgültige Antwort: a", "Endgültige Antwort: a", "", ("s",)),
        ("a\nScratchpad: s</scratchpad>b", "a\nb", "", ("s",)),
        ("a\nScratchpad: s</think>t", "a", "", ("s</think>t",)),
        ("<think>a\nScratchpad: s</think>b", "b", "a", ("s",)),
        ("<REASONING>Scratchpad: s</REASONING>b", "b", "", ("s",)),
        ("<think>Scratchpad: s", "", "", ("s",)),
        ("a &lt;scratchpad&gt;s&lt;/scratchpad&gt;b", "a b", "", ("s",)),
        ("a <scratchpad>s&lt;/scratchpad&gt;b", "a b", "", ("s",)),
        ("The scratchpad: fine", "The scratchpad: fine", "", ()),
        ("a\n\nScratchpad\n\nb", "a\n\nScratchpad\n\nb", "", ()),
        ("- Scratchpad: a", "- Scratchpad: a", "", ()),
        ("```yaml\nScratchpad:\n  - a\n```\nb", "```yaml\nScratchpad:\n  - a\n```\nb", "", ()),
        ("use `&lt;scratchpad&gt;` now", "use `&lt;scratchpad&gt;` now", "", ()),
        ("R&D &lt;b&gt; &lt;think&gt; &lt;scratch&gt; &", "R&D &lt;b&gt; &lt;think&gt; &lt;scratch&gt; &", "", ()),
    ],
)
def test_scratchpad_of_a_heading_ends_at_the_next_section(text, answer, thinking, scratchpads):
    check(text, answer, thinking, *scratchpads)


@pytest.mark.spec("normaliser 7")
def test_scratchpad_in_a_native_field_is_private():
    check("x", "x", "abc", "s", native="a<scratchpad>s</scratchpad>b</think>c")


@pytest.mark.spec("normaliser 9")
@pytest.mark.parametrize(
    ("text", "answer", "thinking"),
    [
        ("use `<think>` and `</think>`.", "use `<think>` and `</think>`.", ""),
        ("```xml\n<think>x</think>\n```\nok", "```xml\n<think>x</think>\n```\nok", ""),
        ("``<think>x</think>` y", "`` ` y", "x"),
        ("a `<think>x\n\ny</think> b", "a ` b", "x\n\ny"),
        ("```\n<think>x</think>\nok", "```\n\nok", "x"),
        ("`a`<think>x</think>`b`", "`a` `b`", "x"),
        ("<think>use `</think>` so", "` so", "use `"),
        ("say `<scratchpad>` and go on", "say `<scratchpad>` and go on", ""),
        ("`<think>\n</think>\n` x", "`<think>\n</think>\n` x", ""),
        ("<think>see `<scratchpad>` so</think>yes", "yes", "see `<scratchpad>` so"),
        ("<think>a `<scratchpad>`</think>b", "b", "a `<scratchpad>`"),
        ("```` \n<think>x</think>\n```py\n<think>y</think>\n", "```` \n\n```py", "x\n\ny"),
        ("a `b\nc <think> d`", "a `b\nc <think> d`", ""),
        ("a ``b` <think> c``", "a ``b` <think> c``", ""),
        ("a `b\n \t\nc <think>d</think>` e", "a `b\n \t\nc ` e", "d"),
        ("````\na\n```\n<think>\n````\n", "````\na\n```\n<think>\n````", ""),
        ("~~~\n<think>\n```\n~~~~\nb", "~~~\n<think>\n```\n~~~~\nb", ""),
        ("```\na\n``` x\n<think>\n```\nb", "```\na\n``` x\n<think>\n```\nb", ""),
        ("> ```\n> <think>\n> ```\nb", "> ```\n> <think>\n> ```\nb", ""),
        ("text ~~~\n<think>a</think>\n~~~", "text ~~~\n\n~~~", "a"),
        ("```a``` b <think>c</think>`", "```a``` b `", "c"),
    ],
)
def test_tag_in_code_that_closes_is_a_literal(text, answer, thinking):
    check(text, answer, thinking)


@pytest.mark.spec("product 17")
@pytest.mark.parametrize(
    ("text", "answer", "thinking"),
    [
        ("<think>the tag `</think>` ends it. more</think>Answer", "Answer", "the tag `</think>` ends it. more"),
        ("<think>a\n```\n</think>\n```\nb</think>c", "c", "a\n```\n</think>\n```\nb"),
        ("<think>a `</think>` b `</think>` c", "` c", "a `</think>` b `"),
        ("<think>a `</think>` b</thinking>c", "c", "a `</think>` b"),
        ("<think>a `</think>` b</thinking>c</think>d", "d", "a `</think>` b</thinking>c"),
        ("<think>a `</thinking>` b</think>c", "c", "a `</thinking>` b"),
        ("<think>a</thinking>use `</think>` now", "use `</think>` now", "a"),
        ("<think>the ` key</think>\n\nPress `x`.", "Press `x`.", "the ` key"),
        ("<think>a `b\n</think>\n\nc `d`", "c `d`", "a `b"),
        ("<think>```\ncut</think>Answer", "Answer", "```\ncut"),
        ("Press the ` key. <think>plan</think> Then `x`.", "Press the ` key.  Then `x`.", "plan"),
        ("see `\n\n<think>plan</think> a `b`", "see `\n\n a `b`", "plan"),
        ("a `b\n<think>plan</think> c` d", "a `b\n c` d", "plan"),
        ("a `<think>\n<think>plan</think> c` d", "a ` c` d", "<think>plan"),
        ("```\n<think>\nplan\n</think>\n```\nAnswer", "```\n\n```\nAnswer", "plan"),
        ("```\n<think>plan</think>\n```\nuse `<think>`", "```\n\n```\nuse `<think>`", "plan"),
        ("So:\n```\n<think>plan</think>\n```\nb", "So:\n```\n<think>plan</think>\n```\nb", ""),
        ("```\n<think>plan</think>\nb\n```", "```\n<think>plan</think>\nb\n```", ""),
    ],
)
def test_closer_in_code_of_a_thought_ends_it_only_if_no_other_follows(text, answer, thinking):
    check(text, answer, thinking)


@pytest.mark.spec("normaliser 9")
def test_scratchpad_in_code_is_private_when_complete():
    check("`<scratchpad>s</scratchpad>` x", "` ` x", "", "s")
    check("<think>a `<scratchpad>s</think>c` d", "", "a `", "s</think>c` d")
    check("x", "x", "use `<scratchpad>` then x", native="use `<scratchpad>` then </think>x")


@pytest.mark.spec("normaliser 9")
def test_tag_in_code_is_held_until_the_code_closes():
    normalizer = Normalizer()

    assert feed(normalizer, "use `<think>x") == (visible("use `"),)
    assert feed(normalizer, "` now") == (visible("<think>x` now"),)


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
def test_removal_joins_no_new_delimiter(text):
    answer = of_text(text).visible

    assert "think>" not in answer
    assert "scratchpad>" not in answer


@pytest.mark.spec("normaliser 1")
@pytest.mark.parametrize(
    ("text", "answer", "thinking"),
    [
        ("thought</think>answer", "answer", "thought"),
        ("thought</thinking>answer", "answer", "thought"),
        ("\n<think>thought</think>answer", "answer", "thought"),
        ("thought <think> more</think>answer", "answer", "thought <think> more"),
        ("<think>a</thinking>b</think>c", "c", "a</thinking>b"),
        ("cut off", "", "cut off"),
    ],
)
def test_profile_hint_starts_in_a_thought(text, answer, thinking):
    check(text, answer, thinking, starts_in_reasoning=True)


@pytest.mark.spec("normaliser 5")
@pytest.mark.parametrize(
    ("text", "answer", "hint"),
    [
        ("a <think>b", "a b", False),
        ("a<think>b</think>c", "ac", False),
        ("<think>a</thinking>b", "b", False),
        ("<think>a<thinking>b<think>c", "abc", False),
        ("answer", "answer", True),
        ("thought</think>answer", "answer", True),
    ],
)
def test_unclosed_opener_after_native_text_is_a_stray(text, answer, *, hint):
    check(text, answer, "n", native="n", starts_in_reasoning=hint)


@pytest.mark.spec("normaliser 11")
def test_finish_emits_everything_once():
    normalizer = Normalizer()
    feed(normalizer, "a `<think>b</th")

    assert normalizer.finish() == (Delta(Channel.THINKING, "b</th"),)
    assert normalizer.finish() == ()
    assert feed(normalizer, "late") == ()


@pytest.mark.spec("normaliser 12")
@pytest.mark.parametrize(
    ("pieces", "answer"),
    [
        (["a\ud83d", "\ude00b"], "a😀b"),
        (["a\ud83d", "b"], "a\ufffdb"),
        (["\ude00a\ud83d"], "\ufffda\ufffd"),
        (["İ<think>x</think>ß"], "İß"),
    ],
)
def test_surrogates_are_joined_or_replaced(pieces, answer):
    assert channels({"content": piece} for piece in pieces).visible == answer


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


@pytest.mark.spec("normaliser 5")
@pytest.mark.parametrize(
    ("deltas", "answer"),
    [
        ([{"content": "Ans"}, {"reasoning": "n"}, {"content": "wer"}], "Answer"),
        ([{"content": "hm"}, {"reasoning": "n"}, {"content": "</think>Answer"}], "Answer"),
        ([{"content": "a <think>b"}, {"reasoning": "n"}, {"content": " c"}], "a b c"),
        ([{"content": "<think>hm"}, {"reasoning": "n"}, {"content": "</think>Answer"}], "Answer"),
        ([{"content": "pre "}, {"reasoning": "n"}, {"content": "more</think>rest"}], "pre morerest"),
        ([{"content": "pre "}, {"reasoning": "n"}, {"content": "more</thinking>rest"}], "pre morerest"),
        (
            [{"content": "pre "}, {"reasoning": "n"}, {"content": "\n"}, {"content": "more <think>b</think> c"}],
            "pre \nmore  c",
        ),
        ([{"content": "pre "}, {"reasoning": "n"}, {"content": "\n</think>rest"}], "rest"),
    ],
)
def test_late_native_text_revokes_the_profile_hint(deltas, answer):
    result = normalize_stream(deltas, starts_in_reasoning=True)

    assert (result.visible, result.thinking) == (answer, "n")


def test_content_parts_are_read():
    parts = [
        {"type": "thinking", "thinking": [{"type": "text", "text": "why"}]},
        {"type": "text", "text": "because"},
        {"type": "image_url", "image_url": {}},
    ]
    result = channels([{"content": parts}])

    assert (result.visible, result.thinking) == ("because", "why")


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


@pytest.mark.spec("normaliser 3")
def test_other_deltas_leave_a_partial_delimiter_alone():
    call = {"tool_calls": [piece("{}", "c1", "f", index=0)]}
    deltas = [{"content": "a</thi"}, {"content": None}, {"content": ""}, {"reasoning": "n"}, call, {"content": "nk>b"}]

    assert channels(deltas).visible == "ab"


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
