from __future__ import annotations

import errno
import json
import logging
from typing import Any

import pytest
from psycopg.errors import UniqueViolation

from config import logs
from config.logs import MAX_BYTES, UNAVAILABLE, JsonFormatter
from reasoning.scratchpad import Scratchpad

SECRET = "sk-" + "proj-" + "A1b2C3d4E5f6" * 4


def _line(
    message: object, *args: object, error: BaseException | None = None, logger: str = "chat.test", **extra: object
) -> dict[str, Any]:
    info = None
    if error:
        with pytest.raises(type(error)) as caught:
            raise error
        info = (caught.type, caught.value, caught.tb)
    record = logging.getLogger(logger).makeRecord(
        logger, logging.WARNING, __file__, 1, message, args, info, extra=extra
    )
    text = JsonFormatter().format(record)
    assert "\n" not in text
    assert len(text.encode()) <= MAX_BYTES
    return json.loads(text)


def test_record_is_one_line_with_ids_and_counts_beside_it() -> None:
    line = _line("turn ended", turn="a1", tokens=12, share=0.5, ok=True, nothing=None)

    assert line["message"] == "turn ended"
    assert (line["level"], line["logger"]) == ("WARNING", "chat.test")
    assert (line["turn"], line["tokens"], line["share"], line["ok"], line["nothing"]) == ("a1", 12, 0.5, True, None)


@pytest.mark.spec("product 12")
def test_secret_is_masked_wherever_it_stands() -> None:
    line = _line("refused: api_key=%s", SECRET, error=ValueError(f"bad key {SECRET}"), note=f"Bearer {SECRET}")

    assert SECRET not in json.dumps(line)
    assert "[redacted]" in str(line["message"])


def test_object_beside_a_record_is_named_by_its_type_alone() -> None:
    line = _line("x", body={"text": "private"}, items=["private"])

    assert "private" not in json.dumps(line)
    assert line["body"] == "[dict]"


@pytest.mark.spec("product 12")
def test_exception_is_told_by_class_and_places_alone() -> None:
    account = _line("x", error=ValueError("duplicate key (private)\nDETAIL: Failing row contains (private)."))[
        "exception"
    ]

    assert "private" not in json.dumps(account)
    assert "duplicate key" not in json.dumps(account)
    assert account[0]["type"] == "ValueError"
    assert any("test_logs.py" in frame for frame in account[0]["frames"])


def test_system_and_database_codes_are_kept() -> None:
    error = OSError(errno.ENOSPC, "No space left for private")
    error.__cause__ = UniqueViolation("private")

    account = _line("x", error=error)["exception"]

    assert [each.get("code") for each in account] == ["ENOSPC", "23505"]
    assert "private" not in json.dumps(account)


@pytest.mark.parametrize(
    ("message", "args"),
    [
        ("failed: %s", (ValueError("private words"),)),
        ("failed: %r", (ValueError("private words"),)),
        ("failed: private words", ()),
        ("failed: ValueError('private words') at once", ()),
        ("failed: %(error)s", ({"error": ValueError("private words")},)),
    ],
)
def test_words_of_an_exception_are_taken_out_of_the_message(message: str, args: tuple[object, ...]) -> None:
    line = _line(message, *args, error=ValueError("private words"))

    assert "private" not in json.dumps(line)
    assert str(line["message"]).startswith("failed: ")


def test_exception_as_the_message_is_named_by_its_type() -> None:
    assert _line(ValueError("private words"))["message"] == "[ValueError]"


@pytest.mark.parametrize(
    ("message", "args", "kept"),
    [
        (
            "Task exception was never retrieved\nfuture: <Task exception=ValueError('private')>",
            (),
            "Task exception was",
        ),
        ("Exception in callback _call('private')", (), "Exception in callback"),
        ("Exception inside application: %s", (ValueError("private"),), "Exception inside application: [ValueError]"),
        ("Took %d s for %r", (3, "private"), "Took 3 s for '[str]'"),
    ],
)
def test_library_is_quoted_up_to_its_first_value(message: str, args: tuple[object, ...], kept: str) -> None:
    line = _line(message, *args, logger="asyncio", body="private")

    assert "private" not in json.dumps(line)
    assert str(line["message"]).startswith(kept)


def test_causes_are_told_in_order() -> None:
    error = RuntimeError("outer")
    error.__cause__ = ValueError("inner")

    assert [each["type"] for each in _line("x", error=error)["exception"]] == ["RuntimeError", "ValueError"]


@pytest.mark.spec("004 scratchpad")
def test_scratchpad_leaves_no_trace() -> None:
    line = _line("notes: %s", Scratchpad("canary-77"), pad=Scratchpad("canary-77"))

    assert "canary" not in json.dumps(line)


def test_failing_redaction_closes_the_record(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(text: str) -> str:
        raise RuntimeError(text)

    monkeypatch.setattr(logs.redaction, "redact_text", fail, raising=False)

    line = _line("private", note="private")
    assert line["message"] == UNAVAILABLE
    assert "private" not in json.dumps(line)


def test_message_that_cannot_be_formatted_closes_the_record() -> None:
    assert _line("%d private", "private")["message"] == UNAVAILABLE


def test_endless_record_is_capped() -> None:
    many = {f"field_{number}": "word " * 40 for number in range(200)}

    assert _line("word " * 100_000, **many)["too_long"] is True


def test_odd_characters_stay_valid_json() -> None:
    assert _line("\ud800 \x00 ünïcode")["level"] == "WARNING"
