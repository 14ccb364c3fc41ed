"""The turn machine: deltas of several steps in, updates and canonical events out."""

from __future__ import annotations

from typing import Any

import pytest

from reasoning.citations import Source
from reasoning.deltas import Channel, RawEnd, RawFields, RawItem, RawUsage
from reasoning.events import AssistantMessage, Reasoning, ToolCall
from reasoning.trace import finish, start
from reasoning.turn import TurnMachine
from reasoning.updates import ShowScratchpad, ShowText, StepOutcome, Usage

SOURCE = Source(
    ref=1,
    filing="10-K",
    company="Northwind Tidal Power, Inc.",
    date="2026-02-26",
    period=None,
    section="Item 7",
    anchor="#item-7-p1",
    url="/filings/northwind/#item-7-p1",
    text="The ratio was 1.31 at year end.",
    snippet="The ratio was 1.31",
)


def machine() -> TurnMachine:
    return TurnMachine(turn_id="0123456789abcdef", model="m", provider="p", system_prompt="Be brief and be plain.")


def run_step(turn: TurnMachine, *deltas: dict[str, Any], partial: bool = False) -> tuple[str, str, StepOutcome]:
    """Return shown answer, shown thinking, and the outcome of one step."""
    turn.begin_step()
    updates = [update for delta in deltas for update in turn.feed(RawFields(delta))]
    outcome = turn.end_step(partial=partial)
    shown = {Channel.ANSWER: "", Channel.THINKING: ""}
    for update in (*updates, *outcome.updates):
        if isinstance(update, ShowText):
            shown[update.channel] += update.text
    return shown[Channel.ANSWER], shown[Channel.THINKING], outcome


def call_piece(arguments: str, **more: Any) -> dict[str, Any]:
    return {"tool_calls": [{"index": 0, "function": {"arguments": arguments, **more.pop("function", {})}, **more}]}


def test_what_is_shown_is_what_is_kept() -> None:
    answer, thinking, outcome = run_step(machine(), {"reasoning": "Hm."}, {"content": "Yes, "}, {"content": "it is."})

    thought, message = outcome.events
    assert isinstance(thought, Reasoning)
    assert isinstance(message, AssistantMessage)
    assert (answer, thinking) == (message.text, thought.text) == ("Yes, it is.", "Hm.")


@pytest.mark.spec("003 precedence")
def test_native_thinking_alone_is_kept_where_tagged_text_came_first() -> None:
    _answer, _shown, outcome = run_step(
        machine(), {"content": "<think>tagged</think>So."}, {"reasoning_content": "native"}
    )

    thoughts = [event.text for event in outcome.events if isinstance(event, Reasoning)]
    assert thoughts == ["native"]


@pytest.mark.spec("001 EC-006")
def test_thinking_is_recorded_before_the_call_that_it_explains() -> None:
    _answer, _thinking, outcome = run_step(
        machine(),
        {"reasoning_content": "look it up"},
        call_piece('{"q"', id="call_9", function={"name": "f"}),
        call_piece(": 1}"),
    )

    assert [event.type for event in outcome.events] == ["reasoning", "tool_call"]
    assert outcome.calls == (ToolCall(call_id="call_9", name="f", arguments='{"q": 1}', step=0),)


def test_call_without_an_id_gets_one_that_is_the_same_every_time() -> None:
    ids = [run_step(machine(), call_piece("{}", function={"name": "f"}))[2].calls[0].call_id for _twice in range(2)]

    assert ids[0] == ids[1] != ""


def test_steps_of_one_turn_are_parted_by_a_blank_line() -> None:
    turn = machine()
    first, _thinking, _outcome = run_step(turn, {"content": "First."}, call_piece("{}", function={"name": "f"}))
    second, _thinking, _outcome = run_step(turn, {"content": "Second."})

    assert first + second == "First.\n\nSecond."


def test_secret_split_over_deltas_is_neither_shown_nor_kept() -> None:
    secret = "sk-" + "a1b2c3d4" * 5
    answer, _thinking, outcome = run_step(machine(), *({"content": letter} for letter in f"Use {secret} now."))

    assert answer == outcome.events[0].text == "Use [redacted] now."  # type: ignore[union-attr]


def test_personal_data_stays_in_the_answer_and_is_masked_in_shown_thinking() -> None:
    text = "write to bo.li@example.com now"
    answer, thinking, outcome = run_step(machine(), {"reasoning": text}, {"content": text})

    assert answer == text
    assert "bo.li@" not in thinking
    assert outcome.events[0].text == text  # type: ignore[union-attr]  # sealed by the log, whole (001 BR-002)


@pytest.mark.spec("004 scratchpad")
def test_scratchpad_leaves_as_itself_and_stands_in_no_event() -> None:
    turn = machine()
    turn.begin_step()
    updates = turn.feed(RawFields({"content": "A.<scratchpad>quokka note</scratchpad>"}))
    outcome = turn.end_step()

    handed = [update for update in (*updates, *outcome.updates) if isinstance(update, ShowScratchpad)]
    assert len(handed) == 1
    assert "quokka" not in repr(outcome)
    assert "quokka" not in repr(updates)


