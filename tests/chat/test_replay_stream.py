"""``replay_stream``: captured responses in every form, through the real pipeline."""

from __future__ import annotations

import base64
import gzip
import json
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
import yaml
from django.core.management import CommandError, call_command

from chat.management.commands.replay_stream import Replay
from chat.providers.cassettes import RecordingError
from chat.providers.recorded import read_recording

CHUNKS: list[dict[str, Any]] = [
    {"model": "m", "choices": [{"index": 0, "delta": {"role": "assistant", "content": "<thi"}}]},
    {"model": "m", "choices": [{"index": 0, "delta": {"content": "nk>hidden</think>Answer </thi"}}]},
    {"model": "m", "choices": [{"index": 0, "delta": {"content": "nk>here.<scratchpad>zebra note</scratchpad>"}}]},
    {"model": "m", "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]},
    {"model": "m", "choices": [], "usage": {"prompt_tokens": 5, "completion_tokens": 7}},
]
WHOLE = {"choices": [{"message": {"reasoning": "hm", "content": "So."}, "finish_reason": "stop"}]}
CALL = {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "look", "arguments": '{"a": 1}'}
THOUGHT = {
    "type": "reasoning",
    "id": "rs_1",
    "summary": [{"type": "summary_text", "text": "a sum"}],
    "encrypted_content": "E",
}
MESSAGE = {"type": "message", "id": "msg_1", "content": [{"type": "output_text", "text": "Said."}]}


def sse(*events: dict[str, Any], done: bool = True) -> str:
    return "".join(f"data: {json.dumps(event)}\n\n" for event in events) + ("data: [DONE]\n\n" if done else "")


def replay(tmp_path: Path, content: str | bytes, **options: Any) -> dict[str, Any]:
    path, out = tmp_path / "captured", StringIO()
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    call_command("replay_stream", str(path), stdout=out, **options)
    form: dict[str, Any] = json.loads(out.getvalue())
    return form


def replayed(content: bytes, exchange: int = 0) -> dict[str, Any]:
    return Replay().run(read_recording(content, exchange=exchange))


def cassette(*bodies: Any, key: str = "interactions") -> str:
    request = {"uri": "/v1", "body": '{"messages": [{"content": "<think>from the request</think>"}]}'}
    return yaml.safe_dump({"version": 1, key: [{"request": request, "response": body} for body in bodies]})


@pytest.mark.spec("003 case 3")
def test_split_tags_go_to_their_channels(tmp_path: Path) -> None:
    assert replay(tmp_path, sse(*CHUNKS)) == {
        "visible": "Answer here.",
        "thinking": "hidden",
        "summary": [],
        "tool_calls": [],
        "reasoning_items": [],
        "usage": {"input_tokens": 5, "output_tokens": 7, "reasoning_tokens": None, "cached_tokens": None},
        "counters": {"stripped_delimiters": 5, "extracted_blocks": 1, "native_reasoning": False},
        "scratchpad": True,
    }


@pytest.mark.spec("004 scratchpad")
def test_scratchpad_text_is_never_printed(tmp_path: Path) -> None:
    assert "zebra" not in json.dumps(replay(tmp_path, sse(*CHUNKS)))


@pytest.mark.parametrize(
    "content",
    [
        sse(*CHUNKS),
        sse(*CHUNKS).replace("\n", "\r\n"),
        ": hello\n\n" + sse(*CHUNKS),
        "\ufeff" + sse(*CHUNKS),
        "\n".join(json.dumps(chunk) for chunk in CHUNKS),
        json.dumps(CHUNKS, indent=1),
        cassette({"body": {"string": sse(*CHUNKS)}}),
        cassette({"body": sse(*CHUNKS)}),
        cassette({"body": {"string": gzip.compress(sse(*CHUNKS).encode())}}),
        cassette({"body": {"encoding": "UTF-8", "string": sse(*CHUNKS)}}, key="http_interactions"),
        cassette({"body": {"base64_string": base64.b64encode(sse(*CHUNKS).encode()).decode()}}),
        yaml.safe_dump({"response": {"body": sse(*CHUNKS)}}),
        json.dumps({"interactions": [{"response": {"body": sse(*CHUNKS)}}]}),
        "interactions:\n- response:\n    body:\n      string: !binary |-\n        "
        + base64.b64encode(sse(*CHUNKS).encode()).decode(),
    ],
)
def test_every_form_of_a_capture_reads_the_same(content: str) -> None:
    assert replayed(content.encode()) == replayed(sse(*CHUNKS).encode())


def test_whole_body_is_read(tmp_path: Path) -> None:
    form = replay(tmp_path, json.dumps(WHOLE, indent=2))

    assert (form["visible"], form["thinking"], form["counters"]["native_reasoning"]) == ("So.", "hm", True)


def test_sections_are_parted(tmp_path: Path) -> None:
    text = "Reasoning Summary:\n- Looked.\n- Found.\n\nFinal Answer:\nForty."
    form = replay(tmp_path, json.dumps({"choices": [{"message": {"content": text}, "finish_reason": "stop"}]}))

    assert (form["visible"], form["summary"]) == ("Forty.", ["Looked.", "Found."])


def test_exchange_picks_a_response_of_a_cassette(tmp_path: Path) -> None:
    content = cassette({"body": sse(*CHUNKS)}, {"parsed_body": WHOLE})

    assert replay(tmp_path, content, exchange=1)["visible"] == "So."


@pytest.mark.parametrize("exchange", [2, -1])
def test_exchange_that_is_not_there_is_named(tmp_path: Path, exchange: int) -> None:
    with pytest.raises(CommandError, match="holds 2"):
        replay(tmp_path, cassette({"body": sse(*CHUNKS)}, {"parsed_body": WHOLE}), exchange=exchange)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"hello",
        b"\x00\x01\xff",
        b"{}",
        b"[1, 2",
        b'data: {"type": "message_start"}\n\n',
        b"interactions: 5",
        b"interactions:\n- request: {}\n",
        b"interactions:\n- response: {body: <html>}\n",
        b"- - [",
    ],
)
def test_file_that_is_no_capture_is_refused(content: bytes) -> None:
    with pytest.raises(RecordingError):
        read_recording(content)


