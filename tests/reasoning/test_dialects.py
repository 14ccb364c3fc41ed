"""The contracts of the services, row by row: what is sent back, under which name, and its placeholder."""

from dataclasses import replace
from typing import Any

import pytest

from reasoning.events import AssistantMessage, Event, Reasoning, ToolCall, ToolResult, TurnEnd, UserMessage
from reasoning.replay.dialects import DIALECTS, dialect_named, find_dialect
from reasoning.replay.plan import RequestTarget, plan_request
from reasoning.settings import ReasoningSettings

INCLUDE = ReasoningSettings(include_in_context=True)
MADE = {"model": "m", "provider": "p"}
DETAILS = [{"type": "reasoning.encrypted", "data": "sealed"}]
SIGNED = {"call_id": "call_1", "extra_content": {"google": {"thought_signature": "S"}}}
ITEM = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "sealed"}


def loop(*reasoning: Reasoning, turn: str = "a", first: int = 1) -> list[Event]:
    """Return a turn that thinks, calls and answers."""
    events: list[Event] = [
        UserMessage(text="q"),
        *reasoning,
        ToolCall(call_id="call_1", name="f", arguments="{}", step=0),
        ToolResult(call_id="call_1", output="r", ok=True, step=0),
        AssistantMessage(text="So.", step=1),
        TurnEnd(status="completed"),
    ]
    return numbered(events, turn=turn, first=first)


def numbered(events: list[Event], *, turn: str = "a", first: int = 1) -> list[Event]:
    return [replace(event, seq=seq, turn=turn) for seq, event in enumerate(events, first)]


def thought(text: str = "Hm.", source_field: str = "reasoning_content") -> Reasoning:
    return Reasoning(kind="text", text=text, source_field=source_field, step=0, **MADE)


def body(dialect: str, *events: Event, api: Any = "chat", by: ReasoningSettings = INCLUDE) -> dict[str, Any]:
    target = RequestTarget(api=api, model="m", provider="p", dialect=dialect)
    return plan_request(list(events), by, target).body


def call_message(dialect: str, *reasoning: Reasoning) -> dict[str, Any]:
    return next(message for message in body(dialect, *loop(*reasoning))["messages"] if message["role"] == "assistant")


@pytest.mark.parametrize(
    ("dialect", "name"),
    [
        ("openai", None),
        ("deepseek-v4", "reasoning_content"),
        ("gpt-oss", "reasoning"),
        ("openrouter", "reasoning"),
        ("openai-chat", "thinking"),
        ("a dialect that nobody knows", "thinking"),
    ],
)
def test_text_is_sent_under_the_name_that_its_service_reads(dialect, name):
    sent = call_message(dialect, thought(source_field="thinking"))

    names = {"reasoning_content", "reasoning", "thinking", "reasoning_details"} & set(sent)
    assert names == ({name} if name else set())


def test_glm_is_asked_to_use_thinking_only_where_all_of_it_is_sent():
    some = ReasoningSettings(include_in_context=True, strip_from_context="all")
    keeps = {"type": "enabled", "clear_thinking": False}

    assert body("glm-preserved", *loop(thought()))["thinking"] == keeps
    assert "thinking" not in body("glm-preserved", *loop(thought()), by=some)
    assert "thinking" not in body("glm-preserved", *loop(thought()), by=ReasoningSettings())


@pytest.mark.spec("replay 9")
def test_r1_gets_neither_tools_nor_two_messages_of_one_role_in_a_row():
    events = [*loop(thought()), *loop(turn="b", first=11)[:1], *loop(turn="c", first=21)[:1]]

    assert [message["role"] for message in body("deepseek-r1", *events)["messages"]] == ["user", "assistant", "user"]


@pytest.mark.parametrize("dialect", ["openrouter", "minimax"])
def test_details_are_sent_unmodified(dialect):
    details = [*DETAILS, {"type": "reasoning.text", "text": "t", "signature": None, "index": 7}]
    block = Reasoning(kind="details", details=details, step=0, **MADE)

    assert call_message(dialect, thought(), block)["reasoning_details"] == details


def test_signature_is_sent_on_its_call():
    events = loop(Reasoning(kind="signature", item=SIGNED, step=0, **MADE))
    second = ToolCall(call_id="call_2", name="f", arguments="{}", step=0)
    events = numbered([*events[:3], second, *events[3:]])
    sent = body("gemini", *events)["messages"][1]["tool_calls"]

    assert [call.get("extra_content") for call in sent] == [SIGNED["extra_content"], None]


@pytest.mark.spec("product 38")
def test_signed_thoughts_of_a_content_are_sent_in_front_of_its_text():
    thoughts = [{"type": "thinking", "thinking": "Hm.", "signature": "S"}]
    events = loop(Reasoning(kind="signature", item={"message": {"content": thoughts}}, step=0, **MADE))
    said = AssistantMessage(text="I look.", step=0)
    alone, spoken = (body("", *numbered(each)) for each in (events, [*events[:2], said, *events[2:]]))

    assert alone["messages"][1]["content"] == thoughts
    assert spoken["messages"][1]["content"] == [*thoughts, {"type": "text", "text": "I look."}]


