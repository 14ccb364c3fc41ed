"""Pieces of passages as quotations that can be checked: verbatim, in double quotes, and never too long to read."""

from __future__ import annotations

import re

from chat.providers.analyst.words import stem, words_of

MAX_QUOTE_CHARS = 600
_LEAD = re.compile(r"^[\s•·▪◦●\-–—*]+")
_MARKER = re.compile(r"\[\s*\d+(?:\s*,\s*\d+)*\s*\]")
_CLAUSE_END = re.compile(r"[.;:,][\"”’)]*$")
_TAG = re.compile(r"<[^>\s][^>]*>")


def quotation(text: str, wanted: frozenset[str]) -> str:
    """Return ``text`` in double quotes. ``wanted`` are stems; a long text keeps the part that holds most of them.

    Curly quotes go around a text that holds straight ones. What would read as a citation marker or a tag is cut off.
    """
    plain = " ".join(_LEAD.sub("", text).split()).strip("| ")
    plain = max((part.strip() for cut in _MARKER.split(plain) for part in _TAG.split(cut)), key=len)
    shown = _shortened(plain, wanted)
    return f"“{shown}”" if '"' in shown else f'"{shown}"'


def _shortened(text: str, wanted: frozenset[str]) -> str:
    if len(text) <= MAX_QUOTE_CHARS:
        return text
    words = text.split(" ")
    start, end = _at_clauses(words, *_best_window(words, wanted))
    shown = " ".join(words[start:end])
    return f"{'… ' if start else ''}{shown}{' …' if end < len(words) else ''}"


def _at_clauses(words: list[str], start: int, end: int) -> tuple[int, int]:
    """Draw the cut ends in to where a clause ends, if one does in the outer third; never to the middle of a phrase."""
    reach = (end - start) // 3
    if end < len(words):
        ends = (place for place in range(end, end - reach, -1) if _CLAUSE_END.search(words[place - 1]))
        end = next(ends, end)
    if start:
        starts = (place for place in range(start, start + reach) if _CLAUSE_END.search(words[place - 1]))
        start = next(starts, start)
    return start, end


def _best_window(words: list[str], wanted: frozenset[str]) -> tuple[int, int]:
    """Return the run of words within the limit that holds most of what is wanted; of equals, the first."""
    hits = [any(stem(part) in wanted for part in words_of(word)) for word in words]
    best, best_hits = (0, 1), -1
    end = size = count = 0
    for start in range(len(words)):
        while end < len(words) and size + len(words[end]) + 1 <= MAX_QUOTE_CHARS:
            size += len(words[end]) + 1
            count += hits[end]
            end += 1
        if count > best_hits and end > start:
            best, best_hits = (start, end), count
        if end > start:
            size -= len(words[start]) + 1
            count -= hits[start]
        else:
            end = start + 1
    return best
