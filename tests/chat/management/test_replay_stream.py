"""``replay_stream``: captured responses in every form, through the real pipeline."""

import base64
import gzip
import json
import random
from collections import Counter
from io import StringIO
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml
from django.core.management import call_command

from chat.management.commands.replay_stream import Command, replay_recording
from chat.management.recordings import MAX_BYTES, RecordingError, read_recording
from chat.providers.decoding import MAX_EVENT_BYTES, EventParser
from chat.providers.openai_responses import ResponsesDecoder
from reasoning.deltas import RawItem
from replay_contract_server.delimiters import has_delimiter
from tests.conftest import SHARED
from tests.recordings import CHAT, OTHER, RESPONSES, Exchange, event_data, exchanges, read, recorded_files

CHUNKS: list[dict[str, Any]] = [
    {"model": "m", "choices": [{"index": 0, "delta": {"role": "assistant", "content": "<thi"}}]},
    {"model": "m", "choices": [{"index": 0, "delta": {"content": "nk>hidden</think>Süß 🎉 </thi"}}]},
    {"model": "m", "choices": [{"index": 0, "delta": {"content": "nk>here.<scratchpad>zebra note</scratchpad>"}}]},
    {"model": "m", "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]},
    {"model": "m", "choices": [], "usage": {"prompt_tokens": 5, "completion_tokens": 7}},
]
STREAM = "".join(f"data: {json.dumps(chunk, ensure_ascii=False)}\n\n" for chunk in CHUNKS) + "data: [DONE]\n\n"
LINES = "\n".join(json.dumps(chunk) for chunk in CHUNKS)
PACKED = gzip.compress(STREAM.encode())
THOUGHT = {
    "type": "reasoning",
    "id": "rs_1",
    "summary": [{"type": "summary_text", "text": "a sum"}],
    "encrypted_content": "E",
}
SHOWN_THOUGHT = {"id": "rs_1", "has_encrypted_content": True}
MESSAGE = {"type": "message", "id": "msg_1", "content": [{"type": "output_text", "text": "Said."}]}
DAMAGE = [b"", b"\xff", b'"', b"{", b"}", b"null", b"\\ud83d", b"NaN", b"*a"]


def replay(*events: dict[str, Any] | str) -> dict[str, Any]:
    """Return what the command prints of a stream of these events."""
    texts = [event if isinstance(event, str) else json.dumps(event) for event in events]
    return replay_file("".join(f"data: {text}\n\n" for text in texts).encode())


def replay_file(content: bytes, exchange: int = 0) -> dict[str, Any]:
    return replay_recording(read_recording(content, exchange=exchange))


def run_command(tmp_path: Path, content: str, **options: Any) -> dict[str, Any]:
    path, out = tmp_path / "captured", StringIO()
    path.write_text(content)
    call_command("replay_stream", str(path), stdout=out, **options)
    form: dict[str, Any] = json.loads(out.getvalue())
    return form


def cassette(*responses: Any, key: str = "interactions") -> bytes:
    request = {"uri": "/v1", "body": '{"messages": [{"content": "<think>from the request</think>"}]}'}
    return yaml.safe_dump({key: [{"request": request, "response": response} for response in responses]}).encode()


def chunk(*, finish: str | None = None, **delta: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}


def done(item: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"type": "response.output_item.done", "item": item, **more}


def call_item(number: int, arguments: Any = "{}") -> dict[str, Any]:
    names = {"id": f"fc_{number}", "call_id": f"call_{number}", "name": f"look_{number}"}
    return {"type": "function_call", **names, "arguments": arguments}


def begun(item_id: str, index: int) -> dict[str, Any]:
    item = {"type": "message", "id": item_id, "status": "in_progress", "content": []}
    return {"type": "response.output_item.added", "item": item, "output_index": index}


def completed(*items: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"type": "response.completed", "response": {"status": "completed", "output": list(items), **more}}


def said(text: str, **more: Any) -> dict[str, Any]:
    return {"type": "response.output_text.delta", "delta": text, **more}


@pytest.mark.spec("003 case 3", "004 scratchpad")
def test_split_tags_go_to_their_channels(tmp_path):
    form = run_command(tmp_path, STREAM)

    assert "zebra" not in json.dumps(form)
    assert form == {
        "visible": "Süß 🎉 here.",
        "thinking": "hidden",
        "summary": [],
        "tool_calls": [],
        "reasoning_items": [],
        "usage": {"input_tokens": 5, "output_tokens": 7, "reasoning_tokens": None, "cached_tokens": None},
        "counters": {"stripped_delimiters": 5, "extracted_blocks": 1, "native_reasoning": False},
        "scratchpad": True,
    }


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(STREAM.replace("\n\n", "\n").encode(), id="no blank lines"),
        pytest.param(
            STREAM.replace("data: ", "event: x\ndata:").replace("\n\n", "\r\n\r\n").encode(), id="events, CRLF"
        ),
        pytest.param(STREAM.replace("data: ", ": still here\n\nid: 7\nretry: 3\ndata: ").encode(), id="comments, ids"),
        pytest.param(
            "".join(
                "".join(f"data: {line}\n" for line in json.dumps(c, indent=1).split("\n")) + "\n" for c in CHUNKS
            ).encode(),
            id="one event on several lines",
        ),
        pytest.param(LINES.encode() + b"\n\n", id="lines"),
        pytest.param(PACKED, id="gzip"),
        pytest.param(cassette({"body": {"string": PACKED}}), id="gzip body"),
        pytest.param(cassette({"content": STREAM, "http_version": "HTTP/1.1"}), id="content"),
        pytest.param(cassette({"parsed_body": CHUNKS}), id="list, parsed"),
        pytest.param(json.dumps({"interactions": [{"response": {"body": STREAM}}]}).encode(), id="cassette in JSON"),
        pytest.param(cassette({"body": {"encoding": "UTF-8", "string": STREAM}}, key="http_interactions"), id="Ruby"),
        pytest.param(
            f"response:\n  body:\n    string: !binary |-\n      {base64.b64encode(PACKED).decode()}".encode(),
            id="binary tag of another language",
        ),
    ],
)
def test_every_form_reads_the_same(content):
    form = replay_file(content)

    assert form == replay_file(STREAM.encode())
    assert (form["visible"], form["thinking"], form["usage"]["input_tokens"]) == ("Süß 🎉 here.", "hidden", 5)


