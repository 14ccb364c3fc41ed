"""Scripts become responses: events in order with their numbers, knobs, ends, faults; equal scripts give equal bytes."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.contract_server.fixture import ContractHandle
from tests.contract_server.saying import calls, reasons, says, waits
from tests.contract_server.sealing import read_seal
from tests.contract_server.talk import (
    RESPONSES,
    Heard,
    ask,
    called,
    hear,
    output,
    respond,
    response_request,
    send,
    user,
)

STEP: dict[str, Any] = {"reasoning": "Look.", "tool_calls": [{"name": "look"}], "chunk": "whole"}
BEGUN = ["created", "in_progress"]
REASONING = [
    "output_item.added",
    "reasoning_summary_part.added",
    "reasoning_summary_text.delta",
    "reasoning_summary_text.done",
    "reasoning_summary_part.done",
    "output_item.done",
]
CALL = [
    "output_item.added",
    "function_call_arguments.delta",
    "function_call_arguments.done",
    "output_item.done",
]
MESSAGE = [
    "output_item.added",
    "content_part.added",
    "output_text.delta",
    "output_text.done",
    "content_part.done",
    "output_item.done",
]


def answer(upstream: ContractHandle, reply: dict[str, Any], **knobs: Any) -> Heard:
    upstream.script([reply], knobs=knobs)
    return respond(upstream, [user()])


def final(heard: Heard) -> Any:
    return heard.payloads[-1]["response"]


def test_stream_has_each_item_from_announcement_to_end(upstream: ContractHandle) -> None:
    heard = answer(upstream, {**STEP, "content": "Fine."})

    assert heard.types == [*BEGUN, *REASONING, *MESSAGE, *CALL, "completed"]
    assert [one["sequence_number"] for one in heard.payloads] == list(range(len(heard.types)))
    assert [one["output_index"] for one in heard.of_type("output_item.done")] == [0, 1, 2]
    assert [one["item_id"] for one in heard.payloads if "item_id" in one] == ["rs_1"] * 4 + ["msg_1"] * 4 + ["fc_1"] * 2
    assert final(heard)["output"] == heard.items
    assert b"[DONE]" not in heard.body


def test_each_event_is_named_by_its_type(upstream: ContractHandle) -> None:
    lines = answer(upstream, STEP).body.decode().split("\n\n")[:-1]

    pairs = [line.split("\n") for line in lines]
    assert all(name == f"event: {json.loads(data[6:])['type']}" for name, data in pairs)


def test_issued_reasoning_has_four_keys_and_an_intact_seal(upstream: ContractHandle) -> None:
    heard = answer(upstream, STEP)

    item = heard.items[0]
    assert set(item) == {"type", "id", "summary", "encrypted_content"}
    seal = read_seal(item["encrypted_content"], plain=False)
    assert seal is not None
    assert (seal.model, seal.item, seal.response, seal.serial) == ("gpt-5-mini", "rs_1", "resp_1", 1)


def test_announced_ciphertext_is_another_and_no_seal(upstream: ContractHandle) -> None:
    announced = answer(upstream, STEP).of_type("output_item.added")[0]["item"]["encrypted_content"]
    same = answer(upstream, STEP, provisional_ciphertext=False)

    assert announced
    assert read_seal(announced, plain=True) is None
    shown = [same.of_type(f"output_item.{name}")[0]["item"]["encrypted_content"] for name in ("added", "done")]
    assert shown[0] == shown[1]


def test_done_events_in_reverse_finish_the_call_before_its_reasoning(upstream: ContractHandle) -> None:
    heard = answer(upstream, STEP, done_order="reversed")

    assert [one["output_index"] for one in heard.of_type("output_item.done")] == [1, 0]
    assert [one["type"] for one in final(heard)["output"]] == ["reasoning", "function_call"]


def test_reasoning_without_done_event_is_in_the_final_snapshot(upstream: ContractHandle) -> None:
    heard = answer(upstream, STEP, omit_reasoning_done=True)

    assert [one["type"] for one in heard.items] == ["function_call"]
    assert final(heard)["output"][0]["summary"] == [{"type": "summary_text", "text": "Look."}]


def test_final_snapshot_may_be_empty(upstream: ContractHandle) -> None:
    heard = answer(upstream, STEP, omit_completed_output=True)

    assert final(heard)["output"] == []
    assert len(heard.items) == 2


def test_reasoning_may_come_without_text(upstream: ContractHandle) -> None:
    heard = answer(upstream, STEP, empty_summary=True)

    assert heard.types == [*BEGUN, "output_item.added", "output_item.done", *CALL, "completed"]
    assert heard.items[0]["summary"] == []
    assert heard.items[0]["encrypted_content"]


def test_items_come_in_the_scripted_order_with_unknown_keys(upstream: ContractHandle) -> None:
    note = {"type": "raw", "item": {"type": "compaction", "id": "cmp_1"}}
    script = [reasons("One.", "Two."), calls("look", {"q": 1}), reasons(), note, says("Fine.")]

    heard = answer(upstream, {"items": script}, extra_item_keys={"phase": "thinking"})

    types = ["reasoning", "function_call", "reasoning", "compaction", "message"]
    assert [one["type"] for one in heard.items] == types
    assert [part["text"] for part in heard.items[0]["summary"]] == ["One.", "Two."]
    assert [one.get("phase") for one in heard.items] == ["thinking", None, "thinking", None, None]
    assert heard.items[1]["arguments"] == '{"q":1}'


def test_raw_thought_has_its_own_events(upstream: ContractHandle) -> None:
    heard = answer(upstream, {"items": [reasons(text="Hm, so."), says("Fine.")]})

    assert "".join(one["delta"] for one in heard.of_type("reasoning_text.delta")) == "Hm, so."
    assert heard.items[0]["content"] == [{"type": "reasoning_text", "text": "Hm, so."}]


@pytest.mark.parametrize("chunk", ["char", "word", 2, "whole"])
def test_text_is_cut_as_the_script_says(upstream: ContractHandle, chunk: Any) -> None:
    heard = answer(upstream, {"reasoning": "Hm, so.", "content": "It is.", "chunk": chunk})

    pieces = [one["delta"] for one in heard.of_type("output_text.delta")]
    assert "".join(pieces) == heard.of_type("output_text.done")[0]["text"] == "It is."
    assert len(pieces) == {"char": 6, "word": 2, 2: 3, "whole": 1}[chunk]


def test_deltas_of_a_chat_script_become_items(upstream: ContractHandle) -> None:
    first = {"index": 0, "id": "a", "function": {"name": "look", "arguments": ""}}
    deltas = [
        {"reasoning_content": "Hm, ", "reasoning": "Hm, "},
        {"reasoning_content": "so."},
        {"content": "It "},
        {"hold": "gap"},
        {"content": "is."},
        {"tool_calls": [first]},
        {"tool_calls": [{"index": 0, "function": {"arguments": "{}"}}]},
    ]
    upstream.script([{"deltas": deltas}])
    upstream.release("gap")

    heard = respond(upstream, [user()])

    assert [one["type"] for one in heard.items] == ["reasoning", "message", "function_call"]
    assert heard.items[0]["summary"][0]["text"] == "Hm, so."
    assert [one["delta"] for one in heard.of_type("output_text.delta")] == ["It ", "is."]
    assert (heard.items[2]["call_id"], heard.items[2]["arguments"]) == ("a", "{}")


def test_interleaved_calls_of_a_chat_script_stay_apart(upstream: ContractHandle) -> None:
    begun = [{"index": n, "id": id_, "function": {"name": "look", "arguments": "{"}} for n, id_ in enumerate("ab")]
    ended = [{"index": n, "function": {"arguments": "}"}} for n in (1, 0)]

    heard = answer(upstream, {"deltas": [{"tool_calls": [one]} for one in (*begun, *ended)]})

    assert [(one["call_id"], one["arguments"]) for one in heard.items] == [("a", "{}"), ("b", "{}")]


def test_tagged_reasoning_leaks_into_the_message(upstream: ContractHandle) -> None:
    heard = answer(upstream, {"reasoning": "Hm.", "content": "Yes.", "tags": "think"})

    assert heard.of_type("output_text.done")[0]["text"] == "<think>Hm.</think>Yes."
    assert [one["type"] for one in heard.items] == ["message"]


def test_hold_among_the_items_waits_there(upstream: ContractHandle) -> None:
    upstream.script([{"items": [reasons("Look."), waits("call"), calls("look"), waits("end")], "chunk": "whole"}])
    connected = send(upstream, response_request("x"), path=RESPONSES)

    seen = []
    for name in ("call", "end"):
        upstream.wait_for(held=name)
        seen.append(upstream.open_streams()[0]["events_sent"])
        upstream.release(name)

    assert hear(connected).types[-1] == "completed"
    assert seen == [len(BEGUN) + len(REASONING), len(BEGUN) + len(REASONING) + len(CALL)]


@pytest.mark.parametrize(
    ("finish", "status", "key", "value"),
    [
        ("completed", "completed", "error", None),
        ("incomplete:content_filter", "incomplete", "incomplete_details", {"reason": "content_filter"}),
        ("length", "incomplete", "incomplete_details", {"reason": "max_output_tokens"}),
        ("cancelled", "cancelled", "error", None),
    ],
)
@pytest.mark.parametrize("stream", [True, False])
def test_response_ends_as_the_script_says(
    upstream: ContractHandle, finish: str, status: str, key: str, value: Any, *, stream: bool
) -> None:
    upstream.script([{"content": "Half of it", "finish": finish}])

    heard = respond(upstream, [user()], stream=stream)

    body = final(heard) if stream else heard.json
    assert (body["status"], body[key]) == (status, value)
    assert body["output"][0]["status"] == ("incomplete" if status == "incomplete" else "completed")
    assert not stream or heard.types[-1] == status


def test_failed_response_has_the_scripted_code(upstream: ContractHandle) -> None:
    heard = answer(upstream, {"content": "Half", "finish": "failed:server_overloaded"})

    assert heard.types[-1] == "failed"
    assert final(heard)["error"]["code"] == "server_overloaded"


def test_finish_null_leaves_the_final_event_out(upstream: ContractHandle) -> None:
    assert answer(upstream, {"content": "Half", "finish": None}).types[-1] == "output_item.done"


def test_answer_that_is_not_streamed_is_the_final_snapshot(upstream: ContractHandle) -> None:
    upstream.script([{**STEP, "usage": {"input": 7, "output": 5, "reasoning_tokens": 2}}])

    heard = respond(upstream, [user()], stream=False, reasoning={"effort": "low"})

    assert [one["type"] for one in heard.json["output"]] == ["reasoning", "function_call"]
    assert heard.json["usage"]["output_tokens_details"] == {"reasoning_tokens": 2}
    assert heard.json["usage"]["total_tokens"] == 12
    assert heard.json["reasoning"] == {"effort": "low", "summary": None}


def test_reply_is_matched_by_outputs_and_user_text_of_the_input(upstream: ContractHandle) -> None:
    upstream.script(
        [
            {"content": "after the tool", "match": {"tool_outputs_at_least": 1, "mode": "responses-strict"}},
            {"content": "about cats", "match": {"last_user_contains": "cats"}},
            {"content": "anyone"},
        ]
    )

    asked = ["dogs", [user("dogs"), called(), output()], "cats"]

    texts = [respond(upstream, items).of_type("output_text.done")[0]["text"] for items in asked]
    assert texts == ["anyone", "after the tool", "about cats"]


def test_items_in_a_chat_reply_are_a_mistake_that_is_noticed(upstream: ContractHandle) -> None:
    upstream.script([{"items": [says("Fine.")]}])

    heard = ask(upstream, [user()])

    assert (heard.status, heard.json["error"]["code"]) == (500, "contract_items_in_chat")


def test_two_runs_of_one_script_give_equal_bytes(upstream: ContractHandle) -> None:
    script: list[dict[str, Any]] = [
        {"items": [reasons("Hm."), calls("look"), reasons(), calls("look")], "chunk": "char"},
        {"content": "Fine."},
    ]

    def run() -> list[bytes]:
        upstream.reset()
        upstream.script(script)
        return [respond(upstream, [user()], stream=stream).raw for stream in (True, False)]

    assert run() == run()
