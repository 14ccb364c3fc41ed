"""The server as a whole: what it records, what it leaves behind, and that it runs as a child process."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from tests.contract_server.client import ask, chat_request, receive, response_request, send, user
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