def refusal(content: bytes, exchange: int = 0) -> str:
    with pytest.raises(RecordingError) as caught:
        read_recording(content, exchange=exchange)
    return str(caught.value)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "nothing in it"),
        (b"hello", "neither an event stream, nor JSON, nor a cassette"),
        (b"- - [", "nor readable YAML"),
        (b'{"choices": [', "broken or cut off"),
        (b"[" * 100_000, "broken or cut off"),
        (b'{"object": "text_completion", "choices": [{"text": "x"}]}', "its JSON has object, choices"),
        (b"data: " + b"x" * (MAX_EVENT_BYTES + 1), "more than 8 MiB"),
        (b" " * (MAX_BYTES + 1), "larger than 64 MiB"),
        (PACKED[:-9], "cannot be decompressed"),
        (cassette({"body": {"string": PACKED[:40]}}), "exchange 0: it is compressed and cannot be decompressed"),
        (cassette({"body": {"string": ""}}), "exchange 0: its response has no body"),
        (b"response: &a\n  parsed_body: *a", "recorded as something that is no JSON"),
        (b"interactions: []", "the cassette holds 0"),
        (b"interactions:\n- request: {}", "exchange 0 has no HTTP response"),
    ],
)
def test_file_that_is_no_recording_is_named_in_one_line(content, words):
    reason = refusal(content)

    assert words in reason
    assert "\n" not in reason
    assert len(reason) < 300


