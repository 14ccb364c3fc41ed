"""Each rule: one request that passes, and one that fails by exactly that rule."""

import re
from pathlib import Path

import pytest

from replay_contract_server.cases import (
    CALL,
    CHAT_CASES,
    LOOP,
    OTHER,
    RESPONSE_CASES,
    SAID,
    STEP,
    STRICT,
    WITHOUT_THOUGHT,
    encrypted,
    loop,
    thought,
    without,
)
from replay_contract_server.client import (
    ask,
    assistant,
    call,
    called,
    chat_request,
    output,
    receive,
    respond,
    result,
    said,
    send,
    user,
)
from replay_contract_server.modes import MODES

FINE = {"content": "Fine."}
README = Path(__file__).parent.parent / "README.md"


def test_every_rule_that_can_refuse_has_a_case():
    refusing = {rule.id for mode in MODES.values() for rule in mode.rules} - {"V1"}

    assert {case.rule for case in (*CHAT_CASES, *RESPONSE_CASES)} >= refusing


def test_readme_lists_every_rule_and_every_model():
    text = README.read_text(encoding="utf-8")
    in_table = re.findall(r"^\| ([A-Z]\d[^|]*) \|", text, re.MULTILINE)

    assert set(", ".join(in_table).split(", ")) - {"G1", "G2"} == {r.id for mode in MODES.values() for r in mode.rules}
    assert all(f"`{model}`" in text for mode in MODES.values() for model in mode.models)


@pytest.mark.parametrize("case", [*CHAT_CASES, *RESPONSE_CASES], ids=lambda case: case.rule)
def test_rule_passes_one_request_and_refuses_the_other(upstream, case):
    send_to = respond if case in RESPONSE_CASES else ask
    upstream.script([*case.issued, FINE], knobs=case.knobs, models={"vendor/model-b": "details"})
    for _ in case.issued:
        assert send_to(upstream, [user("Begin.")], model=case.model).status == 200

    refused = send_to(upstream, case.bad, **{"model": case.model, **case.body, **case.bad_body})
    passed = send_to(upstream, case.good, **{"model": case.model, **case.body, **case.good_body})

    assert (refused.status, refused.rule) == (case.status, case.rule)
    assert case.text in refused.body.decode()
    assert passed.status == 200, passed.body


def test_body_that_is_no_object_with_a_model_is_refused_by_g1(upstream):
    answers = [receive(send(upstream, raw)) for raw in (b"{", b"[]", b"{}", b'{"model": 1}', b"\xff")]

    assert {(answer.status, answer.rule) for answer in answers} == {(400, "G1")}


@pytest.mark.parametrize("headers", [{}, {"Authorization": "Bearer "}, {"Authorization": "Basic abc"}])
def test_request_without_bearer_token_is_refused_by_g2(upstream, headers):
    answer = ask(upstream, [user()], headers=headers)

    assert (answer.status, answer.rule, answer.json["error"]["code"]) == (401, "G2", "invalid_api_key")


def test_refusal_names_the_first_broken_rule_and_leaves_the_script_alone(upstream):
    upstream.script([FINE])

    refused, passed = ask(upstream, [user(), assistant(None), result("x")]), ask(upstream, [user()])

    assert (refused.rule, refused.json["error"]["type"]) == ("C2", "invalid_request_error")
    assert passed.text() == "Fine."
    assert upstream.refusals() == ["C2"]


def test_odd_shapes_are_refused_and_never_break_the_server(upstream):
    odd = [
        "text",
        {"role": "user"},
        [None],
        [{"role": ["user"]}],
        [user(), assistant("x", tool_calls="a")],
        [user(), assistant(None, {"id": {}, "function": {"name": "f"}})],
        [user(), CALL, {"role": "tool", "tool_call_id": {}}],
        [user(), assistant("x", reasoning_details="t")],
    ]

    assert {ask(upstream, messages).status for messages in odd} == {400}


def test_same_thought_issued_twice_may_come_back_twice(upstream):
    upstream.script([STEP, {**STEP, "tool_calls": [{"name": "look", "id": "b"}]}, FINE])
    ask(upstream, [user()])
    ask(upstream, [user()])

    answer = ask(upstream, loop(thought("Look it up."), thought("Look it up.", call("b")), result("b")))

    assert answer.status == 200


def test_tagged_thought_may_come_back_trimmed_under_a_field(upstream):
    upstream.script([{**STEP, "reasoning": "\nLook it up.\n", "tags": "think"}, FINE])
    ask(upstream, [user()])

    assert ask(upstream, loop(thought("Other words."))).json["error"]["code"] == "contract_reasoning_altered"
    assert ask(upstream, loop(thought("Look it up."))).status == 200


