"""What a turn is measured by: in its row, and in the log, as numbers and never as a text."""

import io
import json
import logging
from typing import Any

import pytest

from config.logs import RedactingJsonFormatter
from tests.chat.asking import ask

pytestmark = pytest.mark.django_db(transaction=True)
SECRET = "sk-" + "proj-" + "Q1w2E3r4T5y6" * 4
CANARY = "plover-amber-3302"
CALL = {"name": "searchFilings", "arguments": json.dumps({"query": f"mail {CANARY}@example.com"})}


@pytest.fixture
def written():
    """What the site's own handler would write meanwhile."""
    sink = io.StringIO()
    handler = logging.StreamHandler(sink)
    handler.setFormatter(RedactingJsonFormatter())
    logging.getLogger("chat").addHandler(handler)
    logging.getLogger("chat").setLevel(logging.INFO)
    yield sink
    logging.getLogger("chat").removeHandler(handler)
    logging.getLogger("chat").setLevel(logging.NOTSET)


def lines_of(written: io.StringIO, message: str) -> list[dict[str, Any]]:
    lines = [json.loads(line) for line in written.getvalue().splitlines()]
    return [line for line in lines if line["message"] == message]


async def test_turn_stores_tokens_times_and_guard_counts(upstream, conversation):
    used = {"input": 3000, "output": 20, "cached_tokens": 2560}
    upstream.script(
        [
            {"tool_calls": [CALL], "usage": used},
            {"content": f"<think>Hm {SECRET} now.</think>It is {SECRET} then.</think>", "usage": used},
        ]
    )

    turn = await ask(conversation)

    assert (turn.input_tokens, turn.output_tokens, turn.cached_tokens) == (6000, 40, 5120)
    assert turn.first_token_ms is not None
    assert (turn.stripped_delimiters, turn.extracted_blocks) == (3, 1)
    assert turn.masked == 3
    assert turn.dropped_bullets == 0


async def test_end_of_a_turn_is_one_line_of_figures(upstream, conversation, written):
    busy = {"kind": "rate_limit", "times": 1}
    upstream.script(
        [{"tool_calls": [CALL], "faults": [busy]}, {"reasoning": CANARY, "content": f"<think>Hm.</think>So: {CANARY}."}]
    )

    turn = await ask(conversation, f"What of {CANARY}?")

    (line,) = lines_of(written, "turn ended")
    figures = {name: line[name] for name in ("turn", "status", "code", "model", "steps", "tools", "retries")}
    assert figures == {
        "turn": turn.public_id,
        "status": "completed",
        "code": "",
        "model": "plain-model",
        "steps": 2,
        "tools": 1,
        "retries": 1,
    }
    # Native text came, so the tagged thought was dropped
    counters = ("stripped_delimiters", "extracted_blocks", "dropped_blocks", "native_reasoning", "longest_hold")
    assert [line[name] for name in counters] == [2, 0, 1, True, 3]
    assert 0 <= line["first_token_ms"] <= line["duration_ms"]
    assert 0 <= line["tools_ms"] <= line["duration_ms"]
    assert line["masked"] == turn.masked == 1
    assert CANARY not in written.getvalue()


async def test_each_request_is_one_line_with_its_outcome(upstream, conversation, written):
    upstream.script(
        [
            {"content": "x", "faults": [{"kind": "rate_limit", "times": 1}]},
            {"content": "x y", "chunk": "word", "faults": [{"kind": "disconnect", "at": "event:2"}]},
        ]
    )

    first = (await ask(conversation)).public_id
    second = (await ask(conversation, "And?")).public_id

    lines = lines_of(written, "request ended")
    assert [(line["turn"], line["attempt"], line["code"]) for line in lines] == [
        (first, 1, "rate_limited"),
        (first, 2, "ok"),
        (second, 1, "disconnected"),
    ]
    assert [line["step"] for line in lines] == [0, 0, 0]
    assert all(line["duration_ms"] >= 0 for line in lines)


async def test_attempts_are_counted_for_each_step(upstream, conversation, written):
    upstream.script([{"tool_calls": [{"name": "searchFilings", "arguments": "{}"}]}, {"content": "y"}])

    await ask(conversation)

    assert [(line["step"], line["attempt"]) for line in lines_of(written, "request ended")] == [(0, 1), (1, 1)]
