"""Each rule: one request that passes, and one that fails by exactly that rule."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.contract_server.cases_base import BASE_CASES
from tests.contract_server.cases_modes import MODE_CASES
from tests.contract_server.cases_responses import RESPONSES_CASES
from tests.contract_server.fixture import ContractHandle
from tests.contract_server.modes import MODES
from tests.contract_server.rule_case import STEP, TOOLS, Case, loop, thought
from tests.contract_server.talk import (
    CHAT,
    RESPONSES,
    STATELESS,
    ask,
    assistant,
    call,
    hear,
    respond,
    result,
    send,
    user,
)


@pytest.mark.parametrize("case", RESPONSES_CASES, ids=lambda case: case.rule)
def test_responses_rule_passes_one_request_and_refuses_the_other(upstream: ContractHandle, case: Case) -> None:
    upstream.script([*case.issued, {"content": "Fine."}], knobs=case.knobs)
    for _ in case.issued:
        assert respond(upstream, "Begin.", model=case.model).status == 200

    refused = respond(upstream, case.bad, **{"model": case.model, **case.body, **case.bad_body})
    passed = respond(upstream, case.good, model=case.model, **{**case.body, **case.good_body})

    assert (refused.status, refused.rule) == (case.status, case.rule)
    assert case.text in refused.body.decode()
    assert passed.status == 200, passed.body


def test_every_rule_that_can_refuse_has_a_case() -> None:
    refusing = {rule.id for mode in MODES.values() for rule in mode.rules} - {"G6", "E2", "V1"}

    assert {case.rule for case in (*BASE_CASES, *MODE_CASES, *RESPONSES_CASES)} >= refusing


@pytest.mark.parametrize("case", [*BASE_CASES, *MODE_CASES], ids=lambda case: case.rule)
def test_rule_passes_one_request_and_refuses_the_other(upstream: ContractHandle, case: Case) -> None:
    models = {"vendor/model-b": "details"}
    upstream.script([*case.issued, {"content": "Fine."}], knobs=case.knobs, models=models)
    for _ in case.issued:
        assert ask(upstream, [user("Begin.")], model=case.model).status == 200

    refused = ask(upstream, case.bad, **{"model": case.model, **case.body, **case.bad_body})
    passed = ask(upstream, case.good, model=case.model, **case.body, **case.good_body)

    assert (refused.status, refused.rule) == (case.status, case.rule)
    assert case.text in refused.body.decode()
    assert passed.status == 200, passed.body


def test_body_that_is_no_object_with_a_model_is_refused_by_g1(upstream: ContractHandle) -> None:
    answers = [hear(send(upstream, raw)) for raw in (b"{", b"[]", b"{}", b'{"model": 1}', b"\xff")]

    assert {(heard.status, heard.rule) for heard in answers} == {(400, "G1")}
    assert "could not parse the JSON body" in answers[0].json["error"]["message"]


@pytest.mark.parametrize("headers", [{}, {"Authorization": "Bearer "}, {"Authorization": "Basic abc"}])
def test_request_without_bearer_token_is_refused_by_g2(upstream: ContractHandle, headers: dict[str, str]) -> None:
    heard = ask(upstream, [user()], headers=headers)

    assert (heard.status, heard.rule, heard.json["error"]["code"]) == (401, "G2", "invalid_api_key")


def test_earlier_rule_answers_where_two_are_broken(upstream: ContractHandle) -> None:
    heard = ask(upstream, [user(), assistant(None), result("x")])

    assert heard.rule == "C2"


def test_refusal_has_the_error_form_and_leaves_the_script_alone(upstream: ContractHandle) -> None:
    upstream.script([{"content": "Fine."}])

    refused, passed = ask(upstream, []), ask(upstream, [user()])

    assert refused.json["error"] == {
        "message": "Invalid value for 'messages'",
        "type": "invalid_request_error",
        "param": "messages",
        "code": None,
    }
    assert passed.text() == "Fine."


def test_same_thought_issued_twice_may_come_back_twice(upstream: ContractHandle) -> None:
    again = {**STEP, "tool_calls": [{"name": "look", "id": "b"}]}
    upstream.script([STEP, again, {"content": "Fine."}])
    ask(upstream, [user()])
    ask(upstream, [user()])

    heard = ask(upstream, loop(thought("Look it up."), thought("Look it up.", call("b")), result("b")))

    assert heard.status == 200


def test_thinking_switched_off_ignores_reasoning_keys(upstream: ContractHandle) -> None:
    upstream.script([STEP, {"content": "Fine."}])
    ask(upstream, [user()], model="kimi-k2.6")

    heard = ask(upstream, loop(assistant(None, call())), model="kimi-k2.6", thinking={"type": "disabled"})

    assert heard.status == 200


def test_tagged_thought_may_come_back_trimmed_under_a_field(upstream: ContractHandle) -> None:
    upstream.script([{**STEP, "reasoning": "\nLook it up.\n", "tags": "think"}, {"content": "Fine."}])
    ask(upstream, [user()])

    assert ask(upstream, loop(thought("Other words."))).json["error"]["code"] == "contract_reasoning_altered"
    assert ask(upstream, loop(thought("Look it up."))).status == 200


def test_vllm_records_reasoning_under_the_name_that_it_does_not_read(upstream: ContractHandle) -> None:
    upstream.script([{"content": "Fine."}] * 3)

    for key in ("reasoning_content", "thinking", "reasoning"):
        ask(upstream, loop(assistant(None, call(), **{key: "t"})), model="qwen3-local")

    assert [one["lost_reasoning"] for one in upstream.requests()] == [[1], [1], []]


def test_v32_counts_the_characters_that_earlier_turns_waste(upstream: ContractHandle) -> None:
    upstream.script([{"content": "Fine."}])

    ask(upstream, loop(thought("12345"), user()), model="deepseek-v3.2")

    assert upstream.requests()[0]["wasted_characters"] == 5


def test_v4_made_lenient_only_notes_what_is_missing(upstream: ContractHandle) -> None:
    upstream.script([{"content": "Fine."}], knobs={"lenient": True})

    heard = ask(upstream, loop(assistant(None, call())), model="deepseek-v4-flash", tools=TOOLS)

    assert heard.status == 200
    assert upstream.requests()[0]["notes"] == ["F1 at [1]"]


@pytest.mark.parametrize(
    ("knobs", "messages"),
    [
        ({"think_tags": "accept"}, [user(), assistant("a</think>b"), user()]),
        ({"empty_reasoning": "accept"}, loop(thought(""))),
        ({"verify_verbatim": False}, loop(thought("Changed."))),
        ({"verify_arguments": False}, loop(assistant(None, call(arguments='{"x": 1}')))),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_knob_switches_its_rule_off(upstream: ContractHandle, knobs: dict[str, Any], messages: Any) -> None:
    upstream.script([STEP, {"content": "Fine."}], knobs=knobs)
    ask(upstream, [user()])

    assert ask(upstream, messages).status == 200


BARE_LOOP = {"messages": loop(assistant(None, call())), "tools": TOOLS}


@pytest.mark.parametrize(
    ("model", "knobs", "body"),
    [
        ("plain-model", {"unknown_params": "accept"}, {"messages": [user()], "colour": 1}),
        ("deepseek-v3.2", {"thinking_default": False}, BARE_LOOP),
        ("deepseek-v4-pro", {"thinking_default": False}, BARE_LOOP),
        ("deepseek-v4-pro", {"empty_is_missing": False}, {"messages": loop(thought("")), "tools": TOOLS}),
        ("gpt-5-mini", {"unknown_params": "accept"}, {"input": "x", "colour": 1, **STATELESS}),
    ],
)
def test_knob_of_a_mode_makes_it_milder(
    upstream: ContractHandle, model: str, knobs: dict[str, Any], body: dict[str, Any]
) -> None:
    path = RESPONSES if "input" in body else CHAT
    raw = json.dumps({"model": model, **body}).encode()
    upstream.script([{"content": "Fine."}])
    refused = hear(send(upstream, raw, path=path))
    upstream.script([{"content": "Fine."}], knobs=knobs)

    assert (refused.status, hear(send(upstream, raw, path=path)).status) == (400, 200)


def test_header_overrides_the_mode_of_the_model(upstream: ContractHandle) -> None:
    headers = {"Authorization": "Bearer test", "X-Contract-Mode": "kimi"}

    heard = ask(upstream, loop(assistant(None, call())), headers=headers)
    named = respond(
        upstream, "x", model="my-gpt", headers={**headers, "X-Contract-Mode": "responses-strict"}, store=True
    )
    unknown = ask(upstream, [user()], headers={**headers, "X-Contract-Mode": "lenient"})

    assert (heard.rule, named.rule, unknown.rule) == ("K1", "S1", "mode")


def test_script_overrides_the_mode_of_the_model(upstream: ContractHandle) -> None:
    bare = loop(assistant(None, call()))
    upstream.script([], mode="kimi")
    by_script = ask(upstream, bare)
    upstream.script([], models={"my-model": "kimi"})
    by_name = ask(upstream, bare, model="my-model")
    upstream.script([{"content": "Fine.", "mode": "kimi"}])
    by_reply = ask(upstream, bare)

    assert [one.rule for one in (by_script, by_name, by_reply)] == ["K1"] * 3


def test_odd_shapes_are_refused_and_never_break_the_server(upstream: ContractHandle) -> None:
    odd = [
        "text",
        {"role": "user"},
        [None],
        [{"role": ["user"]}],
        [user(), assistant("x", tool_calls="a")],
        [user(), assistant(None, {"id": {}, "function": {"name": "f"}})],
        [user(), assistant(None, call()), {"role": "tool", "tool_call_id": {}}],
        [user(), assistant("x", reasoning_details="t")],
    ]

    answers = [ask(upstream, messages) for messages in odd]

    assert {heard.status for heard in answers} == {400}
