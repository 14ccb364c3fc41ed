"""The ways that nearly every delta takes end where the long ones do."""

from __future__ import annotations

from dataclasses import FrozenInstanceError
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reasoning.deltas import Channel, Delta, RawFields
from reasoning.normalizer import Normalizer
from reasoning.outlets import text_delta
from reasoning.turn import TurnMachine
from reasoning.updates import ShowText, Update
from tests.reasoning.streamed import PIECES, channels

NULLS: dict[str, Any] = {"role": "assistant", "reasoning": None, "reasoning_details": None, "tool_calls": None}
fields = st.sampled_from(["content", "content", "reasoning_content"])
deltas = st.lists(st.builds(lambda name, text: {name: text}, fields, st.sampled_from(PIECES)), max_size=16)

LINES = (
    "Reasoning Summary:\n- one\n- two\n",
    "Final Answer:\n",
    "\n",
    "\n\n",
    "Debt ",
    "ser",
    "vice",
    " [1] `",
    "`",
    "é ",
)
answers = st.builds(lambda text: {"content": text}, st.sampled_from(LINES))


class Opaque(dict[str, Any]):
    """A mapping that is no plain dict: it always takes the long way."""


@settings(max_examples=200, deadline=None)
@given(stream=deltas, live=st.booleans())
def test_short_and_long_way_yield_the_same_each_time(stream: list[dict[str, str]], live: bool) -> None:
    short, long = Normalizer(live=live), Normalizer(live=live)

    for delta in stream:
        assert _plain(short.feed(delta)) == _plain(long.feed(Opaque(delta)))
    assert _plain(short.finish()) == _plain(long.finish())
    assert (short.thinking, short.counters) == (long.thinking, long.counters)


@settings(max_examples=300, deadline=None)
@given(stream=st.lists(st.one_of(deltas.filter(bool).map(lambda few: few[0]), answers), max_size=20))
def test_turn_goes_short_and_long_way_to_the_same_updates(stream: list[dict[str, str]]) -> None:
    short, long = _turn(), _turn()

    for delta in stream:
        assert _shown(short.feed(RawFields(delta))) == _shown(long.feed(RawFields(Opaque(delta))))
    ended, expected = short.end_step(), long.end_step()
    assert (_shown(ended.updates), ended.events) == (_shown(expected.updates), expected.events)
    assert short.step_chars == long.step_chars


@settings(max_examples=100, deadline=None)
@given(stream=deltas)
def test_null_fields_beside_the_text_change_nothing(stream: list[dict[str, str]]) -> None:
    assert channels(NULLS | delta for delta in stream) == channels(stream)


def test_delta_made_the_short_way_is_an_ordinary_one() -> None:
    delta = text_delta(Channel.ANSWER, "x")

    assert delta == Delta(Channel.ANSWER, "x")
    assert type(delta) is Delta
    with pytest.raises(FrozenInstanceError):
        delta.text = "y"  # type: ignore[misc]


def _shown(updates: tuple[Update, ...]) -> list[ShowText | type]:
    """Return the updates, of a scratchpad only that there was one: it can't be compared."""
    return [update if isinstance(update, ShowText) else type(update) for update in updates]


def _turn() -> TurnMachine:
    turn = TurnMachine(turn_id="0" * 32, model="m", provider="p", system_prompt="")
    turn.begin_step()
    return turn


def _plain(out: tuple[Delta, ...]) -> list[tuple[Channel, str]]:
    return [(delta.channel, str(delta.text)) for delta in out]
