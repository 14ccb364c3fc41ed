"""Live, no word waits for the next one; all that this changes is blanks at the ends of lines."""

from __future__ import annotations

import random
import re
from collections.abc import Iterable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reasoning.deltas import Channel, Delta, RawFields
from reasoning.events import AssistantMessage
from reasoning.normalizer import Normalizer
from reasoning.sections import SectionParser
from reasoning.turn import TurnMachine
from reasoning.updates import ShowText
from tests.reasoning.streamed import PIECES, joined

WORDS = [f"w{number} " for number in range(60)]
HEADINGS = ("Reasoning Summary:", "\nFinal Answer:", "\n- a", "word", "word ", " \n", "\r\n")
PRIVATE = (
    "password:\n",
    "hunter2-Zx9\n",
    "key=\n",
    "sk-proj-a1B2c3D4e5F6g7H8i9J0",
    "Bearer\n",
    "eyJhbGciOi",
    "-----BEGIN RSA PRIVATE KEY-----\n",
)
texts = st.lists(st.sampled_from((*PIECES, *HEADINGS)), max_size=24).map("".join)


def machine() -> TurnMachine:
    turn = TurnMachine(turn_id="0123456789abcdef", model="m", provider="p", system_prompt="Be brief.")
    turn.begin_step()
    return turn


def shown(turn: TurnMachine, field: str, text: str) -> str:
    updates = turn.feed(RawFields({field: text}))
    return "".join(update.text for update in updates if isinstance(update, ShowText))


def sections(text: str, *, live: bool, seed: int = 0) -> tuple[list[str], str, str | None]:
    """Return the summary, the answer and the thinking of a text that comes in pieces cut by chance."""
    chance = random.Random(seed)  # noqa: S311
    normalizer, parser = Normalizer(live=live), SectionParser(live=live)
    out: list[Delta] = []
    while text:
        size = chance.randint(1, 9)
        out += _parted(parser, normalizer.feed({"content": text[:size]}))
        text = text[size:]
    out += [*_parted(parser, normalizer.finish()), *parser.finish()]
    bullets = [str(delta.text) for delta in out if delta.channel is Channel.SUMMARY]
    return bullets, joined(out, Channel.ANSWER), normalizer.thinking


def test_each_word_of_the_answer_is_shown_when_it_comes() -> None:
    turn = machine()

    assert [shown(turn, "content", word) for word in WORDS] == WORDS


@pytest.mark.parametrize("line_end", ["\n", ".\n\n", ":\n", "\n\n\n", " \n", "\r\n"])
def test_the_last_word_of_a_line_is_shown_when_it_comes(line_end: str) -> None:
    turn = machine()
    shown(turn, "content", "So it ")

    assert shown(turn, "content", "ended" + line_end) == ("ended" + line_end).rstrip("\n")
    assert shown(turn, "content", "Then ") == line_end.lstrip(" .:\r") + "Then "


@pytest.mark.parametrize(
    "held",
    ["the password is\n", "<think\n", "sk-proj-a1B2c3\n", "api_key:\n", "so\n\nFinal\n", "AKIAX\n", "<think>so\n"],
)
def test_what_may_begin_something_is_held_at_the_end_of_a_line_as_well(held: str) -> None:
    turn = machine()

    assert held.split()[-1] not in shown(turn, "content", held)


@settings(max_examples=300, deadline=None)
@given(text=st.lists(st.sampled_from((*PIECES, *HEADINGS, *PRIVATE)), max_size=16).map("".join))
def test_a_cut_behind_each_line_break_changes_nothing_of_what_is_kept(text: str) -> None:
    assert _kept(re.split(r"(?<=\n)", text)) == _kept([text])


def test_each_word_is_shown_when_it_comes_on_a_later_line_as_well() -> None:
    turn = machine()
    shown(turn, "content", "Begun. \n\n")

    assert [shown(turn, "content", word) for word in WORDS] == ["\n\nw0 ", *WORDS[1:]]


@pytest.mark.parametrize("field", ["reasoning_content", "content"])
def test_each_word_of_a_thought_is_shown_when_it_comes(field: str) -> None:
    turn = machine()
    shown(turn, field, "<think>" if field == "content" else "so ")

    assert [shown(turn, field, word) for word in WORDS] == WORDS


def test_blank_lines_at_the_end_are_held() -> None:
    turn = machine()

    assert shown(turn, "content", "Done. \n") == "Done. "
    assert shown(turn, "content", " \n ") == ""
    assert turn.end_step().updates == ()


def test_what_is_kept_ends_in_no_blanks() -> None:
    turn = machine()
    shown(turn, "content", "<think> hm </think> Done. ")

    thought, message = turn.end_step().events
    assert isinstance(message, AssistantMessage)
    assert message.text == "Done."
    assert thought.text == "hm"  # type: ignore[union-attr]


@settings(max_examples=200, deadline=None)
@given(text=texts, seed=st.integers(0, 10**6))
def test_only_blanks_at_the_ends_of_lines_differ(text: str, seed: int) -> None:
    bullets, answer, thinking = sections(text, live=False)
    live_bullets, live_answer, live_thinking = sections(text, live=True, seed=seed)

    assert (live_bullets, live_thinking) == (bullets, thinking)
    assert _without_line_ends(live_answer) == _without_line_ends(answer)


@settings(max_examples=200, deadline=None)
@given(text=texts, seed=st.integers(0, 10**6))
def test_any_cut_gives_the_same_live(text: str, seed: int) -> None:
    assert sections(text, live=True, seed=seed) == sections(text, live=True, seed=0)


def _kept(pieces: list[str]) -> str:
    turn = machine()
    for piece in pieces:
        turn.feed(RawFields({"content": piece}))
    return "".join(event.text for event in turn.end_step().events if isinstance(event, AssistantMessage))


def _parted(parser: SectionParser, deltas: Iterable[Delta]) -> list[Delta]:
    return [part for delta in deltas if delta.channel is Channel.VISIBLE for part in parser.feed(str(delta.text))]


def _without_line_ends(text: str) -> str:
    return re.sub(r"[^\S\n]+(?=\n|\Z)", "", text).rstrip()
