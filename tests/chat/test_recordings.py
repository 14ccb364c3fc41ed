"""Every recorded response of real services in ``SHARED_DIR/streams``: against an independent reading, and cut anew."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from chat.management.commands.replay_stream import replay_recording
from chat.management.recordings import RecordingError, read_recording
from chat.providers.decoding import EventParser
from reasoning.deltas import RawDelta, RawFields
from reasoning.stream.normalizer import normalize_stream
from reasoning.stream.tags import has_delimiter
from tests.chat.recordings import CHAT, OTHER, RESPONSES, Exchange, event_data, exchanges, read, recorded_files
from tests.conftest import SHARED
from tests.reasoning.streamed import channels

ALL = exchanges(SHARED / "streams")
OURS = [exchange for exchange in ALL if exchange.kind != OTHER]
THEIRS = [exchange for exchange in ALL if exchange.kind == OTHER]
STREAMED = [one for one in OURS if one.is_streamed and not one.path.name.endswith(".chunks.txt")]
SMALL_CHARS, SMALL_DELTAS = 1200, 150
Fields = Mapping[str, Any]
# What lay there when this was written; a folder with more in it is fine, one with less has lost something.
COUNTED = {(CHAT, True): 45, (CHAT, False): 72, (RESPONSES, True): 35, (RESPONSES, False): 51}


def name(exchange: Exchange) -> str:
    return exchange.name


def replayed(exchange: Exchange) -> dict[str, Any]:
    return replay_recording(read_recording(exchange.path.read_bytes(), exchange=exchange.number))


def test_no_recording_is_left_out(shared_dir: Path) -> None:
    found = Counter((exchange.kind, exchange.is_streamed) for exchange in OURS)

    assert {exchange.path for exchange in ALL} == set(recorded_files(shared_dir / "streams"))
    assert {kind: found[kind] for kind in COUNTED if found[kind] < COUNTED[kind]} == {}
    assert sum(found.values()) + len(THEIRS) == len(ALL)


@pytest.mark.spec("003 invariant 1", "003 invariant 2", "003 precedence", "002 decision 1")
@pytest.mark.parametrize("exchange", OURS, ids=name)
def test_replay_equals_an_independent_reading(exchange: Exchange) -> None:
    reading, form = read(exchange), replayed(exchange)
    visible, thinking = reading.parted()
    tokens = form["usage"] and {kind: form["usage"][kind] for kind in reading.tokens or {}}

    assert form["visible"] == visible
    assert form["thinking"] == thinking
    assert form["tool_calls"] == reading.calls
    assert form["reasoning_items"] == reading.items
    assert tokens == reading.tokens
    assert form["summary"] == []
    assert form["counters"]["native_reasoning"] == bool(reading.native)
    assert form["counters"]["extracted_blocks"] == int(reading.has_tags)
    assert not has_delimiter(form["visible"])
    assert form.keys().isdisjoint({"error", "scratchpad"})


@pytest.mark.parametrize("exchange", THEIRS, ids=name)
def test_response_of_another_api_is_refused_in_one_line(exchange: Exchange) -> None:
    with pytest.raises(RecordingError) as caught:
        read_recording(exchange.path.read_bytes(), exchange=exchange.number)

    assert str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.usefixtures("shared_dir")
def test_recordings_between_them_hold_everything_that_is_compared() -> None:
    readings = [read(exchange) for exchange in OURS]

    assert sum(reading.has_tags for reading in readings) >= 6
    assert sum(bool(reading.native) for reading in readings) > 60
    assert sum(len(reading.calls) > 1 for reading in readings) > 5
    assert sum(any(item["has_encrypted_content"] for item in reading.items) for reading in readings) > 10
    assert sum(reading.tokens is not None for reading in readings) > 150


@pytest.mark.spec("003 invariant 3")
@pytest.mark.parametrize("exchange", STREAMED, ids=name)
def test_bytes_cut_by_chance_give_the_same_events(exchange: Exchange) -> None:
    expected = [text.encode() for text in event_data(exchange.raw)]

    for seed in (1, 2):
        assert _events(_pieces(exchange.raw, seed)) == expected
    for end in (b"\r", b"\r\n"):
        assert _events(_pieces(exchange.raw.replace(b"\r\n", b"\n").replace(b"\n", end), 3)) == expected


@pytest.mark.spec("003 invariant 3")
@pytest.mark.usefixtures("shared_dir")
def test_every_cut_of_the_bytes_of_a_small_stream_gives_the_same_events() -> None:
    raw = min((exchange.raw for exchange in STREAMED), key=len)
    expected = [text.encode() for text in event_data(raw)]

    assert expected
    for at in range(len(raw) + 1):
        assert _events([raw[:at], raw[at:]]) == expected


@pytest.mark.usefixtures("shared_dir")
def test_small_recordings_are_found_that_hold_thinking_and_calls() -> None:
    small = [deltas for _, deltas in _small()]

    assert len(small) >= 15
    assert any("tool_calls" in fields for deltas in small for fields in deltas)
    assert any({"reasoning", "reasoning_content"} & fields.keys() for deltas in small for fields in deltas)


@pytest.mark.spec("003 invariant 3")
@pytest.mark.usefixtures("shared_dir")
def test_every_cut_of_a_delta_of_a_small_recording_gives_the_same_channels() -> None:
    for title, deltas in _small():
        whole, whole_call = channels(deltas), normalize_stream(deltas)
        for cut in _cut_once(deltas):
            assert channels(cut) == whole, title
            assert normalize_stream(cut) == whole_call, title


def _events(pieces: list[bytes]) -> list[bytes]:
    sse = EventParser()
    return [*(payload for piece in pieces for payload in sse.feed(piece)), *sse.finish()]


def _pieces(raw: bytes, seed: int) -> list[bytes]:
    chance = random.Random(seed)  # noqa: S311
    cuts = sorted(chance.randrange(len(raw) + 1) for _ in range(min(len(raw), 400)))
    return [raw[start:end] for start, end in pairwise([0, *cuts, len(raw)])]


def _small() -> Iterator[tuple[str, list[Fields]]]:
    for exchange in STREAMED:
        recording = read_recording(exchange.raw)
        deltas = [fields for fields in map(_fields, recording.deltas) if fields]
        chars = sum(len(text) for fields in deltas for _, text in _cuttable(fields))
        if len(deltas) <= SMALL_DELTAS and 0 < chars <= SMALL_CHARS:
            yield exchange.name, deltas


def _fields(delta: RawDelta) -> Fields:
    return delta.fields if isinstance(delta, RawFields) else {}


def _cut_once(deltas: list[Fields]) -> Iterator[list[Fields]]:
    """Yield the stream again and again, each time with one text of one delta in two pieces."""
    for place, fields in enumerate(deltas):
        for field, text in _cuttable(fields):
            for at in range(1, len(text)):
                first, second = _halves(fields, field, at)
                yield [*deltas[:place], first, second, *deltas[place + 1 :]]


def _cuttable(fields: Fields) -> list[tuple[str, str]]:
    """The one text of a delta that carries nothing else: of two fields, the cut would change which comes first."""
    told = {field: value for field, value in fields.items() if value and field != "reasoning_summary"}
    if len(told) != 1:
        return []
    field, value = told.popitem()
    if field == "tool_calls":
        return [(field, value[0]["function"].get("arguments") or "")] if len(value) == 1 else []
    return [(field, value)] if isinstance(value, str) else []


def _halves(fields: Fields, field: str, at: int) -> tuple[Fields, Fields]:
    if field != "tool_calls":
        return {field: fields[field][:at]}, {field: fields[field][at:]}
    call = fields[field][0]
    text = call["function"]["arguments"]
    first = {**call, "function": {**call["function"], "arguments": text[:at]}}
    second = {"index": call.get("index"), "function": {"arguments": text[at:]}}
    return {field: [first]}, {field: [second]}
