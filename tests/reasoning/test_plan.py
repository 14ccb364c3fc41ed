"""What the next request contains, and what is omitted by which rule."""

import copy
from dataclasses import replace
from typing import Any

import pytest

from reasoning.events import AssistantMessage, Compaction, Event, Reasoning, ToolCall, ToolResult, TurnEnd, UserMessage
from reasoning.replay.plan import EgressPlan, RequestTarget, plan_request
from reasoning.replay.selection import Refused
from reasoning.replay.wire.calls import NOT_RUN
from reasoning.settings import ReasoningSettings

CHAT = RequestTarget(api="chat", model="m", provider="p")
RESPONSES = RequestTarget(api="responses", model="m", provider="p", dialect="responses-strict")
DEFAULTS = ReasoningSettings()
INCLUDE = ReasoningSettings(include_in_context=True)
RS_1 = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "sealed", "later_key": {"x": [1]}}
SAID = AssistantMessage(text="So.", step=0)


def item(value: Any = RS_1, **more: Any) -> Reasoning:
    return Reasoning(**{"kind": "item", "model": "m", "provider": "p", "item": value, "step": 0, **more})


def thought(text: str = "Hm.", **more: Any) -> Reasoning:
    return Reasoning(**{"kind": "text", "model": "m", "provider": "p", "text": text, "step": 0, **more})


def call(n: int = 1, **more: Any) -> ToolCall:
    return ToolCall(**{"call_id": f"call_{n}", "name": "f", "arguments": "{}", "step": 0, **more})


def result(n: int = 1, **more: Any) -> ToolResult:
    return ToolResult(**{"call_id": f"call_{n}", "output": "found", "ok": True, "step": 0, **more})


def turn(*events: Event, end: str | None = "completed", name: str = "a") -> list[Event]:
    ended = [TurnEnd(status=end)] if end else []
    return [replace(event, turn=name) for event in (UserMessage(text="q"), *events, *ended)]


def numbered(*turns: list[Event]) -> list[Event]:
    return [replace(event, seq=seq) for seq, event in enumerate((event for events in turns for event in events), 1)]


def plan(*turns: list[Event], to: RequestTarget = CHAT, by: ReasoningSettings = INCLUDE, **more: Any) -> EgressPlan:
    return plan_request(numbered(*turns), by, to, **more)


def roles(made: EgressPlan) -> list[str]:
    return [entry.get("type") or entry["role"] for entry in made.entries]


def thoughts(made: EgressPlan) -> list[str]:
    return [entry["reasoning_content"] for entry in made.entries if "reasoning_content" in entry]


def rules(made: EgressPlan) -> list[str]:
    return [omission.rule for omission in made.omissions]


# Messages


@pytest.mark.spec("001 EC-006")
def test_turn_becomes_question_call_result_and_answer():
    made = plan(turn(thought(), call(arguments='{"q":  1}'), result(), AssistantMessage(text="So.", step=1)))

    function = {"name": "f", "arguments": '{"q":  1}'}
    called = {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "call_1", "type": "function", "function": function}],
    }
    assert made.entries == [
        {"role": "user", "content": "q"},
        {**called, "reasoning_content": "Hm."},
        {"role": "tool", "tool_call_id": "call_1", "content": "found"},
        {"role": "assistant", "content": "So."},
    ]


@pytest.mark.spec("replay 8")
def test_open_call_of_the_running_turn_gets_a_constant_result():
    made = plan(turn(call(1), call(2), result(2), end=None))

    assert [entry["content"] for entry in made.entries if entry["role"] == "tool"] == [NOT_RUN, "found"]


@pytest.mark.parametrize("arguments", ["", "[1]", '{"a": NaN}', '{"a":' * 5_000, '{"a": "' + "x" * 100_000])
def test_unsendable_arguments_become_an_empty_object_under_another_id(arguments):
    _question, called, answered = plan(turn(call(arguments=arguments), result())).entries

    sent = called["tool_calls"][0]
    assert sent["function"]["arguments"] == "{}"
    assert sent["id"] == answered["tool_call_id"] != "call_1"


# History


def test_inactive_branch_is_not_sent():
    old = [replace(event, active=False) for event in turn(SAID)]

    assert roles(plan(old, turn(SAID, name="b"))) == ["user", "assistant"]


def test_compaction_replaces_what_it_summarises():
    made = plan(turn(SAID), [Compaction(to_seq=3, summary="short", turn="b")], turn(end=None, name="b"))

    assert roles(made) == ["user"]
    assert "short" in made.entries[0]["content"]


