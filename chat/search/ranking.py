"""How well a passage fits a query: BM25, but for the rarity of words.

The databases rank in ways of their own and count words differently, so they only choose the candidates; the order that
people see is made here, and is the same on both. In place of how rare a word is, which would take long to count on
PostgreSQL, its length counts: long words are rarer. On sample questions that found a little more than FTS5's own order.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from chat.search.search_text import index_text, stem

# BM25's k1 and b: how soon repetition stops to count, and how much length weighs against a passage.
_SATURATION, _LENGTH = 1.2, 0.75
_USUAL_CHARS = 1_100  # of a passage
_LONG_WORD = 10
_NO_WORD = re.compile(r"\W+")


class Relevance:
    """A query whose ``terms`` (``query_terms``) are looked for in passages."""

    def __init__(self, terms: Sequence[str]) -> None:
        self._weights = [(_words(stem(term)), min(len(term), _LONG_WORD) ** 0.5) for term in terms]

    def of(self, text: str, context: str = "") -> float:
        """Return how well a passage fits: 0 where none of the terms is in it. ``context`` is its title and section."""
        words, around = _words(text), _words(context)
        length = 1 - _LENGTH + _LENGTH * len(text) / _USUAL_CHARS
        total = 0.0
        for beginning, weight in self._weights:
            count = words.count(beginning) + around.count(beginning)
            total += weight * count * (_SATURATION + 1) / (count + _SATURATION * length)
        return total


def _words(text: str) -> str:
    """Return the words of a text, in small letters, with a space before each."""
    return _NO_WORD.sub(" ", f" {index_text(text).lower()}")
