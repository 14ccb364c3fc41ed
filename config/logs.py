"""Log records as JSON lines: redacted, capped, and closed when anything fails.

The message and what was put beside it (``extra``) pass ``redact_text``; a record that cannot be written safely becomes
``[unavailable]``. Of an exception the class, a code of the system or the database and the places in the code are kept,
never its words and never values: an exception repeats a row, a prompt or a reply in them, which no pattern can tell.
For the same reason words of an exception are taken out of messages, and what a library says is kept up to its first
value: asyncio, for one, prints the exception of a forgotten task. Product 11, 12.
"""

from __future__ import annotations

import errno
import json
import logging
import re
import traceback
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from reasoning import redaction

MAX_BYTES = 8192
MAX_MESSAGE_CHARS = 4000
MAX_EXTRA_CHARS = 200
MAX_FRAMES = 12
MAX_CAUSES = 4
UNAVAILABLE = "[unavailable]"
WITHHELD = "[withheld]"
_SHORTEST_WORDS = 4
_OURS = frozenset({"accounts", "chat", "config", "reasoning"})
_KEPT_WHOLE = _OURS | {"django"}
_BEFORE_VALUES = re.compile(r"[^\n:(<=\[{'\"]*")
_STOCK = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName", "request"}


class JsonFormatter(logging.Formatter):
    """One record, one line of JSON, at most ``MAX_BYTES`` of UTF-8."""

    def format(self, record: logging.LogRecord) -> str:
        head = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
        }
        try:
            line = _line({**head, **_body(record)})
        except Exception:  # noqa: BLE001 - whatever went wrong, nothing unredacted may be written
            return _line({**head, "message": UNAVAILABLE})
        return line if len(line) <= MAX_BYTES else _line({**head, "message": UNAVAILABLE, "too_long": True})


def _body(record: logging.LogRecord) -> dict[str, Any]:
    errors = tuple(_chain(record.exc_info[1])) if record.exc_info and record.exc_info[1] else ()
    said = _message(record, [*errors, *_errors_in(record.args)])
    body: dict[str, Any] = {"message": redaction.redact_text(said[:MAX_MESSAGE_CHARS])}
    body.update(_extras(record))
    if errors:
        body["exception"] = [_account(error) for error in errors]
    return body


def _message(record: logging.LogRecord, errors: Sequence[BaseException]) -> str:
    """Return the message without objects and without the words of ``errors``; a library's without any value at all."""
    if not isinstance(record.msg, str):
        return f"[{type(record.msg).__name__}]"
    is_whole = _app(record) in _KEPT_WHOLE
    if not record.args:
        said = record.msg if is_whole else _before_values(record.msg)
    else:
        said = record.msg % _named_by_type(record.args, keeps_text=is_whole)
    for words in sorted(_words(errors), key=len, reverse=True):
        said = said.replace(words, WITHHELD)
    return said


def _before_values(text: str) -> str:
    found = _BEFORE_VALUES.match(text)
    return found[0].rstrip() if found else ""


def _app(record: logging.LogRecord) -> str:
    return record.name.partition(".")[0]


def _named_by_type(args: Any, *, keeps_text: bool) -> Any:
    if isinstance(args, Mapping):
        return {key: _value(value, keeps_text=keeps_text) for key, value in args.items()}
    return tuple(_value(value, keeps_text=keeps_text) for value in args)


def _value(value: Any, *, keeps_text: bool) -> Any:
    is_kept = value is None or isinstance(value, (bool, int, float)) or (keeps_text and isinstance(value, str))
    return value if is_kept else f"[{type(value).__name__}]"


def _errors_in(args: Any) -> Iterator[BaseException]:
    values = args.values() if isinstance(args, Mapping) else args or ()
    for value in values:
        if isinstance(value, BaseException):
            yield from _chain(value)


def _words(errors: Sequence[BaseException]) -> set[str]:
    """Return what exceptions say of themselves, in the forms that find their way into messages."""
    said = {form(error) for error in errors for form in (str, repr)}
    said |= {each for error in errors for each in error.args if isinstance(each, str)}
    return {words for words in said if len(words) >= _SHORTEST_WORDS}


def _extras(record: logging.LogRecord) -> dict[str, Any]:
    """Keep plain numbers and our own short words; anything else is named by its type alone."""
    is_ours = _app(record) in _OURS
    return {
        key: _plain(value) if is_ours else _value(value, keeps_text=False)
        for key, value in vars(record).items()
        if key not in _STOCK and not key.startswith("_")
    }


def _plain(value: Any) -> Any:
    return redaction.redact_text(value[:MAX_EXTRA_CHARS]) if isinstance(value, str) else _value(value, keeps_text=True)


def _chain(error: BaseException) -> Iterator[BaseException]:
    current: BaseException | None = error
    for _ in range(MAX_CAUSES):
        if current is None:
            return
        yield current
        current = current.__cause__ or (None if current.__suppress_context__ else current.__context__)


def _account(error: BaseException) -> dict[str, Any]:
    frames = traceback.extract_tb(error.__traceback__)[-MAX_FRAMES:]
    account: dict[str, Any] = {"type": type(error).__name__}
    if code := _code(error):
        account["code"] = code
    return account | {"frames": [f"{frame.filename}:{frame.lineno} {frame.name}" for frame in frames]}


def _code(error: BaseException) -> str | None:
    """Return what the system or the database calls the error: a name from its own fixed list."""
    if isinstance(error, OSError):
        return errno.errorcode.get(error.errno or 0)
    found = getattr(error, "sqlstate", None) or getattr(error, "sqlite_errorname", None)
    return found if isinstance(found, str) and re.fullmatch(r"[A-Z0-9_]{5,40}", found) else None


def _line(value: dict[str, Any]) -> str:
    return json.dumps(value, ensure_ascii=True, default=lambda odd: f"[{type(odd).__name__}]")
