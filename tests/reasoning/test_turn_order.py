"""What a step leaves beside its text: the order that the service gave, signatures, status lines, the request's size."""

from __future__ import annotations

from typing import Any

import pytest

from reasoning.beside import MAX_STATUS_CHARS
from reasoning.deltas import RawDelta, RawEnd, RawFields, RawItem, RawUsage
from reasoning.events import AssistantMessage, Event, Reasoning, ToolCall
from reasoning.turn import TurnMachine
from reasoning.updates import ShowStatus, StepOutcome, Update

MESSAGE = {"type": "message"}
SECRET = "sk-" + "a1b2c3d4" * 5


def machine() -> TurnMachine:
    return TurnMachine(turn_id="0123456789abcdef", model="m", provider="p", system_prompt="Be brief.")


def run(*raws: RawDelta, turn: TurnMachine | None = None, partial: bool = False) -> tuple[list[Update], StepOutcome]:
    """Return what one step showed while it lasted, and what it left."""
    turn = turn or machine()
    turn.begin_step()
    updates = [update for raw in raws for update in turn.feed(raw)]
    return updates, turn.end_step(partial=partial)


def call(index: int, call_id: str = "", **more: Any) -> RawFields:
    piece = {"index": index, "id": call_id, "function": {"name": "f", "arguments": "{}"}, **more}
    return RawFields({"tool_calls": [piece]})


def item(index: int) -> RawItem:
    return RawItem(index, {"type": "reasoning", "id": f"rs_{index}", "encrypted_content": "…"})


def told(text: str) -> list[str]:
    """Return the status lines that a service's summary makes, given a few characters at a time."""
    pieces = [text[at : at + 7] for at in range(0, len(text), 7)]
    updates, outcome = run(*(RawFields({"reasoning_summary": piece}) for piece in pieces))
    assert outcome.events == outcome.updates == ()
    return [update.text for update in updates if isinstance(update, ShowStatus)]


def names(events: tuple[Event, ...]) -> list[str]:
    found = []
    for event in events:
        match event:
            case Reasoning(kind="item"):
                found.append(event.item["id"])
            case ToolCall():
                found.append(event.call_id)
            case Reasoning():
                found.append(event.kind)
            case AssistantMessage():
                found.append("message")
    return found


@pytest.mark.spec("002 decision 2")
def test_items_message_and_calls_are_kept_in_the_order_that_they_came_in() -> None:
    spoken = [item(0), call(0, "a"), item(2), RawFields({"content": "One moment."}), RawItem(3, MESSAGE), call(1, "b")]

    _updates, outcome = run(*spoken)

    assert names(outcome.events) == ["rs_0", "a", "rs_2", "message", "b"]


def test_mark_of_a_message_that_says_nothing_leaves_no_event() -> None:
    _updates, outcome = run(item(0), RawItem(1, MESSAGE), call(0, "a"))

    assert names(outcome.events) == ["rs_0", "a"]


def test_text_of_several_messages_stands_where_the_last_one_stood() -> None:
    spoken = [RawFields({"content": "One "}), RawItem(0, MESSAGE), item(1), RawFields({"content": "two."})]

    _updates, outcome = run(*spoken, RawItem(2, MESSAGE), call(0, "a"))

    assert names(outcome.events) == ["rs_1", "message", "a"]


def test_message_stands_before_the_calls_where_no_mark_says_otherwise() -> None:
    _updates, outcome = run(call(0, "a"), RawFields({"content": "Looking."}), call(1, "b"))

    assert names(outcome.events) == ["message", "a", "b"]


def test_thinking_in_words_comes_before_everything() -> None:
    _updates, outcome = run(item(0), call(0, "a"), RawFields({"reasoning_content": "hm"}))

    assert names(outcome.events) == ["text", "rs_0", "a"]


@pytest.mark.spec("002 drop")
@pytest.mark.parametrize(
    ("finish", "is_cut", "is_whole"),
    [("stop", False, True), ("length", False, False), ("content_filter", False, False), ("stop", True, False)],
)
def test_item_of_an_answer_that_was_cut_is_not_whole(finish: str, is_cut: bool, is_whole: bool) -> None:
    _updates, outcome = run(item(0), RawFields({"content": "Half"}), RawEnd(finish), partial=is_cut)

    assert [event.whole for event in outcome.events if isinstance(event, Reasoning)] == [is_whole]


def test_signature_of_a_call_is_kept_beside_it_and_before_it() -> None:
    extra = {"google": {"thought_signature": "c2ln"}}

    _updates, outcome = run(call(0, "a", extra_content=extra), call(1, "b"))

    assert names(outcome.events) == ["signature", "a", "b"]
    kept = outcome.events[0]
    assert isinstance(kept, Reasoning)
    assert kept.item == {"call_id": "a", "extra_content": extra}


def test_signature_goes_to_the_id_that_a_call_without_one_was_given() -> None:
    _updates, outcome = run(call(0, extra_content={"s": 1}), call(1, extra_content={"s": 2}))

    signed = [event.item for event in outcome.events if isinstance(event, Reasoning)]
    assert signed == [{"call_id": one.call_id, "extra_content": {"s": n}} for n, one in enumerate(outcome.calls, 1)]


@pytest.mark.parametrize("extra", [None, "c2ln", ["c2ln"], 5])
def test_signature_of_an_odd_kind_is_none(extra: object) -> None:
    _updates, outcome = run(call(0, "a", extra_content=extra))

    assert names(outcome.events) == ["a"]


def test_cut_step_keeps_neither_calls_nor_their_signatures() -> None:
    _updates, outcome = run(call(0, "a", extra_content={"s": 1}), partial=True)

    assert outcome.events == ()


@pytest.mark.spec("product 7")
def test_summary_of_the_service_is_told_by_its_finished_lines() -> None:
    assert told("**Comparing margins**\n\nThe first is higher.\nThe sec") == [
        "Comparing margins",
        "The first is higher.",
    ]


@pytest.mark.spec("product 12")
def test_status_line_is_redacted() -> None:
    assert told(f"Trying the key {SECRET}\nAsking pat@example.com\n") == [
        "Trying the key [redacted]",
        "Asking p***@example.com",
    ]


@pytest.mark.spec("003 invariant 1")
@pytest.mark.parametrize("tag", ["<think>", "</REASONING >", "<scratchpad>", "<thi"])
def test_line_with_a_delimiter_is_not_told(tag: str) -> None:
    assert told(f"Fine.\nAnd {tag} private\n") == ["Fine."]


def test_status_line_is_short_and_cut_after_it_was_redacted() -> None:
    lines = told("word " * 1_000 + "\n") + told("w" * (MAX_STATUS_CHARS - 10) + f" {SECRET}\n")

    assert [len(line) <= MAX_STATUS_CHARS for line in lines] == [True, True]
    assert SECRET[:6] not in "".join(lines)


@pytest.mark.parametrize("odd", [None, 5, ["Fine.\n"], {"text": "Fine.\n"}])
def test_summary_that_is_no_text_tells_nothing(odd: object) -> None:
    assert run(RawFields({"reasoning_summary": odd}))[0] == []


def test_reported_input_is_that_of_the_newest_request() -> None:
    turn = machine()
    for tokens in (10, 25):
        run(RawUsage(input_tokens=tokens, output_tokens=1), turn=turn)
    assert turn.reported_input == 25

    run(RawUsage(output_tokens=1), turn=turn)
    assert turn.reported_input == 0
