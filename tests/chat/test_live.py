"""A running turn in memory: what it shows is joined, numbered and published; what may not leave the process doesn't."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from channels.layers import get_channel_layer
from django.conf import LazySettings
from django.utils.translation import override
from hypothesis import given
from hypothesis import strategies as st

from chat.cards.build import live_answer_card
from chat.live import blocks, publish
from chat.live.state import TurnState
from chat.live.turn import LiveTurn
from chat.turns.run import SLOW, THINKING, WRITING
from reasoning.trace import ToolTraceStep, finish, start
from reasoning.visibility import EXCERPT_CHARS, TRUNCATED, Visibility
from tests.live_turns import make_live_turn, published

SEARCHING, OPENING = "Searching filings…", "Reading a passage…"


def trace_step(tool: str, results: int | None = None) -> ToolTraceStep:
    return finish(start("c", tool, "{}", at_ms=0, shown=None), at_ms=1, status="ok", results=results)


def call(turn: LiveTurn, status: str, results: int | None) -> None:
    turn.show_status(status)
    turn.step_started("c", "searchFilings")
    turn.step_finished("c", trace_step("t", results))


async def status_of(turn: LiveTurn, sees: Visibility | None = None) -> str:
    await published(turn)
    return live_answer_card(turn, sees or Visibility()).status_text


def follower_of(turn: LiveTurn) -> TurnState:
    known = ("id", "conversation_id", "owner_id", "number", "question", "model", "started_at")
    return TurnState(**{name: getattr(turn, name) for name in known})


@given(st.lists(st.text(alphabet="a*b\n `|", min_size=1), max_size=12), st.integers(0, 12))
def test_state_and_the_events_after_it_are_the_whole_wherever_one_joins(pieces: list[str], joined_at: int) -> None:
    async def run() -> None:
        turn, follower = make_live_turn(), None
        for number, piece in enumerate([*pieces, "\n\nend"]):
            turn.show_answer(piece)
            turn.show_thinking(piece)
            events = await published(turn)
            if number == min(joined_at, len(pieces)):
                follower = follower_of(turn)
                for name in ("seq", "tail", "tail_n", "answer_chars", "thinking", "thinking_chars"):
                    setattr(follower, name, getattr(turn, name))
                follower.frozen = list(turn.frozen)
            elif follower:
                for event in events:
                    follower.apply(event)
        assert follower is not None
        assert (follower.frozen, follower.tail, follower.tail_n) == (turn.frozen, turn.tail, turn.tail_n)
        assert (follower.seq, follower.thinking, follower.answer_chars) == (turn.seq, turn.thinking, len(turn.answer))

    asyncio.run(run())


async def test_what_comes_in_one_round_of_the_loop_is_one_event() -> None:
    turn = make_live_turn()
    for word in ["one", "two", "three"]:
        turn.show_answer(word)

    events = await published(turn)

    assert [event["text"] for event in events if event["kind"] == "text"] == ["onetwothree"]
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))


@pytest.mark.parametrize("kind", ["render", "layer"])
async def test_turn_goes_on_where_a_block_or_the_layer_fails(monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    def broken(*_args: Any) -> None:
        raise ConnectionError

    if kind == "render":
        monkeypatch.setattr(blocks, "render_blocks", broken)
    else:
        monkeypatch.setattr(publish, "RETRY_AFTER_S", 0)
        monkeypatch.setattr(get_channel_layer(), "group_send", broken)
    turn = make_live_turn()
    turn.show_answer("*One*\n\ntwo\n\nthree\n\nfour")

    await published(turn)

    assert "<em>One</em>" in "".join(turn.frozen)
    assert turn.published_answer == turn.answer


async def test_call_id_that_a_service_used_again_leaves_the_earlier_step_alone() -> None:
    turn = make_live_turn()
    for tool in ("first", "second"):
        turn.step_started("call_0", tool)
        turn.step_finished("call_0", trace_step(tool))
    await published(turn)

    assert [step.trace.tool for step in turn.steps if step.trace] == ["first", "second"]


async def test_name_of_a_running_tool_is_redacted_and_cut() -> None:
    turn = make_live_turn()
    secret = "sk-" + "a1b2c3d4" * 5
    turn.step_started("c", f"{secret} " + "n" * 10_000)
    await published(turn)

    assert secret not in turn.steps[0].tool
    assert len(turn.steps[0].tool) <= 120


@pytest.mark.spec("product 4")
@pytest.mark.parametrize(("flag", "most"), [("full", 10_000), ("excerpt", EXCERPT_CHARS), ("hidden", 0)])
async def test_thinking_leaves_the_process_as_ordinary_viewers_may_read_it(
    settings: LazySettings, flag: str, most: int
) -> None:
    settings.REASONING_THINKING_FOR_USERS = flag
    turn, sent = make_live_turn(), ""
    turn.show_thought_line("quokka")
    for _piece in range(5):
        turn.show_thinking("x" * 300)
        events = await published(turn)
        sent += "".join(event["text"] for event in events if event["kind"] == "thinking")
        assert ("quokka" in repr(events)) <= (flag != "hidden")

    assert sent == ("x" * 1500)[:most]
    assert (turn.thinking, turn.thinking_chars) == ("x" * 1500, 1500)


@pytest.mark.spec("product 4")
@pytest.mark.parametrize("cut_before_it_is_sent", [True, False])
def test_live_excerpt_ends_with_its_mark_once(cut_before_it_is_sent: bool) -> None:
    sees, whole = Visibility(thinking="excerpt"), "x" * 1500
    known = whole[:EXCERPT_CHARS] if cut_before_it_is_sent else whole

    shown = "".join(
        sees.thinking_piece(known[at : at + 300], offset=at, chars=at + 300) for at in range(0, len(whole), 300)
    )

    assert shown == whole[:EXCERPT_CHARS] + TRUNCATED


async def test_trouble_stays_on_the_status_line_until_it_is_over() -> None:
    turn, trouble = make_live_turn(), "Trouble."
    turn.show_status("Thinking…")
    for _twice in range(2):
        turn.show_trouble(trouble)
        turn.show_status(WRITING)
    during = await status_of(turn)
    turn.show_trouble("")
    turn.show_trouble("")

    assert (during, await status_of(turn)) == ("Trouble.", "Writing…")


class TestReadingResults:
    """The status line of a model that was given results says how many it reads. Ui 1."""

    @pytest.fixture
    def turn(self) -> LiveTurn:
        return make_live_turn(working_status=THINKING)

    @pytest.mark.parametrize(
        ("results", "words"),
        [(5, "Reading 5 results…"), (1, "Reading 1 result…"), (0, "Thinking…"), (None, "Thinking…")],
    )
    async def test_results_that_came(self, turn: LiveTurn, results: int | None, words: str) -> None:
        call(turn, SEARCHING, results)
        before = await status_of(turn)
        turn.show_status(THINKING)

        assert (before, await status_of(turn)) == (SEARCHING, words)

    async def test_calls_of_one_response_together_and_of_the_next_afresh(self, turn: LiveTurn) -> None:
        call(turn, SEARCHING, 5)
        call(turn, OPENING, 1)
        turn.show_status(THINKING)
        together = await status_of(turn)
        call(turn, OPENING, 2)
        turn.show_status(THINKING)

        assert (together, await status_of(turn)) == ("Reading 6 results…", "Reading 2 results…")

    async def test_a_newer_status_is_shown_and_a_slow_model_still_reads(self, turn: LiveTurn) -> None:
        call(turn, SEARCHING, 5)
        shown = []
        for status in (THINKING, SLOW, THINKING, WRITING):
            turn.show_status(status)
            shown.append(await status_of(turn))

        assert shown == ["Reading 5 results…", "Still waiting for the model…", "Reading 5 results…", "Writing…"]

    async def test_in_the_viewers_language_and_for_who_sees_steps(self, turn: LiveTurn) -> None:
        call(turn, SEARCHING, 5)
        turn.show_status(THINKING)
        await published(turn)

        with override("de"):
            assert live_answer_card(turn, Visibility()).status_text == "Liest 5 Treffer …"
        assert live_answer_card(turn, Visibility(trace=False)).status_text == "Thinking…"
