"""What the next request holds: tables of histories, settings and expectations."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any

import pytest

from reasoning.egress import EgressPlan, RequestTarget, plan_request
from reasoning.events import (
    AssistantMessage,
    Compaction,
    Event,
    Reasoning,
    ToolCall,
    ToolResult,
    TurnEnd,
    UserMessage,
)
from reasoning.policy import ReasoningSettings
from reasoning.wire import NOT_RUN

TARGET = RequestTarget(api="chat", model="m", provider="p")
DEFAULTS = ReasoningSettings()
INCLUDE = ReasoningSettings(include_in_context=True)


def thought(text: str, *, seq: int, turn: str, step: int = 0, source_field: str = "reasoning_content") -> Reasoning:
    return Reasoning(
        kind="text", text=text, source_field=source_field, model="m", provider="p", seq=seq, turn=turn, step=step
    )


def tool_turn(turn: str, first: int, *, end: str | None = "completed") -> list[Event]:
    events: list[Event] = [
        UserMessage(text=f"ask {turn}", seq=first, turn=turn),
        thought(f"think {turn}", seq=first + 1, turn=turn),
        ToolCall(call_id=f"call_{turn}", name="f", arguments='{"q": 1}', seq=first + 2, turn=turn, step=0),
        ToolResult(call_id=f"call_{turn}", output="found", ok=True, seq=first + 3, turn=turn, step=0),
        AssistantMessage(text=f"answer {turn}", seq=first + 4, turn=turn, step=1),
    ]
    return [*events, TurnEnd(status=end, seq=first + 5, turn=turn)] if end else events


def plan(events: list[Event], settings: ReasoningSettings = DEFAULTS) -> EgressPlan:
    return plan_request(events, settings, TARGET)


def messages(events: list[Event], settings: ReasoningSettings = DEFAULTS) -> list[dict[str, Any]]:
    return plan(events, settings).body["messages"]


def reasonings(events: list[Event], settings: ReasoningSettings) -> list[str]:
    return [message["reasoning_content"] for message in messages(events, settings) if "reasoning_content" in message]


def test_tool_turn_becomes_call_result_and_answer() -> None:
    assert messages(tool_turn("a", 1)) == [
        {"role": "user", "content": "ask a"},
        {
            "role": "assistant",
            "tool_calls": [{"id": "call_a", "type": "function", "function": {"name": "f", "arguments": '{"q": 1}'}}],
        },
        {"role": "tool", "tool_call_id": "call_a", "content": "found"},
        {"role": "assistant", "content": "answer a"},
    ]


@pytest.mark.spec("001 BR-001")
def test_reasoning_stays_out_by_default_and_says_so() -> None:
    made = plan(tool_turn("a", 1))

    assert "think a" not in str(made.body)
    assert [(seq, rule) for seq, rule, _reason in made.omissions] == [(2, "spec 001 BR-001")]


@pytest.mark.spec("001 EC-006")
def test_included_reasoning_stands_on_the_message_of_its_call() -> None:
    first = next(message for message in messages(tool_turn("a", 1), INCLUDE) if message["role"] == "assistant")

    assert first["reasoning_content"] == "think a"
    assert "tool_calls" in first


@pytest.mark.spec("001 BR-005")
@pytest.mark.parametrize(
    ("strip", "kept"),
    [("none", ["think a", "think b"]), ("allButLast", ["think b"]), ("all", [])],
)
def test_strip_comes_before_include(strip: str, kept: list[str]) -> None:
    settings = ReasoningSettings(include_in_context=True, strip_from_context=strip)

    assert reasonings([*tool_turn("a", 1), *tool_turn("b", 11)], settings) == kept


@pytest.mark.spec("001 BR-009")
def test_running_turn_is_never_stripped() -> None:
    settings = ReasoningSettings(include_in_context=True, strip_from_context="all")

    assert reasonings([*tool_turn("a", 1), *tool_turn("b", 11, end=None)], settings) == ["think b"]


@pytest.mark.spec("001 EC-007")
def test_no_empty_reasoning_field_is_sent() -> None:
    events = [event for event in tool_turn("a", 1) if not isinstance(event, Reasoning)]

    assert all("reasoning_content" not in message for message in messages(events, INCLUDE))


@pytest.mark.parametrize(
    ("source_field", "name"),
    [("reasoning", "reasoning"), ("think_tags", "reasoning_content"), ("", "reasoning_content")],
)
def test_reasoning_goes_back_under_the_name_that_it_came_in(source_field: str, name: str) -> None:
    events = [
        UserMessage(text="q", seq=1, turn="a"),
        thought("t", seq=2, turn="a", source_field=source_field),
        AssistantMessage(text="x", seq=3, turn="a", step=0),
        TurnEnd(status="completed", seq=4, turn="a"),
    ]

    assert messages(events, INCLUDE)[1][name] == "t"


@pytest.mark.spec("002 drop")
@pytest.mark.parametrize("status", ["errored", "aborted", "interrupted", "iteration_capped"])
def test_failed_turn_keeps_answered_calls_and_drops_partial_text(status: str) -> None:
    events = [
        UserMessage(text="q", seq=1, turn="a"),
        ToolCall(call_id="c1", name="f", arguments="{}", seq=2, turn="a", step=0),
        ToolResult(call_id="c1", output="r", ok=True, seq=3, turn="a", step=0),
        thought("half", seq=4, turn="a", step=1),
        AssistantMessage(text="par", partial=True, seq=5, turn="a", step=1),
        TurnEnd(status=status, seq=6, turn="a"),
        UserMessage(text="q2", seq=7, turn="b"),
    ]

    sent = messages(events, INCLUDE)

    assert [message["role"] for message in sent] == ["user", "assistant", "tool", "user"]
    assert "par" not in str(sent)
    assert "half" not in str(sent)


def test_open_call_of_the_running_turn_is_closed_with_a_constant() -> None:
    events = [
        UserMessage(text="q", seq=1, turn="a"),
        ToolCall(call_id="c1", name="f", arguments="{}", seq=2, turn="a", step=0),
        ToolCall(call_id="c2", name="f", arguments="{}", seq=3, turn="a", step=0),
        ToolResult(call_id="c2", output="r", ok=True, seq=4, turn="a", step=0),
    ]

    results = [message["content"] for message in messages(events) if message["role"] == "tool"]

    assert results == [NOT_RUN, "r"]


def test_call_id_that_a_server_used_again_is_told_apart() -> None:
    events = [*tool_turn("a", 1), *tool_turn("b", 11)]
    reused = [
        replace(event, call_id="call_0") if isinstance(event, ToolCall | ToolResult) else event for event in events
    ]

    sent = messages(reused)
    calls = [call["id"] for message in sent for call in message.get("tool_calls", ())]
    results = [message["tool_call_id"] for message in sent if message["role"] == "tool"]

    assert calls == results == ["call_0", "call_0-2"]


def test_arguments_that_no_service_takes_back_become_an_empty_object() -> None:
    events = tool_turn("a", 1)
    events[2] = ToolCall(call_id="call_a", name="f", arguments='{"q": ', seq=3, turn="a", step=0)

    assert messages(events)[1]["tool_calls"][0]["function"]["arguments"] == "{}"


def test_branch_that_is_not_selected_is_not_sent() -> None:
    events = [UserMessage(text="old", seq=1, turn="a", active=False), UserMessage(text="new", seq=2, turn="b")]

    assert [message["content"] for message in messages(events)] == ["new"]


def test_compaction_stands_for_what_lies_below_it() -> None:
    events = [*tool_turn("a", 1), Compaction(to_seq=6, summary="short", seq=7, turn="b")]
    events.append(UserMessage(text="next", seq=8, turn="b"))

    sent = messages(events)

    assert [message["role"] for message in sent] == ["user", "user"]
    assert "short" in sent[0]["content"]
    assert "ask a" not in str(sent)


@pytest.mark.spec("001 BR-002")
def test_planning_changes_nothing_stored() -> None:
    events = tool_turn("a", 1)
    before = copy.deepcopy(events)

    plan(events, ReasoningSettings(strip_from_context="all"))

    assert events == before


@pytest.mark.spec("001 BR-008")
def test_settings_of_the_moment_decide_not_those_at_storage() -> None:
    events = tool_turn("a", 1)

    assert reasonings(events, INCLUDE) == ["think a"]
    assert reasonings(events, ReasoningSettings()) == []


@pytest.mark.spec("001 BR-004")
def test_what_is_not_sent_does_not_count() -> None:
    events = tool_turn("a", 1)
    events[1] = thought("x" * 4000, seq=2, turn="a")

    out, included = plan(events), plan(events, INCLUDE)

    assert out.effective_tokens < 200 < included.effective_tokens
    assert out.stored_tokens - out.effective_tokens == 1000


def test_plan_is_deterministic_whatever_the_order_of_rows() -> None:
    events = [*tool_turn("a", 1), *tool_turn("b", 11)]

    assert plan(events) == plan(list(reversed(events)))


@pytest.mark.parametrize(
    "arguments",
    [
        "",
        "null",
        '"text"',
        "[1]",
        '{"a": NaN}',
        '{"a": ',
        "[" * 100_000,
        '{"a":' * 5_000,
        '{"a": ' + "9" * 5_000 + "}",
        '{"a": "' + "x" * 100_000 + '"}',
    ],
)
def test_arguments_that_no_service_takes_back_never_brick_a_conversation(arguments: str) -> None:
    events = tool_turn("a", 1)
    events[2] = ToolCall(call_id="call_a", name="f", arguments=arguments, seq=3, turn="a", step=0)

    _question, made, result, _answer = messages(events)

    call = made["tool_calls"][0]
    assert call["function"]["arguments"] == "{}"
    assert call["id"] == result["tool_call_id"] != "call_a"
    assert result["content"] == "found"


@pytest.mark.parametrize(
    ("name", "sent"),
    [("", "unknown"), ("a b/\x00<c>", "a_b___c_"), ("n" * 10_000, "n" * 64), ("mcp.find", "mcp.find")],
)
def test_tool_name_that_no_service_takes_back_is_replaced(name: str, sent: str) -> None:
    events = tool_turn("a", 1)
    events[2] = ToolCall(call_id="call_a", name=name, arguments="{}", seq=3, turn="a", step=0)

    assert messages(events)[1]["tool_calls"][0]["function"]["name"] == sent


def test_call_id_of_another_api_is_replaced_on_call_and_result() -> None:
    events = tool_turn("a", 1)
    events[2] = ToolCall(call_id="fc_1", name="f", arguments="{}", seq=3, turn="a", step=0)
    events[3] = ToolResult(call_id="fc_1", output="found", ok=True, seq=4, turn="a", step=0)

    _question, made, result, _answer = messages(events)

    assert made["tool_calls"][0]["id"] == result["tool_call_id"]
    assert not result["tool_call_id"].startswith("fc_")
