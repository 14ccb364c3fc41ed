"""The Responses API when it fails: broken streams, errors inside them, silence."""

from __future__ import annotations

import asyncio

import pytest

from reasoning.deltas import RawEnd
from tests.chat.responses_talk import EVENTS, PLACES, STEP, answer, failure, items, places, provider, request, text
from tests.contract_server.fixture import ContractHandle


@pytest.mark.parametrize(
    ("finish", "code"),
    [
        ("failed:server_error", "server_error"),
        ("failed:rate_limit_exceeded", "rate_limited"),
        ("failed:context_length_exceeded", "context_overflow"),
        ("failed:invalid_prompt", "refused"),
        ("failed:invalid_encrypted_content", "refused"),
        ("cancelled", "server_error"),
    ],
)
async def test_failed_response_has_our_code_and_leaves_no_item(
    upstream: ContractHandle, finish: str, code: str
) -> None:
    upstream.script([{"reasoning": "Hm.", "content": "It ro", "finish": finish}])

    came, error = await failure(provider(upstream))

    assert error.code == code
    assert not items(came)


@pytest.mark.parametrize("form", ["response.failed", "error"])
@pytest.mark.parametrize("code", ["rate_limit_exceeded", None])
async def test_error_in_an_open_stream_has_our_code(upstream: ContractHandle, form: str, code: str | None) -> None:
    upstream.script([{**STEP, "faults": [{"kind": "error_event", "at": "event:6", "event": form, "code": code}]}])

    came, error = await failure(provider(upstream))

    assert error.code == ("rate_limited" if code else "server_error")
    assert text(came, "reasoning_summary")


async def test_events_of_the_step_are_counted_right(upstream: ContractHandle) -> None:
    upstream.script([{**STEP, "chunk": 16}])

    await answer(provider(upstream))

    assert upstream.requests()[0]["events_sent"] == EVENTS


@pytest.mark.parametrize("mode", ["fin", "rst"])
@pytest.mark.parametrize("index", range(EVENTS))
async def test_break_before_any_event_is_disconnected(upstream: ContractHandle, index: int, mode: str) -> None:
    fault = {"kind": "disconnect", "at": f"event:{index}", "mode": mode}
    upstream.script([{**STEP, "chunk": 16, "faults": [fault]}])

    came, error = await failure(provider(upstream))

    assert (error.code, error.retryable) == ("disconnected", True)
    assert not any(isinstance(delta, RawEnd) for delta in came)


@pytest.mark.parametrize(
    "form", ["crlf", "comment_only", "two_events_one_write", "split_codepoint", "no_blank_line", "unknown_event_type"]
)
async def test_unusual_stream_is_read_to_its_end(upstream: ContractHandle, form: str) -> None:
    upstream.script([{**STEP, "faults": [{"kind": "malformed_sse", "form": form}]}])

    deltas = await answer(provider(upstream))

    assert text(deltas) == "One moment, ü."
    assert places(deltas) == PLACES


async def test_closing_the_stream_closes_the_upstream(upstream: ContractHandle) -> None:
    upstream.script([{**STEP, "faults": [{"kind": "stall", "at": "event:6"}]}])
    stream = provider(upstream).stream(request())
    await anext(stream)

    await stream.aclose()

    serial = upstream.requests()[0]["serial"]
    await asyncio.to_thread(upstream.wait_for, closed=serial, seconds=1)


async def test_silence_ends_after_the_idle_time(upstream: ContractHandle) -> None:
    upstream.script([{**STEP, "faults": [{"kind": "stall", "at": "event:6"}]}])

    _, error = await failure(provider(upstream, idle_s=0.3))

    assert (error.code, error.retryable) == ("timeout", True)
