"""Where a redacted text can be cut, so that nothing of it changes its meaning."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable

from reasoning.redaction.policy import TRUNCATED

_MARK = re.compile(r"\[[a-z]{2,12}(?: \d+ chars)?\]|\*\*\*@")
_LOOK_BACK = 32
_MAX_CUTS = 4


def truncate(text: str, limit: int, redact: Callable[[str], str]) -> str:
    """Return at most ``limit`` characters of redacted text, and a suffix where something was cut off.

    What was cut before stays. A cut that changes what the end means (half a number, a name without its mask) moves back
    to a white space until redacting the result changes nothing.
    """
    if len(text) <= limit or (text.endswith(TRUNCATED) and len(text) <= limit + len(TRUNCATED)):
        return text
    end = outside_mark(text, character_boundary(text, limit))
    for _ in range(_MAX_CUTS):
        short = text[:end] + TRUNCATED
        if redact(short) == short:
            return short
        end = outside_mark(text, max(text.rfind(" ", 0, max(end, 0)), 0))
    return TRUNCATED


def outside_mark(text: str, end: int) -> int:
    """Move a cut out of a mask, to its beginning."""
    for found in _MARK.finditer(text, max(end - _LOOK_BACK, 0), end + _LOOK_BACK):
        if found.start() < end < found.end():
            return found.start()
    return end


def character_boundary(text: str, end: int) -> int:
    """Move a cut back out of a sequence that is displayed as one character."""

    def joins(char: str) -> bool:
        return (
            char == "\u200d" or "\U0001f3fb" <= char <= "\U0001f3ff" or unicodedata.category(char) in ("Mn", "Me", "Mc")
        )

    first = max(end - _LOOK_BACK, 0)
    while end > first and (joins(text[end]) or text[end - 1] == "\u200d"):
        end -= 1
    flags = re.compile("[\U0001f1e6-\U0001f1ff]*").match(text[:end][::-1])  # a flag is a pair of letters
    return end - len(flags.group()) % 2 if flags and "\U0001f1e6" <= text[end] <= "\U0001f1ff" else end
