"""Bytes of a stream to deltas: event framing, odd shapes, token counts, errors inside a stream."""

import asyncio
import json
from itertools import pairwise
from typing import Any

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chat.providers import decoding
from chat.providers.base import ProviderError, ProviderRequest
from chat.providers.connections import Connection, build_client
from chat.providers.decoding import BodyParser, read_usage
from chat.providers.openai_chat import OTHER_THINKING, ChatDecoder, OpenAIChatProvider
from chat.providers.openai_http import SLICE_BYTES
from reasoning.deltas import RawDelta, RawEnd, RawFields, RawUsage
from reasoning.services.signatures import FIELDS
from tests.chat.streams import answer, text

STREAM = '\ufeffdata: {"a":"é"}\n\n: waiting\n\nevent: message\ndata: one\ndata: two\n\nid: 7\n\ndata:[DONE]'
SERVICE = Connection("http://models.example/v1", "k")
PAYLOADS = ['{"a":"é"}'.encode(), b"one\ntwo", b"[DONE]"]


def events(*pieces: bytes) -> list[bytes]:
    sse = BodyParser()
    return [payload for piece in pieces for payload in sse.feed(piece)] + sse.finish()


def chunk(delta: Any = None, finish: Any = None, **more: Any) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return json.dumps({"id": "c", "model": "served-1", "choices": [choice], **more}).encode()


def decoded(*payloads: bytes) -> list[RawDelta]:
    decoder = ChatDecoder()
    return [delta for payload in payloads for delta in decoder.feed(payload)] + list(decoder.finish())


def refusal(*payloads: bytes) -> ProviderError:
    with pytest.raises(ProviderError) as caught:
        decoded(*payloads)
    return caught.value


@given(st.sampled_from(["\n", "\r", "\r\n"]), st.lists(st.integers(0, 120), max_size=12))
def test_any_cutting_gives_the_same_events(line_end, cuts):
    data = STREAM.replace("\n", line_end).encode()
    places = [0, *sorted(min(cut, len(data)) for cut in cuts), len(data)]

    assert events(*(data[start:end] for start, end in pairwise(places))) == PAYLOADS


@pytest.mark.parametrize("between", [b"", b"\n"])
def test_values_that_come_as_one_event_are_read_up_to_the_bound(between, monkeypatch):
    monkeypatch.setattr(decoding, "MAX_VALUES", 9)
    one = chunk({"content": "a"})

    assert len(decoded(between.join([one] * 9))) == 9
    assert refusal(between.join([one] * 10)).code == "malformed"


@pytest.mark.parametrize(
    "piece", [b"data: " + b"x" * 100_000, b"data: " + b"x" * 100_000 + b"\n", b"data:\n" * 100_000], ids=range(3)
)
def test_event_without_end_is_refused_at_the_bound(piece, monkeypatch):
    monkeypatch.setattr(decoding, "MAX_EVENT_BYTES", 1_000_000)
    with pytest.raises(ProviderError) as caught:
        events(*[piece] * 12)

    assert caught.value.code == "malformed"


@pytest.mark.parametrize(
    "payload",
    [
        b'{"choices":null}',
        b'{"choices":[null]}',
        b'{"choices":{}}',
        b'{"code":0,"msg":"success"}',
        b'{"errorCode":"0","errorMsg":"success"}',
        b'{"type":"status","message":"Searching"}',
        b'{"status":"QUEUED","message":"Your request waits"}',
        b'{"choices":[],"prompt_filter_results":[{"prompt_index":0}]}',
        b'{"choices":[{"delta":{"content":null,"tool_calls":null}}]}',
        b'{"choices":[{"delta":{"content":"","role":[],"type":{},"channel":[[]]}}]}',
        b'"ping"',
        b"",
        b"data:",
        b": OPENROUTER PROCESSING",
        b"ping",
        b"keep-alive",
        b"HEARTBEAT",
        b"[PING]",
        b"OPENROUTER PROCESSING",
        b'{"type":"heartbeat","message":"alive"}',
    ],
)
def test_chunk_that_says_nothing_gives_nothing(payload):
    assert decoded(payload) == []


