"""Chat completions over real HTTP, against the strict upstream."""

from __future__ import annotations

import asyncio
import json
import socket
import time
from typing import Any

import httpx2
import pytest

from chat.providers import ProviderConfig, provider_for
from chat.providers.base import ProviderError, ProviderRequest
from chat.providers.openai_chat import OpenAIChatProvider
from chat.providers.openai_client import Connection, build_client
from reasoning.deltas import RawDelta, RawEnd, RawFields, RawUsage
from tests.contract_server.fixture import ContractHandle

ASK = ({"role": "user", "content": "How much?"},)
TOOL = {"type": "function", "function": {"name": "searchFilings", "parameters": {"type": "object", "properties": {}}}}


def provider(upstream: ContractHandle, model: str = "plain-model", **options: Any) -> OpenAIChatProvider:
    return OpenAIChatProvider(upstream.base_url, "test-key", model, **options)


def request(instructions: str = "", tools: tuple[dict[str, Any], ...] = ()) -> ProviderRequest:
    return ProviderRequest({"messages": list(ASK)}, instructions, tools, "conversation-1")


async def answer(asked: OpenAIChatProvider, sent: ProviderRequest | None = None) -> list[RawDelta]:
    return [delta async for delta in asked.stream(sent or request())]


async def failure(asked: OpenAIChatProvider) -> tuple[list[RawDelta], ProviderError]:
    """Return what came before the failure, and the failure."""
    came: list[RawDelta] = []
    with pytest.raises(ProviderError) as caught:
        await _collect(asked, came)
    return came, caught.value


async def _collect(asked: OpenAIChatProvider, came: list[RawDelta]) -> None:
    async for delta in asked.stream(request()):
        came.append(delta)


def text(deltas: list[RawDelta], field: str = "content") -> str:
    return "".join(delta.fields.get(field, "") for delta in deltas if isinstance(delta, RawFields))


async def test_answer_streams_with_thinking_end_and_counts(upstream: ContractHandle) -> None:
    upstream.script([{"reasoning": "Let me see.", "content": "Umsätze stiegen.", "chunk": 3}])

    deltas = await answer(provider(upstream))

    assert text(deltas) == "Umsätze stiegen."
    assert text(deltas, "reasoning_content") == "Let me see."
    assert len(deltas) > 8
    assert [delta.finish_reason for delta in deltas if isinstance(delta, RawEnd)] == ["stop"]
    assert isinstance(deltas[-1], RawUsage)


async def test_instructions_come_first_and_tools_are_offered(upstream: ContractHandle) -> None:
    upstream.script([{"tool_calls": [{"name": "searchFilings", "arguments": {"query": "x"}}], "chunk": 2}])

    deltas = await answer(provider(upstream), request("Be brief.", (TOOL,)))

    body = upstream.requests()[0]["body"]
    assert body["messages"] == [{"role": "system", "content": "Be brief."}, *ASK]
    assert body["tools"] == [TOOL]
    assert body["model"] == "plain-model"
    pieces = [call for delta in deltas if isinstance(delta, RawFields) for call in delta.fields.get("tool_calls", ())]
    assert "".join(piece["function"].get("arguments") or "" for piece in pieces) == '{"query":"x"}'


async def test_request_that_is_not_streamed_back_is_read_whole(upstream: ContractHandle) -> None:
    upstream.script([{"content": "All at once.", "chunk": "whole"}])

    assert text(await answer(provider(upstream))) == "All at once."


@pytest.mark.parametrize(
    "form",
    [
        "crlf",
        "comment_only",
        "two_events_one_write",
        "split_codepoint",
        "no_blank_line",
        "missing_done",
        "null_choices",
    ],
)
async def test_unusual_stream_is_read_to_its_end(upstream: ContractHandle, form: str) -> None:
    upstream.script(
        [{"content": "Umsätze ü stiegen.", "chunk": "word", "faults": [{"kind": "malformed_sse", "form": form}]}]
    )

    deltas = await answer(provider(upstream))

    assert "stiegen." in text(deltas)
    assert any(isinstance(delta, RawEnd) for delta in deltas)


@pytest.mark.parametrize("form", ["invalid_utf8", "oversized_line", "unknown_event_type", "duplicate_event"])
async def test_odd_stream_does_not_fail(upstream: ContractHandle, form: str) -> None:
    upstream.script([{"content": "So it is.", "chunk": "word", "faults": [{"kind": "malformed_sse", "form": form}]}])

    assert any(isinstance(delta, RawEnd) for delta in await answer(provider(upstream)))


@pytest.mark.parametrize("form", ["truncated_json", "not_json"])
async def test_stream_that_is_no_json_is_malformed(upstream: ContractHandle, form: str) -> None:
    upstream.script(
        [{"content": "So it is.", "chunk": "word", "faults": [{"kind": "malformed_sse", "form": form, "event": 2}]}]
    )

    came, error = await failure(provider(upstream))

    assert error.code == "malformed"
    assert came


@pytest.mark.parametrize("mode", ["fin", "truncate", "rst"])
@pytest.mark.parametrize("at", ["first_event", "event:2", "inside_event:2:20"])
async def test_stream_that_breaks_off_is_disconnected(upstream: ContractHandle, mode: str, at: str) -> None:
    fault = {"kind": "disconnect", "at": at, "mode": mode}
    upstream.script([{"content": "So it is, in a few words.", "chunk": "word", "faults": [fault]}])

    _, error = await failure(provider(upstream))

    assert (error.code, error.retryable) == ("disconnected", True)