@pytest.mark.parametrize(
    ("dialect", "settings", "sent"),
    [
        ("openai", {"effort": "low"}, {"reasoning_effort": "low"}),
        ("details", {"max_tokens": 500}, {"reasoning": {"max_tokens": 500}}),
        ("details", {"effort": "low", "max_tokens": 500}, {"reasoning": {"effort": "low"}}),
        ("details", {"mode": "pro", "context": "all_turns"}, {"reasoning": {"mode": "pro", "context": "all_turns"}}),
        ("details", {"effort": "low", "mode": "pro"}, {"reasoning": {"effort": "low", "mode": "pro"}}),
        ("details", {"mode": "standard", "context": "auto"}, {}),
        ("details", {"enabled": False, "mode": "pro"}, {"reasoning": {"enabled": False}}),
        ("openai", {"mode": "pro", "context": "current_turn"}, {}),
        ("kimi", {"effort": "none"}, {"thinking": {"type": "disabled"}}),
        ("deepseek-v4", {"effort": "high"}, {"thinking": {"type": "enabled"}, "reasoning_effort": "high"}),
        ("vllm", {"effort": "none"}, {"chat_template_kwargs": {"enable_thinking": False}}),
        ("minimax", {}, {"reasoning_split": True}),
        ("openai-chat", {"effort": "high", "max_tokens": 5}, {"reasoning_effort": "high"}),
        ("openai-chat", {}, {}),
        ("qwen", {"effort": "low", "max_tokens": 9}, {"enable_thinking": True, "thinking_budget": 9}),
        ("gemini", {"effort": "low"}, {"reasoning_effort": "low"}),
        ("mistral", {"effort": "low"}, {}),
        # Switched off, where the service has a way
        ("openai-chat", {"enabled": False, "effort": "high"}, {}),
        ("openai", {"enabled": False, "effort": "high"}, {}),
        ("details", {"enabled": False, "effort": "high"}, {"reasoning": {"enabled": False}}),
        ("kimi", {"enabled": False}, {"thinking": {"type": "disabled"}}),
        ("deepseek-v4", {"enabled": False}, {"thinking": {"type": "disabled"}}),
        ("glm-preserved", {"enabled": False}, {"thinking": {"type": "disabled"}}),
        ("qwen", {"enabled": False}, {"enable_thinking": False}),
        ("vllm", {"enabled": False}, {"chat_template_kwargs": {"enable_thinking": False}}),
        ("sglang", {"enabled": False}, {"chat_template_kwargs": {"enable_thinking": False}}),
        ("llama.cpp", {"enabled": False}, {"chat_template_kwargs": {"enable_thinking": False}}),
        ("groq", {"enabled": False}, {"reasoning_effort": "none"}),
        ("ollama", {"enabled": False}, {"reasoning_effort": "none"}),
        ("gemini", {"enabled": False}, {"reasoning_effort": "none"}),
    ],
)
def test_effort_uses_the_parameters_of_the_service(dialect, settings, sent):
    made = body(dialect, *loop(), by=ReasoningSettings(**settings))

    assert {name: value for name, value in made.items() if name not in ("model", "messages")} == sent


def noted(api: Any, dialect: str, model: str = "m", **settings: Any) -> list[str]:
    target = RequestTarget(api=api, model=model, provider="p", dialect=dialect)
    return [note.setting for note in plan_request(loop(), ReasoningSettings(**settings), target).notes]


@pytest.mark.parametrize(("api", "dialect"), [("responses", "responses-strict"), *(("chat", one) for one in DIALECTS)])
@pytest.mark.parametrize(
    "settings",
    [{"effort": "medium"}, {"effort": "none"}, {"max_tokens": 9}, {"summary": "detailed"}, {"enabled": False}],
)
def test_setting_changes_the_request_or_is_noted(api, dialect, settings):
    plain, changed = (body(dialect, *loop(), api=api, by=ReasoningSettings(**one)) for one in ({}, settings))

    assert (plain == changed) == bool(noted(api, dialect, **settings))


@pytest.mark.parametrize(
    ("dialect", "model", "settings", "names"),
    [
        ("details", "m", {"effort": "low", "max_tokens": 9}, ["reasoning.maxTokens"]),
        ("vllm", "m", {"effort": "high"}, ["reasoning.effort"]),
        ("openai", "gpt-4o", {"effort": "low", "max_tokens": 9}, ["reasoning.effort", "reasoning.maxTokens"]),
        ("kimi", "kimi-k2-thinking", {"enabled": False}, ["reasoning.enabled"]),
        ("mistral", "m", {"include_in_context": True}, ["reasoning.includeInContext"]),
        ("gemini", "m", {"include_in_context": True}, ["reasoning.includeInContext"]),
        ("openai-chat", "m", {"include_in_context": True, "effort": "low"}, []),
        ("vllm", "m", {"effort": "medium"}, []),
    ],
)
def test_setting_that_reaches_nothing_is_noted(dialect, model, settings, names):
    assert noted("chat", dialect, model, **settings) == names


@pytest.mark.parametrize(
    ("host", "model", "dialect"),
    [
        ("api.openai.com", "gpt-5-mini", "openai"),
        ("api.moonshot.cn:443", "kimi-k2.7-code", "kimi-preserved"),
        ("API.DeepSeek.com", "deepseek-v4-pro", "deepseek-v4"),
        ("notdeepseek.com", "x", "openai-chat"),
        ("127.0.0.1:8000", "moonshotai/Kimi-K2-Thinking", "kimi"),
        ("127.0.0.1:8000", "deepseek-r1-distill", "openai-chat"),
    ],
)
def test_dialect_is_found_by_address_then_by_model(host, model, dialect):
    assert find_dialect(host, model) == dialect
    assert dialect_named(dialect).name == dialect