@pytest.mark.parametrize(
    "thought",
    [
        {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]},
        {"type": "text", "text": "hm", "thought": True},
        {"type": "reasoning", "summary": [{"type": "summary_text", "text": "hm"}]},
        {"type": "reasoning_text", "text": "hm"},
        {"type": "thinking_delta", "thinking": "hm"},
    ],
)
def test_list_of_parts_becomes_thinking_and_content_in_order(thought):
    parts = [thought, {"type": "text", "text": "so"}, "!"]

    assert decoded(chunk({"content": parts})) == [
        RawFields({"thinking": "hm"}),
        RawFields({"content": "so"}),
        RawFields({"content": "!"}),
    ]


def test_refusal_among_the_parts_is_content():
    assert decoded(chunk({"content": [{"type": "refusal", "refusal": "No."}]})) == [RawFields({"content": "No."})]


@pytest.mark.spec("003 precedence")
def test_thoughts_among_the_parts_are_not_added_to_a_native_field():
    parts = [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "so"}]

    assert decoded(chunk({"content": parts, "reasoning_content": "hm"})) == [
        RawFields({"reasoning_content": "hm"}),
        RawFields({"content": "so"}),
    ]


@pytest.mark.parametrize(
    ("pieces", "whole"),
    [
        (("It", "It rose", "It rose by 4", "It rose by 4%."), "It rose by 4%."),
        (("\n", "\nIt", "\nIt rose", "\nIt rose."), "\n\nIt rose."),
        (("It", "It rose", "It rose", "It rose."), "It rose."),
        (("It rose by 4% in May", "It rose by 4% in May."), "It rose by 4% in May."),
        (("1", "10", "1", "10"), "110110"),
        (("a", "ab"), "aab"),
        (("ha", " ha", " ha"), "ha ha ha"),
        (("-", "--", "---", "-"), "-------"),
        (("It", "It rose", "It rose by", " 4%"), "It rose by 4%"),
    ],
)
@pytest.mark.parametrize("field", ["content", "reasoning_content"])
def test_piece_that_repeats_the_whole_text_adds_what_is_new(field, pieces, whole):
    assert text(decoded(*(chunk({field: piece}) for piece in pieces), b"[DONE]"), field) == whole


@pytest.mark.spec("product 38")
@pytest.mark.parametrize(
    ("pieces", "whole"),
    [
        ([{"text": "I look"}, {"text": "I look at"}, {"text": "I look at it."}], "I look at it."),
        ([{"text": "I look"}, {"text": " at it."}, {"text": "I look at it.", "signature": "s"}], "I look at it."),
        (
            [{"text": "So"}, {"text": "So it"}, {"text": "So it is."}, {"text": "So it is.", "signature": "s"}],
            "So it is.",
        ),
        ([{"text": "I look at it now."}, {"text": "I look at it now. So"}, {"signature": "s"}], "I look at it now. So"),
        ([{"text": "I look at it now."}, {"text": "I look at it now. So"}], "I look at it now. So"),
        ([{"text": "ha"}, {"text": " ha"}, {"text": " ha", "signature": "s"}], "ha ha ha"),
        ([{"text": "Hm.", "signature": "s"}, {"text": "Hm.", "signature": "t"}], "Hm.Hm."),
        ([{"text": "a"}, {"signature": "s"}, {"text": "ab"}, {"text": "c"}], "aabc"),
    ],
)
@pytest.mark.parametrize("place", [{"index": 0}, {"id": "one"}])
def test_detail_that_repeats_what_came_before_adds_what_is_new(place, pieces, whole):
    kind = {"type": "reasoning.text", **place}
    deltas = decoded(*(chunk({"reasoning_details": [{**kind, **piece}]}) for piece in pieces), b"[DONE]")

    details = [
        each for delta in deltas if isinstance(delta, RawFields) for each in delta.fields.get("reasoning_details", ())
    ]
    assert "".join(each.get("text", "") for each in details) == whole
    assert [each["signature"] for each in details if "signature" in each] == [
        piece["signature"] for piece in pieces if "signature" in piece
    ]
    assert all(kind.items() <= each.items() for each in details)


