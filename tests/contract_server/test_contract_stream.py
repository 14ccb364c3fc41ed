"""Scripts become bytes: chunking, channels, usage, finish reasons, matching; equal scripts give equal bytes."""

from __future__ import annotations

import json
from http.client import HTTPConnection
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.contract_server.deltas import cut, deltas_of, merge
from tests.contract_server.fixture import ContractHandle
from tests.contract_server.ledger import Call
from tests.contract_server.script import Reply, ScriptError, parse_script
from tests.contract_server.talk import ask, assistant, call, result, user

FIELDS = ("reasoning_content",)


@given(st.text(), st.one_of(st.sampled_from(["char", "word", "whole"]), st.integers(1, 9)))
@settings(max_examples=150, deadline=None)
def test_pieces_add_up_to_the_text_however_it_is_cut(text: str, chunk: Any) -> None:
    pieces = cut(text, chunk)

    assert "".join(pieces) == text
    assert all(pieces)


@given(st.text(), st.text(), st.text(), st.integers(1, 5))
@settings(max_examples=100, deadline=None)
def test_deltas_merge_to_the_scripted_message(reasoning: str, content: str, arguments: str, chunk: int) -> None:
    reply = Reply(reasoning=reasoning, content=content, chunk=chunk)

    message = merge(deltas_of(reply, [Call("a", "look", arguments)], FIELDS, details=False))

    assert message["tool_calls"][0]["function"] == {"name": "look", "arguments": arguments}
    assert (message["content"] or "", message.get("reasoning_content", "")) == (content, reasoning)


def test_stream_has_role_deltas_finish_usage_and_done_in_this_order(upstream: ContractHandle) -> None:
    upstream.script([{"reasoning": "Hm.", "content": "Net sales rose.", "chunk": "whole"}])

    heard = ask(upstream, [user()], stream_options={"include_usage": True})

    choices = [one["choices"][0] if one["choices"] else None for one in heard.payloads]
    deltas = [{"role": "assistant"}, {"reasoning_content": "Hm."}, {"content": "Net sales rose."}, {}]
    assert [choice and choice["delta"] for choice in choices] == [*deltas, None]
    assert [choice and choice["finish_reason"] for choice in choices] == [None, None, None, "stop", None]
    assert heard.payloads[-1]["usage"]["completion_tokens_details"] == {"reasoning_tokens": 1}
    assert heard.body.endswith(b"data: [DONE]\n\n")
    assert heard.ended


def test_usage_chunk_comes_only_if_asked_for(upstream: ContractHandle) -> None:
    upstream.script([{"content": "Fine."}])

    assert b"usage" not in ask(upstream, [user()]).body


@pytest.mark.parametrize("location", ["top", "choice", "none"])
def test_usage_stands_where_the_script_puts_it(upstream: ContractHandle, location: str) -> None:
    upstream.script([{"content": "Fine.", "usage": {"input": 7, "output": 5}, "usage_location": location}])

    last = ask(upstream, [user()]).payloads[-1]

    places = {"top": last, "choice": last["choices"][0]}
    found = {name for name, place in places.items() if place.get("usage", {}).get("total_tokens") == 12}
    assert found == {location} - {"none"}


def test_call_arguments_are_split_over_chunks_and_ids_are_counted(upstream: ContractHandle) -> None:
    calls = [{"name": "look", "arguments": {"q": "é"}}, {"name": "look", "arguments": "[ not checked ]"}]
    upstream.script([{"tool_calls": calls, "chunk": 3}])

    heard = ask(upstream, [user()])

    pieces = [one for chunk in heard.payloads for one in chunk["choices"][0]["delta"].get("tool_calls", [])]
    assert [one["id"] for one in pieces if "id" in one] == ["call_1", "call_2"]
    assert max(len(one["function"]["arguments"]) for one in pieces) == 3
    assert "".join(one["function"]["arguments"] for one in pieces if one["index"] == 0) == '{"q":"é"}'
    assert heard.payloads[-1]["choices"][0]["finish_reason"] == "tool_calls"


@pytest.mark.parametrize(
    ("reply", "content"),
    [
        ({"tags": "think"}, "<think>Hm.</think>Yes."),
        ({"tags": ["<REASONING>", "</REASONING>"]}, "<REASONING>Hm.</REASONING>Yes."),
        ({"stray_close": True}, "Hm.</think>Yes."),
    ],
)
def test_leaked_reasoning_is_sent_inside_the_content(
    upstream: ContractHandle, reply: dict[str, Any], content: str
) -> None:
    upstream.script([{"reasoning": "Hm.", "content": "Yes.", "chunk": "char", **reply}])

    heard = ask(upstream, [user()])

    assert (heard.text(), heard.text("reasoning_content")) == (content, "")


def test_explicit_deltas_go_over_the_wire_as_they_are(upstream: ContractHandle) -> None:
    deltas = [{"content": "</thi"}, {"reasoning": "a", "content": "nk>"}, {"content": None}, {"odd": [1]}]
    upstream.script([{"deltas": deltas, "finish": "length"}])

    heard = ask(upstream, [user()])

    assert [one["choices"][0]["delta"] for one in heard.payloads[1:-1]] == deltas
    assert heard.payloads[-1]["choices"][0]["finish_reason"] == "length"