@pytest.mark.spec("replay 2")
def test_compaction_splits_no_step():
    steps = (thought(), call(), result(), call(2, step=1), result(2, step=1))

    made = plan(turn(*steps, Compaction(to_seq=3, summary="s"), end=None))

    assert roles(made) == ["user", "assistant", "tool", "assistant", "tool"]


def test_steps_without_an_index_begin_at_results_and_thoughts():
    bare = [thought("one", step=None), call(step=None), thought("two", step=None), replace(SAID, step=None)]

    assert [entry.get("reasoning_content") for entry in plan(turn(*bare)).entries] == [None, "one", None, "two"]


@pytest.mark.spec("replay 4")
@pytest.mark.spec("replay 5")
@pytest.mark.spec("002 drop")
@pytest.mark.parametrize("end", ["errored", "aborted", "interrupted", "iteration_capped"])
def test_failed_turn_sends_answered_calls_only(end):
    partial = (thought("half", step=1), AssistantMessage(text="par", partial=True, step=1))
    chat = plan(turn(call(), result(), *partial, end=end), turn(end=None, name="b"))
    responses = plan(turn(item(), call(), result(), end=end), turn(end=None, name="b"), to=RESPONSES, by=DEFAULTS)

    assert roles(chat) == ["user", "assistant", "tool", "assistant", "user"]
    assert not {"half", "par"} & set(str(chat.body).split("'"))
    assert roles(responses) == ["message", "function_call", "function_call_output", "message"]
    assert rules(responses) == ["spec 002 drop"]


# Settings


@pytest.mark.spec("001 BR-001")
@pytest.mark.spec("001 BR-004")
def test_reasoning_is_omitted_by_default_and_does_not_count():
    long = turn(thought("x" * 4000), SAID)
    omitted, included = plan(long, by=DEFAULTS), plan(long)

    assert [(seq, rule) for seq, rule, _reason in omitted.omissions] == [(2, "spec 001 BR-001")]
    assert omitted.effective_tokens < 200 < included.effective_tokens
    assert omitted.stored_tokens - omitted.effective_tokens == 1000


@pytest.mark.spec("001 BR-005")
@pytest.mark.spec("001 BR-009")
@pytest.mark.spec("replay D2")
@pytest.mark.spec("replay D3")
@pytest.mark.parametrize(
    ("strip", "sent"), [("none", ["old", "last", "new"]), ("allButLast", ["new"]), ("all", ["new"])]
)
def test_stripping_ends_at_the_last_user_message(strip, sent):
    turns = [turn(thought("old"), SAID), turn(thought("last"), SAID, name="b"), turn(SAID, name="c")]
    running = turn(thought("new"), call(), end=None, name="d")
    by = ReasoningSettings(include_in_context=True, strip_from_context=strip)

    assert thoughts(plan(*turns, running, by=by)) == sent
    # With nothing running, the last reasoning is that of the last turn that has any.
    assert thoughts(plan(*turns, by=by)) == {"none": ["old", "last"], "allButLast": ["last"], "all": []}[strip]


@pytest.mark.spec("001 BR-002")
@pytest.mark.spec("001 BR-008")
@pytest.mark.spec("001 EC-004")
def test_settings_of_the_moment_decide_and_change_nothing_stored():
    stored = numbered(turn(thought(), SAID))
    before = copy.deepcopy(stored)

    assert thoughts(plan_request(stored, INCLUDE, CHAT)) == ["Hm."]
    assert thoughts(plan_request(stored, DEFAULTS, CHAT)) == []
    assert thoughts(plan_request(stored, INCLUDE, CHAT)) == ["Hm."]
    assert stored == before


@pytest.mark.spec("001 EC-007")
def test_empty_reasoning_field_is_not_sent():
    assert thoughts(plan(turn(call(), result(), SAID))) == []


@pytest.mark.spec("001 ERR-003")
def test_long_thinking_is_sent_whole_and_counts():
    made = plan(turn(thought("thought " * 50_000), SAID))

    assert thoughts(made) == ["thought " * 50_000]
    assert made.effective_tokens > 100_000
    assert made.should_compact


@pytest.mark.spec("replay D7")
@pytest.mark.spec("001 BR-006")
def test_disabled_reasoning_asks_for_none_and_still_sends_items():
    off = ReasoningSettings(enabled=False, effort="high", summary="detailed")
    made = plan(turn(item(), call(), result(), end=None), to=RESPONSES, by=off)

    assert "reasoning" not in made.body
    assert made.body["include"] == ["reasoning.encrypted_content"]
    assert "reasoning" in roles(made)
    assert "reasoning_effort" not in plan(turn(end=None), to=replace(CHAT, dialect="openai"), by=off).body


