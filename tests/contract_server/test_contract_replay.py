"""A conversation over several requests: seals, broken responses, rotated keys."""

from __future__ import annotations

from typing import Any

import pytest

from tests.contract_server.fixture import ContractHandle
from tests.contract_server.rule_case import LOOPED, STEP, loop, sealed, without
from tests.contract_server.saying import calls, reasons
from tests.contract_server.talk import (
    RESPONSES,
    ask,
    assistant,
    call,
    called,
    output,
    respond,
    response_request,
    said,
    send,
    user,
)

FINE = {"content": "Fine."}
REJECT = {"kind": "reject_ciphertext"}


def start(upstream: ContractHandle, *replies: dict[str, Any], **knobs: Any) -> None:
    """Let the model take its first step, which the history in ``LOOPED`` goes on from."""
    upstream.script(list(replies), knobs=knobs)
    respond(upstream, [user()])


def test_loop_of_three_steps_is_accepted_item_by_item(upstream: ContractHandle) -> None:
    steps = [{"items": [reasons(str(n)), calls("look"), reasons(), calls("look")]} for n in range(3)]
    upstream.script([*steps, FINE])
    history: list[Any] = [user()]
    for _ in steps:
        items = respond(upstream, history, prompt_cache_key="one").items
        made = [one for one in items if one["type"] == "function_call"]
        history += [*items, *(output(one["call_id"]) for one in made)]

    assert respond(upstream, history).status == 200
    assert upstream.refusals() == []
    prefixes = [one["prefix"]["input"] for one in upstream.requests()[:3]]
    assert prefixes[0] == 0
    assert prefixes[1] < prefixes[2]


def test_neighbouring_reasoning_items_share_what_follows_them(upstream: ContractHandle) -> None:
    step = {"items": [reasons("One."), reasons("Two."), calls("look"), calls("look")]}
    upstream.script([step, FINE], knobs={"pairing": "strict"})
    one, two, *made = respond(upstream, [user()]).items
    bare, outputs = [without(item, "id") for item in made], [output("call_1"), output("call_2")]

    assert respond(upstream, [user(), one, *bare, *outputs, two]).rule == "S11"
    assert respond(upstream, [user(), one, two, bare[1], bare[0], *outputs]).rule == "S12"
    assert respond(upstream, [user(), one, bare[0], made[1], *outputs]).rule == "S14"
    assert respond(upstream, [user(), one, two, *made, *outputs]).status == 200


def test_response_that_was_not_streamed_counts_as_whole(upstream: ContractHandle) -> None:
    upstream.script([STEP, FINE])
    respond(upstream, [user()], stream=False)

    assert respond(upstream, LOOPED).status == 200


def test_ciphertext_of_another_account_is_refused(upstream: ContractHandle) -> None:
    start(upstream, STEP, FINE)

    heard = respond(upstream, LOOPED, headers={"Authorization": "Bearer other"})

    assert (heard.rule, heard.json["error"]["code"]) == ("S7", "invalid_encrypted_content")


def test_ciphertext_of_the_announcement_is_refused(upstream: ContractHandle) -> None:
    upstream.script([STEP, FINE])
    announced = respond(upstream, [user()]).of_type("output_item.added")[0]["item"]

    assert respond(upstream, [user(), announced, called(), output()]).rule == "S7"


@pytest.mark.parametrize(
    ("token", "rule"),
    [
        ("ENC[gpt-5-mini|rs_1|9]", None),  # whatever the server itself issued under this id
        ("ENC[gpt-5-mini|rs_7|1]", None),
        ("ENC[gpt-5.4|rs_7|1]", "S7"),
        ("ENC[gpt-5-mini|rs_8|1]", "S8"),
        ("ENC[gpt-5-mini|rs_7]", "S7"),
        ("ENC[gpt-5-mini|rs_7|x]", "S7"),
    ],
)
def test_hand_written_ciphertext_passes_where_the_knob_allows_it(
    upstream: ContractHandle, token: str, rule: str | None
) -> None:
    start(upstream, STEP, FINE, plain_tokens=True)
    item = sealed(1 if "rs_1" in token else 7, encrypted_content=token)

    heard = respond(upstream, [user(), item, called(), output()])

    assert heard.rule == rule


