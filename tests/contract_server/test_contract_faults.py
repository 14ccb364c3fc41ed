"""Faults do what their names say, and a reply that was cut short is served again. Over both APIs."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, get_args

import pytest

from tests.contract_server.client import RawResponse, ask, chat_request, respond, send, user
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
    "split_codepoint": lambda bad, good, n: bad[n].endswith(b"\xc3") and bad[n] + bad[n + 1] == good[n],
    "oversized_line": lambda bad, _, n: len(bad[n]) > 1024 * 1024 and is_json(bad[n]),
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


@pytest.mark.parametrize("api", APIS)
def test_reply_that_was_cut_short_is_served_again(upstream: ContractHandle, api: str) -> None:
    first = with_fault(upstream, api, kind="disconnect", at="event:1", times=2)
    later = [APIS[api][0](upstream, [user()]) for _ in range(3)]

    assert len(first.writes) == len(later[0].writes) == 1
    assert len(later[1].writes) > 3
    assert later[2].rule == "script"


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


def test_client_that_leaves_a_stalled_stream_gets_the_reply_again(upstream: ContractHandle) -> None:
    upstream.script([{**REPLY, "faults": [{"kind": "stall", "name": "gap"}]}, {"content": "next"}])
    connected = send(upstream, chat_request([user()]))
    upstream.wait_for(held="gap")
    connected.close()
    upstream.wait_for(closed=1)

    assert [ask(upstream, [user()]).text() for _ in range(2)] == [REPLY["content"], "next"]
