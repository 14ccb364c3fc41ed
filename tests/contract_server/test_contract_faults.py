"""Faults do what their names say, and a reply that was cut short is served again. Over both APIs."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, get_args

import pytest

from tests.contract_server.client import RawResponse, ask, chat_request, receive, respond, send, user
from tests.contract_server.fixture import ContractHandle
from tests.contract_server.script import SseForm

REPLY = {"content": "Umsätze stiegen.", "chunk": "whole"}
APIS = {"chat": (ask, 1), "responses": (respond, 4)}  # how to ask, and the event with the text


def with_fault(upstream: ContractHandle, api: str = "chat", **fault: Any) -> RawResponse:
    upstream.script([{**REPLY, "faults": [fault]}])
    return APIS[api][0](upstream, [user()])


def payload(write: bytes) -> Any:
    return json.loads(write.partition(b"data: ")[2])


def is_json(write: bytes) -> bool:
    try:
        payload(write)
    except ValueError:
        return False
    return True


# From the writes with the form at event n, and those of the same reply without a fault.
FORMS: dict[str, Callable[[list[bytes], list[bytes], int], bool]] = {
    "truncated_json": lambda bad, good, n: good[n].startswith(bad[n].rstrip()) and not is_json(bad[n]),
    "not_json": lambda bad, _, n: b"data: " in bad[n] and not is_json(bad[n]),
    "invalid_utf8": lambda bad, good, n: bad[n].replace(b"\xff\xfe", b"") == good[n] != bad[n],
    "no_blank_line": lambda bad, good, n: bad[n] + b"\n" == good[n],
    "crlf": lambda bad, good, _: bad == [one.replace(b"\n", b"\r\n") for one in good],
    "comment_only": lambda bad, good, n: bad[n].startswith(b":") and bad[:n] + bad[n + 1 :] == good,
    "two_events_one_write": lambda bad, good, n: bad[n] == good[n] + good[n + 1],
    "split_codepoint": lambda bad, good, n: bad[n].endswith(b"\xc3") and bad[n] + bad[n + 1] == good[n],
    "oversized_line": lambda bad, _, n: len(bad[n]) > 1024 * 1024 and is_json(bad[n]),
    "unknown_event_type": lambda bad, good, n: b"contract.unknown" in bad[n] and bad[n + 1 :] == good[n:],
    "null_choices": lambda bad, good, n: None in payload(bad[n]).values() and bad[n + 1 :] == good[n:],
    "missing_done": lambda bad, good, _: bad == good[:-1],
    "duplicate_event": lambda bad, good, n: bad == [*good[: n + 1], *good[n:]],
}


def test_table_has_every_form() -> None:
    assert set(FORMS) == set(get_args(SseForm))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("api", APIS)
def test_malformed_stream_is_malformed_as_its_name_says(upstream: ContractHandle, api: str, form: str) -> None:
    event = APIS[api][1]
    bad = with_fault(upstream, api, kind="malformed_sse", form=form, event=event).writes
    upstream.reset()
    upstream.script([REPLY])
    good = APIS[api][0](upstream, [user()]).writes

    assert FORMS[form](bad, good, event)


@pytest.mark.parametrize(
    ("at", "mode", "writes", "has_ended"),
    [("event:0", "fin", 0, True), ("event:3", "fin", 3, True), ("event:2", "truncate", 2, False)],
)
def test_disconnect_ends_the_body_in_its_way(
    upstream: ContractHandle, at: str, mode: str, writes: int, *, has_ended: bool
) -> None:
    answer = with_fault(upstream, kind="disconnect", at=at, mode=mode)

    assert (len(answer.writes), answer.has_ended, answer.was_reset) == (writes, has_ended, False)


def test_reset_reaches_the_client_as_a_reset(upstream: ContractHandle) -> None:
    assert with_fault(upstream, kind="disconnect", at="event:2", mode="rst").was_reset


def test_disconnect_inside_an_event_cuts_a_code_point(upstream: ContractHandle) -> None:
    upstream.script([REPLY])
    place = ask(upstream, [user()]).writes[1].index("ä".encode()) + 1

    answer = with_fault(upstream, kind="disconnect", at=f"inside_event:1:{place}")

    assert answer.writes[1].endswith(b"\xc3")


@pytest.mark.parametrize(("at", "start", "end"), [("connect", b"", b""), ("headers", b"HTTP/1.1 200 OK\r\n", b"")])
def test_disconnect_before_the_body(upstream: ContractHandle, at: str, start: bytes, end: bytes) -> None:
    answer = with_fault(upstream, kind="disconnect", at=at)

    assert answer.raw.startswith(start)
    assert b"\r\n\r\n" not in answer.raw


@pytest.mark.parametrize("api", APIS)
def test_reply_that_was_cut_short_is_served_again(upstream: ContractHandle, api: str) -> None:
    first = with_fault(upstream, api, kind="disconnect", at="event:1", times=2)
    later = [APIS[api][0](upstream, [user()]) for _ in range(3)]

    assert len(first.writes) == len(later[0].writes) == 1
    assert len(later[1].writes) > 3
    assert later[2].rule == "script"


def test_faults_happen_in_order(upstream: ContractHandle) -> None:
    faults = [{"kind": "rate_limit"}, {"kind": "disconnect", "at": "event:1"}]
    upstream.script([{**REPLY, "faults": faults}])

    answers = [ask(upstream, [user()]) for _ in range(3)]

    assert [one.status for one in answers] == [429, 200, 200]
    assert [one["verdict"] for one in upstream.requests()] == ["fault", "accepted", "accepted"]
    assert (answers[1].text(), answers[2].text()) == ("", REPLY["content"])


@pytest.mark.parametrize(
    ("given", "header", "value"),
    [(1.5, "retry-after", "1.5"), ("soon", "retry-after", "soon"), ({"ms": 250}, "retry-after-ms", "250")],
)
def test_rate_limit_has_each_form_of_retry_after(upstream: ContractHandle, given: Any, header: str, value: str) -> None:
    answer = with_fault(upstream, kind="rate_limit", retry_after=given)

    assert (answer.status, answer.headers[header]) == (429, value)


@pytest.mark.parametrize(
    ("fault", "status", "start"),
    [
        ({"kind": "server_error"}, 500, b'{"error"'),
        ({"kind": "server_error", "status": 529, "body": "empty"}, 529, b""),
        ({"kind": "http_error", "status": 402, "body": "html"}, 402, b"<html>"),
        ({"kind": "context_overflow", "wording": 2}, 400, b'{"error":{"message":"prompt is too long'),
    ],
)
def test_error_answers_have_their_status_and_body(
    upstream: ContractHandle, fault: dict[str, Any], status: int, start: bytes
) -> None:
    answer = with_fault(upstream, **fault)

    assert answer.status == status
    assert answer.body.startswith(start)
    assert bool(answer.body) == bool(start)


def test_error_event_ends_an_open_chat_stream(upstream: ContractHandle) -> None:
    answer = with_fault(upstream, kind="error_event", at="event:2", code="overloaded")

    assert len(answer.payloads) == 3
    assert answer.payloads[-1]["error"]["code"] == "overloaded"
    assert b"[DONE]" not in answer.body


@pytest.mark.parametrize(
    ("fault", "place", "value"),
    [
        ({"code": "rate_limit_exceeded"}, ("response", "error", "code"), "rate_limit_exceeded"),
        ({"event": "response.incomplete"}, ("response", "incomplete_details", "reason"), "max_output_tokens"),
        ({"event": "error", "code": "overloaded"}, ("code",), "overloaded"),
    ],
)
def test_error_event_ends_a_response_in_its_form(
    upstream: ContractHandle, fault: dict[str, Any], place: tuple[str, ...], value: str
) -> None:
    answer = with_fault(upstream, "responses", kind="error_event", at="event:4", **fault)

    last = answer.payloads[-1]
    assert (last["type"], last["sequence_number"]) == (fault.get("event", "response.failed"), 4)
    for key in place:
        last = last[key]
    assert last == value


@pytest.mark.parametrize("kind", ["stall", "slow_first_token"])
def test_stalled_stream_waits_for_its_release(upstream: ContractHandle, kind: str) -> None:
    upstream.script([{**REPLY, "faults": [{"kind": kind, "name": "gap"}]}])
    connected = send(upstream, chat_request([user()]))

    upstream.wait_for(held="gap")
    [stalled] = upstream.open_streams()
    upstream.release("gap")

    assert stalled == {"serial": 1, "events_sent": int(kind == "stall"), "held": "gap"}
    assert receive(connected).text() == REPLY["content"]
    assert upstream.open_streams() == []


def test_hold_among_the_deltas_waits_between_them(upstream: ContractHandle) -> None:
    upstream.script([{"deltas": [{"content": "one"}, {"hold": "two"}, {"content": "two"}, {"hold": "end"}]}])
    upstream.release("end")  # before its time
    connected = send(upstream, chat_request([user()]))

    upstream.wait_for(held="two")
    sent = upstream.open_streams()[0]["events_sent"]
    upstream.release("two")

    assert receive(connected).text() == "onetwo"
    assert sent == 2


def test_client_that_leaves_a_stalled_stream_gets_the_reply_again(upstream: ContractHandle) -> None:
    upstream.script([{**REPLY, "faults": [{"kind": "stall", "name": "gap"}]}, {"content": "next"}])
    connected = send(upstream, chat_request([user()]))
    upstream.wait_for(held="gap")
    connected.close()
    upstream.wait_for(closed=1)

    assert [ask(upstream, [user()]).text() for _ in range(2)] == [REPLY["content"], "next"]


def test_malformed_reply_is_served_again_where_the_script_says_so(upstream: ContractHandle) -> None:
    with_fault(upstream, kind="malformed_sse", form="not_json", again=True)

    assert ask(upstream, [user()]).text() == REPLY["content"]