def test_damaged_recordings_are_read_or_refused_and_never_more():
    chance = random.Random(5)  # noqa: S311
    whole = [STREAM.encode(), LINES.encode(), json.dumps(CHUNKS).encode(), cassette({"body": {"string": STREAM}})]
    read = 0
    for content in (content for content in whole for _ in range(150)):
        at = chance.randrange(len(content))
        damaged = content[:at] + chance.choice(DAMAGE) + content[at + chance.randrange(4) :]
        try:
            form = replay_file(damaged)
        except RecordingError as error:
            assert "\n" not in str(error)  # noqa: PT017
            continue
        read += 1
        assert json.dumps(form, ensure_ascii=False).encode()

    assert 100 < read < 600


@pytest.mark.parametrize("content", [b"hello", None])
def test_command_ends_with_one_line_and_exit_code_1(tmp_path, capsys, content):
    path = tmp_path / "captured"
    if content:
        path.write_bytes(content)
    with pytest.raises(SystemExit) as ended:
        Command().run_from_argv(["manage.py", "replay_stream", str(path), "--skip-checks"])

    out, err = capsys.readouterr()
    assert (ended.value.code, out) == (1, "")
    assert err.startswith(f"CommandError: {path}: ")
    assert err.count("\n") == 1


def test_items_of_a_response_come_from_done_events_in_output_order():
    provisional = {**THOUGHT, "encrypted_content": "provisional", "id": "rs_0"}
    form = replay(
        {"type": "response.output_item.added", "output_index": 0, "item": provisional},
        {"type": "response.reasoning_summary_text.delta", "output_index": 0, "delta": "a sum"},
        done({**THOUGHT, "id": "rs_2"}, output_index=2),
        done(call_item(1, '{"a": 1}'), output_index=1),
        done({**THOUGHT, "encrypted_content": ""}, output_index=0),
        completed(usage={"input_tokens": 3, "output_tokens": 4}),
    )

    assert form["reasoning_items"] == [
        {"id": "rs_1", "has_encrypted_content": False},
        {"id": "rs_2", "has_encrypted_content": True},
    ]
    assert form["tool_calls"] == [{"name": "look_1", "arguments": '{"a": 1}'}]
    assert form["usage"]["output_tokens"] == 4


@pytest.mark.spec("002 decision 1")
def test_providers_summary_is_no_thinking_and_raw_reasoning_is():
    form = replay(
        {"type": "response.reasoning_summary_text.delta", "output_index": 0, "delta": "a sum"},
        {"type": "response.reasoning_text.delta", "output_index": 0, "delta": "raw"},
        said("Said.", output_index=1),
        completed(THOUGHT, MESSAGE),
    )

    assert (form["visible"], form["thinking"]) == ("Said.", "raw")


@pytest.mark.parametrize("field", ["content", "reasoning_content", "reasoning"])
def test_character_in_two_deltas_is_one(field):
    form = replay(chunk(**{field: "so \ud83d"}), chunk(**{field: "\ude00"}), chunk(finish="stop"))

    assert (form["visible"] or form["thinking"]) == "so 😀"


def test_item_with_half_a_character_can_be_written_down():
    item = {**THOUGHT, "summary": [{"type": "summary_text", "text": "a\ud83d"}]}
    decoder = ResponsesDecoder()
    deltas = [*decoder.feed(json.dumps(done(item, output_index=0)).encode()), *decoder.finish()]
    kept = [delta.item for delta in deltas if isinstance(delta, RawItem)]

    assert msgspec.json.decode(msgspec.json.encode(kept)) == [
        {**THOUGHT, "summary": [{**item["summary"][0], "text": "a\ufffd"}]}
    ]


def test_unknown_events_and_items_are_ignored():
    form = replay(
        {"type": "response.shiny.delta", "delta": "zzz"},
        {"type": ["odd"], "delta": "zzz"},
        {"type": "keepalive"},
        done({"type": "image_generation_call", "id": "ig", "result": "zzz"}, output_index=0),
        done({"type": "compaction", "id": "cmp", "encrypted_content": "zzz"}, output_index=1),
        said("Said.", output_index=[2], item_id={}),
        completed(),
    )

    assert (form["visible"], form["reasoning_items"], form["tool_calls"]) == ("Said.", [], [])


