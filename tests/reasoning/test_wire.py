"""How history looks on the wire: roles, ids, names, opaque fields and cut results."""

import json
from dataclasses import replace

import pytest

from reasoning.events import AssistantMessage, Reasoning, ToolCall, ToolResult, TurnEnd, UserMessage
from reasoning.replay.dialects import PRESETS
from reasoning.replay.plan import EgressPlan, RequestTarget, plan_request
from reasoning.replay.wire import FORMATS
from reasoning.replay.wire.chat import merge_details
from reasoning.settings import ReasoningSettings

CHAT = RequestTarget(api="chat", model="m", provider="p", dialect="strict-chat")
RESPONSES = replace(CHAT, api="responses", dialect="responses-strict")
OPAQUE = {"extra_content": {"google": {"thought_signature": "SIG"}}}


def question(text: str = "q", **fields) -> UserMessage:
    return UserMessage(text=text, **fields)


def call(call_id: str = "call_1", name: str = "f", **fields) -> ToolCall:
    return ToolCall(call_id=call_id, name=name, arguments="{}", step=0, **fields)


def result(call_id: str = "call_1", output: str = "found") -> ToolResult:
    return ToolResult(call_id=call_id, output=output, ok=True, step=0)


def signature(item: object, model: str = "m") -> Reasoning:
    return Reasoning(kind="signature", item=item, model=model, provider="p", step=0)


def planned(*turns: list, to: RequestTarget = CHAT) -> EgressPlan:
    """Plan a request; every turn but the last has ended."""
    events = []
    for number, parts in enumerate(turns):
        ended = [TurnEnd(status="completed")] if number < len(turns) - 1 else []
        events += [replace(event, turn=f"t{number}") for event in (*parts, *ended)]
    return plan_request([replace(event, seq=seq) for seq, event in enumerate(events, 1)], ReasoningSettings(), to)


def roles(made: EgressPlan) -> list[str]:
    return [entry["role"] for entry in made.entries]


def ids(made: EgressPlan) -> list[str]:
    calls = [call["id"] for entry in made.entries for call in entry.get("tool_calls", ())]
    answered = [entry["tool_call_id"] for entry in made.entries if "tool_call_id" in entry]
    assert calls == answered
    return calls


def test_presets_speak_a_known_api():
    assert {preset.api for preset in PRESETS.values()} <= set(FORMATS)


@pytest.mark.spec("product 29")
@pytest.mark.parametrize("target", [CHAT, RESPONSES], ids=["chat", "responses"])
def test_neighbouring_questions_are_one(target):
    made = planned([question("one")], [question("two")], to=target)

    assert [entry["content"] for entry in made.entries] == ["one\n\ntwo"]


@pytest.mark.spec("product 29")
def test_neighbouring_answers_are_one_and_a_call_ends_the_message():
    said = [AssistantMessage(text="one", step=0), AssistantMessage(text="two", step=1)]

    made = planned([question(), *said, replace(call(), step=2), replace(result(), step=2)])

    assert roles(made) == ["user", "assistant", "tool"]
    assert made.entries[1]["content"] == "one\n\ntwo"


@pytest.mark.spec("product 29")
def test_constant_answer_stands_between_a_result_and_a_question():
    made = planned([question(), call(), result()], [question("two")])

    assert roles(made) == ["user", "assistant", "tool", "assistant", "user"]


@pytest.mark.spec("product 29")
@pytest.mark.parametrize("target", [CHAT, RESPONSES], ids=["chat", "responses"])
def test_instructions_go_in_front_of_the_first_question_without_a_system_role(target):
    made, wire = planned([question()], to=replace(target, takes_system=False)), FORMATS[target.api]

    body = wire.with_frame(made.body, "Be brief.", (), takes_system=made.takes_system)

    assert [entry["content"] for entry in body[wire.entries_key]] == ["Be brief.\n\nq"]
    assert "instructions" not in body