@pytest.mark.spec("001 BR-006")
@pytest.mark.parametrize(
    ("model", "switches_off"),
    [("Qwen/Qwen3-8B", True), ("Qwen/Qwen3-4B-Thinking-2507", False), ("Qwen/QwQ-32B", False)],
)
def test_model_that_always_reasons_is_not_switched_off(model, switches_off):
    made = plan(turn(end=None), to=replace(CHAT, dialect="vllm", model=model), by=ReasoningSettings(enabled=False))

    assert made.switches_off is switches_off


# What services insist on


@pytest.mark.spec("replay D4")
@pytest.mark.parametrize("dialect", ["kimi", "deepseek-v3.2", "deepseek-v4"])
def test_thinking_that_a_person_holds_back_gets_no_placeholder(dialect):
    held = ReasoningSettings(include_in_context=False)
    earlier = turn(thought(), call(), result())

    made = plan(earlier, turn(end=None, name="b"), to=replace(CHAT, dialect=dialect), by=held)

    assert thoughts(made) == []


@pytest.mark.spec("product 31")
@pytest.mark.parametrize("dialect", ["kimi", "kimi-preserved", "deepseek-v3.2", "deepseek-v4"])
@pytest.mark.parametrize("by", [DEFAULTS, ReasoningSettings(include_in_context=False)])
def test_service_that_insists_gets_the_thinking_of_the_running_turn(dialect, by):
    target = replace(CHAT, dialect=dialect)

    assert thoughts(plan(turn(thought(), call(), result(), end=None), to=target, by=by)) == ["Hm."]


@pytest.mark.spec("product 31")
def test_what_a_refusal_taught_is_sent_to_a_service_that_no_dialect_knows():
    learned = replace(CHAT, insists_on_reasoning=True)
    earlier, running = (
        turn(thought("old"), call(), result()),
        turn(thought("new"), call(2), result(2), end=None, name="b"),
    )

    assert thoughts(plan(earlier, running, to=CHAT, by=DEFAULTS)) == []
    assert thoughts(plan(earlier, running, to=learned, by=DEFAULTS)) == ["new"]


@pytest.mark.spec("product 31")
def test_what_a_refusal_taught_counts_beyond_the_dialect():
    target = replace(CHAT, dialect="deepseek-v3.2")
    log = (turn(thought(), call(), result()), turn(end=None, name="b"))

    sent = [plan(*log, to=replace(target, insists_on_reasoning=insists), by=DEFAULTS) for insists in (False, True)]

    assert ["tool" in {entry["role"] for entry in made.entries} for made in sent] == [True, False]


@pytest.mark.spec("replay D5")
@pytest.mark.parametrize(
    ("dialect", "sent"),
    [("openai-chat", []), ("kimi", [" "]), ("kimi-preserved", [" "]), ("deepseek-v3.2", [" "]), ("deepseek-v4", [" "])],
)
def test_call_without_thinking_gets_the_placeholder_of_its_dialect(dialect, sent):
    assert thoughts(plan(turn(call(), result(), end=None), to=replace(CHAT, dialect=dialect))) == sent


@pytest.mark.spec("product 3")
@pytest.mark.parametrize(("dialect", "entries"), [("openai-chat", 5), ("kimi", 1), ("deepseek-v4", 1)])
def test_step_with_purged_thinking_is_omitted_where_it_is_required(dialect, entries):
    made = plan(turn(thought(""), call(), result()), turn(end=None, name="b"), to=replace(CHAT, dialect=dialect))

    assert len(made.entries) == entries


@pytest.mark.spec("product 21")
@pytest.mark.parametrize("dialect", ["details", "signed-calls"])
def test_step_of_the_running_turn_stays_without_what_was_refused(dialect):
    sealed = Reasoning(kind="signature", item={"call_id": "call_1", "x": 1}, model="m", provider="p", step=0)

    made = plan(turn(sealed, call(), result(), end=None), to=replace(CHAT, dialect=dialect), refused=Refused(items=99))

    assert roles(made) == ["user", "assistant", "tool"]


def test_model_without_tools_continues_from_the_question():
    spoken = [AssistantMessage(text="Let me see.", step=0), call(), result()]

    assert roles(plan(turn(*spoken, end=None), to=replace(CHAT, dialect="deepseek-r1"))) == ["user"]


