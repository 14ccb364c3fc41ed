"""Log records as lines of JSON or of plain text, redacted and bounded, with the ids of their request and turn.

Message and extras pass ``redact_text``. An exception is logged by class, error code and places in the code, never by
its text: that can repeat a database row, a prompt or a reply, which no pattern recognises. For the same reason a
library's message is cut at its first value (asyncio, for one, prints the exception of a forgotten task).
A record that can't be redacted is logged as ``[unavailable]``. Product 11, 12.
"""

from __future__ import annotations

import errno
import json
import logging
import re
import traceback
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

from pythonjsonlogger.json import JsonFormatter

from chat.observability.log_context import request_id, turn_id
from reasoning import redaction

MAX_LINE_CHARS = 8192  # ASCII only, so bytes as well
MAX_MESSAGE_CHARS = 4000
MAX_EXTRA_CHARS = 200
MAX_FRAMES = 12
MAX_CAUSES = 4
UNAVAILABLE = "[unavailable]"
WITHHELD = "[withheld]"
# Texts of these are ours; a library's may quote anything.
OUR_LOGGERS = frozenset({"accounts", "chat", "config", "reasoning"})
_PLAIN = re.compile(r"[!-~]+")
_NOT_PRINTABLE = re.compile(r"[^ -~]")
_UNTIL_FIRST_VALUE = re.compile(r"[^\n:(<=\[{'\"]*")
_LINK_TOKEN = re.compile(r"(?<=/s/)[\w-]+")  # Django logs the paths of failed requests, and the token opens the link
_STANDARD_ATTRIBUTES = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName", "request"}


class RedactingJsonFormatter(JsonFormatter):
    """One record, one line of ASCII JSON of at most ``MAX_LINE_CHARS``."""

    def __init__(self) -> None:
        super().__init__(
            ["levelname", "name", "message"], rename_fields={"levelname": "level", "name": "logger"}, timestamp="time"
        )

    def format(self, record: logging.LogRecord) -> str:
        try:
            line = super().format(redact_record(record))
        except Exception:  # noqa: BLE001 - whatever failed, nothing unredacted may be written
            return super().format(copy_of(record, UNAVAILABLE))
        return line if len(line) <= MAX_LINE_CHARS else super().format(copy_of(record, UNAVAILABLE, too_long=True))


class RedactingTextFormatter(RedactingJsonFormatter):
    """The same for readers: time, level, logger and message, then ``key=value``. One line of ASCII as well."""

    def jsonify_log_record(self, log_data: dict[str, Any]) -> str:
        time = log_data.pop("time").isoformat(timespec="milliseconds")
        head = [time, *(str(log_data.pop(key)) for key in ("level", "logger", "message"))]
        rest = [
            f"{key}={value if _PLAIN.fullmatch(str(value)) else json.dumps(value)}" for key, value in log_data.items()
        ]
        line = " ".join([*head, *rest])
        # What JSON would escape: control characters could begin a line, or move a terminal's cursor.
        return _NOT_PRINTABLE.sub(lambda found: json.dumps(found[0])[1:-1], line)


def redact_record(record: logging.LogRecord) -> logging.LogRecord:
    """Return a copy that holds only text that may be written."""
    errors = list(causes_of(record.exc_info[1])) if record.exc_info and record.exc_info[1] else []
    message = _LINK_TOKEN.sub(redaction.REDACTED, message_of(record, errors)[:MAX_MESSAGE_CHARS])
    message = redact(message)
    is_ours = app_of(record) in OUR_LOGGERS
    extras = {
        key: redact(value[:MAX_EXTRA_CHARS])
        if is_ours and isinstance(value, str)
        else loggable(value, allow_text=False)
        for key, value in vars(record).items()
        if key not in _STANDARD_ATTRIBUTES and not key.startswith("_")
    }
    if current := request_id.get():
        extras["request_id"] = current
    if current := turn_id.get():
        extras.setdefault("turn", current)
    if errors:
        extras["exception"] = [describe(error) for error in errors]
    return copy_of(record, message, **extras)


@lru_cache(maxsize=256)
def redact(text: str) -> str:
    """Return a text redacted. Most are in many lines."""
    return redaction.redact_text(text)


def copy_of(record: logging.LogRecord, message: str, **extras: Any) -> logging.LogRecord:
    head = {"name": record.name, "levelname": record.levelname, "created": record.created}
    return logging.makeLogRecord({**extras, **head, "msg": message})


def app_of(record: logging.LogRecord) -> str:
    return record.name.partition(".")[0]


def message_of(record: logging.LogRecord, errors: list[BaseException]) -> str:
    """Return the message without objects and exception texts; a library's without any value."""
    if not isinstance(record.msg, str):
        return f"[{type(record.msg).__name__}]"
    allow_text = app_of(record) in OUR_LOGGERS | {"django"}
    args = record.args
    if isinstance(args, Mapping):
        text = record.msg % {key: loggable(value, allow_text=allow_text) for key, value in args.items()}
    elif args:
        text = record.msg % tuple(loggable(value, allow_text=allow_text) for value in args)
    elif allow_text:
        text = record.msg
    else:
        found = _UNTIL_FIRST_VALUE.match(record.msg)
        text = found[0].rstrip() if found else ""
    # Longest first: one text may be a part of another.
    for words in sorted({words for error in errors for words in texts_of(error)}, key=len, reverse=True):
        text = text.replace(words, WITHHELD)
    return text


def loggable(value: Any, *, allow_text: bool) -> Any:
    """Return numbers, and text where allowed; name anything else by its type."""
    is_plain = value is None or isinstance(value, (bool, int, float)) or (allow_text and isinstance(value, str))
    return value if is_plain else f"[{type(value).__name__}]"


def texts_of(error: BaseException) -> Iterator[str]:
    """Yield the forms in which an exception's text gets into messages; shorter ones would match by chance."""
    yield from (words for words in (str(error), repr(error), *error.args) if isinstance(words, str) and len(words) > 3)


def causes_of(error: BaseException) -> Iterator[BaseException]:
    current: BaseException | None = error
    for _ in range(MAX_CAUSES):
        if current is None:
            return
        yield current
        current = current.__cause__ or (None if current.__suppress_context__ else current.__context__)


def describe(error: BaseException) -> dict[str, Any]:
    frames = traceback.extract_tb(error.__traceback__)[-MAX_FRAMES:]
    described: dict[str, Any] = {"type": type(error).__name__}
    if code := code_of(error):
        described["code"] = code
    return described | {"frames": [f"{frame.filename}:{frame.lineno} {frame.name}" for frame in frames]}


def code_of(error: BaseException) -> str | None:
    """Return the error code of the system or the database: a name from a fixed list."""
    if isinstance(error, OSError):
        return errno.errorcode.get(error.errno or 0)
    code = getattr(error, "sqlstate", None) or getattr(error, "sqlite_errorname", None)
    return code if isinstance(code, str) and re.fullmatch(r"[A-Z0-9_]{5,40}", code) else None
