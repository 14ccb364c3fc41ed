"""Faults over Responses: each form of a spoilt stream, each kind of error event, and overflow told and untold."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, get_args

import pytest

from tests.contract_server.fault_kinds import SseForm
from tests.contract_server.fixture import ContractHandle
from tests.contract_server.overflows import WORDINGS
from tests.contract_server.talk import Heard, ask, respond, user

REPLY = {"content": "Umsätze stiegen.", "chunk": "whole"}
DELTA = 4  # created, in_progress, item added, part added, then the text


def with_fault(upstream: ContractHandle, **fault: Any) -> Heard:
    upstream.script([{**REPLY, "faults": [fault]}])
    return respond(upstream, [user()])


def spoilt(upstream: ContractHandle, form: str) -> tuple[list[bytes], list[bytes]]:
    """Return the writes of the reply with this form at its text, and of the same reply without a fault."""
    bad = with_fault(upstream, kind="malformed_sse", form=form, event=DELTA).writes
    upstream.reset()
    upstream.script([REPLY])
    return bad, respond(upstream, [user()]).writes


def payload(write: bytes) -> Any:
    return json.loads(write.partition(b"data: ")[2])


def is_json(write: bytes) -> bool:
    try:
        payload(write)
    except ValueError:
        return False
    return True


FORMS: dict[str, Callable[[list[bytes], list[bytes]], bool]] = {
    "truncated_json": lambda bad, good: good[DELTA].startswith(bad[DELTA].rstrip()) and not is_json(bad[DELTA]),
    "not_json": lambda bad, _: b"data: " in bad[DELTA] and not is_json(bad[DELTA]),
    "invalid_utf8": lambda bad, good: bad[DELTA].replace(b"\xff\xfe", b"") == good[DELTA] != bad[DELTA],
    "no_blank_line": lambda bad, good: bad[DELTA] + b"\n" == good[DELTA],
    "crlf": lambda bad, good: bad == [one.replace(b"\n", b"\r\n") for one in good],
    "comment_only": lambda bad, good: bad[DELTA].startswith(b":") and bad[:DELTA] + bad[DELTA + 1 :] == good,
    "two_events_one_write": lambda bad, good: bad[DELTA] == good[DELTA] + good[DELTA + 1],
    "split_codepoint": lambda bad, good: bad[DELTA].endswith(b"\xc3") and bad[DELTA] + bad[DELTA + 1] == good[DELTA],
    "oversized_line": lambda bad, _: len(bad[DELTA]) > 1024 * 1024 and is_json(bad[DELTA]),
    "unknown_event_type": lambda bad, good: b"contract.unknown" in bad[DELTA] and bad[DELTA + 1 :] == good[DELTA:],
    "null_choices": lambda bad, good: payload(bad[DELTA])["response"] is None and bad[DELTA + 1 :] == good[DELTA:],
    "missing_done": lambda bad, good: bad == good[:-1] and b"response.completed" in good[-1],
    "duplicate_event": lambda bad, good: bad == [*good[: DELTA + 1], *good[DELTA:]],
}


def test_table_has_every_form() -> None:
    assert set(FORMS) == set(get_args(SseForm))


@pytest.mark.parametrize("form", FORMS)
def test_spoilt_stream_is_spoilt_as_its_name_says(upstream: ContractHandle, form: str) -> None:
    bad, good = spoilt(upstream, form)

    assert FORMS[form](bad, good)


@pytest.mark.parametrize(
    ("fault", "place", "value"),
    [
        ({"code": "rate_limit_exceeded"}, ("response", "error", "code"), "rate_limit_exceeded"),
        ({}, ("response", "error", "code"), "server_error"),
        ({"event": "response.incomplete"}, ("response", "incomplete_details", "reason"), "max_output_tokens"),
        ({"event": "error", "code": "overloaded"}, ("code",), "overloaded"),
        ({"event": "error", "message": "Too busy."}, ("message",), "Too busy."),
    ],
)
def test_error_event_ends_the_stream_in_its_form(
    upstream: ContractHandle, fault: dict[str, Any], place: tuple[str, ...], value: str
) -> None:
    heard = with_fault(upstream, kind="error_event", at=f"event:{DELTA}", **fault)

    last = heard.payloads[-1]
    assert last["type"] == fault.get("event", "response.failed")
    assert last["sequence_number"] == DELTA == len(heard.payloads) - 1
    for key in place:
        last = last[key]
    assert last == value


def test_clean_end_before_the_final_event(upstream: ContractHandle) -> None:
    heard = with_fault(upstream, kind="disconnect", at="before_done")

    assert heard.types[-1] == "output_item.done"
    assert heard.ended


def test_reply_that_was_cut_short_is_served_again_under_new_ids(upstream: ContractHandle) -> None:
    first = with_fault(upstream, kind="disconnect", at="before_done")
    second = respond(upstream, [user()])

    assert [one.items[0]["id"] for one in (first, second)] == ["msg_1", "msg_2"]
    assert second.types[-1] == "completed"


@pytest.mark.parametrize("wording", range(len(WORDINGS)))
def test_overflow_has_each_wording_over_both_apis(upstream: ContractHandle, wording: int) -> None:
    upstream.script([{**REPLY, "faults": [{"kind": "context_overflow", "wording": wording, "times": 2}]}])

    answers = [ask(upstream, [user()]), respond(upstream, [user()])]

    told = {(one.status, one.json["error"]["message"], one.json["error"]["code"]) for one in answers}
    assert told == {(400, *WORDINGS[wording])}


def test_wording_that_is_not_in_the_list_is_refused_when_loaded(upstream: ContractHandle) -> None:
    with pytest.raises(ValueError, match="wording"):
        upstream.script([{**REPLY, "faults": [{"kind": "context_overflow", "wording": len(WORDINGS)}]}])


def test_silent_overflow_shows_in_the_usage_alone(upstream: ContractHandle) -> None:
    fault = {"kind": "context_overflow", "silent": True, "limit": 8000, "times": 2}
    upstream.script([{**REPLY, "faults": [fault], "usage_location": "top", "repeat": True}])

    over = respond(upstream, [user()]).payloads[-1]["response"]["usage"]["input_tokens"]
    chat = ask(upstream, [user()]).payloads[-1]["usage"]["prompt_tokens"]
    later = ask(upstream, [user()]).payloads[-1]["usage"]["prompt_tokens"]

    assert (over, chat) == (8001, 8001)
    assert later < 100
    assert upstream.requests()[0]["faults"] == ["context_overflow:silent"]


def test_usage_may_be_left_out(upstream: ContractHandle) -> None:
    upstream.script([{**REPLY, "usage_location": "none"}])

    assert respond(upstream, [user()]).payloads[-1]["response"]["usage"] is None