def test_finish_null_leaves_the_finish_reason_out(upstream: ContractHandle) -> None:
    upstream.script([{"content": "Fine.", "finish": None}])

    assert {one["choices"][0]["finish_reason"] for one in ask(upstream, [user()]).payloads} == {None}


def test_two_fields_carry_the_same_reasoning_and_it_is_counted_once(upstream: ContractHandle) -> None:
    fields = ["reasoning_content", "reasoning"]
    upstream.script([{"reasoning": "12345678", "fields": fields, "content": "1234", "usage_location": "top"}])

    heard = ask(upstream, [user()])

    assert heard.text("reasoning") == heard.text("reasoning_content") == "12345678"
    assert heard.payloads[-1]["usage"]["completion_tokens"] == 3


def test_answer_that_is_not_streamed_is_the_merged_stream(upstream: ContractHandle) -> None:
    upstream.script([{"reasoning": "Hm.", "content": "Yes.", "tool_calls": [{"name": "look"}], "chunk": "char"}])

    heard = ask(upstream, [user()], stream=False)

    message = heard.json["choices"][0]["message"]
    assert (message["reasoning_content"], message["content"]) == ("Hm.", "Yes.")
    assert message["tool_calls"] == [call("call_1")]
    assert heard.json["usage"]["total_tokens"] > 0


def test_mode_decides_the_field_and_the_signature(upstream: ContractHandle) -> None:
    two = [{"name": "look"}, {"name": "look"}]
    upstream.script([{"reasoning": "Hm.", "content": "Yes."}, {"tool_calls": two}])

    local = ask(upstream, [user()], model="qwen3-local")
    signed = ask(upstream, [user()], model="signed-model", stream=False)

    assert local.text("reasoning") == "Hm."
    first, second = signed.json["choices"][0]["message"]["tool_calls"]
    assert first["extra_content"] == {"google": {"thought_signature": "SIG1.call_1"}}
    assert "extra_content" not in second


def test_details_come_whole_one_to_a_delta(upstream: ContractHandle) -> None:
    upstream.script([{"reasoning": ["Hm.", "So."], "tool_calls": [{"name": "look"}], "chunk": "char"}])

    heard = ask(upstream, [user()], model="vendor/model-a")

    elements = [one["choices"][0]["delta"].get("reasoning_details") for one in heard.payloads]
    assert [[one["text"] for one in found] for found in elements if found] == [["Hm."], ["So."]]
    assert heard.text("reasoning") == "Hm.So."


def test_replies_are_taken_by_the_first_request_that_fits(upstream: ContractHandle) -> None:
    upstream.script(
        [
            {"content": "after the tool", "match": {"tool_outputs_at_least": 1}},
            {"content": "about cats", "match": {"last_user_contains": "cats"}},
            {"content": "kimi", "match": {"mode": "kimi"}},
            {"content": "anyone"},
        ]
    )
    history = [user(), assistant(None, call()), result()]

    heard = [
        ask(upstream, [user("dogs")]),
        ask(upstream, [user("dogs")], model="kimi-k2.6"),
        ask(upstream, [*history, user("cats")]),
        ask(upstream, history),
    ]

    assert [one.text() for one in heard] == ["anyone", "kimi", "about cats", "after the tool"]


def test_request_with_no_reply_left_is_noticed(upstream: ContractHandle) -> None:
    heard = ask(upstream, [user()])

    assert (heard.status, heard.json["error"]["code"]) == (500, "contract_script_exhausted")
    assert upstream.requests()[0]["verdict"] == "exhausted"


def test_repeated_reply_never_runs_out(upstream: ContractHandle) -> None:
    upstream.script([{"content": "Again.", "repeat": True}])

    assert [ask(upstream, [user()]).text() for _ in range(3)] == ["Again."] * 3


def test_two_runs_of_one_script_give_equal_bytes(upstream: ContractHandle) -> None:
    step: dict[str, Any] = {"reasoning": "Hm.", "tool_calls": [{"name": "look"}], "chunk": "char"}
    script = [step, {"content": "Fine."}]

    def run() -> list[bytes]:
        upstream.reset()
        upstream.script(script)
        options = {"include_usage": True}
        return [ask(upstream, [user()], stream_options=options).raw for _ in range(3)]

    assert run() == run()


def test_model_list_needs_a_key_and_has_scripted_models_first(upstream: ContractHandle) -> None:
    upstream.script([], models={"my-model": "kimi"})
    connection = HTTPConnection("127.0.0.1", upstream.port)
    connection.request("GET", "/v1/models")
    refused = connection.getresponse()
    refused.read()
    connection.request("GET", "/v1/models", headers={"Authorization": "Bearer none"})
    names = [one["id"] for one in json.loads(connection.getresponse().read())["data"]]
    connection.close()

    assert refused.status == 401
    assert names[:2] == ["my-model", "plain-model"]


@pytest.mark.parametrize(
    "script",
    [
        [{"contents": "x"}],
        [{"knobs": {"strictness": 1}}],
        [{"faults": [{"kind": "earthquake"}]}],
        [{"faults": [{"kind": "stall", "at": "event:x"}]}],
        [{"chunk": 0}],
        {"replies": {}},
    ],
)
def test_script_with_a_mistake_is_refused_when_loaded(script: Any) -> None:
    with pytest.raises(ScriptError):
        parse_script(script)