def test_details_side_by_side_and_without_a_place_are_passed_on_as_they_come():
    one, other = (
        {"type": "reasoning.text", "index": 0, "text": "a"},
        {"type": "reasoning.text", "index": 1, "text": "ab"},
    )
    loose = {"type": "reasoning.text", "text": "abc"}

    deltas = decoded(chunk({"reasoning_details": [one, other, loose, loose, "odd"]}), b"[DONE]")

    assert deltas[0] == RawFields({"reasoning_details": [one, other, loose, loose, "odd"]})


@pytest.mark.parametrize("frame", ["{}", "data: {}\n\n"])
def test_event_may_be_encoded_twice(frame):
    assert text(decoded(json.dumps(frame.format(chunk({"content": "so"}).decode())).encode())) == "so"


def test_event_may_be_framed_twice():
    found = decoded(b"data: " + chunk({"content": "a"}), b"data: data: [DONE]")

    assert found == [RawFields({"content": "a"}), RawEnd("stop", "served-1")]


@pytest.mark.parametrize("between", [b"\n", b"", b" ", b"data: "])
def test_several_chunks_in_one_event_are_all_read(between):
    assert decoded(chunk({"content": "a"}) + between + chunk({"content": "b"})) == [
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


def test_error_object_whose_fields_are_empty_is_no_failure():
    blank = {"message": "", "type": "", "param": "", "code": None}

    found = decoded(chunk({"content": "So."}, error=blank), chunk({}, "stop", error=blank))

    assert found == decoded(chunk({"content": "So."}), chunk({}, "stop"))


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        ({"prompt_tokens": 9, "completion_tokens": 4, "total_tokens": 13}, RawUsage(9, 4)),
        ({"input_tokens": 9, "output_tokens_details": {"reasoning_tokens": 3}}, RawUsage(9, None, 3)),
        ({"completion_tokens_details": {"reasoning_tokens": 0}}, RawUsage(None, None, 0)),
        ({"prompt_tokens": 9, "prompt_tokens_details": {"cached_tokens": 8}}, RawUsage(9, None, None, 8)),
        ({"prompt_tokens": 9, "prompt_cache_hit_tokens": 7}, RawUsage(9, None, None, 7)),
        ({"prompt_tokens": "9", "completion_tokens": "4"}, RawUsage(9, 4)),
        ({"prompt_n": 9, "predicted_n": 4, "predicted_ms": 1.5, "cache_n": 20}, RawUsage(29, 4, None, 20)),
        (
            {"promptTokenCount": 9, "candidatesTokenCount": 4, "thoughtsTokenCount": 2, "cachedContentTokenCount": 3},
            RawUsage(9, 6, 2, 3),
        ),
        ({"prompt_token_count": 9, "candidates_token_count": 4, "thoughts_token_count": 2}, RawUsage(9, 6, 2)),
        ({"id": "r", "usage": {"prompt_tokens": 9, "completion_tokens": 4}}, RawUsage(9, 4)),
        ({"inputTokens": 9, "outputTokens": 4, "totalTokens": 13}, RawUsage(9, 4)),
        ({"prompt_tokens": "many", "completion_tokens": None, "prompt_tokens_details": None}, None),
        ({"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}, None),
        ({"input_tokens": 0, "output_tokens": 3}, RawUsage(None, 3)),
        ({"prompt_tokens": 9, "completion_tokens": 0}, RawUsage(9, 0)),
        ({}, None),
        ("none", None),
    ],
)
def test_token_counts_are_read_under_every_name(usage, expected):
    assert read_usage(usage) == expected


@pytest.mark.parametrize("field", ["text", "refusal", "content"])
def test_text_of_a_delta_is_found_in_every_field(field):
    assert decoded(chunk({field: "a"}), chunk({}, "stop"))[0] == RawFields({"content": "a"})


@pytest.mark.parametrize("wrapper", ["data", "result"])
def test_chunks_in_a_wrapper_are_read(wrapper):
    payloads = [
        json.dumps({wrapper: json.loads(payload)}).encode() for payload in (chunk({"content": "a"}), chunk({}, "stop"))
    ]

    assert decoded(*payloads)[0] == RawFields({"content": "a"})


@pytest.mark.parametrize(
    "fields",
    [
        {"finishReason": "max_tokens"},
        {"stop_reason": "max_tokens"},
        {"finish_reason": None, "finish_details": {"type": "max_tokens"}},
        {"finish_reason": "stop", "native_finish_reason": "MAX_TOKENS"},
        {"finish_reason": "length", "native_finish_reason": "a_new_word"},
    ],
)
def test_finish_reason_under_another_name_ends_the_answer(fields):
    payload = json.dumps({"model": "served-1", "choices": [{"index": 0, "delta": {}, **fields}]}).encode()

    assert decoded(chunk({"content": "a"}), payload)[-1] == RawEnd("length", "served-1")


@pytest.mark.parametrize("place", ["usage", "x_groq", "usage_metadata", "usageMetadata", "timings"])
def test_token_counts_are_found_in_every_place(place):
    counts = {"prompt_tokens": 9, "completion_tokens": 4}
    value = {"usage": counts} if place == "x_groq" else counts
    choice = {"index": 0, "delta": {}, "finish_reason": "stop", place: value}

    assert decoded(chunk({"content": "a"}, "stop", **{place: value}))[-1] == RawUsage(9, 4)
    assert decoded(chunk({"content": "a"}), json.dumps({"choices": [choice]}).encode())[-1] == RawUsage(9, 4)
    assert decoded(chunk({"content": "a", place: value}, "stop"))[-1] == RawUsage(9, 4)


def test_counts_of_a_service_win_over_its_timings():
    timings = {"prompt_n": 1, "predicted_n": 2}

    assert decoded(chunk({}, "stop", timings=timings, usage={"prompt_tokens": 9}))[-1] == RawUsage(9)


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
        (b'{"choices":[],"x_groq":{"error":"bad day"}}', "server_error"),
        (b'{"code":1301,"msg":"bad day"}', "server_error"),
        (b'{"errcode":1301,"errmsg":"bad day"}', "server_error"),
        (b'{"result":null,"success":false,"errors":[{"code":7009,"message":"upstream"}]}', "server_error"),
        (b'[{"error":{"code":503,"message":"overloaded"}}]', "server_error"),
        (b'{"modelStreamErrorException":{"message":"bad day"}}', "server_error"),
        (b'{"fault":{"faultstring":"bad day"}}', "server_error"),
        (b'{"choices":[],"status":"error","msg":"bad day"}', "server_error"),
        (b'{"type":"about:blank","title":"Unavailable","status":503}', "server_error"),
        (b'{"errorMessage":"bad day","errorType":"Sandbox.Timedout"}', "server_error"),
        (b'{"errorCode":"429","errorMsg":"slow down"}', "rate_limited"),
        (b'{"data":{"error":{"message":"slow down","code":429}}}', "rate_limited"),
        (b'{"message":{"error":"bad day"}}', "server_error"),
        (b'{"ok":false,"reason":"bad day"}', "server_error"),
        (b'{"type":"status","status":"error","message":"slow down","code":429}', "rate_limited"),
        (b'{"choices":[{"delta":{"error":{"message":"slow down","code":429}}}]}', "rate_limited"),
        (b'{"choices":[{"delta":{"content":"a\n{"error":{"message":"slow down","code":429}}', "rate_limited"),
        (b'{"choices":[{"delta":{"content":"a\n{"id":"x"}', "malformed"),
        (b'{"choices":[{"delta":{"content":"a', "malformed"),
        (b"upstream is having a bad day", "malformed"),
        (b"[" * 100_000, "malformed"),
    ],
)
def test_error_inside_a_stream_is_named(payload, code):
    assert refusal(chunk({"content": "a"}), payload).code == code


