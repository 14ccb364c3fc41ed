"""Scripts become bytes: pieces, channels, items, finish reasons, matching; equal scripts give equal bytes."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.contract_server.chat import deltas_of, merge
from tests.contract_server.client import (
    RawResponse,
    ask,
    assistant,
    call,
    called,
    output,
    respond,
    result,
    user,
)
from tests.contract_server.fixture import ContractHandle
from tests.contract_server.ledger import Call
from tests.contract_server.script import Reply, ScriptError, parse_script

STEP = {"reasoning": "Hm.", "tool_calls": [{"name": "look"}], "chunk": "char"}


def answer(upstream: ContractHandle, reply: dict[str, Any], **body: Any) -> RawResponse:
    upstream.script([reply])
    return respond(upstream, [user()], **body)


@given(st.text(), st.text(), st.text(), st.integers(1, 5))
def test_deltas_merge_to_the_scripted_message(reasoning: str, content: str, arguments: str, chunk: int) -> None:
    reply = Reply(reasoning=reasoning, content=content, chunk=chunk)

    message = merge(deltas_of(reply, [Call("a", "look", arguments)], "reasoning", has_details=False))

    assert message["tool_calls"][0]["function"] == {"name": "look", "arguments": arguments}
    assert (message["content"] or "", message.get("reasoning", "")) == (content, reasoning)


def test_chat_stream_has_role_deltas_finish_usage_and_done_in_this_order(upstream: ContractHandle) -> None:
    upstream.script([{"reasoning": "Hm.", "content": "Net sales rose.", "chunk": "whole"}])

    found = ask(upstream, [user()], stream_options={"include_usage": True})

    choices = [one["choices"][0] if one["choices"] else None for one in found.payloads]
    deltas = [{"role": "assistant"}, {"reasoning_content": "Hm."}, {"content": "Net sales rose."}, {}]
    assert [choice and choice["delta"] for choice in choices] == [*deltas, None]
    assert [choice and choice["finish_reason"] for choice in choices] == [None, None, None, "stop", None]
    assert found.payloads[-1]["usage"]["completion_tokens_details"] == {"reasoning_tokens": 1}
    assert found.body.endswith(b"data: [DONE]\n\n")
    assert found.has_ended


def test_response_announces_every_item_its_text_and_its_end(upstream: ContractHandle) -> None:
    found = answer(upstream, {**STEP, "content": "Yes.", "chunk": "whole"})

    assert found.types == [
        *("created", "in_progress", "output_item.added"),
        *(f"reasoning_summary_{one}" for one in ("part.added", "text.delta", "text.done", "part.done")),
        *("output_item.done", "output_item.added"),
        *("content_part.added", "output_text.delta", "output_text.done", "content_part.done"),
        *("output_item.done", "output_item.added"),
        *("function_call_arguments.delta", "function_call_arguments.done", "output_item.done", "completed"),
    ]
    assert [one["sequence_number"] for one in found.payloads] == list(range(len(found.payloads)))
    assert found.payloads[-1]["response"]["output"] == found.items


@pytest.mark.parametrize(
    ("finish", "status", "key", "value"),
    [
        ("completed", "completed", "error", None),
        ("incomplete:content_filter", "incomplete", "incomplete_details", {"reason": "content_filter"}),
        ("length", "incomplete", "incomplete_details", {"reason": "max_output_tokens"}),
        ("failed:overloaded", "failed", "incomplete_details", None),
    ],
)
def test_response_ends_as_the_script_says(
    upstream: ContractHandle, finish: str, status: str, key: str, value: Any
) -> None:
    reply = {"content": "Half of it", "finish": finish}

    streamed, whole = answer(upstream, reply), answer(upstream, reply, stream=False).json

    assert streamed.types[-1] == status
    for body in (streamed.payloads[-1]["response"], whole):
        assert (body["status"], body[key]) == (status, value)
        assert body["output"][0]["status"] == ("incomplete" if status == "incomplete" else "completed")


def test_replies_are_used_by_the_first_request_that_fits(upstream: ContractHandle) -> None:
    after, cats = {"tool_outputs_at_least": 1}, {"last_user_contains": "cats"}
    replies = [{"content": "after", "match": after}, {"content": "cats", "match": cats}, {"content": "anyone"}]
    upstream.script([*replies, *replies])
    history = [user(), assistant(None, call()), result()]

    chat = [ask(upstream, one).text() for one in ([user("dogs")], [*history, user("cats")], history)]
    items = [respond(upstream, one).items for one in ("dogs", [user("dogs"), called(), output()], "cats")]

    assert chat == ["anyone", "cats", "after"]
    assert [one[0]["content"][0]["text"] for one in items] == ["anyone", "after", "cats"]


def test_missing_or_unfit_reply_is_noticed_and_a_repeated_one_never_runs_out(upstream: ContractHandle) -> None:
    missing = ask(upstream, [user()])
    upstream.script([{"items": [{"type": "message", "text": "Fine."}]}])
    unfit = ask(upstream, [user()])
    upstream.script([{"content": "Again.", "repeat": True}])
    repeated = [ask(upstream, [user()]).text() for _ in range(3)]

    assert (missing.rule, unfit.rule) == ("script", "items")
    assert repeated == ["Again."] * 3


def test_two_runs_of_one_script_give_equal_bytes(upstream: ContractHandle) -> None:
    def run() -> list[bytes]:
        upstream.reset()
        upstream.script([STEP, {"content": "Fine."}, STEP, STEP])
        options = {"include_usage": True}
        chat = [ask(upstream, [user()], stream_options=options).raw for _ in range(2)]
        return chat + [respond(upstream, [user()], stream=stream).raw for stream in (True, False)]

    assert run() == run()


@pytest.mark.parametrize(
    "script",
    [
        [{"contents": "x"}],
        {"replies": [], "knobs": {"strictness": 1}},
        [{"faults": [{"kind": "earthquake"}]}],
        [{"faults": [{"kind": "stall", "at": "event:x"}]}],
        [{"chunk": 0}],
        {"replies": {}},
    ],
)
def test_script_with_a_mistake_is_refused_when_loaded(script: Any) -> None:
    with pytest.raises(ScriptError):
        parse_script(script)
