"""Bytes of a stream to deltas: event framing, odd shapes, token counts, errors inside a stream."""

import asyncio
import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chat.providers.base import ProviderError
from chat.providers.decoding import MAX_EVENT_BYTES, EventParser, read_usage
from chat.providers.openai_chat import ChatDecoder
from chat.providers.openai_http import SLICE_BYTES, in_slices
from reasoning.deltas import RawDelta, RawEnd, RawFields, RawUsage

STREAM = '\ufeffdata: {"a":"é"}\n\n: waiting\n\nevent: x\ndata: one\ndata: two\n\nid: 7\n\ndata:[DONE]'
PAYLOADS = ['{"a":"é"}'.encode(), b"one\ntwo", b"[DONE]"]


def events(*pieces: bytes) -> list[bytes]:
    sse = EventParser()
    return [payload for piece in pieces for payload in sse.feed(piece)] + sse.finish()


def chunk(delta: dict[str, Any] | None = None, finish: Any = None, **more: Any) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return json.dumps({"id": "c", "model": "served-1", "choices": [choice], **more}).encode()


def decoded(*payloads: bytes) -> list[RawDelta]:
    decoder = ChatDecoder()
    return [delta for payload in payloads for delta in decoder.feed(payload)] + list(decoder.finish())


def refusal(*payloads: bytes) -> ProviderError:
    with pytest.raises(ProviderError) as caught:
        decoded(*payloads)
    return caught.value


@given(st.sampled_from(["\n", "\r", "\r\n"]), st.lists(st.integers(0, 110), max_size=12))
def test_any_cutting_gives_the_same_events(line_end, cuts):
    data = STREAM.replace("\n", line_end).encode()
    places = [0, *sorted(min(cut, len(data)) for cut in cuts), len(data)]

    assert events(*(data[start:end] for start, end in pairwise(places))) == PAYLOADS


@pytest.mark.parametrize("piece", [b"data: " + b"x" * 100_000, b"data: " + b"x" * 100_000 + b"\n"])
def test_event_without_end_is_refused_at_the_bound(piece):
    with pytest.raises(ProviderError) as caught:
        events(*[piece] * (MAX_EVENT_BYTES // 100_000 + 2))

    assert caught.value.code == "malformed"


@pytest.mark.parametrize(
    "payload",
    [
        b'{"choices":null}',
        b'{"choices":[null]}',
        b'{"choices":{}}',
        b'{"choices":[{"delta":"text"}]}',
        b'{"choices":[{"delta":{"content":null,"tool_calls":null}}]}',
        b'"ping"',
        b"",
    ],
)
def test_chunk_that_says_nothing_gives_nothing(payload):
    assert decoded(payload) == []


def test_list_of_parts_becomes_thinking_and_content_in_order():
    parts = [{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}, {"type": "text", "text": "so"}, "!"]

    assert decoded(chunk({"content": parts})) == [
        RawFields({"thinking": "hm"}),
        RawFields({"content": "so"}),
        RawFields({"content": "!"}),
    ]


@pytest.mark.spec("003 precedence")
def test_thoughts_among_the_parts_are_not_added_to_a_native_field():
    parts = [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "so"}]

    assert decoded(chunk({"content": parts, "reasoning_content": "hm"})) == [
        RawFields({"reasoning_content": "hm"}),
        RawFields({"content": "so"}),
    ]


def test_several_chunks_in_one_event_are_all_read():
    assert decoded(chunk({"content": "a"}) + b"\n" + chunk({"content": "b"})) == [
        RawFields({"content": "a"}),
        RawFields({"content": "b"}),
    ]


@pytest.mark.parametrize(
    ("delta", "reason"), [({"content": "a"}, "stop"), ({"tool_calls": [{"id": "a"}]}, "tool_calls")]
)
def test_end_mark_ends_a_stream_without_finish_reason(delta, reason):
    assert decoded(chunk(delta, ""), b"[DONE]")[-1] == RawEnd(reason, "served-1")


def test_running_totals_leave_once_and_last():
    counts = [{"prompt_tokens": 5, "completion_tokens": number} for number in (1, 2, 3)]

    found = decoded(*(chunk({"content": "a"}, usage=usage) for usage in counts), chunk({}, "stop"))

    assert [delta for delta in found if isinstance(delta, RawUsage)] == [RawUsage(5, 3)]
    assert isinstance(found[-1], RawUsage)


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        ({"prompt_tokens": 9, "completion_tokens": 4, "total_tokens": 13}, RawUsage(9, 4)),
        ({"input_tokens": 9, "output_tokens_details": {"reasoning_tokens": 3}}, RawUsage(9, None, 3)),
        ({"completion_tokens_details": {"reasoning_tokens": 0}}, RawUsage(None, None, 0)),
        ({"prompt_tokens": 9, "prompt_tokens_details": {"cached_tokens": 8}}, RawUsage(9, None, None, 8)),
        ({"prompt_tokens": 9, "prompt_cache_hit_tokens": 7}, RawUsage(9, None, None, 7)),
        ({"prompt_tokens": "many", "completion_tokens": None, "prompt_tokens_details": None}, None),
        ({"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}, None),  # review U N2
        ({"input_tokens": 0, "output_tokens": 3}, RawUsage(None, 3)),
        ({"prompt_tokens": 9, "completion_tokens": 0}, RawUsage(9, 0)),
        ({}, None),
        ("none", None),
    ],
)
def test_token_counts_are_read_under_every_name(usage, expected):
    assert read_usage(usage) == expected


def test_whole_completion_gives_the_same_deltas_as_a_stream():
    message = {"role": "assistant", "content": "so", "reasoning": "hm"}
    body = {
        "model": "m",
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 1},
    }

    assert decoded(json.dumps(body).encode()) == [
        RawFields({"reasoning": "hm", "content": "so"}),
        RawEnd("stop", "m"),
        RawUsage(1),
    ]


@pytest.mark.parametrize(
    ("payload", "code"),
    [
        (b'{"error":{"message":"Overloaded","type":"overloaded_error"}}', "server_error"),
        (b'{"error":{"message":"slow down","code":429}}', "rate_limited"),
        (b'{"error":"context_length_exceeded"}', "context_overflow"),
        (
            b'{"choices":[{"delta":{},"finish_reason":"error","error":{"code":502,"message":"upstream"}}]}',
            "server_error",
        ),
        (b'{"object":"error","message":"bad thing","code":40001,"type":"invalid_request"}', "refused"),
        (b'{"detail":"internal"}', "server_error"),
        (b'{"choices":[{"delta":{"content":"a', "malformed"),
        (b"upstream is having a bad day", "malformed"),
        (b"[" * 100_000, "malformed"),
    ],
)
def test_error_inside_a_stream_is_named(payload, code):
    assert refusal(chunk({"content": "a"}), payload).code == code


# review S "Not done": a compressed stream
async def test_long_piece_is_parsed_in_slices_between_which_others_run():
    long, turns = b": keep-alive\n\n" * 100_000, []

    async def received():
        yield b"data: 1\n\n"
        yield long

    async def others():
        while True:
            turns.append(1)
            await asyncio.sleep(0)

    other = asyncio.create_task(others())
    pieces = [piece async for piece in in_slices(received())]
    other.cancel()

    assert b"".join(pieces) == b"data: 1\n\n" + long
    assert max(map(len, pieces)) == SLICE_BYTES
    assert len(turns) >= len(pieces) - 2