@pytest.mark.spec("product 30")
@pytest.mark.parametrize(
    ("dialect", "call_id", "fits"),
    [
        ("mistral", "Ab1Cd2Ef3", True),
        ("mistral", "call_Ab12Cd34Ef56", False),
        ("strict-chat", "call_" + "a" * 35, True),
        ("strict-chat", "call_" + "a" * 36, False),
        ("strict-chat", "functions.search:0", False),
        ("kimi", "functions.search:0", True),
        ("signed-calls", "call__thought__" + "x" * 500, True),
    ],
)
def test_ids_of_earlier_calls_fit_the_receiver(dialect, call_id, fits):
    earlier = [question(), call(call_id), result(call_id)]

    made = planned(earlier, [question()], to=replace(CHAT, dialect=dialect))

    (sent,) = ids(made)
    assert (sent == call_id) is fits
    assert len(sent) == 9 if dialect == "mistral" else fits or len(sent) <= 40
    assert made.body == planned(earlier, [question()], to=replace(CHAT, dialect=dialect)).body


@pytest.mark.spec("product 30")
@pytest.mark.parametrize(("dialect", "is_kept"), [("openai-chat", True), ("openai", False), ("mistral", False)])
def test_id_of_the_running_turn_is_kept_where_no_rule_of_the_service_is_known(dialect, is_kept):
    long_id = "call_" + "a" * 60

    (sent,) = ids(planned([question(), call(long_id), result(long_id)], to=replace(CHAT, dialect=dialect)))

    assert (sent == long_id) is is_kept


@pytest.mark.spec("product 30")
@pytest.mark.parametrize("dialect", ["mistral", "strict-chat"])
def test_ids_are_unique_in_a_request(dialect):
    turns = [[question(), call(one), result(one)] for one in ("a.b", "a:b", "a.b", "", "")]

    sent = ids(planned(*turns, [question()], to=replace(CHAT, dialect=dialect)))

    assert len(set(sent)) == len(turns)
    assert all(one.replace("_", "").replace("-", "").isalnum() for one in sent)


@pytest.mark.spec("product 30")
def test_service_gets_its_own_long_id_back_in_the_running_turn():
    long = "call_1__thought__" + "x" * 500

    assert ids(planned([question(), call(long), result(long)])) == [long]


@pytest.mark.spec("product 30")
@pytest.mark.parametrize("target", [CHAT, RESPONSES], ids=["chat", "responses"])
def test_names_of_calls_have_only_characters_that_all_services_accept(target):
    made = planned([question(), call(name="functions.web:search" + "x" * 80), result()], to=target)

    assert '"functions_web_searchxxx' in json.dumps(made.body)
    assert "functions.web" not in json.dumps(made.body)


@pytest.mark.spec("product 38")
@pytest.mark.parametrize("dialect", ["openai-chat", "strict-chat", "mistral"])
def test_signature_of_a_call_goes_back_on_it_to_its_model_only(dialect):
    parts = [question(), signature({"call_id": "call_1", **OPAQUE, "id": "evil"}), call(), result()]
    target = replace(CHAT, dialect=dialect)

    (sent,) = planned(parts, to=target).entries[1]["tool_calls"]
    (other,) = planned(parts, to=replace(target, model="other")).entries[1]["tool_calls"]

    assert sent["extra_content"] == OPAQUE["extra_content"]
    assert sent["id"] != "evil"
    assert "extra_content" not in other


@pytest.mark.spec("product 38")
def test_first_unsigned_call_of_a_step_says_so_to_a_service_that_demands_signatures():
    target = replace(CHAT, dialect="signed-calls")
    signed = [question(), signature({"call_id": "call_1", **OPAQUE}), call(), result()]
    calls = [call(), call("call_2"), result(), result("call_2")]

    (own,) = planned(signed, to=target).entries[1]["tool_calls"]
    first, second = planned([question(), *calls], to=target).entries[1]["tool_calls"]

    assert own["extra_content"] == OPAQUE["extra_content"]
    assert first["extra_content"] == {"google": {"thought_signature": "skip_thought_signature_validator"}}
    assert "extra_content" not in second