# A compressed stream
async def test_long_piece_is_parsed_in_slices_between_which_others_run():
    long, turns = b": keep-alive\n\n" * 100_000, []
    body = long + b"data: " + chunk({"content": "Yes."}, finish="stop") + b"\n\ndata: [DONE]\n\n"

    async def others():
        while True:
            turns.append(1)
            await asyncio.sleep(0)

    client = build_client(SERVICE, transport=httpx2.MockTransport(lambda _sent: httpx2.Response(200, content=body)))
    other = asyncio.create_task(others())
    deltas = await answer(
        OpenAIChatProvider(SERVICE, "m", client=client), ProviderRequest({"messages": []}, "", (), "")
    )
    other.cancel()

    assert text(deltas) == "Yes."
    assert len(turns) >= len(long) // SLICE_BYTES
    await client.close()


def said(*payloads: bytes) -> str:
    return "".join(delta.fields.get("content", "") for delta in decoded(*payloads) if isinstance(delta, RawFields))


WHOLE = chunk({"content": "a"})
PRETTY = json.dumps(json.loads(WHOLE), indent=1).encode()


@pytest.mark.parametrize(
    ("body", "payloads"),
    [
        (b"data: " + WHOLE + b"\n\ndata: [DONE]\n\n", [WHOLE, b"[DONE]"]),
        (b": waiting\n\ndata: 1\n\n", [b"1"]),
        (b"\xef\xbb\xbf\n " + WHOLE, [WHOLE]),
        (PRETTY, [PRETTY]),
        (WHOLE + b"\n" + WHOLE + b"\n[DONE]\n", [WHOLE, WHOLE, b"[DONE]"]),
        (b": waiting\n\n" + WHOLE + b"\n\ndata: 1\n\n" + WHOLE, [WHOLE, b"1", WHOLE]),
        (b"event: error\n\n", [b'{"error":{"code":"server_error"}}']),
        (b"event: error\ndata: overloaded\n\n", [b'{"error":"overloaded"}']),
        (b'event: error\ndata: {"code":5}\n\n', [b'{"error":{"code":5}}']),
        (b'error: {"message":"no room"}\n\n', [b'{"error":{"message":"no room"}}']),
        (b"event: exception\ndata: no room\n\n", [b'{"error":"no room"}']),
        (b"event: notice\ndata: sent to eu-1\n\ndata: 1\n\n", [b"1"]),
        (b"event: chunk\ndata: " + WHOLE + b"\n\nevent: end\ndata: [DONE]\n\n", [WHOLE, b"[DONE]"]),
        (b'event: response.done\ndata: {"id":1}\n\n', [b'{"type":"response.done","id":1}']),
        (b"event: response.done\ndata: {}\n\n", [b'{"type":"response.done"}']),
        (b"event: response.failed\n\n", []),
        (b"", []),
    ],
)
def test_first_byte_of_a_body_says_what_it_is(body, payloads):
    for size in (1, 7, len(body) or 1):
        parser = BodyParser()
        pieces = [body[at : at + size] for at in range(0, len(body), size)]
        found = [payload for piece in pieces for payload in parser.feed(piece)] + parser.finish()

        assert [payload for payload in found if payload] == payloads


