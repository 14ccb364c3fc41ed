"""Cut text and JSON to size: after redaction, never in the middle of what a reader sees as one character."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable

from reasoning.redaction.policy import TRUNCATED

_MARK = re.compile(r"\[[a-z]{2,12}(?: \d+ chars)?\]|\*\*\*@")
_FAR_BACK = 32
_REDOS = 4


def truncate(text: str, limit: int, redact: Callable[[str], str]) -> str:
    """Return at most ``limit`` characters of redacted text, plus a suffix where something was cut off.

    What is cut already stays as it is. A cut that makes new sense of the end (half a number, a name without its mask)
    moves back to a white space, until redacting the result changes nothing.
    """
    if len(text) <= limit or (text.endswith(TRUNCATED) and len(text) <= limit + len(TRUNCATED)):
        return text
    end = _mark_start(text, _whole_character(text, limit))
    for _ in range(_REDOS):
        short = text[:end] + TRUNCATED
        if redact(short) == short:
            return short
        end = _mark_start(text, max(text.rfind(" ", 0, max(end, 0)), 0))
    return TRUNCATED


def _mark_start(text: str, end: int) -> int:
    """Move a cut out of a mask, to its beginning."""
    for found in _MARK.finditer(text, max(end - _FAR_BACK, 0), end + _FAR_BACK):
        if found.start() < end < found.end():
            return found.start()
    return end


def _whole_character(text: str, end: int) -> int:
    """Move a cut back out of a sequence that shows as one character."""
    least = max(end - _FAR_BACK, 0)
    while end > least and (_joins(text[end]) or text[end - 1] == "\u200d"):
        end -= 1
    return end - _flags_before(text, end) % 2 if _is_flag(text[end]) else end


def _joins(char: str) -> bool:
    return char == "\u200d" or "\U0001f3fb" <= char <= "\U0001f3ff" or unicodedata.category(char) in ("Mn", "Me", "Mc")


def _is_flag(char: str) -> bool:
    return "\U0001f1e6" <= char <= "\U0001f1ff"


def _flags_before(text: str, end: int) -> int:
    count = 0
    while count < end and _is_flag(text[end - 1 - count]):
        count += 1
    return count


def json_bytes(value: object) -> int:
    """Return the size of a value as JSON with every character escaped, so no encoding of it is larger."""
    if isinstance(value, str) and value.isascii() and value.isprintable():
        return len(value) + 2 + value.count('"') + value.count("\\")
    return len(json.dumps(value))
