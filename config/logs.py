"""Log records as JSON lines: redacted, capped, and closed when anything fails.

The message, what was put beside it (``extra``) and an exception's own words pass ``redact_text``; a record that cannot
be written safely becomes ``[unavailable]``. Of an exception the class, the first line of its words and the places in
the code are kept, never values: a database's error, for one, repeats the row on its later lines. Product 11, 12.
"""

from __future__ import annotations

import json
import logging
import traceback
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from reasoning import redaction

MAX_BYTES = 8192
MAX_MESSAGE_CHARS = 4000
MAX_EXTRA_CHARS = 200
MAX_FRAMES = 12
MAX_CAUSES = 4
UNAVAILABLE = "[unavailable]"
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
    body: dict[str, Any] = {"message": redaction.redact_text(record.getMessage()[:MAX_MESSAGE_CHARS])}
    body.update(_extras(record))
    if record.exc_info and record.exc_info[1]:
        body["exception"] = [_account(error) for error in _chain(record.exc_info[1])]
    return body


def _extras(record: logging.LogRecord) -> dict[str, Any]:
    """Keep plain numbers and short words; anything else is named by its type alone."""
    return {key: _plain(value) for key, value in vars(record).items() if key not in _STOCK and not key.startswith("_")}


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, (bool, int, float)):
        return value
    return redaction.redact_text(value[:MAX_EXTRA_CHARS]) if isinstance(value, str) else f"[{type(value).__name__}]"


def _chain(error: BaseException) -> Iterator[BaseException]:
    current: BaseException | None = error
    for _ in range(MAX_CAUSES):
        if current is None:
            return
        yield current
        current = current.__cause__ or (None if current.__suppress_context__ else current.__context__)


def _account(error: BaseException) -> dict[str, Any]:
    words = (str(error).splitlines() or [""])[0][:MAX_EXTRA_CHARS]
    frames = traceback.extract_tb(error.__traceback__)[-MAX_FRAMES:]
    return {
        "type": type(error).__name__,
        "words": redaction.redact_text(words),
        "frames": [f"{frame.filename}:{frame.lineno} {frame.name}" for frame in frames],
    }


def _line(value: dict[str, Any]) -> str:
    return json.dumps(value, ensure_ascii=True, default=lambda odd: f"[{type(odd).__name__}]")
