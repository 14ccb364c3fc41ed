"""The server itself: scripts with mistakes are refused, streams are malformed as asked, and nothing is left behind."""

import asyncio
import json
import threading
from collections.abc import Callable
from typing import get_args

import pytest

from replay_contract_server.client import ask, chat_request, receive, respond, response_request, send, user
from replay_contract_server.fixture import running_contract_server
from replay_contract_server.rules.base import CHAT_PATH, RESPONSES_PATH
from replay_contract_server.script import ScriptError, SseForm, parse_script
from replay_contract_server.server import ContractServer

RAW = {CHAT_PATH: chat_request([user()]), RESPONSES_PATH: response_request([user()])}
STALL = {"kind": "stall", "at": "event:2", "name": "gap"}
TIMEOUT_S = 30
REPLY = {"content": "Umsätze stiegen.", "chunk": "whole"}
APIS = {"chat": (ask, 1), "responses": (respond, 4)}  # how to ask, and the event with the text


def is_json(write: bytes) -> bool:
    try:
        json.loads(write.partition(b"data: ")[2])
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


def test_table_has_every_form():
    assert set(FORMS) == set(get_args(SseForm))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("api", APIS)
def test_malformed_stream_is_malformed_as_its_name_says(upstream, api, form):
    send_to, event = APIS[api]
    upstream.script([{**REPLY, "faults": [{"kind": "malformed_sse", "form": form, "event": event}]}])
    bad = send_to(upstream, [user()]).writes
    upstream.reset()
    upstream.script([REPLY])
    good = send_to(upstream, [user()]).writes

    assert FORMS[form](bad, good, event)


def test_missing_or_unfit_reply_is_noticed_and_a_repeated_one_never_runs_out(upstream):
    missing = ask(upstream, [user()])
    upstream.script([{"items": [{"type": "message", "text": "Fine."}]}])
    unfit = ask(upstream, [user()])
    upstream.script([{"content": "Again.", "repeat": True}])
    repeated = [ask(upstream, [user()]).text() for _ in range(3)]

    assert (missing.rule, unfit.rule) == ("script", "items")
    assert repeated == ["Again."] * 3


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
def test_script_with_a_mistake_is_refused_when_loaded(script):
    with pytest.raises(ScriptError):
        parse_script(script)


@pytest.mark.parametrize("path", RAW)
async def test_aborted_clients_leave_no_task_behind(path):
    server = ContractServer()
    before = asyncio.all_tasks()
    port, streams = await server.start(), server.state.streams
    server.state.script = parse_script([{"deltas": [{"hold": "gap"}, {"content": "Fine."}], "repeat": True}])

    for _ in range(5):
        _, writer = await asyncio.open_connection("127.0.0.1", port)
        head = f"POST {path} HTTP/1.1\r\nAuthorization: Bearer x\r\nContent-Length: {len(RAW[path])}\r\n\r\n"
        writer.write(head.encode() + RAW[path])
        assert await server.state.until(lambda: any(one.held == "gap" for one in streams.values()), TIMEOUT_S)
        writer.close()
        await writer.wait_closed()
        assert await server.state.until(lambda: not streams, TIMEOUT_S)
    await server.stop()

    assert asyncio.all_tasks() == before
    assert server.failures == []


def test_server_in_a_thread_leaves_no_thread_behind_even_with_an_open_stream():
    before = set(threading.enumerate())
    with running_contract_server() as upstream:
        upstream.script([{"content": "Fine.", "faults": [STALL]}])
        connected = send(upstream, chat_request([user()]))
        upstream.wait_for(held="gap")

    assert set(threading.enumerate()) == before
    assert not receive(connected).has_ended
