"""Whole messages with a ``<REASONING>`` block, as spec 000 defines them."""

import pytest

from reasoning.delimiters.reasoning_block import ParsedMessage, ReasoningBlock, parse_message
from reasoning.replay.tokens import estimate_tokens
from tests.reasoning.streamed import calls_made


def test_block_is_split_from_the_answer():
    message = parse_message("<REASONING>\nStep 1: look.\nStep 2: compare.\n</REASONING>\nUp by 12.\n")

    assert message == ParsedMessage("Up by 12.", ReasoningBlock("Step 1: look.\nStep 2: compare.", 8))


@pytest.mark.spec("000 rule 2")
@pytest.mark.parametrize(
    "text",
    [
        "",
        "  plain, ends kept \n",
        "<REASONING>\ncut off",
        "late</REASONING> answer",
        "</REASONING> wrong way round <REASONING>",
        "<reasoning>other case</reasoning>",
        "<REASONING >blank</REASONING >",
    ],
)
def test_missing_tag_leaves_the_message_unchanged(text):
    assert parse_message(text) == ParsedMessage(text, None)


@pytest.mark.spec("000 rule 1")
@pytest.mark.parametrize(
    ("text", "visible", "thought"),
    [
        ("<REASONING>a<REASONING>b</REASONING>c</REASONING>d", "d", "a<REASONING>b</REASONING>c"),
        ("<REASONING>a<REASONING>b</REASONING>c", "c", "a<REASONING>b"),
        ("<REASONING>a</REASONING>b<REASONING>c</REASONING>d", "b<REASONING>c</REASONING>d", "a"),
        ("<REASONING>a</REASONING>b</REASONING>c", "b</REASONING>c", "a"),
        ("</REASONING>x<REASONING>a</REASONING>b", "</REASONING>xb", "a"),
    ],
)
def test_first_opener_and_the_closer_that_balances_it_count(text, visible, thought):
    message = parse_message(text)

    assert message.visible == visible
    assert message.reasoning is not None
    assert message.reasoning.text == thought


@pytest.mark.spec("000 rule 3")
def test_inline_tags_are_tolerated():
    assert parse_message("one <REASONING>why</REASONING> two") == ParsedMessage("one  two", ReasoningBlock("why", 1))


@pytest.mark.spec("000 rule 4")
def test_blanks_inside_the_tags_are_trimmed():
    assert parse_message("<REASONING> \n\t why \n </REASONING>x").reasoning == ReasoningBlock("why", 1)


@pytest.mark.spec("000 shape")
def test_empty_block_is_a_block():
    assert parse_message("<REASONING></REASONING>x") == ParsedMessage("x", ReasoningBlock("", 0))


def test_cost_is_linear():
    small, large = (calls_made(lambda n=n: parse_message("<REASONING>" * n + "x")) for n in (2_000, 8_000))

    assert large < 4.6 * small


@pytest.mark.spec("000 rule 5")
@pytest.mark.parametrize(("chars", "tokens"), [(0, 0), (1, 1), (4, 1), (5, 2), (401, 101)])
def test_estimate_rounds_up(chars, tokens):
    assert estimate_tokens("x" * chars) == tokens


@pytest.mark.spec("000 rule 5")
@pytest.mark.spec("product 19")
@pytest.mark.parametrize(("text", "tokens"), [("🤔" * 8, 4), ("é" * 8, 2), ("漢" * 8, 2), ("a🤔", 1), ("abc🤔", 2)])
def test_estimate_counts_utf16_units(text, tokens):
    assert estimate_tokens(text) == tokens
    block = parse_message(f"<REASONING>{text}</REASONING>").reasoning
    assert block is not None
    assert block.tokens_est == tokens


@pytest.mark.spec("001 ERR-002")
def test_estimate_accepts_any_text():
    assert estimate_tokens("\ud800\x00é🙂") == 2
