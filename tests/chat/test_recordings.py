"""Every recorded response of real services in ``SHARED_DIR/streams``: against an independent reading, and cut anew."""

from __future__ import annotations

import random
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from chat.management.commands.replay_stream import replay_recording
from chat.management.recordings import RecordingError, read_recording
from chat.providers.decoding import EventParser
from tests.conftest import SHARED
from tests.delimiters import has_delimiter
from tests.recordings import CHAT, OTHER, RESPONSES, Exchange, event_data, exchanges, read, recorded_files

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

    assert form["visible"] == visible
    assert form["thinking"] == thinking
    assert form["tool_calls"] == reading.calls
    assert form["reasoning_items"] == reading.items
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


@pytest.mark.spec("003 invariant 3")
@pytest.mark.parametrize("exchange", STREAMED, ids=name)
def test_bytes_cut_by_chance_give_the_same_events(exchange: Exchange) -> None:
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
