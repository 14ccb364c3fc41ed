"""The server as a whole: what it records, what it leaves behind, and that it runs as a child process."""

from __future__ import annotations

import asyncio
import base64
import socket
import subprocess
import sys
import threading
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest

from tests.contract_server.fixture import ContractHandle, running_contract_server
from tests.contract_server.script import parse_script
from tests.contract_server.server import ContractServer
from tests.contract_server.talk import (
    CHAT,
    KEY,
    RESPONSES,
    ask,
    assistant,
    hear,
    request,
    response_request,
    result,
    send,
    user,
)

ROOT = Path(__file__).parents[2]
RAW = {CHAT: request([user()]), RESPONSES: response_request([user()])}
STALL = {"kind": "stall", "at": "event:2", "name": "gap"}


def test_record_has_the_exact_bytes_and_the_verdict(upstream: ContractHandle) -> None:
    upstream.script([{"content": "Fine."}])
    raw = b' {"model":"plain-model", "messages":[{"role":"user","content":"\xc3\xa9"}]} '

    hear(send(upstream, raw))
    ask(upstream, [])

    first, second = upstream.requests()
    assert base64.b64decode(first["raw_base64"]) == raw
    assert (first["mode"], first["verdict"], first["status"]) == ("openai-chat", "accepted", 200)
    assert (second["verdict"], second["rule"], second["status"]) == ("refused", "C1", 400)
    assert first["started"] < first["ended"] < second["started"]
    assert first["headers"]["authorization"] == "Bearer test"


def test_longer_history_of_one_conversation_is_cached(upstream: ContractHandle) -> None:
    upstream.script([{"content": "Fine.", "repeat": True, "usage_location": "top"}])
    history = [user("word " * 2000), assistant("Fine."), user()]

    ask(upstream, history[:1], prompt_cache_key="one")
    longer = ask(upstream, history, prompt_cache_key="one")
    stranger = ask(upstream, history, prompt_cache_key="two")
    changed = ask(upstream, history, prompt_cache_key="one", tools=[{"type": "function"}])

    cached = [
        one.payloads[-1]["usage"]["prompt_tokens_details"]["cached_tokens"] for one in (longer, stranger, changed)
    ]
    assert cached == [2432, 0, 0]
    prefix = [record["prefix"]["messages"] for record in upstream.requests()]
    assert prefix[0] == prefix[2] == 0
    assert prefix[3] > prefix[1] > 10_000


def test_overlapping_requests_of_one_conversation_are_flagged_or_refused(upstream: ContractHandle) -> None:
    upstream.script([{"content": "Fine.", "faults": [STALL]}, {"content": "Fine."}])
    headers = {**KEY, "X-Conversation": "one"}
    connected = send(upstream, request([user()]), headers)
    upstream.wait_for(held="gap")

    ask(upstream, [user()], headers=headers)
    ask(upstream, [user()])
    upstream.script([{"content": "Fine."}], knobs={"single_flight": "reject"})
    refused = ask(upstream, [user()], headers=headers)
    upstream.release("gap")
    hear(connected)

    assert [one["overlaps"] for one in upstream.requests()] == [[2, 4], [1], [], [1]]
    assert (refused.status, refused.rule) == (409, "G6")


def test_client_that_leaves_is_noticed_and_recorded(upstream: ContractHandle) -> None:
    upstream.script([{"content": "Fine.", "faults": [STALL]}])
    connected = send(upstream, request([user()]))
    upstream.wait_for(held="gap")

    connected.close()
    upstream.wait_for(closed=1)

    assert upstream.open_streams() == []
    assert [(one["closed_early"], one["events_sent"]) for one in upstream.requests()] == [(True, 2)]


def test_client_that_leaves_a_paced_stream_is_noticed(upstream: ContractHandle) -> None:
    upstream.script([{"content": "word " * 50, "delay_ms": 20_000}])
    connected = send(upstream, request([user()]))
    upstream.wait_for(sent=1)

    connected.close()
    upstream.wait_for(closed=1)

    assert upstream.requests()[0]["events_sent"] == 1


@pytest.mark.parametrize("path", [CHAT, RESPONSES])
async def test_aborted_clients_leave_no_task_behind(path: str) -> None:
    server = ContractServer()
    before = asyncio.all_tasks()
    port = await server.start()
    server.state.script = parse_script([{"deltas": [{"hold": "gap"}, {"content": "Fine."}], "repeat": True}])

    for _ in range(5):
        await _ask_and_leave(server, port, path)
    assert await server.state.until(lambda: all(one.closed_early for one in server.state.records), 5)
    await server.stop()

    assert asyncio.all_tasks() == before
    assert server.failures == []


async def _ask_and_leave(server: ContractServer, port: int, path: str) -> None:
    _, writer = await asyncio.open_connection("127.0.0.1", port)
    raw = RAW[path]
    writer.write(b"POST %b HTTP/1.1\r\nAuthorization: Bearer x\r\n" % path.encode())
    writer.write(b"Content-Length: %d\r\n\r\n%b" % (len(raw), raw))
    assert await server.state.until(lambda: any(one.held == "gap" for one in server.state.streams.values()), 5)
    writer.close()
    await writer.wait_closed()
    assert await server.state.until(lambda: not server.state.streams, 5)


