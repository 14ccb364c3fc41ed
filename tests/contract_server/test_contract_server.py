"""The server as a whole: what it records, what it leaves behind, and that it runs as a child process."""

from __future__ import annotations

import asyncio
import socket
import subprocess
import sys
import threading
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest

from tests.contract_server.client import KEY, ask, chat_request, receive, response_request, result, send, user
from tests.contract_server.fixture import ContractHandle, running_contract_server
from tests.contract_server.rules.base import CHAT_PATH, RESPONSES_PATH
from tests.contract_server.script import parse_script
from tests.contract_server.server import ContractServer

ROOT = Path(__file__).parents[2]
RAW = {CHAT_PATH: chat_request([user()]), RESPONSES_PATH: response_request([user()])}
STALL = {"kind": "stall", "at": "event:2", "name": "gap"}
TIMEOUT_S = 30


def test_record_has_the_request_and_the_verdict(upstream: ContractHandle) -> None:
    upstream.script([{"content": "Fine."}])

    ask(upstream, [user("é")])
    ask(upstream, [])

    first, second = upstream.requests()
    assert first["body"]["messages"] == [user("é")]
    assert first["headers"]["authorization"] == "Bearer test"
    assert (first["mode"], first["verdict"], first["status"]) == ("openai-chat", "accepted", 200)
    assert (second["verdict"], second["rule"], second["status"]) == ("refused", "C1", 400)


def test_client_that_leaves_is_noticed_and_recorded(upstream: ContractHandle) -> None:
    upstream.script([{"content": "Fine.", "faults": [STALL]}])
    stalled = send(upstream, chat_request([user()]))
    upstream.wait_for(held="gap")
    stalled.close()
    upstream.wait_for(closed=1)

    upstream.script([{"content": "word " * 50, "delay_ms": 20_000}])
    paced = send(upstream, chat_request([user()]))
    while b"assistant" not in paced.recv(65536):
        pass
    paced.close()
    upstream.wait_for(closed=2)

    assert upstream.open_streams() == []
    assert [(one["closed_early"], one["events_sent"]) for one in upstream.requests()] == [(True, 2), (True, 1)]


def test_client_that_leaves_at_the_last_event_has_not_left_early(upstream: ContractHandle) -> None:
    upstream.script([{"content": "Fine."}])
    connected = send(upstream, chat_request([user()]))
    received = b""
    while b"[DONE]" not in received:
        received += connected.recv(65536)
    connected.close()
    upstream.wait_for(ended=1)

    [record] = upstream.requests()
    assert (record["closed_early"], record["events_sent"]) == (False, received.count(b"data: "))


@pytest.mark.parametrize("path", RAW)
async def test_aborted_clients_leave_no_task_behind(path: str) -> None:
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


def test_server_in_a_thread_leaves_no_thread_behind_even_with_an_open_stream() -> None:
    before = set(threading.enumerate())
    with running_contract_server() as upstream:
        upstream.script([{"content": "Fine.", "faults": [STALL]}])
        connected = send(upstream, chat_request([user()]))
        upstream.wait_for(held="gap")

    assert set(threading.enumerate()) == before
    assert not receive(connected).has_ended


def test_reset_cuts_open_streams_and_forgets_everything(upstream: ContractHandle) -> None:
    upstream.script([{"tool_calls": [{"name": "look"}], "faults": [STALL]}])
    connected = send(upstream, chat_request([user()]))
    upstream.wait_for(held="gap")

    upstream.reset()

    assert receive(connected).was_reset
    assert (upstream.requests(), upstream.open_streams()) == ([], [])
    upstream.script([{"tool_calls": [{"name": "look"}]}])
    assert b'"call_1"' in ask(upstream, [user()]).body


@pytest.mark.parametrize(("path", "end"), [(CHAT_PATH, b"[DONE]\n\n"), (RESPONSES_PATH, b"}\n\n")])
def test_many_requests_over_one_connection_also_in_chunks(upstream: ContractHandle, path: str, end: bytes) -> None:
    upstream.script([{"content": "Fine.", "repeat": True}])
    connection = HTTPConnection("127.0.0.1", upstream.port)
    found = []
    for n in range(20):
        body = iter([RAW[path][:9], RAW[path][9:]]) if n % 2 else RAW[path]
        connection.request("POST", path, body, KEY, encode_chunked=bool(n % 2))
        response = connection.getresponse()
        found.append((response.status, response.read().endswith(end)))
    connection.close()

    assert found == [(200, True)] * 20


@pytest.mark.parametrize("raw", [b"nonsense\r\n\r\n", b"GET / HTTP/1.1\r\nno colon\r\n\r\n"])
def test_nonsense_on_the_socket_is_answered_and_closed(upstream: ContractHandle, raw: bytes) -> None:
    connected = socket.create_connection(("127.0.0.1", upstream.port))
    connected.sendall(raw)

    assert receive(connected).status == 400


def test_wait_that_is_not_met_and_script_that_is_wrong_raise(upstream: ContractHandle) -> None:
    with pytest.raises(TimeoutError, match="ended"):
        upstream.wait_for(ended=1, timeout_s=0.01)
    with pytest.raises(ValueError, match="contents"):
        upstream.script([{"contents": "x"}])


def test_model_list_needs_a_key_and_has_scripted_models_first(upstream: ContractHandle) -> None:
    upstream.script([], models={"my-model": "kimi"})
    found = []
    for headers in ({}, KEY):
        connection = HTTPConnection("127.0.0.1", upstream.port)
        connection.request("GET", "/v1/models", headers=headers)
        response = connection.getresponse()
        found.append((response.status, response.read()[:50]))
        connection.close()

    assert [status for status, _ in found] == [401, 200]
    assert b'"my-model"' in found[1][1]


def test_child_process_writes_its_port_and_serves_the_demo(tmp_path: Path) -> None:
    port_file = tmp_path / "port"
    command = [sys.executable, "-m", "tests.contract_server", "--port", "0", "--port-file", str(port_file)]
    child: subprocess.Popen[str]
    with subprocess.Popen([*command, "--script", "demo.json"], cwd=ROOT, stdout=subprocess.PIPE, text=True) as child:  # noqa: S603
        try:
            line = child.stdout.readline() if child.stdout else ""
            upstream = ContractHandle(int(port_file.read_text()))
            answers = [ask(upstream, [user(text)], stream=False) for text in ("Hello", "search", "leak")]
        finally:
            child.terminate()

    choices = [one.json["choices"][0] for one in answers]
    assert upstream.base_url in line
    assert [one["finish_reason"] for one in choices] == ["stop", "tool_calls", "stop"]
    assert "</think>" in choices[2]["message"]["content"]
    assert child.returncode == 0


def test_agent_loop_of_the_openai_client_is_accepted_in_kimi_mode(upstream: ContractHandle) -> None:
    from openai import OpenAI  # noqa: PLC0415 - takes a second to import

    upstream.script([{"reasoning": "Look.", "tool_calls": [{"name": "look"}]}, {"content": "Fine."}])
    messages: list[Any] = [user()]
    with OpenAI(base_url=upstream.base_url, api_key="none", max_retries=0) as client:
        first = client.chat.completions.create(model="kimi-k2.6", messages=messages).choices[0].message
        messages += [first.model_dump(exclude_none=True), result(first.tool_calls[0].id)]  # type: ignore[index]
        second = client.chat.completions.create(model="kimi-k2.6", messages=messages).choices[0].message

    assert second.content == "Fine."
