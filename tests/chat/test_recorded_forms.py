"""The forms in which people keep a response, and the one line that says what is wrong with a file that is none."""

from __future__ import annotations

import base64
import gzip
import json
import random
import zlib
from pathlib import Path
from typing import Any

import pytest
import yaml

from chat.management.commands.replay_stream import Command, Replay
from chat.providers.cassettes import MAX_BYTES, RecordingError
from chat.providers.recorded import read_recording
from chat.providers.sse import MAX_EVENT_BYTES

CHUNKS: list[dict[str, Any]] = [
    {"choices": [{"index": 0, "delta": {"reasoning": "hm"}}]},
    {"choices": [{"index": 0, "delta": {"content": "Süß 🎉"}}]},
    {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}], "usage": {"prompt_tokens": 5}},
]
LINES = "\n".join(json.dumps(chunk) for chunk in CHUNKS)
STREAM = "".join(f"data: {json.dumps(chunk, ensure_ascii=False)}\n\n" for chunk in CHUNKS) + "data: [DONE]\n\n"
DAMAGE = [
    b"",
    b"\n",
    b"\r",
    b"\xff",
    b'"',
    b"{",
    b"}",
    b"]",
    b":",
    b"null",
    b"[]",
    b"-1",
    b"\\ud83d",
    b"NaN",
    b"!!int ",
    b"*a",
]
PACKED = gzip.compress(STREAM.encode())


def told(content: bytes, exchange: int = 0) -> dict[str, Any]:
    return Replay().run(read_recording(content, exchange=exchange))


def cassette(*responses: Any) -> bytes:
    return yaml.safe_dump({"interactions": [{"response": response} for response in responses]}).encode()


def as_json(*responses: Any) -> bytes:
    return json.dumps({"interactions": [{"response": response} for response in responses]}).encode()


def refusal(content: bytes, exchange: int = 0) -> str:
    with pytest.raises(RecordingError) as caught:
        read_recording(content, exchange=exchange)
    return str(caught.value)


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(STREAM.encode().rstrip(), id="no blank line at the end"),
        pytest.param(STREAM.replace("\n\n", "\n").encode(), id="no blank lines"),
        pytest.param(
            STREAM.replace("data: ", "event: x\ndata:").replace("\n\n", "\r\n\r\n").encode(), id="events, CRLF"
        ),
        pytest.param(STREAM.replace("data: ", ": still here\n\nid: 7\nretry: 3\ndata: ").encode(), id="comments, ids"),
        pytest.param("\ufeff\n".encode() + STREAM.encode(), id="byte order mark and a blank line"),
        pytest.param(
            "".join(
                "".join(f"data: {line}\n" for line in json.dumps(c, indent=1).split("\n")) + "\n" for c in CHUNKS
            ).encode(),
            id="one event on several lines",
        ),
        pytest.param(LINES.encode() + b"\n\n", id="lines"),
        pytest.param(LINES.replace("\n", "\r\n").encode() + b"\r\n[DONE]", id="lines, CRLF, end mark"),
        pytest.param(b"\xef\xbb\xbf" + LINES.encode(), id="lines with byte order mark"),
        pytest.param(PACKED, id="gzip"),
        pytest.param(gzip.compress(cassette({"body": STREAM})), id="cassette in gzip"),
        pytest.param(cassette({"body": {"string": PACKED}}), id="gzip body"),
        pytest.param(cassette({"body": PACKED}), id="gzip as body itself"),
        pytest.param(cassette({"body": {"string": zlib.compress(STREAM.encode())}}), id="deflate body"),
        pytest.param(cassette({"body": {"base64_string": base64.b64encode(PACKED).decode()}}), id="gzip in base64"),
        pytest.param(cassette({"body": {"text": STREAM}}), id="text"),
        pytest.param(cassette({"content": STREAM, "http_version": "HTTP/1.1"}), id="content"),
        pytest.param(cassette({"body": LINES}), id="lines in a body"),
        pytest.param(cassette({"body": json.dumps(CHUNKS)}), id="list in a body"),
        pytest.param(cassette({"parsed_body": CHUNKS}), id="list, parsed"),
        pytest.param(cassette({"body": CHUNKS}), id="list as body itself"),
        pytest.param(as_json({"body": STREAM}), id="cassette in JSON"),
        pytest.param(
            f"interactions:\n- response: {{body: {{string: !!python/unicode {json.dumps(STREAM)}}}}}".encode(),
            id="tag of another language, surrogate pairs",
        ),
        pytest.param(
            f"response:\n  body:\n    string: !binary |-\n      {base64.b64encode(PACKED).decode()}".encode(),
            id="binary tag of another language",
        ),
    ],
)
def test_every_form_tells_the_same(content: bytes) -> None:
    form = told(content)

    assert form == told(STREAM.encode())
    assert (form["visible"], form["thinking"], form["usage"]["input_tokens"]) == ("Süß 🎉", "hm", 5)


