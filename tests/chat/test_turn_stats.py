from __future__ import annotations

import io
import json
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from accounts.models import User
from chat.models import Turn
from chat.turnstats import percentile, turn_stats
from tests.factories import make_conversation

NOW = timezone.now().replace(hour=12, minute=0, second=0, microsecond=0)


def _turn(owner: User, *, lasted_ms: int = 1000, ago: timedelta = timedelta(), **fields: Any) -> Turn:
    began: datetime = NOW - ago
    ended = None if fields.get("status") == "running" else began + timedelta(milliseconds=lasted_ms)
    return Turn.objects.create(
        conversation=make_conversation(owner=owner, title="plover-canary"),
        number=1,
        started_at=began,
        ended_at=ended,
        **{"status": "completed", "model": "m", "provider": "p", **fields},
    )


def _printed(*arguments: str) -> str:
    out = io.StringIO()
    call_command("turn_stats", *arguments, stdout=out)
    return out.getvalue()


def test_turns_are_counted_by_ending_code_and_model(alice: User) -> None:
    _turn(alice)
    _turn(alice, status="errored", error_code="timeout")
    _turn(alice, status="running", model="other")

    found = turn_stats(NOW - timedelta(hours=1))

    assert found["turns"] == 3
    assert found["statuses"] == {"completed": 1, "errored": 1, "running": 1}
    assert found["codes"] == {"timeout": 1}
    assert [(each["model"], each["turns"]) for each in found["models"]] == [("m", 2), ("other", 1)]


def test_older_turns_are_left_out(alice: User) -> None:
    _turn(alice, ago=timedelta(hours=3))

    assert turn_stats(NOW - timedelta(hours=2))["turns"] == 0
    assert turn_stats(NOW - timedelta(hours=3))["turns"] == 1


def test_times_are_those_of_whole_answers(alice: User) -> None:
    for lasted in (100, 200, 300, 400):
        _turn(alice, lasted_ms=lasted, first_token_ms=lasted // 10, thinking_ms=lasted // 2)
    _turn(alice, lasted_ms=90_000, status="interrupted", first_token_ms=9000)

    (model,) = turn_stats(NOW)["models"]

    assert model["duration_ms"] == {"p50": 200, "p95": 400}
    assert model["first_token_ms"] == {"p50": 20, "p95": 40}
    assert model["thinking_ms"] == {"p50": 100, "p95": 200}


def test_cached_share_counts_only_turns_whose_service_tells_it(alice: User) -> None:
    _turn(alice, input_tokens=1000, output_tokens=10, cached_tokens=600)
    _turn(alice, input_tokens=5000, output_tokens=10, cached_tokens=None)

    (model,) = turn_stats(NOW)["models"]

    assert (model["input_tokens"], model["output_tokens"], model["cached_tokens"]) == (6000, 20, 600)
    assert model["cached_share"] == 0.6


def test_guards_are_told_by_day_and_provider(alice: User) -> None:
    _turn(alice, stripped_delimiters=2, masked=1)
    _turn(alice, stripped_delimiters=3, dropped_bullets=1)
    _turn(alice, provider="q", extracted_blocks=4, ago=timedelta(days=1))

    rows = turn_stats(NOW - timedelta(days=2))["guards"]

    told = [(row["provider"], row["turns"], row["stripped_delimiters"], row["extracted_blocks"]) for row in rows]
    assert told == [("q", 1, 0, 4), ("p", 2, 5, 0)]
    assert [row["day"] for row in rows] == [f"{NOW - timedelta(days=1):%Y-%m-%d}", f"{NOW:%Y-%m-%d}"]
    assert (rows[1]["masked"], rows[1]["dropped_bullets"]) == (1, 1)


@pytest.mark.parametrize(("share", "expected"), [(50, 2), (95, 4), (100, 4), (1, 1)])
def test_percentile_is_a_value_of_a_real_turn(share: int, expected: int) -> None:
    assert percentile([3, 1, 4, 2], share) == expected
    assert percentile([], share) is None


def test_command_prints_the_same_figures_as_text_and_json(alice: User) -> None:
    _turn(alice, lasted_ms=1234, input_tokens=77, cached_tokens=7, stripped_delimiters=5, error_code="length")

    text, form = _printed("--since", "2d"), json.loads(_printed("--since", "2d", "--format", "json"))

    assert form["models"][0]["duration_ms"] == {"p50": 1234, "p95": 1234}
    for told in (
        "completed 1",
        "length 1",
        "m at p, turns: 1",
        "1234",
        "input_tokens 77",
        "(9%)",
        "stripped_delimiters",
    ):
        assert told in text
    assert "canary" not in text + json.dumps(form)


def test_nothing_to_tell_is_told(db: None) -> None:
    assert _printed().endswith(": 0\n")


@pytest.mark.parametrize("since", ["yesterday", "24", "-1h", "1.5h", "999999d"])
def test_unknown_span_is_refused_with_what_is_allowed(db: None, since: str) -> None:
    with pytest.raises(CommandError, match="such as 90m, 24h or 7d"):
        _printed(f"--since={since}")