@pytest.mark.parametrize("body", [b"<!doctype html><p>x", b"\n <html>"])
def test_web_page_is_no_answer(body):
    with pytest.raises(ProviderError, match="web_page"):
        BodyParser().feed(body)


@pytest.mark.parametrize(
    "payloads",
    [
        (chunk({"content": "so"}), b"[done]"),
        (chunk({"content": "so"}), b"DONE"),
        (b'{"choices":[{"text":"so","finish_reason":"stop"}]}',),
        (b'{"choices":[{"index":1,"delta":{"content":"so"}}]}', b'{"choices":[{"index":1,"finish_reason":"stop"}]}'),
        (b'{"choices":[{"index":0,"delta":{"content":"so"}},{"index":1,"delta":{"content":"no"}}]}', b"[DONE]"),
        (chunk({"content": {"type": "text", "text": "so"}}, "stop"),),
        (
            chunk({"content": "s"}),
            chunk({"content": "o"}),
            b'{"choices":[{"message":{"content":"so"},"finish_reason":"stop"}]}',
        ),
        (b'{"choices":[{"delta":{},"message":{"content":"so"},"finish_reason":"stop"}]}',),
        (b'{"choices":[{"message":{"content":"s"}}]}', b'{"choices":[{"message":{"content":"o"}}]}'),
        (chunk("s"), chunk("o"), b"[DONE]"),
        (chunk([{"type": "text", "text": "so"}]), b"[DONE]"),
        (chunk({"message": {"content": "s"}}), chunk({"message": {"content": "o"}}, "stop")),
        (b'{"choices":[{"message":"so","finish_reason":"stop"}]}',),
        (b'{"choices":{"index":0,"delta":{"content":"so"},"finish_reason":"stop"}}',),
    ],
)
def test_answer_is_read_once_in_every_form(payloads):
    assert said(*payloads) == "so"
    assert RawEnd("stop", "served-1") in decoded(*payloads) or RawEnd("stop") in decoded(*payloads)


