"""A short extract of a passage, around the words that were searched for. Plain text."""

from __future__ import annotations

import re
from collections.abc import Iterable

MAX_CHARS = 240
_LEAD_CHARS = 60


def snippet(text: str, terms: Iterable[str]) -> str:
    """Return the part of ``text``, at most 240 characters, that holds most of ``terms``; its beginning without any."""
    line = _in_one_line(text)
    if len(line) <= MAX_CHARS:
        return line
    places = _places(line, terms)
    start = _word_start(line, max(0, _densest(places) - _LEAD_CHARS))
    end = start + MAX_CHARS - 2
    if end >= len(line):
        return ("…" if start else "") + line[start:]
    cut = line.rfind(" ", start, end)
    return ("…" if start else "") + line[start : cut if cut > start else end].rstrip(" ,;·") + "…"


def _in_one_line(text: str) -> str:
    """Join lines by dots, and leave out empty fields of rows."""
    rows = (re.sub(r"(?:\s*\|(?=\s|$))+\s*", " | ", line).strip(" |") for line in text.splitlines())
    return " · ".join(filter(None, rows))


def _places(line: str, terms: Iterable[str]) -> list[tuple[int, str]]:
    stems = [term[: max(4, len(term) - 2)] for term in terms]
    if not stems:
        return []
    pattern = re.compile(r"\b(" + "|".join(re.escape(stem) for stem in stems) + ")", re.IGNORECASE)
    return [(found.start(), found[1].lower()) for found in pattern.finditer(line)]


def _densest(places: list[tuple[int, str]]) -> int:
    """Return where the window begins that holds most different words. The first of equals."""
    best, best_count, right = 0, 0, 0
    for left, (start, _word) in enumerate(places):
        while right < len(places) and places[right][0] < start + MAX_CHARS - _LEAD_CHARS:
            right += 1
        count = len({word for _place, word in places[left:right]})
        if count > best_count:
            best, best_count = start, count
    return best


def _word_start(line: str, at: int) -> int:
    return 0 if at == 0 else line.find(" ", at) + 1
