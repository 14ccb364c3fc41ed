"""One test for each decision of the replay page and each drop condition, by name. Tables: test_egress."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from reasoning.egress import EgressPlan, RequestTarget, plan_request
from reasoning.events import AssistantMessage, Compaction, Event, Reasoning, ToolCall, ToolResult, TurnEnd, UserMessage
from reasoning.policy import ReasoningSettings

HERE = RequestTarget(api="responses", model="m", provider="p", dialect="responses-strict")
CHAT = RequestTarget(api="chat", model="m", provider="p")
DEFAULTS = ReasoningSettings()
INCLUDE = ReasoningSettings(include_in_context=True)
RS_1 = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "sealed", "later_key": {"x": [1]}}


def item(value: Any = RS_1, **more: Any) -> Reasoning:
    return Reasoning(**{"kind": "item", "model": "m", "provider": "p", "item": value, "step": 0, **more})


def text(value: str = "Hm.", **more: Any) -> Reasoning:
    return Reasoning(**{"kind": "text", "model": "m", "provider": "p", "text": value, "step": 0, **more})


def call(n: int = 1, **more: Any) -> ToolCall:
    return ToolCall(**{"call_id": f"call_{n}", "name": "f", "arguments": "{}", "step": 0, **more})


def result(n: int = 1, **more: Any) -> ToolResult:
    return ToolResult(**{"call_id": f"call_{n}", "output": "found", "ok": True, "step": 0, **more})


def turn(*events: Event, end: str | None = "completed", name: str = "a") -> list[Event]:
    ended = [TurnEnd(status=end)] if end else []
    return [replace(event, turn=name) for event in (UserMessage(text="q"), *events, *ended)]


def plan(*turns: list[Event], to: RequestTarget = HERE, by: ReasoningSettings = DEFAULTS, **more: Any) -> EgressPlan:
    listed = [event for events in turns for event in events]
    return plan_request([replace(event, seq=seq) for seq, event in enumerate(listed, 1)], by, to, **more)


def kinds(made: EgressPlan) -> list[str]:
    return [entry.get("type") or entry["role"] for entry in made.entries]


def rules(made: EgressPlan) -> list[str]:
    return [omission.rule for omission in made.omissions]


@pytest.mark.spec("002 decision 1")
def test_item_goes_back_as_it_came_with_keys_that_nobody_knows() -> None:
    made = plan(turn(item(), call(), result(), end=None))

    assert made.entries[1] == RS_1


@pytest.mark.spec("002 decision 2")
def test_items_calls_and_message_keep_the_order_of_seq() -> None:
    second = {**RS_1, "id": "rs_2"}
    answered = (result(1), result(2))
    made = plan(turn(item(), call(1), item(second), call(2), *answered, end=None))

    assert kinds(made)[1:5] == ["reasoning", "function_call", "reasoning", "function_call"]
    assert kinds(made)[5:] == ["function_call_output"] * 2


@pytest.mark.spec("002 decision 3")
@pytest.mark.parametrize(
    ("target", "rule"),
    [
        (replace(HERE, model="other"), "spec 002 decision 3"),
        (replace(HERE, provider="other"), "replay 2.4"),
        (CHAT, "spec 002 decision 3"),
    ],
)
def test_item_of_another_model_endpoint_or_api_stays_out_and_comes_back(target: RequestTarget, rule: str) -> None:
    loop = turn(item(), call(), result(), end=None)

    assert rules(plan(loop, to=target)) == [rule]
    assert rules(plan(loop)) == []


@pytest.mark.spec("002 decision 3")
def test_calls_and_messages_go_back_without_ids_of_their_own() -> None:
    made = plan(turn(item(), AssistantMessage(text="So.", step=0), call(), result(), end=None))

    assert [entry["type"] for entry in made.entries if "id" in entry] == ["reasoning"]


@pytest.mark.spec("002 decision 3")
def test_ciphertext_is_asked_for_with_every_request() -> None:
    assert plan(turn(end=None)).body["include"] == ["reasoning.encrypted_content"]
    assert plan(turn(end=None)).body["store"] is False


@pytest.mark.spec("002 drop")
@pytest.mark.parametrize("end", ["errored", "iteration_capped", "aborted", "interrupted"])
def test_items_of_a_failed_turn_stay_out_while_its_finished_calls_go(end: str) -> None:
    made = plan(turn(item(), call(), result(), end=end), turn(end=None, name="b"))

    assert kinds(made) == ["message", "function_call", "function_call_output", "message"]
    assert rules(made) == ["spec 002 drop"]


@pytest.mark.spec("002 drop")
@pytest.mark.parametrize(
    ("events", "rule"),
    [
        ([item()], "replay 7"),
        ([AssistantMessage(text="So.", step=0), item()], "replay 7"),
        ([item({**RS_1, "encrypted_content": ""}), call(), result()], "replay 7"),
        ([item({"type": "reasoning", "id": "rs_1", "summary": []}), call(), result()], "replay 7"),
        ([item("text"), call(), result()], "replay 7"),
        ([item(whole=False), call(), result()], "spec 002 drop"),
        ([item(), call(), result(), item(step=1), call(2, step=1), result(2, step=1)], "replay 7"),
    ],
    ids=["alone", "behind the message", "empty seal", "no seal", "no object", "cut short", "twice"],
)
def test_item_that_its_service_would_refuse_stays_out(events: list[Event], rule: str) -> None:
    assert rules(plan(turn(*events, end=None))) == [rule]


@pytest.mark.spec("replay D1")
def test_items_go_back_unless_a_person_says_no() -> None:
    loop = turn(item(), call(), result(), end=None)
    earlier = [*turn(item(), call(), result()), *turn(end=None, name="b")]

    assert rules(plan(loop, by=DEFAULTS)) == []
    assert rules(plan(loop, by=ReasoningSettings(include_in_context=False))) == ["replay D1"]
    assert rules(plan(earlier, by=ReasoningSettings(strip_from_context="all"))) == ["spec 001 BR-005"]


@pytest.mark.spec("replay D2")
def test_boundary_of_stripping_is_the_last_user_message() -> None:
    strip = ReasoningSettings(include_in_context=True, strip_from_context="all")
    before, running = (
        turn(text("old"), AssistantMessage(text="x", step=0)),
        turn(text("new"), call(), end=None, name="b"),
    )
    sent = [entry for entry in plan(before, running, to=CHAT, by=strip).entries if entry["role"] == "assistant"]

    assert [entry.get("reasoning_content") for entry in sent] == [None, "new"]


@pytest.mark.spec("replay D3")
def test_last_means_the_last_turn_that_thought() -> None:
    strip = ReasoningSettings(include_in_context=True, strip_from_context="allButLast")
    said = AssistantMessage(text="x", step=0)
    made = plan(turn(text("old"), said), turn(text("last"), said, name="b"), turn(said, name="c"), to=CHAT, by=strip)

    assert [entry["reasoning_content"] for entry in made.entries if "reasoning_content" in entry] == ["last"]


@pytest.mark.spec("replay D4")
@pytest.mark.parametrize("dialect", ["kimi", "deepseek-v3.2", "deepseek-v4"])
def test_step_whose_thinking_a_person_holds_back_goes_as_it_is(dialect: str) -> None:
    made = plan(turn(text(), call(), result(), end=None), to=replace(CHAT, dialect=dialect))

    assert [entry["role"] for entry in made.entries] == ["user", "assistant", "tool"]
    assert "reasoning_content" not in made.entries[1]


@pytest.mark.spec("replay D5")
@pytest.mark.parametrize(
    ("dialect", "sent"),
    [("openai-chat", None), ("kimi", " "), ("kimi-preserved", " "), ("deepseek-v3.2", " "), ("deepseek-v4", " ")],
)
def test_step_without_thinking_has_the_placeholder_of_its_dialect_or_none(dialect: str, sent: str | None) -> None:
    made = plan(turn(call(), result(), end=None), to=replace(CHAT, dialect=dialect), by=INCLUDE)

    assert made.entries[1].get("reasoning_content") == sent


@pytest.mark.spec("product 3")
@pytest.mark.parametrize(("dialect", "left"), [("openai-chat", 3), ("kimi", 1), ("deepseek-v4", 1)])
def test_step_whose_thinking_was_purged_goes_where_it_is_not_missed(dialect: str, left: int) -> None:
    made = plan(turn(text(""), call(), result(), end=None), to=replace(CHAT, dialect=dialect), by=INCLUDE)

    assert len(made.entries) == left


@pytest.mark.spec("replay D6")
def test_items_that_were_refused_stay_out_once_and_stay_in_the_log() -> None:
    loop = turn(item(), call(), result(), end=None)

    assert rules(plan(loop, omit_items=True)) == ["replay D6"]
    assert rules(plan(loop)) == []


@pytest.mark.spec("replay D7")
@pytest.mark.spec("001 BR-006")
def test_reasoning_that_is_off_asks_for_none_and_still_takes_ciphertext_back() -> None:
    off = ReasoningSettings(enabled=False, effort="high", summary="detailed")
    made = plan(turn(item(), call(), result(), end=None), by=off)

    assert "reasoning" not in made.body
    assert made.body["include"] == ["reasoning.encrypted_content"]
    assert "reasoning" in kinds(made)
    assert "reasoning_effort" not in plan(turn(end=None), to=replace(CHAT, dialect="openai"), by=off).body


def test_calls_that_share_a_signed_step_get_their_stand_ins_together() -> None:
    extra = {"google": {"thought_signature": "S"}}
    signed = text(kind="signature", text="", item={"call_id": "call_1", "extra_content": extra})
    torn = call(2, arguments='{"q": ')
    made = plan(turn(signed, call(), torn, result(1), result(2), end=None), to=replace(CHAT, dialect="signed-calls"))

    first, second = made.entries[1]["tool_calls"]
    assert first["extra_content"] == extra
    assert not {first["id"], second["id"]} & {"call_1", "call_2"}
    assert [entry["tool_call_id"] for entry in made.entries[2:]] == [first["id"], second["id"]]


def test_events_without_step_numbers_are_told_apart_by_results_and_thoughts() -> None:
    said = AssistantMessage(text="So.", step=None)
    bare = [text("one", step=None), call(step=None), text("two", step=None), said]
    made = plan(turn(*bare), to=CHAT, by=INCLUDE)

    assert [entry.get("reasoning_content") for entry in made.entries] == [None, "one", None, "two"]


def test_model_that_takes_no_tools_goes_on_from_the_question() -> None:
    spoken = [AssistantMessage(text="Let me see.", step=0), call(), result()]
    made = plan(turn(*spoken, end=None), to=replace(CHAT, dialect="deepseek-r1"))

    assert [entry["role"] for entry in made.entries] == ["user"]


@pytest.mark.spec("001 ERR-003")
def test_thinking_of_any_length_goes_back_whole_and_counts() -> None:
    long = "thought " * 50_000
    made = plan(turn(text(long), AssistantMessage(text="x", step=0)), to=CHAT, by=INCLUDE)

    assert made.entries[1]["reasoning_content"] == long
    assert made.effective_tokens > 100_000
    assert made.should_compact


@pytest.mark.spec("001 EC-004")
def test_changed_settings_act_on_what_was_kept_before_and_change_none_of_it() -> None:
    kept = turn(text(), AssistantMessage(text="x", step=0))

    for _ in range(2):
        assert plan(kept, to=CHAT, by=INCLUDE).entries[1]["reasoning_content"] == "Hm."
        assert "reasoning_content" not in plan(kept, to=CHAT).entries[1]


def test_compaction_that_would_tear_a_step_leaves_it_whole() -> None:
    torn = turn(
        text(), call(), result(), call(2, step=1), result(2, step=1), Compaction(to_seq=3, summary="s"), end=None
    )

    assert kinds(plan(torn, to=CHAT)) == ["user", "user", "assistant", "tool", "assistant", "tool"]