@pytest.mark.parametrize("name", ["provider_specific_fields", "message", "additional_kwargs", "model_extra"])
@pytest.mark.parametrize("thinking", list(OTHER_THINKING))
def test_thinking_is_found_in_an_object_of_the_delta(name, thinking):
    field = {thinking: OTHER_THINKING[thinking]}
    found = decoded(chunk({name: field}), chunk({name: {"inner": field}}), chunk({"content": "so"}, "stop"))

    texts = [
        delta.fields["reasoning_content"] for delta in found if "reasoning_content" in getattr(delta, "fields", {})
    ]
    assert texts in (["Hm."], ["Hm.", "Hm."])
    assert said(chunk({name: field}), chunk({"content": "so"}, "stop")) == "so"


def test_thinking_that_an_object_repeats_is_read_once():
    delta = {"reasoning_content": "Hm.", "provider_specific_fields": {"reasoning_content": "Hm."}}
    found = decoded(chunk(delta), chunk({"provider_specific_fields": {"reasoning_content": "Hm."}}), chunk({}, "stop"))

    assert ["reasoning_content" in getattr(delta, "fields", {}) for delta in found] == [True, False, False]


@pytest.mark.parametrize(
    "mark",
    [
        {"thought": True},
        {"is_reasoning": True},
        {"extra_content": {"google": {"thought": True}}},
        {"type": "thinking"},
        {"channel": "analysis"},
        {"phase": "thinking"},
        {"content_type": "reasoning"},
        {"role": "reasoning"},
    ],
)
@pytest.mark.parametrize("content", ["Hm.", [{"type": "text", "text": "Hm."}]])
def test_text_that_is_marked_as_a_thought_is_no_answer(mark, content):
    found = decoded(chunk({"content": content, **mark}), chunk({"content": "so", "type": "text"}, "stop"))

    texts = [{name: text for name, text in delta.fields.items() if name != "signatures"} for delta in found[:2]]
    assert texts == [{"reasoning_content": "Hm."}, {"content": "so"}]


@pytest.mark.parametrize("name", ["toolCalls", "tool_call", "function_calls"])
def test_calls_under_another_name_are_read(name):
    call = {"id": "c1", "function": {"name": "f", "arguments": "{}"}}

    assert decoded(chunk({name: [call]}, "stop"))[0] == RawFields({"tool_calls": [call]})


@pytest.mark.parametrize(
    "part",
    [
        {"type": "tool_use", "id": "c1", "name": "look", "input": {"q": "a"}},
        {"type": "tool_call", "id": "c1", "function": {"name": "look", "arguments": '{"q": "a"}'}},
    ],
)
def test_calls_among_the_parts_of_a_content_are_read(part):
    found = decoded(chunk({"content": [{"type": "text", "text": "so"}, part]}, "tool_calls"))

    assert found == [RawFields({"content": "so"}), RawFields({"tool_calls": [part]}), RawEnd("tool_calls", "served-1")]


def test_number_is_text():
    assert said(chunk({"content": 4}), chunk({"content": 0}), chunk({"content": False})) == "40"


def test_call_in_the_old_form_is_a_call():
    function = {"name": "f", "arguments": "{}"}

    calls, end = decoded(chunk({"function_call": function}, "function_call"))

    assert calls == RawFields({"tool_calls": [{"index": 0, "type": "function", "function": function}]})
    assert end == RawEnd("tool_calls", "served-1")


@pytest.mark.parametrize(("name", "value"), OTHER_THINKING.items())
def test_thinking_is_found_under_every_name(name, value):
    first, *_rest = decoded(chunk({name: value}), chunk({"content": "so"}))

    assert first.fields["reasoning_content"] == "Hm."


@pytest.mark.parametrize(("name", "value"), OTHER_THINKING.items())
def test_thinking_under_two_names_is_read_once(name, value):
    found = decoded(chunk({"reasoning_content": "Hm.", **({} if name == "reasoning_content" else {name: value})}))

    assert [delta.fields.get("reasoning_content") for delta in found] == ["Hm."]