@pytest.mark.parametrize("text", ["Yes", "12:30", "2026-01-02", "1_000", "010", "0x1F", "on", ".5"])
def test_plain_scalar_of_a_parsed_body_stays_text(text: str) -> None:
    body = f"{{at: !!timestamp 2026-01-02, seen: !!binary aGk=, choices: [{{message: {{content: {text}}}, index: 0}}]}}"

    assert told(f"response: {{parsed_body: {body}}}".encode())["visible"] == text


def test_body_recorded_as_an_object_is_read() -> None:
    whole = {"choices": [{"message": {"content": "Yes"}, "finish_reason": "stop"}]}

    assert told(cassette({"body": whole}))["visible"] == "Yes"


@pytest.mark.parametrize(("exchange", "visible"), [(0, "Süß 🎉"), (1, "Two."), (2, "Three.")])
def test_each_exchange_of_a_cassette_is_read(exchange: int, visible: str) -> None:
    second = {"choices": [{"message": {"content": "Two."}, "finish_reason": "stop"}]}
    third = {
        "object": "response",
        "output": [{"type": "message", "content": [{"type": "output_text", "text": "Three."}]}],
    }
    content = cassette({"body": STREAM}, {"parsed_body": second}, {"body": {"string": json.dumps(third)}})

    assert told(content, exchange)["visible"] == visible


def test_broken_bytes_become_replacement_characters() -> None:
    content = STREAM.encode().replace("ü".encode(), b"\xff")

    assert told(content)["visible"] == told(cassette({"body": content}))["visible"] == "S\ufffdß 🎉"


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "nothing in it"),
        (b" \n\n", "nothing in it"),
        (b"hello", "neither an event stream, nor JSON, nor a cassette"),
        (b"- - [", "nor readable YAML"),
        (b"a: !!bool perhaps", "nor readable YAML"),
        (b'{"choices": [', "broken or cut off"),
        (b"[" * 100_000, "broken or cut off"),
        (b": only\n\n: comments\n\n", "no chat completion"),
        (b'{"object": "text_completion", "choices": [{"text": "x"}]}', "its JSON has object, choices"),
        (b'{"candidates\\n": [], "model": 1}', "its JSON has candidates, model"),
        (b"data: " + b"x" * (MAX_EVENT_BYTES + 1), "more than 8 MiB"),
        (b" " * (MAX_BYTES + 1), "larger than 64 MiB"),
        (PACKED[:-9], "cannot be decompressed"),
        (cassette({"body": {"string": PACKED[:40]}}), "exchange 0: it is compressed and cannot be decompressed"),
        (cassette({"body": {"base64_string": "abc"}}), "exchange 0: its body says that it is base64"),
        (cassette({"body": {"string": ""}}), "exchange 0: its response has no body"),
        (cassette({"headers": {}}), "exchange 0: its response has no body"),
        (cassette({"body": "<html>"}), "neither JSON nor an event stream"),
        (cassette({"body": b"\x1b*", "headers": {"Content-Encoding": ["br"]}}), "(content-encoding: br)"),
        (b"response: &a\n  parsed_body: *a", "recorded as something that is no JSON"),
        (b"interactions: []", "the cassette holds 0"),
        (b"interactions:\n- request: {}", "exchange 0 has no HTTP response"),
        (b"interactions: 5", "exchange 0 has no HTTP response"),
    ],
)
def test_file_that_is_no_recording_is_named_in_one_line(content: bytes, words: str) -> None:
    reason = refusal(content)

    assert words in reason
    assert "\n" not in reason
    assert len(reason) < 300


def test_damaged_recordings_are_read_or_refused_and_never_more() -> None:
    chance = random.Random(5)  # noqa: S311
    whole = [STREAM.encode(), LINES.encode(), json.dumps(CHUNKS).encode(), cassette({"body": {"string": STREAM}})]
    read = 0
    for content in (content for content in whole for _ in range(150)):
        at = chance.randrange(len(content))
        damaged = content[:at] + chance.choice(DAMAGE) + content[at + chance.randrange(4) :]
        try:
            form = told(damaged)
        except RecordingError as error:
            assert "\n" not in str(error)  # noqa: PT017
            continue
        read += 1
        assert json.dumps(form, ensure_ascii=False).encode()

    assert 100 < read < 600


def test_exchange_of_a_file_with_one_response_is_refused() -> None:
    assert refusal(STREAM.encode(), 1) == "there is no exchange 1: the file holds one response"


@pytest.mark.parametrize("content", [b"hello", None])
def test_command_ends_with_one_line_and_exit_code_1(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: bytes | None
) -> None:
    path = tmp_path / "captured"
    if content:
        path.write_bytes(content)
    with pytest.raises(SystemExit) as ended:
        Command().run_from_argv(["manage.py", "replay_stream", str(path), "--skip-checks"])

    out, err = capsys.readouterr()
    assert (ended.value.code, out) == (1, "")
    assert err.startswith(f"CommandError: {path}: ")
    assert err.count("\n") == 1


def test_folder_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        Command().run_from_argv(["manage.py", "replay_stream", str(tmp_path), "--skip-checks"])

    assert "Is a directory" in capsys.readouterr().err
