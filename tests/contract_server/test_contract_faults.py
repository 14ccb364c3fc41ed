"""Faults do what their names say, on the wire, and a reply that was cut short is served again."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.contract_server.fixture import ContractHandle
from tests.contract_server.talk import Heard, ask, hear, request, send, user

REPLY = {"content": "Umsätze stiegen.", "chunk": "whole"}
PLAIN = [b"role", b"content", b"finish", b"DONE"]


def with_fault(upstream: ContractHandle, **fault: Any) -> Heard:
    upstream.script([{**REPLY, "faults": [fault]}])
    return ask(upstream, [user()])


def malformed(upstream: ContractHandle, form: str) -> tuple[list[bytes], list[bytes]]:
    """Return the writes of the reply with this form, and of the same reply without a fault."""
    spoilt = with_fault(upstream, kind="malformed_sse", form=form).writes
    upstream.reset()
    upstream.script([REPLY])
    return spoilt, ask(upstream, [user()]).writes


def is_json(write: bytes) -> bool:
    try:
        json.loads(write.strip().removeprefix(b"data: "))
    except ValueError:
        return False
    return True


FORMS: dict[str, Callable[[list[bytes], list[bytes]], bool]] = {
    "truncated_json": lambda bad, good: good[1].startswith(bad[1].rstrip()) and bad[1].endswith(b"\n\n"),
    "not_json": lambda bad, _: bad[1].startswith(b"data: ") and not is_json(bad[1]),
    "invalid_utf8": lambda bad, good: bad[1].replace(b"\xff\xfe", b"") == good[1] != bad[1],
    "no_blank_line": lambda bad, good: bad[1] + b"\n" == good[1],
    "crlf": lambda bad, good: bad == [one.replace(b"\n", b"\r\n") for one in good],
    "comment_only": lambda bad, good: bad[1].startswith(b":") and bad[:1] + bad[2:] == good,
    "two_events_one_write": lambda bad, good: bad == [good[0], good[1] + good[2], good[3]],
    "split_codepoint": lambda bad, good: bad[1].endswith(b"\xc3") and bad[1] + bad[2] == good[1],
    "oversized_line": lambda bad, _: len(bad[1]) > 1024 * 1024 and bad[1].count(b"\n") == 2 and is_json(bad[1]),
    "unknown_event_type": lambda bad, good: bad[1].startswith(b"event: contract.unknown\n") and bad[2:] == good[1:],
    "null_choices": lambda bad, good: json.loads(bad[1][6:])["choices"] is None and bad[2:] == good[1:],
    "missing_done": lambda bad, good: bad == good[:-1] and b"[DONE]" in good[-1],
    "duplicate_event": lambda bad, good: bad == [*good[:2], *good[1:]],
}


@pytest.mark.parametrize("form", FORMS)
def test_malformed_stream_is_malformed_as_its_name_says(upstream: ContractHandle, form: str) -> None:
    spoilt, plain = malformed(upstream, form)

    assert len(plain) == len(PLAIN)
    assert FORMS[form](spoilt, plain)


def test_split_codepoint_is_true_to_its_name_in_an_ascii_stream(upstream: ContractHandle) -> None:
    fault = {"kind": "malformed_sse", "form": "split_codepoint"}
    upstream.script([{"content": "ascii", "chunk": "whole", "faults": [fault]}])

    writes = ask(upstream, [user()]).writes

    with pytest.raises(UnicodeDecodeError):
        writes[1].decode()
    assert "ascii" in b"".join(writes).decode()


@pytest.mark.parametrize("event", range(4))
def test_clean_end_at_any_event_is_a_stream_without_done(upstream: ContractHandle, event: int) -> None:
    heard = with_fault(upstream, kind="disconnect", at=f"event:{event}")

    assert len(heard.writes) == event
    assert (heard.ended, heard.reset) == (True, False)


def test_truncated_end_lacks_the_end_of_the_body(upstream: ContractHandle) -> None:
    heard = with_fault(upstream, kind="disconnect", at="event:2", mode="truncate")

    assert (len(heard.writes), heard.ended, heard.reset) == (2, False, False)


def test_reset_reaches_the_client_as_a_reset(upstream: ContractHandle) -> None:
    assert with_fault(upstream, kind="disconnect", at="event:2", mode="rst").reset


def test_disconnect_inside_an_event_cuts_a_code_point(upstream: ContractHandle) -> None:
    upstream.script([REPLY])
    place = ask(upstream, [user()]).writes[1].index("ä".encode()) + 1
    upstream.reset()

    heard = with_fault(upstream, kind="disconnect", at=f"inside_event:1:{place}")

    assert heard.writes[1].endswith(b"\xc3")
    assert len(heard.writes[1]) == place


@pytest.mark.parametrize(("at", "raw"), [("connect", b""), ("first_event", b"\r\n\r\n0\r\n\r\n")])
def test_disconnect_before_the_first_event(upstream: ContractHandle, at: str, raw: bytes) -> None:
    assert with_fault(upstream, kind="disconnect", at=at).raw.endswith(raw)
    assert upstream.requests()[0]["events_sent"] == 0


def test_disconnect_at_headers_leaves_half_a_head(upstream: ContractHandle) -> None:
    heard = with_fault(upstream, kind="disconnect", at="headers")

    assert heard.raw.startswith(b"HTTP/1.1 200 OK\r\n")
    assert b"\r\n\r\n" not in heard.raw


def test_cut_reply_is_served_again_without_the_fault(upstream: ContractHandle) -> None:
    with_fault(upstream, kind="disconnect", times=2)

    heard = [ask(upstream, [user()]) for _ in range(3)]

    assert [one.text() for one in heard] == ["", REPLY["content"], ""]
    assert [one.status for one in heard] == [200, 200, 500]


def test_fault_after_another_waits_for_its_turn(upstream: ContractHandle) -> None:
    faults = [{"kind": "rate_limit"}, {"kind": "disconnect", "at": "event:1"}]
    upstream.script([{**REPLY, "faults": faults}])

    heard = [ask(upstream, [user()]) for _ in range(3)]

    assert [one.status for one in heard] == [429, 200, 200]
    assert [record["faults"] for record in upstream.requests()] == [["rate_limit"], ["disconnect"], []]
    assert heard[2].text() == REPLY["content"]


@pytest.mark.parametrize(
    ("given", "header", "value"),
    [
        (7, "retry-after", "7"),
        (1.5, "retry-after", "1.5"),
        ("Wed, 21 Oct 2015 07:28:00 GMT", "retry-after", "Wed, 21 Oct 2015 07:28:00 GMT"),
        ("soon", "retry-after", "soon"),
        ({"ms": 250}, "retry-after-ms", "250"),
        (None, "retry-after", None),
    ],
)
def test_rate_limit_has_each_form_of_retry_after(
    upstream: ContractHandle, given: Any, header: str, value: str | None
) -> None:
    heard = with_fault(upstream, kind="rate_limit", retry_after=given)

    assert (heard.status, heard.json["error"]["code"]) == (429, "rate_limit_exceeded")
    assert heard.headers.get(header) == value


@pytest.mark.parametrize(
    ("fault", "status", "start"),
    [
        ({"kind": "server_error"}, 500, b'{"error"'),
        ({"kind": "server_error", "status": 529, "body": "empty"}, 529, b""),
        ({"kind": "server_error", "status": 503, "body": "html"}, 503, b"<html>"),
        ({"kind": "http_error", "status": 402, "code": "no_money"}, 402, b'{"error"'),
        ({"kind": "context_overflow", "wording": 2}, 400, b'{"error":{"message":"prompt is too long'),
    ],
)
def test_error_answers_have_their_status_and_body(
    upstream: ContractHandle, fault: dict[str, Any], status: int, start: bytes
) -> None:
    heard = with_fault(upstream, **fault)

    assert heard.status == status
    assert heard.body.startswith(start)
    assert bool(heard.body) == bool(start)


def test_error_event_ends_an_open_stream(upstream: ContractHandle) -> None:
    heard = with_fault(upstream, kind="error_event", at="event:2", message="Overloaded", code="overloaded")

    assert len(heard.payloads) == 3
    assert heard.payloads[-1]["error"]["code"] == "overloaded"
    assert b"[DONE]" not in heard.body


def test_stall_holds_the_stream_until_its_release(upstream: ContractHandle) -> None:
    upstream.script([{**REPLY, "faults": [{"kind": "stall", "at": "event:1", "name": "gap"}]}])
    connected = send(upstream, request([user()]))

    upstream.wait_for(held="gap")
    stalled = upstream.open_streams()
    upstream.release("gap")
    heard = hear(connected)

    assert [(one["events_sent"], one["held"], one["client_gone"]) for one in stalled] == [(1, "gap", False)]
    assert heard.text() == REPLY["content"]
    assert upstream.open_streams() == []


def test_release_before_the_stall_lets_the_stream_pass(upstream: ContractHandle) -> None:
    upstream.release("gap")

    assert with_fault(upstream, kind="stall", at="before_done", name="gap").text() == REPLY["content"]


def test_stall_ends_after_its_time_and_sends_keepalives(upstream: ContractHandle) -> None:
    heard = with_fault(upstream, kind="stall", at="event:1", max_seconds=0.05, keepalive=0.01)

    assert heard.writes[1] == b": keepalive\n\n"
    assert heard.text() == REPLY["content"]


def test_slow_first_token_has_its_headers_out_at_once(upstream: ContractHandle) -> None:
    upstream.script([{**REPLY, "faults": [{"kind": "slow_first_token"}]}])
    connected = send(upstream, request([user()]))

    head = connected.recv(65536)
    upstream.wait_for(held="slow_first_token")
    upstream.release("slow_first_token")
    rest = hear(connected)

    assert head.endswith(b"\r\n\r\n")
    assert Heard(head + rest.raw, reset=False).text() == REPLY["content"]


def test_hold_among_the_deltas_waits_between_them(upstream: ContractHandle) -> None:
    upstream.script([{"deltas": [{"content": "one"}, {"hold": "two"}, {"content": "two"}, {"hold": "end"}]}])
    connected = send(upstream, request([user()]))

    seen = []
    for name in ("two", "end"):
        upstream.wait_for(held=name)
        seen.append(upstream.open_streams()[0]["events_sent"])
        upstream.release(name)

    assert hear(connected).text() == "onetwo"
    assert seen == [2, 3]


def test_client_that_gives_up_on_a_stall_gets_the_reply_again(upstream: ContractHandle) -> None:
    upstream.script([{**REPLY, "faults": [{"kind": "stall", "name": "gap"}]}, {"content": "next"}])
    connected = send(upstream, request([user()]))
    upstream.wait_for(held="gap")
    connected.close()
    upstream.wait_for(closed=1)

    assert [ask(upstream, [user()]).text() for _ in range(2)] == [REPLY["content"], "next"]


def test_client_that_leaves_at_a_hold_has_used_the_reply_up(upstream: ContractHandle) -> None:
    upstream.script([{"deltas": [{"content": "one"}, {"hold": "two"}]}, {"content": "next"}])
    connected = send(upstream, request([user()]))
    upstream.wait_for(held="two")
    connected.close()
    upstream.wait_for(closed=1)

    assert ask(upstream, [user()]).text() == "next"


def test_malformed_reply_is_served_again_where_the_script_says_so(upstream: ContractHandle) -> None:
    with_fault(upstream, kind="malformed_sse", form="not_json", again=True)

    assert ask(upstream, [user()]).text() == REPLY["content"]