@pytest.mark.parametrize(
    ("knobs", "items"),
    [
        ({"verify_verbatim": False}, [user(), sealed(1, "Changed."), called(), output()]),
        ({"verify_arguments": False}, [user(), called(arguments='{"x": 1}'), output()]),
        ({"pairing": "position"}, [user(), sealed(), said("Something else.")]),
        ({"message_id_after_reasoning": False}, [user(), sealed(), said("Something else.")]),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_knob_switches_its_rule_off(upstream: ContractHandle, knobs: dict[str, Any], items: Any) -> None:
    start(upstream, STEP, FINE, **knobs)

    assert respond(upstream, items).status == 200


def test_part_of_a_message_keeps_its_place(upstream: ContractHandle) -> None:
    long = {"reasoning": "Easy enough.", "content": "Summary: looked it up.\n\nNet sales rose by two percent."}
    start(upstream, long, FINE, pairing="strict")
    part = said("Net sales rose by two percent.")

    assert respond(upstream, [user(), sealed(1, "Easy enough."), part, user()]).status == 200


@pytest.mark.parametrize("at", ["event:3", "event:8", "event:11", "before_done", "inside_event:12:9"])
def test_reasoning_of_a_response_that_was_cut_off_is_refused(upstream: ContractHandle, at: str) -> None:
    cut = {"kind": "disconnect", "at": at}
    start(upstream, {**STEP, "chunk": "whole", "faults": [cut]}, FINE)

    assert respond(upstream, LOOPED).rule == "S13"
    assert respond(upstream, [user(), called(), output()]).status == 200


def test_reasoning_of_a_response_that_the_client_left_is_refused(upstream: ContractHandle) -> None:
    upstream.script([{**STEP, "faults": [{"kind": "stall", "at": "before_done", "name": "gap"}]}, FINE])
    connected = send(upstream, response_request("x"), path=RESPONSES)
    upstream.wait_for(held="gap")
    connected.close()
    upstream.wait_for(closed=1)

    assert respond(upstream, LOOPED).rule == "S13"


def test_response_counts_as_whole_when_its_final_event_is_out(upstream: ContractHandle) -> None:
    upstream.script([{**STEP, "chunk": "whole"}, {**FINE, "repeat": True}])
    connected = send(upstream, response_request("x"), path=RESPONSES)
    heard = b""
    while b"response.completed" not in heard:
        heard += connected.recv(65536)
    connected.close()

    assert respond(upstream, LOOPED).status == 200


def test_rotated_key_refuses_intact_ciphertext_once(upstream: ContractHandle) -> None:
    start(upstream, STEP, {**FINE, "faults": [REJECT]})

    refused = respond(upstream, LOOPED)
    healed = respond(upstream, [user(), called(), output()])

    assert (refused.status, refused.rule, refused.json["error"]["code"]) == (400, "S7", "invalid_encrypted_content")
    assert "for item rs_1 could not be verified" in refused.json["error"]["message"]
    assert healed.status == 200
    assert [one["faults"] for one in upstream.requests()] == [[], ["reject_ciphertext"], []]


def test_request_without_ciphertext_does_not_use_the_rejection_up(upstream: ContractHandle) -> None:
    start(upstream, STEP, {**FINE, "faults": [REJECT], "repeat": True})

    assert respond(upstream, [user()]).status == 200
    assert respond(upstream, [user(), without(sealed(), "id"), called(), output()]).rule == "S7"
    assert respond(upstream, LOOPED).status == 200


def test_rejection_reaches_reasoning_details_as_well(upstream: ContractHandle) -> None:
    details = [{"type": "reasoning.encrypted", "data": "abcd-efgh"}]
    upstream.script([{**STEP, "reasoning_details": details}, {**FINE, "faults": [REJECT]}])
    ask(upstream, [user()], model="vendor/model-a")

    heard = ask(upstream, loop(assistant(None, call(), reasoning_details=details)), model="vendor/model-a")

    assert "content abcd...efgh could not be verified." in heard.json["error"]["message"]


def test_odd_items_are_refused_and_never_break_the_server(upstream: ContractHandle) -> None:
    odd: list[Any] = [
        None,
        {},
        [None],
        [{"role": ["user"], "content": "x"}],
        [{"role": "user", "content": None}],
        [{"role": "user", "content": "x", "call_id": {}, "id": {}}],
        [{"type": "reasoning", "encrypted_content": {"a": 1}, "summary": [], "id": []}],
        [{"type": "reasoning", "encrypted_content": "ENC1.\ud83d.\udc00", "summary": []}],
        [{"type": "function_call", "call_id": {}, "name": "x", "arguments": "{}"}],
        [{"type": "function_call_output", "call_id": "a", "output": 1}],
    ]

    assert {respond(upstream, items).status for items in odd} == {400}
    assert respond(upstream, "x", reasoning="high").rule == "S22"


def test_half_a_surrogate_pair_goes_out_as_an_escape(upstream: ContractHandle) -> None:
    reply = {
        "reasoning": "\ud83d",
        "content": "\ude00 so",
        "tool_calls": [{"name": "look", "id": "a"}],
        "chunk": "char",
    }
    upstream.script([reply, reply])

    chat, response = ask(upstream, [user()]), respond(upstream, [user()])

    assert (chat.text("reasoning_content"), chat.text()) == ("\ud83d", "\ude00 so")
    assert response.items[1]["content"][0]["text"] == "\ude00 so"
    assert rb"\ud83d" in chat.body