def test_vllm_records_reasoning_under_the_names_that_it_does_not_read(upstream):
    upstream.script([FINE] * 3)

    for key in ("reasoning_content", "thinking", "reasoning"):
        ask(upstream, loop(assistant(None, call(), **{key: "t"})), model="qwen3-local")

    assert [one["lost_reasoning"] for one in upstream.requests()] == [[1], [1], []]


def test_loop_of_three_steps_is_accepted_item_by_item(upstream):
    thinks, looks = {"type": "reasoning"}, {"type": "function_call", "name": "look"}
    steps = [{"items": [{**thinks, "summary": [str(n)]}, looks, thinks, looks]} for n in range(3)]
    upstream.script([*steps, FINE], knobs=STRICT)
    history = [user()]
    for _ in steps:
        items = respond(upstream, history).items
        history += [*items, *(output(one["call_id"]) for one in items if one["type"] == "function_call")]

    assert respond(upstream, history).status == 200
    assert upstream.refusals() == []


def test_ciphertext_of_another_account_or_an_announcement_is_refused(upstream):
    upstream.script([STEP, FINE])
    events = respond(upstream, [user()]).payloads
    announced = next(one["item"] for one in events if one["type"] == "response.output_item.added")

    assert respond(upstream, LOOP, headers={"Authorization": "Bearer other"}).rule == "S7"
    assert respond(upstream, [user(), announced, called(), output()]).rule == "S7"
    assert respond(upstream, LOOP).status == 200


def test_part_of_a_message_may_follow_its_reasoning(upstream):
    long = {"reasoning": "Easy enough.", "content": "Summary: looked it up.\n\nNet sales rose by two percent."}
    upstream.script([long, FINE], knobs=STRICT)
    respond(upstream, [user()])
    part = said("Net sales rose by two percent.")

    assert respond(upstream, [user(), encrypted(1, "Easy enough."), part, user()]).status == 200


@pytest.mark.parametrize("at", ["event:3", "event:8", "before_done", "inside_event:12:9"])
def test_reasoning_of_a_response_that_was_cut_off_is_refused(upstream, at):
    upstream.script([{**STEP, "chunk": "whole", "faults": [{"kind": "disconnect", "at": at}]}, FINE])
    respond(upstream, [user()])

    assert respond(upstream, LOOP).rule == "S13"
    assert respond(upstream, [user(), called(), output()]).status == 200


def test_conversation_changes_between_responses_and_chat(upstream):
    parted = {**STEP, "reasoning": ["Look it up.", "Then tell."]}
    upstream.script([parted, OTHER, FINE])
    respond(upstream, [user()])
    items = [user(), encrypted(1, "Look it up.", "Then tell."), called(), output()]

    # A provider's summary is not a thought.
    answers = [
        ask(upstream, loop(thought("Look it up.\n\nThen tell.")), model="kimi-k2.6"),
        ask(upstream, loop(assistant(None, call(arguments="{ }"), reasoning_content=" ")), model="kimi-k2.6"),
        ask(upstream, loop(thought(" ")), model="kimi-k2.6"),
        respond(upstream, [called("b"), output("b"), *items]),
        respond(upstream, [*items, called("b"), output("b")]),
    ]

    assert [one.rule for one in answers] == ["C11", "C12", None, "S19", None]


def test_chat_answers_have_their_place_among_items(upstream):
    upstream.script([SAID, WITHOUT_THOUGHT, FINE])
    ask(upstream, [user()])
    respond(upstream, [user()])
    first, second = said("Net sales rose."), [called("c"), output("c")]

    assert respond(upstream, [*second, first, user()]).rule == "S19"
    assert respond(upstream, [user(), first, user(), *second]).status == 200


def test_rejected_ciphertext_is_refused_and_a_request_without_it_served(upstream):
    upstream.script([STEP, {**FINE, "faults": [{"kind": "reject_ciphertext"}]}])
    respond(upstream, [user()])

    assert respond(upstream, LOOP).rule == "S7"
    assert respond(upstream, [without(one, "id") for one in LOOP if one.get("type") != "reasoning"]).status == 200


def test_script_adds_models_and_an_unknown_route_is_not_found(upstream):
    upstream.script([], models={"my-model": "kimi"})

    assert ask(upstream, loop(CALL), model="my-model").rule == "K1"
    assert receive(send(upstream, chat_request([user()]), "/v1/completions")).status == 404
