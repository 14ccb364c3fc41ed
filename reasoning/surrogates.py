"""Make streamed text safe to encode. Normaliser 12.

A character outside the basic plane can arrive as two halves, in two deltas. The first half waits for the second; a half
that stays alone becomes the replacement character.
"""

from __future__ import annotations

import re

_HALF = re.compile("[\ud800-\udfff]")
_FIRST_HALVES = ("\ud800", "\udbff")


def has_surrogate(text: str) -> bool:
    """Say whether half a character stands in ``text``."""
    return _HALF.search(text) is not None


def without_halves(text: str) -> str:
    """Return a whole text that can be encoded: halves that stand together joined, lone ones replaced."""
    return _paired(text) if has_surrogate(text) else text


class SurrogateJoiner:
    """Feed it pieces; what comes out holds no surrogate and is the same for every chunking."""

    __slots__ = ("_first",)

    def __init__(self) -> None:
        self._first = ""

    @property
    def is_idle(self) -> bool:
        """Whether nothing waits."""
        return not self._first

    def feed(self, text: str) -> str:
        """Return the text that is certain now."""
        if text.isascii() and not self._first:
            return text
        if not self._first and not has_surrogate(text):
            return text
        text, self._first = self._first + text, ""
        if text and _FIRST_HALVES[0] <= text[-1] <= _FIRST_HALVES[1]:
            text, self._first = text[:-1], text[-1]
        return _paired(text)

    def finish(self) -> str:
        """Return the replacement character where a first half was still waiting."""
        text, self._first = self._first, ""
        return _paired(text)


def _paired(text: str) -> str:
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
