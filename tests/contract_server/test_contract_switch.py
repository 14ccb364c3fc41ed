"""A conversation that changes its model or its API in the middle, and what is recorded of it."""

from __future__ import annotations

from typing import Any

from tests.contract_server.fixture import ContractHandle
from tests.contract_server.rule_case import BARE, OTHER, SAID, STEP, loop, sealed, thought
from tests.contract_server.talk import (
    KEY,
    RESPONSES,
    ask,
    assistant,
    call,
    called,
    hear,
    output,
    respond,
    response_request,
    result,
    said,
    send,
    user,
)

FINE = {"content": "Fine."}


def test_conversation_goes_from_responses_to_chat_and_back(upstream: ContractHandle) -> None:
    kimi: dict[str, Any] = {"model": "kimi-k2.6"}
    parted = {**STEP, "reasoning": ["Look it up.", "Then tell."]}
    upstream.script([parted, OTHER, FINE])
    respond(upstream, [user()])

    looped = [user(), sealed(1, "Look it up.", "Then tell."), called(), output()]
    chat = loop(thought(" "))
    heard = [
        ask(upstream, loop(thought("Look it up.\n\nThen tell.")), **kimi),  # a provider's summary is nobody's thought
        ask(upstream, loop(assistant(None, call(arguments="{ }"), reasoning_content=" ")), **kimi),
        ask(upstream, chat, **kimi),
        respond(upstream, [called("b"), output("b"), *looped]),
        respond(upstream, [user(), called(), output(), called("b", "{ }"), output("b")]),
        respond(upstream, [*looped, called("b"), output("b")]),
    ]

    assert [one.rule for one in heard] == ["C11", "C12", None, "S19", "S20", None]


def test_chat_answers_keep_their_place_among_items(upstream: ContractHandle) -> None:
    upstream.script([SAID, BARE, FINE])
    ask(upstream, [user()])
    respond(upstream, [user()])
    first, second = said("Net sales rose."), [called("c"), output("c")]

    assert respond(upstream, [*second, first, user()]).rule == "S19"
    assert respond(upstream, [user(), first, user(), *second]).status == 200


def test_text_issued_twice_may_stand_on_both_sides_of_a_call(upstream: ContractHandle) -> None:
    upstream.script([FINE, STEP, FINE, {"content": "End."}])
    for _ in range(3):
        respond(upstream, [user()])
    again = [said("Fine."), called(), output(), said("Fine."), user()]

    assert respond(upstream, again).status == 200
    assert respond(upstream, [said("Fine."), *again]).rule == "S19"


def test_input_of_one_conversation_is_cached_by_model(upstream: ContractHandle) -> None:
    upstream.script([{**FINE, "repeat": True}])
    long = [user("word " * 2000)]
    body: dict[str, Any] = {
        "prompt_cache_key": "one",
        "instructions": "Be brief. " * 50,
        "tools": [{"type": "function"}],
    }

    for model in ("gpt-5-mini", "gpt-5.4", "gpt-5-mini"):
        respond(upstream, [*long, user(model)], model=model, **body)
    changed = respond(upstream, long, **{**body, "instructions": "Be long."})

    records = upstream.requests()
    assert [one["cached_tokens"] for one in records] == [0, 0, 2560, 0]
    assert records[1]["prefix"]["input"] > 10_000
    assert records[2]["prefix"]["tools"] == len('[{"type":"function"}]')
    assert records[3]["prefix"]["instructions"] == len('"Be ')
    usage = changed.payloads[-1]["response"]["usage"]
    assert usage["input_tokens_details"] == {"cached_tokens": 0}


def test_overlap_is_found_by_either_name_of_the_conversation(upstream: ContractHandle) -> None:
    upstream.script([{**FINE, "faults": [{"kind": "stall", "name": "gap"}]}, FINE])
    named = {**KEY, "X-Conversation": "one"}
    connected = send(upstream, response_request("x", prompt_cache_key="two"), named, RESPONSES)
    upstream.wait_for(held="gap")

    ask(upstream, [user()], headers=named)
    upstream.release("gap")
    hear(connected)

    assert [one["overlaps"] for one in upstream.requests()] == [[2], [1]]


def test_result_of_a_chat_step_may_be_followed_over_responses(upstream: ContractHandle) -> None:
    upstream.script([STEP, FINE, FINE])
    ask(upstream, [user()], model="kimi-k2.6")

    assert respond(upstream, [user(), called(), output()]).status == 200
    assert ask(upstream, [user(), thought("Look it up."), result()], model="kimi-k2.6").status == 200