@pytest.mark.spec("product 38")
def test_signature_within_a_function_goes_back_within_it():
    item = {"call_id": "call_1", "function": {"thought_signature": "SIG", "name": "evil"}}

    (sent,) = planned([question(), signature(item), call(), result()], to=CHAT).entries[1]["tool_calls"]

    assert sent["function"]["thought_signature"] == "SIG"
    assert sent["function"]["name"] != "evil"


@pytest.mark.spec("product 38")
def test_signature_of_a_message_goes_back_on_it():
    opaque = {"reasoning_opaque": "SIG", "thinking_blocks": [{"signature": "S"}], "role": "user"}

    _question, sent, _result = planned([question(), signature({"message": opaque}), call(), result()]).entries

    assert (sent["reasoning_opaque"], sent["thinking_blocks"], sent["role"]) == (
        "SIG",
        [{"signature": "S"}],
        "assistant",
    )


@pytest.mark.spec("product 38")
@pytest.mark.parametrize(
    ("pieces", "merged"),
    [
        (
            [
                {"type": "reasoning.text", "text": "a", "index": 0, "signature": None},
                {"type": "reasoning.text", "text": "b", "index": 0},
                {"type": "reasoning.text", "signature": "S", "index": 0, "format": "f"},
            ],
            [{"type": "reasoning.text", "text": "ab", "index": 0, "signature": "S", "format": "f"}],
        ),
        (
            [{"type": "reasoning.text", "text": "a", "index": 0}, {"type": "reasoning.text", "text": "b", "index": 1}],
            [{"type": "reasoning.text", "text": "a", "index": 0}, {"type": "reasoning.text", "text": "b", "index": 1}],
        ),
        (
            [{"type": "e", "data": "x", "id": "1", "index": 0}, {"type": "e", "data": "y", "id": "2", "index": 0}],
            [{"type": "e", "data": "x", "id": "1", "index": 0}, {"type": "e", "data": "y", "id": "2", "index": 0}],
        ),
        (
            [{"type": "t", "text": "", "index": 0, "signature": "S"}, {"type": "t", "text": "a", "index": 0}],
            [{"type": "t", "text": "a", "index": 0, "signature": "S"}],
        ),
        ([{"type": "e", "data": "x", "id": "1"}] * 2, [{"type": "e", "data": "x", "id": "1"}]),
        ([{"text": "a"}, {"text": "b"}, "odd"], [{"text": "a"}, {"text": "b"}, "odd"]),
    ],
)
def test_pieces_of_a_detail_are_joined(pieces, merged):
    assert merge_details(pieces) == merged
    assert merge_details(merge_details(pieces)) == merged


@pytest.mark.parametrize(("dialect", "content"), [("strict-chat", None), ("mistral", "")])
def test_message_with_calls_always_has_content(dialect, content):
    assert planned([question(), call(), result()], to=replace(CHAT, dialect=dialect)).entries[1]["content"] == content


def test_item_without_a_summary_goes_back_with_an_empty_one():
    item = Reasoning(kind="item", item={"type": "reasoning", "encrypted_content": "x"}, model="m", provider="p", step=0)

    assert planned([question(), item, call(), result()], to=RESPONSES).entries[1]["summary"] == []


@pytest.mark.spec("product 23")
def test_results_of_one_response_share_what_the_limit_leaves():
    names = [f"call_{number}" for number in range(32)]
    calls, results = [call(one) for one in names], [result(one, "word " * 3_300) for one in names[1:]]

    made = planned([question(), *calls, result(names[0], "short"), *results], to=replace(CHAT, context_limit=32_000))

    outputs = [entry["content"] for entry in made.entries if entry["role"] == "tool"]
    assert made.effective_tokens <= 32_000
    assert made.should_compact
    assert outputs[0] == "short"
    assert all("characters left out" in output for output in outputs[1:])


def test_turn_without_tools_offers_none():
    assert not planned([question()], to=replace(CHAT, takes_tools=False)).offers_tools
    assert planned([question()], to=replace(CHAT, dialect="deepseek-r1", takes_tools=True)).offers_tools