@pytest.mark.parametrize("index", [{}, {"output_index": 0}, {"output_index": None}])
def test_items_without_a_usable_index_are_distinguished_by_id(index):
    items = [THOUGHT, call_item(1), call_item(2), MESSAGE]
    events = [said("Said.", item_id="msg_1", **index), *(done(item, **index) for item in items)]
    form = replay(*events, completed(*items))

    assert form["reasoning_items"] == [SHOWN_THOUGHT]
    assert [call["name"] for call in form["tool_calls"]] == ["look_1", "look_2"]
    assert form["visible"] == "Said."


def test_several_responses_are_read_one_after_another():
    first = [done(THOUGHT, output_index=0), done(call_item(1), output_index=1), completed(usage={"input_tokens": 1})]
    second = [done(call_item(2), output_index=0), said("So ", output_index=1), completed(call_item(2), MESSAGE)]
    third = [done(MESSAGE, output_index=1), completed(MESSAGE, MESSAGE, usage={"input_tokens": 3})]
    form = replay(*first, *second, *third)

    assert form["visible"] == "So\n\nSaid."
    assert [call["name"] for call in form["tool_calls"]] == ["look_1", "look_2"]
    assert form["reasoning_items"] == [SHOWN_THOUGHT]
    assert form["usage"]["input_tokens"] == 3


COMMENT = {**MESSAGE, "id": "msg_0", "content": [{"type": "output_text", "text": "Looking."}]}


@pytest.mark.spec("product 20")
@pytest.mark.parametrize(
    "events",
    [
        [completed(COMMENT, THOUGHT, MESSAGE)],
        [{"object": "response", "status": "completed", "output": [COMMENT, THOUGHT, MESSAGE]}],
        [done(COMMENT), done(THOUGHT), done(MESSAGE), completed()],
        [said("Looking."), done(COMMENT), said("Said."), done(MESSAGE), completed()],
        [
            *(said("Looking.", item_id="msg_0", output_index=0), done(COMMENT, output_index=0)),
            *(said("Said.", item_id="msg_1", output_index=0), done(MESSAGE, output_index=0), completed()),
        ],
        [  # a proxy that gives each event an id of its own
            *(
                begun("a", 0),
                said("Looking.", item_id="b", output_index=0),
                done({**COMMENT, "id": "c"}, output_index=0),
            ),
            *(begun("d", 1), said("Said.", item_id="e", output_index=1), done({**MESSAGE, "id": "f"}, output_index=1)),
            completed(COMMENT, MESSAGE),
        ],
        [
            *(begun("msg_0", 0), begun("msg_1", 0)),
            *(said("Sa", item_id="msg_1", output_index=0), said("Look", item_id="msg_0", output_index=0)),
            *(said("id.", item_id="msg_1", output_index=0), said("ing.", item_id="msg_0", output_index=0)),
            *(done(MESSAGE, output_index=0), done(COMMENT, output_index=0), completed()),
        ],
        [  # done events are missing
            *(begun("msg_0", 0), begun("msg_1", 2), said("Sa", item_id="msg_1", output_index=2)),
            *(said("Looking.", item_id="msg_0", output_index=0), said("id.", item_id="msg_1", output_index=2)),
            completed(),
        ],
        [  # what was announced is not said
            *(begun("msg_x", 0), said("Looking.", item_id="msg_0", output_index=1), done(COMMENT, output_index=1)),
            *(said("Said.", item_id="msg_1", output_index=2), done(MESSAGE, output_index=2), completed()),
        ],
    ],
)
def test_messages_of_one_response_are_told_apart(events):
    assert replay(*events)["visible"] == "Looking.\n\nSaid."


@pytest.mark.spec("product 20")
def test_endless_messages_and_held_texts_are_bounded():
    many = [done({**MESSAGE, "id": f"msg_{n}"}, output_index=n) for n in range(2000)]
    held = [begun("msg_0", 0), *(said("x" * 100_000, item_id="msg_1", output_index=1) for _ in range(20))]
    decoder = ResponsesDecoder()
    released = sum(len(list(decoder.read_event(event))) for event in held)

    assert replay(*many, completed())["visible"].startswith("Said.\n\nSaid.")
    assert released > 0


