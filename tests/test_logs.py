import contextvars
import errno
import json
import logging
import re
from typing import Any

import pytest
from psycopg.errors import UniqueViolation

from chat.observability.log_context import request_id, turn_id
from config import logs
from config.logs import MAX_LINE_CHARS, UNAVAILABLE, RedactingJsonFormatter, RedactingTextFormatter
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
    text = RedactingJsonFormatter().format(record)
    assert "\n" not in text
    assert len(text.encode()) <= MAX_LINE_CHARS
    return json.loads(text)


def test_record_is_one_line_with_its_extras():
    line = _line("turn ended", turn="a1", tokens=12, share=0.5, ok=True, nothing=None)

    assert line["message"] == "turn ended"
    assert (line["level"], line["logger"]) == ("WARNING", "chat.test")
    assert (line["turn"], line["tokens"], line["share"], line["ok"], line["nothing"]) == ("a1", 12, 0.5, True, None)


@pytest.mark.spec("product 12")
def test_secret_is_masked_in_message_extras_and_exception():
    line = _line("refused: api_key=%s", SECRET, error=ValueError(f"bad key {SECRET}"), note=f"Bearer {SECRET}")

    assert SECRET not in json.dumps(line)
    assert "[redacted]" in str(line["message"])


def test_token_of_a_shared_link_is_masked_in_a_path():
    line = _line("Not Found: %s", "/s/Abc-def_Abc-def_Abc-def_Abc-def_/x/thinking/", logger="django.request")

    assert line["message"] == "Not Found: /s/[redacted]/x/thinking/"


def test_object_in_an_extra_is_logged_by_type():
    line = _line("x", body={"text": "private"}, items=["private"])

    assert "private" not in json.dumps(line)
    assert line["body"] == "[dict]"


@pytest.mark.spec("product 12")
def test_exception_is_logged_by_class_and_frames():
    logged = _line("x", error=ValueError("duplicate key (private)\nDETAIL: Failing row contains (private)."))[
        "exception"
    ]

    assert "private" not in json.dumps(logged)
    assert "duplicate key" not in json.dumps(logged)
    assert logged[0]["type"] == "ValueError"
    assert any("test_logs.py" in frame for frame in logged[0]["frames"])


def test_error_codes_of_system_and_database_are_logged():
    error = OSError(errno.ENOSPC, "No space left for private")
    error.__cause__ = UniqueViolation("private")

    logged = _line("x", error=error)["exception"]

    assert [each.get("code") for each in logged] == ["ENOSPC", "23505"]
    assert "private" not in json.dumps(logged)


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
def test_text_of_an_exception_is_removed_from_the_message(message, args):
    line = _line(message, *args, error=ValueError("private words"))

    assert "private" not in json.dumps(line)
    assert str(line["message"]).startswith("failed: ")


def test_exception_as_the_message_is_logged_by_type():
    assert _line(ValueError("private words"))["message"] == "[ValueError]"


@pytest.mark.parametrize(
    ("message", "args", "start"),
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
def test_message_of_a_library_is_cut_at_its_first_value(message, args, start):
    line = _line(message, *args, logger="asyncio", body="private")

    assert "private" not in json.dumps(line)
    assert str(line["message"]).startswith(start)


def test_causes_are_logged_in_order():
    error = RuntimeError("outer")
    error.__cause__ = ValueError("inner")

    assert [each["type"] for each in _line("x", error=error)["exception"]] == ["RuntimeError", "ValueError"]


@pytest.mark.spec("product 12")
def test_plain_text_is_one_masked_line_of_ascii():
    record = logging.makeLogRecord({"name": "chat.test", "levelname": "INFO", "msg": "refused:\n%s ü"})
    record.args = (SECRET,)
    record.turn, record.tokens, record.note = "a1", 12, 'two "words"'

    line = contextvars.Context().run(RedactingTextFormatter().format, record)  # without the ids of another test

    time, rest = line.split(" ", 1)
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\S+", time)
    masked = r"refused:\n[redacted] \u00fc"
    assert rest == rf'INFO chat.test {masked} turn=a1 tokens=12 note="two \"words\""'


def test_line_of_a_turn_has_the_ids_of_turn_and_request():
    def line():
        request_id.set("quokka-4711")
        turn_id.set("a1")
        return _line("request refused"), _line("turn ended", turn="b2")

    own, named = contextvars.Context().run(line)

    assert (own["request_id"], own["turn"], named["turn"]) == ("quokka-4711", "a1", "b2")


@pytest.mark.spec("004 scratchpad")
def test_scratchpad_leaves_no_trace():
    line = _line("notes: %s", Scratchpad("canary-77"), pad=Scratchpad("canary-77"))

    assert "canary" not in json.dumps(line)


def test_record_that_cannot_be_redacted_is_withheld(monkeypatch):
    def fail(text):
        raise RuntimeError(text)

    monkeypatch.setattr(logs.redaction, "redact_text", fail, raising=False)

    line = _line("private", note="private")
    assert line["message"] == UNAVAILABLE
    assert "private" not in json.dumps(line)


def test_message_that_cannot_be_formatted_is_withheld():
    assert _line("%d private", "private")["message"] == UNAVAILABLE


def test_huge_record_is_capped():
    many = {f"field_{number}": "word " * 40 for number in range(200)}

    assert _line("word " * 100_000, **many)["too_long"] is True


def test_control_characters_and_surrogates_are_valid_json():
    assert _line("\ud800 \x00 ünïcode")["level"] == "WARNING"
