"""What is summarised, from which text, and whether a summary is accepted."""

import pytest

from reasoning.events import AssistantMessage, Compaction, Event, Reasoning, ToolCall, ToolResult, TurnEnd, UserMessage
from reasoning.replay.compaction import choose_border, choose_cut, is_worth_it, summary_tokens, transcript
from reasoning.replay.plan import EgressPlan, RequestTarget
from reasoning.replay.tokens import text_tokens

TARGET = RequestTarget(api="chat", model="m", provider="p", context_limit=1_000)
WIDE = RequestTarget(api="chat", model="m", provider="p", context_limit=100_000)
LONG = "word " * 400  # 500 tokens


def ended(turn: str, first: int, answer: str = LONG) -> list[Event]:
    return [
        UserMessage(text=f"ask {turn}", seq=first, turn=turn),
        AssistantMessage(text=answer, seq=first + 1, turn=turn, step=0),
        TurnEnd(status="completed", seq=first + 2, turn=turn),
    ]


def step(turn: str, first: int, index: int) -> list[Event]:
    call_id = f"c{index}"
    return [
        ToolCall(call_id=call_id, name="look", arguments='{"q": 1}', seq=first, turn=turn, step=index),
        ToolResult(call_id=call_id, output="found " * 600, ok=True, seq=first + 1, turn=turn, step=index),
    ]


def plan(tokens: int) -> EgressPlan:
    return EgressPlan(body={}, omissions=(), effective_tokens=tokens, stored_tokens=tokens, should_compact=False)


def test_border_follows_the_last_turn_that_is_too_long():
    events = [*ended("a", 1), *ended("b", 4), UserMessage(text="now", seq=7, turn="c")]

    assert choose_border(events, TARGET, is_overflow=False) == 5


def test_small_newest_turns_are_not_summarised():
    events = [*ended("a", 1), *ended("b", 4, answer="short"), UserMessage(text="now", seq=7, turn="c")]

    assert choose_border(events, TARGET, is_overflow=False) == 2
    assert choose_border(events, TARGET, is_overflow=True) == 5


def test_single_question_is_not_summarised():
    assert choose_border([UserMessage(text="now", seq=1, turn="a")], TARGET, is_overflow=True) is None


@pytest.mark.parametrize("is_overflow", [True, False])
def test_running_turn_is_cut_between_steps_where_nothing_else_can_go(is_overflow):
    events = [UserMessage(text="now", seq=1, turn="a"), *step("a", 2, 0), *step("a", 4, 1)]

    assert choose_border(events, TARGET, is_overflow=is_overflow) == 3
    assert choose_border([*ended("z", 1), *events[:3]], TARGET, is_overflow=is_overflow) == 2


@pytest.mark.spec("product 23")
def test_as_few_of_the_oldest_turns_are_left_out_as_needed():
    events = [*ended("a", 1), *ended("b", 4), *ended("c", 7), UserMessage(text="now", seq=10, turn="d")]

    assert choose_cut(events, TARGET, plan(TARGET.room), is_overflow=False) is None
    assert choose_cut(events, TARGET, plan(TARGET.room + 1), is_overflow=False) == 2
    assert choose_cut(events, TARGET, plan(TARGET.room + 600), is_overflow=False) == 5
    assert choose_cut(events, TARGET, plan(1_500), is_overflow=True) == 5
    assert choose_cut(events, TARGET, plan(90_000), is_overflow=False) == 8
    left_out = [*events, Compaction(to_seq=8, summary="", left_out=True, seq=11, turn="d")]
    assert choose_cut(left_out, TARGET, plan(90_000), is_overflow=False) is None


@pytest.mark.spec("product 23")
def test_steps_of_a_running_turn_are_left_out_after_all_earlier_turns():
    running = [UserMessage(text="now", seq=4, turn="b"), *step("b", 5, 0), *step("b", 7, 1), *step("b", 9, 2)]
    events = [*ended("a", 1), *running]

    assert choose_cut(events, TARGET, plan(TARGET.room + 600), is_overflow=False) == 6
    assert choose_cut(events, TARGET, plan(90_000), is_overflow=False) == 8


@pytest.mark.spec("product 23")
@pytest.mark.parametrize("word", ["word ", "\u4e2d\u6587 "])
@pytest.mark.parametrize("limit", [600, 2_048, 32_000])
def test_summariser_has_room_to_write(word, limit):
    target = RequestTarget(api="chat", model="m", provider="p", context_limit=limit)
    long = [*ended("a", 1, word * 40_000), Compaction(to_seq=3, summary=word * 8_000, seq=4, turn="b")]

    text = transcript([*long, *ended("b", 5, word * 40_000)], 7, target, overhead_tokens=100)

    assert text_tokens(text) + 100 + summary_tokens(target) <= limit
    assert text_tokens(text) > 0.6 * (limit - summary_tokens(target) - 100)


def test_summariser_reads_text_calls_and_results_and_no_reasoning():
    thought = Reasoning(kind="text", text="secret thought", model="m", provider="p", seq=2, turn="a", step=0)
    item = Reasoning(
        kind="item", item={"encrypted_content": "sealed"}, model="m", provider="p", seq=3, turn="a", step=0
    )
    events = [UserMessage(text="ask", seq=1, turn="a"), thought, item, *step("a", 4, 0)]

    text = transcript(events, 5, WIDE)

    assert text.startswith('User: ask\n\nAssistant called look with {"q": 1}\n\nResult: found')
    assert "secret thought" not in text
    assert "sealed" not in text


def test_earlier_summary_is_included():
    events = [*ended("a", 1, "old words"), Compaction(to_seq=3, summary="the gist", seq=4, turn="b"), *ended("b", 5)]

    text = transcript(events, 6, TARGET)

    assert text.startswith("Summary of what came before: the gist\n\n")
    assert text.endswith("word word ")
    assert len(text) <= 2.8 * TARGET.limit + 5
    assert "old words" not in text


def test_summary_must_make_the_request_really_smaller():
    assert is_worth_it(plan(1_000), plan(500))
    assert not is_worth_it(plan(1_000), plan(950))