def test_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="nothing-here"):
        call_command("replay_stream", str(tmp_path / "nothing-here"))


def test_stream_that_was_cut_off_says_so(tmp_path: Path) -> None:
    form = replay(tmp_path, sse({"choices": [{"delta": {"content": "Half an ans"}}]}, done=False))

    assert form["error"]["code"] == "disconnected"
    assert form["visible"] == "Half an ans"


def test_error_in_the_stream_keeps_what_came_before(tmp_path: Path) -> None:
    form = replay(tmp_path, sse(*CHUNKS[:3], {"error": {"message": "Overloaded"}}))

    assert form["error"]["code"] == "server_error"
    assert form["visible"] == "Answer here."


def test_items_of_a_response_come_from_done_events_in_output_order(tmp_path: Path) -> None:
    provisional = {**THOUGHT, "encrypted_content": "provisional", "id": "rs_0"}
    form = replay(
        tmp_path,
        sse(
            {"type": "response.output_item.added", "output_index": 0, "item": provisional},
            {"type": "response.reasoning_summary_text.delta", "output_index": 0, "delta": "a sum"},
            {"type": "response.output_item.done", "output_index": 2, "item": {**THOUGHT, "id": "rs_2"}},
            {"type": "response.output_item.done", "output_index": 1, "item": CALL},
            {"type": "response.output_item.done", "output_index": 0, "item": {**THOUGHT, "encrypted_content": ""}},
            {
                "type": "response.completed",
                "response": {"output": [], "usage": {"input_tokens": 3, "output_tokens": 4}},
            },
        ),
    )

    assert form["reasoning_items"] == [
        {"id": "rs_1", "has_encrypted_content": False},
        {"id": "rs_2", "has_encrypted_content": True},
    ]
    assert form["tool_calls"] == [{"name": "look", "arguments": '{"a": 1}'}]
    assert form["usage"]["output_tokens"] == 4


@pytest.mark.spec("002 decision 1")
def test_providers_summary_is_no_thinking_and_raw_reasoning_is(tmp_path: Path) -> None:
    form = replay(
        tmp_path,
        sse(
            {"type": "response.reasoning_summary_text.delta", "output_index": 0, "delta": "a sum"},
            {"type": "response.reasoning_text.delta", "output_index": 0, "delta": "raw"},
            {"type": "response.output_text.delta", "output_index": 1, "delta": "Said."},
            {"type": "response.completed", "response": {"output": [{**THOUGHT}, MESSAGE]}},
        ),
    )

    assert (form["visible"], form["thinking"]) == ("Said.", "raw")


def test_item_without_done_event_is_taken_from_the_final_snapshot(tmp_path: Path) -> None:
    form = replay(tmp_path, sse({"type": "response.completed", "response": {"output": [THOUGHT, CALL, MESSAGE]}}))

    assert form["visible"] == "Said."
    assert form["reasoning_items"] == [{"id": "rs_1", "has_encrypted_content": True}]
    assert form["thinking"] is None


def test_whole_response_is_read(tmp_path: Path) -> None:
    form = replay(tmp_path, json.dumps({"object": "response", "status": "completed", "output": [THOUGHT, MESSAGE]}))

    assert form["visible"] == "Said."


@pytest.mark.parametrize(
    ("event", "code"),
    [
        (
            {"type": "response.failed", "response": {"status": "failed", "error": {"code": "rate_limit_exceeded"}}},
            "rate_limited",
        ),
        ({"type": "error", "code": "server_error", "message": "x"}, "server_error"),
        ({"type": "response.incomplete", "response": {"incomplete_details": {"reason": "max_output_tokens"}}}, None),
    ],
)
def test_end_of_a_response_is_told(tmp_path: Path, event: dict[str, Any], code: str | None) -> None:
    said = {"type": "response.output_text.delta", "output_index": 0, "delta": "Said."}

    form = replay(tmp_path, sse(said, event))

    assert form["visible"] == "Said."
    assert form.get("error", {}).get("code") == code