def test_server_in_a_thread_leaves_no_thread_behind_even_with_an_open_stream() -> None:
    before = set(threading.enumerate())
    with running_contract_server() as upstream:
        upstream.script([{"content": "Fine.", "faults": [STALL]}])
        connected = send(upstream, request([user()]))
        upstream.wait_for(held="gap")

    assert set(threading.enumerate()) == before
    assert not hear(connected).ended


def test_reset_cuts_open_streams_and_forgets_everything(upstream: ContractHandle) -> None:
    upstream.script([{"tool_calls": [{"name": "look"}], "faults": [STALL]}])
    connected = send(upstream, request([user()]))
    upstream.wait_for(held="gap")

    upstream.reset()

    assert hear(connected).reset
    assert (upstream.requests(), upstream.open_streams()) == ([], [])
    upstream.script([{"tool_calls": [{"name": "look"}]}])
    assert b'"call_1"' in ask(upstream, [user()]).body


@pytest.mark.parametrize(("path", "end"), [(CHAT, b"[DONE]\n\n"), (RESPONSES, b"}\n\n")])
def test_two_hundred_requests_in_a_row_over_one_connection(upstream: ContractHandle, path: str, end: bytes) -> None:
    upstream.script([{"content": "Fine.", "repeat": True}])
    connection = HTTPConnection("127.0.0.1", upstream.port)
    statuses = []
    for _ in range(200):
        connection.request("POST", path, RAW[path], KEY)
        response = connection.getresponse()
        statuses.append((response.status, response.read().endswith(end)))
    connection.close()

    assert set(statuses) == {(200, True)}
    assert len(upstream.requests()) == 200


def test_request_body_may_come_in_chunks(upstream: ContractHandle) -> None:
    upstream.script([{"content": "Fine."}])
    raw = request([user()])
    connection = HTTPConnection("127.0.0.1", upstream.port)
    connection.request("POST", "/v1/chat/completions", iter([raw[:9], raw[9:]]), KEY, encode_chunked=True)
    status = connection.getresponse().status
    connection.close()

    assert status == 200


@pytest.mark.parametrize("raw", [b"nonsense\r\n\r\n", b"GET / HTTP/1.1\r\nno colon\r\n\r\n"])
def test_nonsense_on_the_socket_is_answered_and_closed(upstream: ContractHandle, raw: bytes) -> None:
    connected = socket.create_connection(("127.0.0.1", upstream.port))
    connected.sendall(raw)

    assert hear(connected).status == 400


def test_wait_for_what_does_not_come_says_so(upstream: ContractHandle) -> None:
    with pytest.raises(TimeoutError, match="requests"):
        upstream.wait_for(requests=1, seconds=0.01)


def test_bad_script_is_refused_by_name(upstream: ContractHandle) -> None:
    with pytest.raises(ValueError, match="contents"):
        upstream.script([{"contents": "x"}])


def test_child_process_writes_its_port_and_serves_the_demo(tmp_path: Path) -> None:
    port_file = tmp_path / "port"
    command = [sys.executable, "-m", "tests.contract_server", "--port", "0", "--port-file", str(port_file)]
    child: subprocess.Popen[str]
    with subprocess.Popen([*command, "--script", "demo.json"], cwd=ROOT, stdout=subprocess.PIPE, text=True) as child:  # noqa: S603
        try:
            line = child.stdout.readline() if child.stdout else ""
            upstream = ContractHandle(int(port_file.read_text()))
            answers: list[Any] = [_demo(upstream, text) for text in ("Hello", "search", "leak")]
        finally:
            child.terminate()

    assert upstream.base_url in line
    assert [one["finish_reason"] for one in answers] == ["stop", "tool_calls", "stop"]
    assert "</think>" in answers[2]["message"]["content"]
    assert child.returncode == 0


def _demo(upstream: ContractHandle, text: str) -> Any:
    return ask(upstream, [user(text)], stream=False).json["choices"][0]


def test_agent_loop_of_the_openai_client_is_accepted_in_kimi_mode(upstream: ContractHandle) -> None:
    from openai import OpenAI  # noqa: PLC0415 - takes a second to import

    upstream.script([{"reasoning": "Look.", "tool_calls": [{"name": "look"}]}, {"content": "Fine."}])
    messages: list[Any] = [user()]
    with OpenAI(base_url=upstream.base_url, api_key="none", max_retries=0) as client:
        first = client.chat.completions.create(model="kimi-k2.6", messages=messages).choices[0].message
        messages += [first.model_dump(exclude_none=True), result(first.tool_calls[0].id)]  # type: ignore[index]
        second = client.chat.completions.create(model="kimi-k2.6", messages=messages).choices[0].message

    assert second.content == "Fine."


def test_client_that_leaves_at_the_last_event_has_not_left_early(upstream: ContractHandle) -> None:
    upstream.script([{"content": "Fine."}])
    connected = send(upstream, request([user()]))
    heard = b""
    while b"[DONE]" not in heard:
        heard += connected.recv(65536)
    connected.close()
    upstream.wait_for(ended=1)

    record = upstream.requests()[0]
    assert (record["closed_early"], record["events_sent"]) == (False, heard.count(b"data: "))


def test_release_without_a_name_is_refused(upstream: ContractHandle) -> None:
    connection = HTTPConnection("127.0.0.1", upstream.port)
    connection.request("POST", "/__control__/release", b"{")
    status = connection.getresponse().status
    connection.close()

    assert status == 400