def test_bullet_that_repeats_the_system_prompt_is_dropped() -> None:
    prompt = "never reveal the internal routing table of this service"
    turn = TurnMachine(turn_id="t" * 16, model="m", provider="p", system_prompt=prompt)
    content = f"Reasoning Summary:\n- {prompt}\n- Looked.\n- Compared.\n\nFinal Answer:\nDone."

    _answer, _thinking, _outcome = run_step(turn, {"content": content})

    assert turn.summary == ("Looked.", "Compared.")
    assert turn.dropped_bullets == 1


@pytest.mark.spec("004 summary")
def test_summary_comes_from_the_trace_where_fewer_than_two_bullets_survive() -> None:
    turn = machine()
    _answer, _thinking, outcome = run_step(turn, call_piece('{"query": "ratio"}', function={"name": "searchFilings"}))
    step = finish(
        start("c", "searchFilings", '{"query": "ratio"}', at_ms=0, shown=None),
        at_ms=5,
        status="ok",
        results=1,
        sources=[SOURCE],
    )
    turn.tool_finished(outcome.calls[0], "{}", step, [SOURCE])

    run_step(turn, {"content": "Reasoning Summary:\n- Only one.\n\nFinal Answer:\nIt was 1.31."})

    assert turn.summary_source == "trace"
    assert len(turn.summary) >= 2

    run_step(turn, {"content": "Reasoning Summary:\n- Looked.\n- Compared.\n\nFinal Answer:\nIt was 1.31."})

    assert (turn.summary_source, turn.summary) == ("model", ("Looked.", "Compared."))


def test_quotation_is_checked_against_the_passage_of_its_marker() -> None:
    turn = machine()
    _answer, _thinking, outcome = run_step(turn, call_piece("{}", function={"name": "f"}))
    step = finish(start("c", "f", "{}", at_ms=0, shown=None), at_ms=1, status="ok", sources=[SOURCE])
    turn.tool_finished(outcome.calls[0], "{}", step, [SOURCE])

    _answer, _thinking, last = run_step(
        turn, {"content": 'It said "The ratio was 1.31" [1], never "The ratio was 9.99" [1].'}
    )

    message = next(event for event in last.events if isinstance(event, AssistantMessage))
    assert [citation["verified"] for citation in message.citations] == [True, False]


def test_stopped_step_keeps_partial_text_and_no_calls() -> None:
    _answer, _thinking, outcome = run_step(
        machine(), {"content": "Half a sen"}, call_piece('{"q', function={"name": "f"}), partial=True
    )

    message = next(event for event in outcome.events if isinstance(event, AssistantMessage))
    assert message.partial
    assert outcome.calls == ()


def test_half_a_secret_of_a_cut_stream_is_let_go_nowhere() -> None:
    half = "sk-" + "a1b2"
    answer, thinking, outcome = run_step(
        machine(), {"reasoning": f"Use {half}"}, {"content": f"Use {half}"}, partial=True
    )

    message = next(event for event in outcome.events if isinstance(event, AssistantMessage))
    assert half not in answer + thinking + message.text


def test_items_are_kept_verbatim_in_the_order_of_their_output_index() -> None:
    turn = machine()
    turn.begin_step()
    for index in (2, 0):
        turn.feed(RawItem(index, {"id": f"rs_{index}", "encrypted_content": "…"}))
    outcome = turn.end_step()

    assert [event.item["id"] for event in outcome.events if isinstance(event, Reasoning)] == ["rs_0", "rs_2"]


def test_usage_adds_up_over_steps_and_unknown_stays_unknown() -> None:
    turn = machine()
    for tokens in (10, 20):
        turn.begin_step()
        turn.feed(RawUsage(input_tokens=tokens, output_tokens=1))
        turn.feed(RawEnd("stop"))
        turn.end_step()

    assert turn.usage == Usage(input_tokens=30, output_tokens=2, reasoning_tokens=None)


def test_two_calls_under_one_id_are_told_apart() -> None:
    turn = machine()
    same = [{"index": index, "id": "same", "function": {"name": "f", "arguments": "{}"}} for index in (0, 1)]

    _answer, _thinking, outcome = run_step(turn, {"tool_calls": same})

    assert [call.call_id for call in outcome.calls] == ["same", "call_01234567_0_1"]


def test_empty_arguments_are_kept_as_they_came() -> None:
    _answer, _thinking, outcome = run_step(machine(), call_piece("", id="c", function={"name": "f"}))

    assert [call.arguments for call in outcome.calls] == [""]


@pytest.mark.spec("004 summary")
def test_bullet_that_repeats_the_scratchpad_of_an_earlier_step_is_dropped() -> None:
    turn = machine()
    notes = "<scratchpad>the owner asked us to hide the covenant breach from the bank</scratchpad>"
    summary = (
        "Reasoning Summary:\n- Searched.\n- Compared.\n- Asked us to hide the covenant breach.\n\nFinal Answer:\nNo."
    )

    run_step(turn, {"content": notes}, call_piece("{}", id="c", function={"name": "f"}))
    run_step(turn, {"content": f"<scratchpad>another note</scratchpad>{summary}"})

    assert turn.summary == ("Searched.", "Compared.")
    assert turn.dropped_bullets == 1


def test_absurd_token_counts_stay_within_what_can_be_kept() -> None:
    turn = machine()
    turn.begin_step()

    turn.feed(RawUsage(input_tokens=2**52, output_tokens=1))
    turn.feed(RawUsage(input_tokens=2**52, output_tokens=1))

    assert turn.usage.input_tokens == 2**31 - 1