# Opaque items


@pytest.mark.spec("002 decision 1")
@pytest.mark.spec("002 decision 2")
@pytest.mark.spec("002 decision 3")
def test_items_are_sent_verbatim_in_order_and_alone_have_ids():
    parts = (item(), SAID, call(1), item({**RS_1, "id": "rs_2"}), call(2), result(1), result(2))
    made = plan(turn(*parts, end=None), to=RESPONSES, by=DEFAULTS)

    assert made.entries[1] == RS_1
    assert roles(made)[1:6] == ["reasoning", "message", "function_call", "reasoning", "function_call"]
    assert roles(made)[6:] == ["function_call_output"] * 2
    assert [entry["type"] for entry in made.entries if "id" in entry] == ["reasoning"] * 2
    assert (made.body["include"], made.body["store"]) == (["reasoning.encrypted_content"], False)


@pytest.mark.spec("replay 2.4")
@pytest.mark.spec("002 decision 3")
@pytest.mark.parametrize(
    ("target", "rule"),
    [
        (replace(RESPONSES, model="other"), "spec 002 decision 3"),
        (replace(RESPONSES, provider="other"), "replay 2.4"),
        (CHAT, "spec 002 decision 3"),
    ],
)
def test_item_is_sent_to_its_own_model_endpoint_and_api_only(target, rule):
    loop = turn(item(), call(), result(), end=None)

    assert rules(plan(loop, to=target)) == [rule]
    assert rules(plan(loop, to=RESPONSES)) == []


@pytest.mark.spec("replay 7")
@pytest.mark.spec("002 drop")
@pytest.mark.parametrize(
    ("events", "rule"),
    [
        ([item()], "replay 7"),
        ([SAID, item()], "replay 7"),
        ([item({**RS_1, "encrypted_content": ""}), call(), result()], "replay 7"),
        ([item({"type": "reasoning", "id": "rs_1", "summary": []}), call(), result()], "replay 7"),
        ([item("text"), call(), result()], "replay 7"),
        ([item(whole=False), call(), result()], "spec 002 drop"),
        ([item(), call(), result(), item(step=1), call(2, step=1), result(2, step=1)], "replay 7"),
    ],
    ids=["alone", "after the message", "empty ciphertext", "no ciphertext", "no object", "cut short", "twice"],
)
def test_item_that_its_service_would_refuse_is_omitted(events, rule):
    assert rules(plan(turn(*events, end=None), to=RESPONSES)) == [rule]


@pytest.mark.spec("replay D1")
@pytest.mark.spec("replay D6")
def test_items_are_omitted_by_settings_or_after_a_refusal_only():
    loop = turn(item(), call(), result(), end=None)
    earlier = [turn(item(), call(), result()), turn(end=None, name="b")]

    assert rules(plan(loop, to=RESPONSES, by=DEFAULTS)) == []
    assert rules(plan(loop, to=RESPONSES, by=ReasoningSettings(include_in_context=False))) == ["replay D1"]
    assert rules(plan(*earlier, to=RESPONSES, by=ReasoningSettings(strip_from_context="all"))) == ["spec 001 BR-005"]
    assert rules(plan(loop, to=RESPONSES, refused=Refused(items=99))) == ["product 21"]


@pytest.mark.parametrize(
    ("api", "dialect", "name"),
    [
        ("chat", None, "max_tokens"),
        ("chat", "openai", "max_completion_tokens"),
        ("chat", "llama.cpp", "max_tokens"),
        ("responses", "responses-strict", "max_output_tokens"),
    ],
)
def test_length_of_an_answer_is_limited_in_the_words_of_the_service(api, dialect, name):
    target = RequestTarget(api=api, model="m", provider="p", dialect=dialect)
    events = [UserMessage(text="now", seq=1, turn="a")]
    lengths = {"max_tokens", "max_completion_tokens", "max_output_tokens"}

    free = plan_request(events, ReasoningSettings(), target).body
    limited = plan_request(events, ReasoningSettings(), replace(target, max_output_tokens=500)).body

    assert lengths.isdisjoint(free)
    assert {key: limited[key] for key in lengths & limited.keys()} == {name: 500}


@pytest.mark.parametrize(("to", "expected"), [(CHAT, True), (RESPONSES, False)])
def test_null_of_a_reasoning_item_is_no_null_beside_a_call(to, expected):
    made = plan(turn(item({**RS_1, "content": None}), call(), result()), to=to)

    assert made.has_null_content is expected
