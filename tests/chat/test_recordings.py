"""``replay_stream`` against an independent reading, for every recorded response of real services.

The recordings lie in ``SHARED_DIR/streams``; none is part of this project.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from chat.management.commands.replay_stream import Replay
from chat.providers.cassettes import RecordingError
from chat.providers.recorded import read_recording
from reasoning.tagscan import has_delimiter
from tests.chat.recorded_readings import read
from tests.chat.recordings import CHAT, OTHER, RESPONSES, Exchange, exchanges, recorded_files
from tests.conftest import SHARED

ALL = exchanges(SHARED / "streams")
OURS = [exchange for exchange in ALL if exchange.kind != OTHER]
THEIRS = [exchange for exchange in ALL if exchange.kind == OTHER]
# What lay there when this was written; a folder with more in it is fine, one with less has lost something.
COUNTED = {(CHAT, True): 45, (CHAT, False): 72, (RESPONSES, True): 35, (RESPONSES, False): 51}


def name(exchange: Exchange) -> str:
    return exchange.name


def replayed(exchange: Exchange) -> dict[str, Any]:
    return Replay().run(read_recording(exchange.path.read_bytes(), exchange=exchange.number))


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
