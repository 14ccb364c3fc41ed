"""Hostile input costs linear time, and its output is valid."""

import json
import math
from pathlib import Path
from typing import Any

import pytest

from reasoning.redaction import (
    DEFAULT,
    SECRETS_ONLY,
    UNAVAILABLE,
    Redactor,
    StreamRedactor,
    redact_args,
    redact_text,
)
from reasoning.redaction.rule_book import RuleBook
from reasoning.redaction.stream import MAX_HELD
from tests.reasoning.redaction_samples import SECRETS, noise

_MILLION = 1_000_000


def strict(value: object) -> str:
    """Return the JSON of a value as a strict database takes it."""
    text = json.dumps(value, allow_nan=False, ensure_ascii=False)
    text.encode()
    assert "\x00" not in text
    return text


# Strings that are repeated: one a line, with "|" behind a blank at the end.
_LINES = (Path(__file__).parent / "redaction_cases" / "hostile.txt").read_text(encoding="utf-8").split("\n")
_UNITS = [
    *(unit.removesuffix("|") for unit in _LINES if unit),
    *("|", " ", "\n", "\t", "\n|", "\u200d", "\ud800", "| password |\n", "a,password\n", "password) values (a),\n("),
]


# Linear cost takes about a second; quadratic cost would run into the limit.
@pytest.mark.slow
@pytest.mark.parametrize("unit", _UNITS)
def test_hostile_text_is_redacted_in_time(unit):
    assert UNAVAILABLE not in redact_text(unit * (120_000 // len(unit)))


@pytest.mark.spec("004 redaction")
@pytest.mark.parametrize("policy", [DEFAULT, SECRETS_ONLY])
@pytest.mark.parametrize(
    "unit", ["psk: maple ", "api_key=\n", "&token=a", "the token of the user is secret ", "| password |\n"]
)
def test_text_that_repeats_itself_is_searched_once(unit, policy, monkeypatch):
    searched, find = [], RuleBook.find
    monkeypatch.setattr(
        RuleBook, "find", lambda book, text, windows: searched.append(text) or find(book, text, windows)
    )

    Redactor(policy).redact_text(unit * (100_000 // len(unit)))

    assert sum(map(len, searched)) < 50_000


# A pattern that tries all divisions of such a value would run into the limit.
@pytest.mark.parametrize(
    "unit", ["Social", "social", "aB1", "a-b_", "your", "/a.b", "(a", "$a", "a|", "A_", "1.", "a,", "x: "]
)
def test_long_value_of_any_secret_is_judged_in_time(unit):
    values = [unit * (400 // len(unit)) + end for end in ("", "!", "-7")]

    shown = [redact_text(case.text.replace(case.private, value)) for case in SECRETS[::5] for value in values]

    assert UNAVAILABLE not in "".join(shown)


@pytest.mark.slow
@pytest.mark.parametrize("unit", ["<", "a", "密", "\ud800", "é ", "1", " ", "key "])
def test_million_characters_in_one_delta_are_redacted(unit):
    stream = StreamRedactor(SECRETS_ONLY)

    shown = stream.feed(unit * (_MILLION // len(unit))) + stream.flush()

    shown.encode()
    assert UNAVAILABLE not in shown


def test_held_text_never_grows_with_the_stream():
    stream, fed, shown = StreamRedactor(), 0, 0
    for _ in range(2_000):
        piece = "password for the account of "
        fed, shown = fed + len(piece), shown + len(stream.feed(piece))
        assert fed - shown <= MAX_HELD + len(piece)


def test_secret_behind_a_megabyte_is_masked():
    text = "word " * (_MILLION // 5) + "password=hunter2! and on"

    shown = redact_text(text)

    assert shown == "word " * (_MILLION // 5) + "password=[redacted] and on"


@pytest.mark.parametrize("unit", ["key ", "4111 ", "密", "password: '", "-u ", "--auth a,", "access "])
def test_secret_in_a_flood_of_triggers_is_masked(unit):
    secret = "sk" + "-proj-" + noise(40, 11)
    flood = unit * (20_000 // len(unit))
    stream = StreamRedactor()
    text = f"{flood}\n{secret}\n{flood}"

    shown = "".join(stream.feed(text[at : at + 1_000]) for at in range(0, len(text), 1_000)) + stream.flush()

    assert secret not in shown
    assert shown == redact_text(text)


def test_key_block_in_a_flood_of_triggers_is_swallowed():
    dashes = "-" * 5
    block = f"{dashes}BEGIN PRIVATE KEY{dashes}\n{noise(64, 12)}\n{dashes}END PRIVATE KEY{dashes}"
    flood = "key " * 4_000

    shown = redact_text(f"{flood}{block}\nplain words at the end.")

    assert noise(64, 12)[:20] not in shown
    assert shown.endswith("plain words at the end.")


@pytest.mark.parametrize("row", ["| a b | gone | text of a cell |\n", "password for the account of "])
@pytest.mark.parametrize("begin", ["<REDACTED>", "-" * 5 + "BEGIN PRIVATE KEY" + "-" * 5, "-" * 5 + "BEGIN "])
def test_block_behind_a_window_that_is_too_long_to_hold_ends_it(row, begin):
    text = f"| password | verdict |\n|---|---|\n{row * (MAX_HELD // len(row) + 1)}see {begin} there"

    shown = redact_text(text)

    assert UNAVAILABLE not in shown
    assert "see " in shown


def cyclic() -> dict[str, Any]:
    value: dict[str, Any] = {"query": "risk"}
    value["self"] = [value]
    return value


def deep(levels: int) -> Any:
    value: Any = "bottom"
    for level in range(levels):
        value = {"down": value} if level % 2 else [value]
    return value


def nested_json(levels: int) -> str:
    text = json.dumps({"password": "hunter2!"})
    for _ in range(levels):
        text = json.dumps({"body": text})
    return text


_ODD: list[Any] = [
    cyclic(),
    deep(10_000),
    {"data": b"\x00\xff" * 50_000, "view": memoryview(b"abc"), "array": bytearray(9)},
    {"ratio": math.nan, "most": math.inf, "least": -math.inf, "huge": 10**5_000},
    {1: "a", None: "b", False: "c", 2.5: "d", (1, 2): "e", b"f": "g", math.nan: "h", object(): "i"},
    {"embedding": [0.1] * 3_072, "points": [[0.1] * 64] * 64, "text": str([0.25] * 500)},
    {"body": nested_json(3)},
    {"body": "[" * 100_000, "other": '{"a":' * 20_000},
    {"text": "\ud800 half \udfff\x00\x1b[31m"},
    {"<" * 10_000: "<" * _MILLION},
    {"set": {1, "a", None}, "items": {n: n for n in range(50_000)}},
    ["a\ud83d", {"\udc00": "\x00"}],
]


@pytest.mark.spec("004 redaction")
@pytest.mark.parametrize("value", _ODD, ids=range(len(_ODD)))
def test_odd_arguments_become_strict_json(value):
    shown = redact_args(value)

    assert shown != UNAVAILABLE
    assert "hunter2" not in strict(shown)
    assert len(strict(shown)) < 60_000
