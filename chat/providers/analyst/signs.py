"""Whether a piece holds the kind of thing that was asked for: a count, an amount, a date, a name, a reason."""

from __future__ import annotations

import re

from chat.providers.analyst.kinds import Kind
from chat.providers.analyst.passages import Piece
from chat.providers.analyst.tables import has_counts
from chat.providers.analyst.words import stem, words_of

FIGURES: frozenset[Kind] = frozenset({"number", "figure", "money", "percent", "date"})
_WRONG_KIND = 0.8
_NOBODY = 0.65  # a person was asked for, and no name or office stands there
_NO_FIGURE = 0.6  # a figure was asked for, and there is none
_FAR_COUNT = 0.8  # a count stands there, and not beside what is counted
_REACH_BEFORE, _REACH_AFTER = 5, 4
_NUMBER_WORD = (
    r"(?:two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|\w+teen|twenty|thirty"
    r"|(?:for|fif|six|seven|eigh|nine)ty|dozen)(?:-\w+)?"
)
_SIGNS: dict[Kind, re.Pattern[str]] = {  # of a number see ``_count_factor``
    "figure": re.compile(rf"\d|\b{_NUMBER_WORD}\b", re.I),
    "money": re.compile(r"[$€£¥]\s?\d|\d[\d,.]*\s*(?:million|billion|thousand|\|)|\|\s*\(?\d", re.I),
    "percent": re.compile(
        rf"(?:\d|\b{_NUMBER_WORD})\s*(?:%|percent)|\bhalf\b|\b(?:one|two|three)[ -](?:thirds?|quarters?|fifths?)", re.I
    ),
    "date": re.compile(
        r"\b(?:19|20)\d\d\b|\b(?:January|February|March|April|May|June|July|August|September|October|November|December)\b"
    ),
    "person": re.compile(
        r"\b[A-Z][a-z]+ (?:[A-Z]\. )?[A-Z][a-z]+|\b(?:Officer|President|Chair\w*|Director|Committee|Head|LLP)\b"
    ),
    "place": re.compile(r"\b(?:in|at|near|of|from) (?:the )?[A-Z]"),
    "reason": re.compile(
        r"\b(?:because|due|driven|reflect\w*|result\w*|attributable|caused?|owing|primarily|offset)\b", re.I
    ),
    "any": re.compile(r""),
}
_COUNT = re.compile(
    rf"(?:(?<![$€£¥\d.,])\d[\d,]*(?:\.\d+)?(?:\s(?:million|billion))?(?!\s?%|[\d.,]*\d)|\b{_NUMBER_WORD})\b", re.I
)
_YEAR_OR_DAY = re.compile(
    r"\b\d{1,2}/\d{1,2}/\d{2,4}\b|\b(?:19|20)\d\d\b"
    r"|\b(?:January|February|March|April|May|June|July|August|September|October|November|December)\s+\d{1,2}\b"
)
_FIGURE = re.compile(r"\d")


def kind_factor(kind: Kind, piece: Piece, topics: frozenset[str]) -> float:
    """Return 1 where the piece holds the kind of thing asked for, less where it does not. ``topics`` are stems."""
    if kind == "number":
        return _count_factor(piece, topics)
    text = _YEAR_OR_DAY.sub(" ", piece.text) if kind == "figure" else piece.text
    if _SIGNS[kind].search(text):
        return 1.0
    return _NO_FIGURE if kind in FIGURES else _NOBODY if kind == "person" else _WRONG_KIND


def has_figure(text: str) -> bool:
    """Say whether a text holds a figure that is more than a date."""
    return bool(_FIGURE.search(_YEAR_OR_DAY.sub(" ", text)))


def _count_factor(piece: Piece, topics: frozenset[str]) -> float:
    """Ask that a number stands beside what is counted, *fourteen turbines*; in a row its label or column says that."""
    text = _YEAR_OR_DAY.sub(" ", piece.text)
    counts = list(_COUNT.finditer(text))
    if not counts or (piece.kind == "row" and not has_counts(piece.text)):
        return _NO_FIGURE
    label = f"{piece.text.split('|')[0]} {piece.header}" if piece.kind == "row" else ""
    is_named = any(stem(word) in topics for word in words_of(label))
    is_beside = is_named or any(_is_beside(text, count, topics) for count in counts)
    return 1.0 if is_beside else _FAR_COUNT


def _is_beside(text: str, count: re.Match[str], topics: frozenset[str]) -> bool:
    after = words_of(text[count.end() : count.end() + 100])[:_REACH_BEFORE]
    before = words_of(text[max(0, count.start() - 60) : count.start()])[-_REACH_AFTER:]
    return any(stem(word) in topics for word in (*after, *before))
