"""Whatever comes, redaction ends soon, with valid output and no exception."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest

from reasoning.redaction import SECRETS_ONLY, UNAVAILABLE, Redactor, StreamRedactor, redact_args, redact_text
from tests.reasoning.redaction_corpus import noise
from tests.reasoning.test_redaction_cost import seconds

_MILLION = 1_000_000


def strict(value: object) -> str:
    """Return the JSON of a value as a strict database takes it."""
    text = json.dumps(value, allow_nan=False, ensure_ascii=False)
    text.encode()
    assert "\x00" not in text
    return text


@pytest.mark.parametrize("unit", ["<", "a", "密", "\ud800", "é ", "1", " "])
def test_million_characters_in_one_delta_end_soon(unit: str) -> None:
    stream = StreamRedactor(SECRETS_ONLY)
    text = unit * (_MILLION // len(unit))
    shown: list[str] = []

    spent = seconds(lambda: shown.append(stream.feed(text)))

    rest = stream.flush()
    "".join((*shown, rest)).encode()
    assert UNAVAILABLE not in rest
    assert spent < 8


def test_secret_behind_a_megabyte_is_masked() -> None:
    text = "word " * (_MILLION // 5) + "password=hunter2! and on"

    shown = redact_text(text)

    assert shown == "word " * (_MILLION // 5) + "password=[redacted] and on"


@pytest.mark.parametrize("unit", ["key ", "4111 ", "密", "password: '", "-u "])
def test_secret_in_a_flood_of_triggers_is_masked(unit: str) -> None:
    secret = "sk" + "-proj-" + noise(40, 11)
    flood = unit * (20_000 // len(unit))
    stream = StreamRedactor()
    text = f"{flood}\n{secret}\n{flood}"

    shown = "".join(stream.feed(text[at : at + 1_000]) for at in range(0, len(text), 1_000)) + stream.flush()

    assert secret not in shown
    assert shown == redact_text(text)


def test_key_block_in_a_flood_of_triggers_is_swallowed() -> None:
    dashes = "-" * 5
    block = f"{dashes}BEGIN PRIVATE KEY{dashes}\n{noise(64, 12)}\n{dashes}END PRIVATE KEY{dashes}"
    flood = "key " * 4_000

    shown = redact_text(f"{flood}{block}\nplain words at the end.")

    assert noise(64, 12)[:20] not in shown
    assert shown.endswith("plain words at the end.")


def test_stream_that_failed_keeps_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("inside")

    stream = StreamRedactor()
    monkeypatch.setattr("reasoning.redaction.patterns.RuleBook.spans", fail)
    stream.feed("password=hunter2 and so on, ")

    assert stream.feed("hunter2 " * 1_000) == ""
    assert len(stream._held) < 100


def test_word_that_cannot_be_looked_at_stays_held(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("inside")

    stream = StreamRedactor()
    stream.feed("so it hunter2")
    monkeypatch.setattr("reasoning.redaction.triggers.Triggers.first", fail)

    assert stream.end_word() == ""
    assert stream.flush() == UNAVAILABLE


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
def test_odd_arguments_become_strict_json_soon(value: Any) -> None:
    shown: list[Any] = []

    spent = seconds(lambda: shown.append(redact_args(value)))

    assert shown[0] != UNAVAILABLE
    assert "hunter2" not in strict(shown[0])
    assert len(strict(shown[0])) < 60_000
    assert spent < 1


def test_error_with_odd_words_is_shown() -> None:
    shown = Redactor().redact_error(ValueError("\ud800 password=hunter2! \x00" + "<" * _MILLION))

    shown.encode()
    assert "hunter2" not in shown
    assert len(shown) < 300
