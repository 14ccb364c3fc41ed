"""The seam of an answer that was cut off: what begins a block begins a line, and nothing else is changed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reasoning.deltas import Channel, RawEnd, RawFields
from reasoning.events import AssistantMessage
from reasoning.stream.continuation import ContinuedText
from reasoning.stream.turn import EndedPart, TurnMachine
from reasoning.stream.updates import ShowText
from tests.reasoning.streamed import PIECES

TABLE = "| a | b |\n|---|---|\n"


def joined(before: str, pieces: list[str]) -> str:
    continuation = ContinuedText(before)
    return before + "".join([*map(continuation.feed, pieces), continuation.finish()])


def continued(before: str, pieces: list[str], **options: bool) -> tuple[str, str]:
    """Return the answer on the card of a turn that continues ``before``, and its thinking."""
    turn = TurnMachine(
        turn_id="0123456789abcdef",
        model="m",
        provider="p",
        system_prompt="",
        before=EndedPart(steps=1, answer=before, is_text_cut=True),
        **options,
    )
    step = turn.begin_step()
    updates = [update for piece in pieces for update in step.feed(RawFields({"content": piece}))]
    step.feed(RawEnd("stop"))
    outcome = step.end()
    texts = [update for update in (*updates, *outcome.updates) if isinstance(update, ShowText)]
    shown, thinking = (
        "".join(update.text for update in texts if update.channel is channel)
        for channel in (Channel.ANSWER, Channel.THINKING)
    )
    stored = "".join(event.text for event in outcome.events if isinstance(event, AssistantMessage))
    assert shown.rstrip() == stored.rstrip()
    return (before + stored, thinking)


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


@pytest.mark.spec("product 22")
@pytest.mark.spec("product 41")
@pytest.mark.parametrize(
    ("before", "text", "shown"),
    [
        ("x <scratch", "pad>ZQ7</scratchpad> y", "x <scratch y"),
        ("x <scratch", "pad>ZQ7</scratchpad>pad> y", "x <scratchpad› y"),
        ("x <scratch", "ing> y", "x <scratching> y"),
        ("Scratch", "pad: ZQ7", "Scratch"),
        ("Scratch", "Scratchpad: ZQ7", "Scratch"),
        ("cut", "Scratchpad:\nZQ7\nFinal Answer:\nrest", "cutrest"),
        ("Set OPENAI_API_KEY=", "sk-abcDEF123", "Set OPENAI_API_KEY=[redacted]"),
        ("The password: ", "hunter2-Zx9", "The password: [redacted]"),
        ("The password: hun", "ter2-Zx9 is it.", "The password: hun[redacted] is it."),
        ("```xml\n<a>\n", "<think>\n</a>\n```\nDone.", "```xml\n<a>\n<think>\n</a>\n```\nDone."),
        ("```\nx\n", "Reasoning Summary:\n- a\n- b\n```", "```\nx\nReasoning Summary:\n- a\n- b\n```"),
        ("This is our", " final answer\nand it holds.", "This is our final answer\nand it holds."),
        ("A.\n\nFinal Ans", "wered it.", "A.\n\nFinal Answered it."),
        ("A.\n\nFinal Ans", "wer:\nrest", "A.\n\nFinal Ansrest"),
        ("conti", "Final Answer:\nnuation", "continuation"),
        ("one, tw", "", "one, tw"),
    ],
)
def test_cut_answer_and_its_rest_are_parsed_and_redacted_as_one(before, text, shown):
    assert continued(before, [text]) == continued(before, list(text)) == (shown, "")


@pytest.mark.spec("product 41")
@pytest.mark.parametrize("opener", ["<think>", ""])
@pytest.mark.parametrize(
    ("before", "text", "shown"),
    [("It is a conti", "nuation", "It is a continuation"), ("```\nx\n", "y\n```", "```\nx\ny\n```")],
)
def test_rest_of_an_answer_begins_with_a_thought(opener, before, text, shown):
    pieces = [opener, "plan</th", f"ink>{text}"]

    assert continued(before, pieces, starts_in_reasoning=not opener) == (shown, "plan")


def test_fence_that_the_rest_ends_is_no_code_around_a_thought():
    rest = "```\nAfter. <think>plan</think>\n```\nb\n```"

    assert continued("```python\nx = 1", [rest]) == ("```python\nx = 1\n```\nAfter. \n```\nb\n```", "plan")


@given(
    before=st.sampled_from(
        ["", "Text", "Text <scratch", "Scratch", "```\ncode\n", "`a", "# H\n\n", "password: ", "1."]
    ),
    pieces=st.lists(
        st.sampled_from((*PIECES, "pad: ", "Scratchpad:", "Final Answer:\n", "hunter2-Zx9 ", "&lt;")), max_size=10
    ),
)
def test_any_chunking_of_the_rest_gives_the_same_answer(before, pieces):
    whole = "".join(pieces).encode("utf-16", "surrogatepass").decode("utf-16", "replace")

    assert continued(before, pieces)[0].rstrip() == continued(before, list(whole))[0].rstrip()
    assert continued(before, [whole])[0].rstrip() == continued(before, list(whole))[0].rstrip()