@pytest.mark.parametrize("at", ["connect", "headers"])
async def test_connection_lost_before_the_answer_is_retryable(upstream: ContractHandle, at: str) -> None:
    upstream.script([{"content": "x", "faults": [{"kind": "disconnect", "at": at, "mode": "rst"}]}])

    _, error = await failure(provider(upstream))

    assert error.retryable


async def test_break_after_the_end_of_the_answer_does_not_matter(upstream: ContractHandle) -> None:
    upstream.script([{"content": "Done.", "faults": [{"kind": "disconnect", "at": "before_done", "mode": "rst"}]}])

    assert text(await answer(provider(upstream))) == "Done."


async def test_silence_ends_after_the_idle_time(upstream: ContractHandle) -> None:
    upstream.script([{"content": "So it is.", "chunk": "word", "faults": [{"kind": "stall", "at": "event:2"}]}])

    came, error = await failure(provider(upstream, idle_s=0.3))

    assert (error.code, error.retryable) == ("timeout", True)
    assert came


async def test_closing_the_stream_closes_the_upstream_within_a_second(upstream: ContractHandle) -> None:
    upstream.script([{"content": "So it is.", "chunk": "word", "faults": [{"kind": "stall", "at": "event:2"}]}])
    stream = provider(upstream).stream(request())
    await anext(stream)

    started = time.monotonic()
    await stream.aclose()

    serial = upstream.requests()[0]["serial"]
    await asyncio.to_thread(upstream.wait_for, closed=serial, seconds=1)
    assert time.monotonic() - started < 1


async def test_cancelling_the_reader_closes_the_upstream(upstream: ContractHandle) -> None:
    upstream.script([{"content": "So it is.", "chunk": "word", "faults": [{"kind": "stall", "at": "event:2"}]}])
    task = asyncio.create_task(answer(provider(upstream)))
    await asyncio.to_thread(upstream.wait_for, held="stall")

    task.cancel()

    with pytest.raises(asyncio.CancelledError):
        await task
    serial = upstream.requests()[0]["serial"]
    await asyncio.to_thread(upstream.wait_for, closed=serial, seconds=1)


@pytest.mark.parametrize(
    ("fault", "code"),
    [
        ({"kind": "http_error", "status": 401, "body": "json"}, "authentication"),
        ({"kind": "http_error", "status": 403, "body": "html"}, "authentication"),
        ({"kind": "http_error", "status": 404, "body": "html"}, "refused"),
        ({"kind": "http_error", "status": 408, "body": "empty"}, "timeout"),
        ({"kind": "http_error", "status": 400, "body": "json"}, "refused"),
        ({"kind": "rate_limit"}, "rate_limited"),
        ({"kind": "server_error", "status": 503}, "server_error"),
        ({"kind": "error_event"}, "server_error"),
    ],
)
async def test_failure_has_our_code(upstream: ContractHandle, fault: dict[str, Any], code: str) -> None:
    upstream.script([{"content": "x", "faults": [fault]}])

    _, error = await failure(provider(upstream))

    assert error.code == code
    assert "test-key" not in error.message
    assert len(upstream.requests()) == 1


async def test_unknown_model_is_named(upstream: ContractHandle) -> None:
    _, error = await failure(provider(upstream, "no-such-model"))

    assert "no-such-model" in error.message


async def test_full_context_is_told_from_other_refusals(upstream: ContractHandle) -> None:
    upstream.script([{"content": "x"}], knobs={"context_limit": 1})

    _, error = await failure(provider(upstream))

    assert error.code == "context_overflow"


async def test_refused_stream_options_are_left_out_from_then_on(upstream: ContractHandle) -> None:
    refusal = {"error": {"message": "Unrecognized request argument supplied: stream_options"}}
    asked = provider(upstream)
    asked._client = _answering(refusal)

    assert text(await answer(asked)) == "ok"
    assert text(await answer(asked)) == "ok"
    assert asked._client.seen == [True, False, False]  # type: ignore[attr-defined]


def _answering(refusal: dict[str, Any]) -> Any:
    """Return a client whose transport refuses ``stream_options`` and answers without."""
    seen: list[bool] = []

    def handle(sent: httpx2.Request) -> httpx2.Response:
        seen.append("stream_options" in json.loads(sent.content))
        if seen[-1]:
            return httpx2.Response(400, json=refusal)
        chunk = b'data: {"choices":[{"delta":{"content":"ok"},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'
        return httpx2.Response(200, content=chunk, headers={"content-type": "text/event-stream"})

    client: Any = build_client(Connection("http://models.example/v1", "k"), transport=httpx2.MockTransport(handle))
    client.seen = seen
    return client


async def test_web_page_instead_of_an_answer_says_so() -> None:
    page = httpx2.Response(200, text="<html>Sign in</html>", headers={"content-type": "text/html"})
    client = build_client(Connection("http://models.example", "k"), transport=httpx2.MockTransport(lambda _: page))

    _, error = await failure(OpenAIChatProvider("http://models.example", "k", "m", client=client))

    assert error.code == "malformed"
    assert "web page" in error.message
    await client.close()


async def test_nobody_there_is_unreachable() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        _, error = await failure(OpenAIChatProvider(f"http://127.0.0.1:{port}/v1", "k", "m"))

    assert (error.code, error.retryable) == ("unreachable", True)
    assert f"127.0.0.1:{port}" in error.message


async def test_address_alone_takes_the_first_listed_model(upstream: ContractHandle) -> None:
    upstream.script([{"content": "Hello."}])
    found = await provider_for(ProviderConfig(base_url=upstream.base_url))

    assert found.model == found.name == "plain-model"
    assert text(await answer(found)) == "Hello."  # type: ignore[arg-type]
    assert upstream.requests()[-1]["headers"]["authorization"] == "Bearer none"