def test_failed_response_shows_what_came_before():
    failed = {"type": "response.failed", "response": {"status": "failed", "error": {"code": "server_error"}}}
    form = replay(said("Half", output_index=1), done(THOUGHT, output_index=0), failed)

    assert (form["visible"], form["error"]["code"]) == ("Half", "server_error")
    assert form["reasoning_items"] == [SHOWN_THOUGHT]


# Every recorded response of real services in ``SHARED_DIR/streams``: against an independent reading, and cut anew.


ALL = exchanges(SHARED / "streams")
OURS = [exchange for exchange in ALL if exchange.kind != OTHER]
THEIRS = [exchange for exchange in ALL if exchange.kind == OTHER]
STREAMED = [one for one in OURS if one.is_streamed and not one.path.name.endswith(".chunks.txt")]
# What lay there when this was written; a folder with more in it is fine, one with less has lost something.
COUNTED = {(CHAT, True): 45, (CHAT, False): 72, (RESPONSES, True): 35, (RESPONSES, False): 51}


def name(exchange: Exchange) -> str:
    return exchange.name


def replayed(exchange: Exchange) -> dict[str, Any]:
    return replay_recording(read_recording(exchange.path.read_bytes(), exchange=exchange.number))


def test_no_recording_is_left_out(shared_dir):
    found = Counter((exchange.kind, exchange.is_streamed) for exchange in OURS)

    assert {exchange.path for exchange in ALL} == set(recorded_files(shared_dir / "streams"))
    assert {kind: found[kind] for kind in COUNTED if found[kind] < COUNTED[kind]} == {}
    assert sum(found.values()) + len(THEIRS) == len(ALL)


@pytest.mark.spec("003 invariant 1", "003 invariant 2", "003 precedence", "002 decision 1")
@pytest.mark.parametrize(
    "exchange",
    [pytest.param(one, id=name(one), marks=[] if at % 4 == 0 else [pytest.mark.slow]) for at, one in enumerate(OURS)],
)
def test_replay_equals_an_independent_reading(exchange):
    reading, form = read(exchange), replayed(exchange)
    visible, thinking = reading.parted()

    assert form["visible"] == visible
    assert form["thinking"] == thinking
    assert form["tool_calls"] == reading.calls
    assert form["reasoning_items"] == reading.items
    assert form["summary"] == []
    assert form["counters"]["native_reasoning"] == bool(reading.native)
    assert form["counters"]["extracted_blocks"] == int(reading.has_tags)
    assert not has_delimiter(form["visible"])
    assert form.keys().isdisjoint({"error", "scratchpad"})


def test_response_of_another_api_is_refused_in_one_line():
    for exchange in {each.path: each for each in THEIRS}.values():  # the last of each file
        with pytest.raises(RecordingError) as caught:
            read_recording(exchange.path.read_bytes(), exchange=exchange.number)

        assert str(caught.value)
        assert "\n" not in str(caught.value)


@pytest.mark.spec("003 invariant 3")
@pytest.mark.parametrize("exchange", STREAMED, ids=name)
def test_bytes_cut_by_chance_give_the_same_events(exchange):
    expected = [text.encode() for text in event_data(exchange.raw)]

    for seed in (1, 2):
        assert _events(_pieces(exchange.raw, seed)) == expected
    for end in (b"\r", b"\r\n"):
        assert _events(_pieces(exchange.raw.replace(b"\r\n", b"\n").replace(b"\n", end), 3)) == expected


def _events(pieces: list[bytes]) -> list[bytes]:
    sse = EventParser()
    return [*(payload for piece in pieces for payload in sse.feed(piece)), *sse.finish()]


def _pieces(raw: bytes, seed: int) -> list[bytes]:
    chance = random.Random(seed)  # noqa: S311
    cuts = sorted(chance.randrange(len(raw) + 1) for _ in range(min(len(raw), 400)))
    return [raw[start:end] for start, end in pairwise([0, *cuts, len(raw)])]