@pytest.mark.spec("product 32")
@pytest.mark.parametrize(
    ("first", "second", "last"),
    [
        ("stop", "content_filter", "content_filter"),
        ("stop", "length", "length"),
        ("length", "stop", "length"),
        ("length", "content_filter", "length"),
        ("tool_calls", "stop", "tool_calls"),
    ],
)
def test_second_finish_reason_counts_where_it_is_worse(first, second, last):
    found = decoded(chunk({"content": "so"}, first), chunk({}, second))

    assert [each.finish_reason for each in found if isinstance(each, RawEnd)][-1] == last


@pytest.mark.spec("product 38")
@pytest.mark.parametrize("field", FIELDS, ids=lambda field: next(iter(field.example)))
def test_signature_of_a_message_is_passed_on(field):
    found = decoded(chunk(dict(field.example)), chunk({"content": "so"}))

    assert found[0].fields["signatures"] == field.example


@pytest.mark.spec("product 38")
def test_signed_thoughts_among_the_parts_of_a_content_are_passed_on():
    pieces = [
        {"type": "thinking", "thinking": "H"},
        {"type": "thinking", "thinking": "m."},
        {"type": "thinking", "signature": "c2ln"},
        {"type": "redacted_thinking", "data": "c2ln"},
    ]
    found = decoded(*(chunk({"content": [each]}) for each in pieces), chunk({"content": "so"}))

    assert [each.fields for each in found] == [
        {"thinking": "H"},
        {"thinking": "m."},
        {"signatures": {"content": [{"type": "thinking", "thinking": "Hm.", "signature": "c2ln"}]}},
        {"signatures": {"content": [pieces[-1]]}},
        {"content": "so"},
    ]


@pytest.mark.spec("product 32")
@pytest.mark.parametrize(
    ("payloads", "is_over"),
    [
        ((chunk({"content": "So."}, "stop"),), True),
        ((chunk({"content": "So."}), chunk({}, "stop"), b'{"usage":{"prompt_tokens":5}}'), True),
        ((chunk({}, "content_filter"),), True),
        ((chunk({}, "stop"),), False),
        ((chunk({"reasoning_content": "Hm."}, "stop"),), False),
        ((chunk({"content": "So"}, "stop"), chunk({"content": "."}, "stop")), False),
    ],
)
def test_answer_is_over_once_it_has_ended_and_nothing_of_it_came_behind(payloads, is_over):
    decoder = ChatDecoder()
    for payload in payloads:
        decoder.feed(payload)

    assert (decoder.ended, decoder.is_over) == (True, is_over)


@pytest.mark.spec("product 32")
@pytest.mark.parametrize(
    ("name", "delta", "end"),
    [
        ("MAX_TOKENS", {"content": "so"}, "length"),
        ("FinishReason.SAFETY", {"content": "so"}, "content_filter"),
        ("end_turn", {"content": "so"}, "stop"),
        ("tool-calls", {"tool_calls": [{"id": "a"}]}, "tool_calls"),
        ("model_context_window_exceeded", {"content": "so"}, "length"),
        ("null", {"content": "so"}, None),
        ({"type": "length"}, {"content": "so"}, "length"),
        ("a_new_word", {"content": "so"}, "stop"),
        ("a_new_word", {"tool_calls": [{"id": "a"}]}, "tool_calls"),
    ],
)
def test_finish_reason_has_our_name(name, delta, end):
    ends = [each.finish_reason for each in decoded(chunk(delta, name)) if isinstance(each, RawEnd)]

    assert ends == ([end] if end else [])


@pytest.mark.spec("product 32")
@pytest.mark.parametrize(
    ("name", "delta", "code"),
    [
        ("network_error", {"content": "so"}, "server_error"),
        ("MALFORMED_FUNCTION_CALL", {}, "server_error"),
        ("insufficient_system_resource", {"content": "so"}, "server_error"),
        ("a_new_word", {"content": ""}, "server_error"),
        ("model_context_window_exceeded", {}, "context_overflow"),
    ],
)
def test_finish_reason_may_be_a_failure(name, delta, code):
    decoder = ChatDecoder()

    found = [*decoder.feed(chunk(delta, name)), *decoder.finish()]

    assert (decoder.failure.code, decoder.failure.retryable) == (code, code == "server_error")
    assert [each.fields for each in found] == ([delta] if delta.get("content") else [])
