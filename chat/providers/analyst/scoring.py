"""Which pieces answer a question: how much of what it asks about stands in them, or right around them.

A word counts by how rare it is among the passages at hand, and nothing else is known of it: a word that is in none of
them weighs most and is missing everywhere, so a question about something else scores low. Above ``THRESHOLD`` a piece
is an answer.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from chat.providers.analyst.passages import Passage, Piece
from chat.providers.analyst.question import Kind, Question
from chat.providers.analyst.words import kin_of, stem, stems_of, words_of, years_of

THRESHOLD = 0.45
_FRAME_WEIGHT = 0.3
_IN_PIECE, _KIN_IN_PIECE, _IN_HEADING, _NEAR, _IN_PASSAGE = 1.0, 0.8, 0.7, 0.5, 0.35
_WRONG_KIND = 0.75
_WRONG_YEAR = 0.5
_KIND_SIGNS: dict[Kind, re.Pattern[str]] = {
    "number": re.compile(r"\d|\b(?:two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|\w+teen|twenty|thirty|(?:for|fif|six|seven|eigh|nine)ty|dozen)\b", re.I),
    "money": re.compile(r"[$€£¥]\s?\d|\d[\d,.]*\s*(?:million|billion|thousand|\|)|\|\s*\(?\d", re.I),
    "percent": re.compile(r"\d\s*%|percent|\bhalf\b|\b(?:one|two|three)[ -](?:thirds?|quarters?|fifths?)", re.I),
    "date": re.compile(r"\b(?:19|20)\d\d\b|\b(?:January|February|March|April|May|June|July|August|September|October|November|December)\b"),
    "person": re.compile(r"\b[A-Z][a-z]+ (?:[A-Z]\. )?[A-Z][a-z]+|\b(?:Officer|President|Chair\w*|Director|Committee|Head|LLP)\b"),
    "place": re.compile(r"\b(?:in|at|near|of|from) (?:the )?[A-Z]"),
    "reason": re.compile(r"\b(?:because|due|driven|reflect\w*|result\w*|attributable|caused?|owing|primarily|offset)\b", re.I),
    "any": re.compile(r""),
}


@dataclass(frozen=True, slots=True)
class Found:
    """A piece and how well it answers, 0 to about 1."""

    passage: Passage
    piece: Piece
    score: float


class Scorer:
    """Scores pieces of these passages for one question."""

    def __init__(self, question: Question, passages: Sequence[Passage]) -> None:
        self._question = question
        self._pieces = [(passage, piece) for passage in passages for piece in passage.pieces]
        self._stems = [stems_of(piece.text) for _, piece in self._pieces]
        self._inside = {passage.ref: stems_of(passage.text) for passage in passages}
        self._weights = self._weigh(passages)

    def ranked(self) -> list[Found]:
        """Return every piece that can be quoted, best first."""
        found = [
            Found(passage, piece, self._score(passage, piece, stems))
            for (passage, piece), stems in zip(self._pieces, self._stems, strict=True)
            if piece.kind != "heading"
        ]
        return sorted(found, key=lambda one: -one.score)

    def _weigh(self, passages: Sequence[Passage]) -> dict[str, float]:
        """Return the weight of each word of the question, by stem. Names of companies at hand weigh nothing."""
        counts = Counter(stemmed for stems in self._stems for stemmed in stems)
        companies = stems_of(" ".join(passage.company for passage in passages))
        weights = {}
        for words, factor in ((self._question.topics, 1.0), (self._question.frames, _FRAME_WEIGHT)):
            for stemmed in map(stem, words):
                if stemmed not in companies:
                    weights[stemmed] = factor * math.log((len(self._stems) + 1) / (counts[stemmed] + 0.5))
        for stemmed in self._unknown_names(companies):
            weights[stemmed] = math.log((len(self._stems) + 1) / (counts[stemmed] + 0.5))
        return weights

    def _unknown_names(self, companies: frozenset[str]) -> Iterable[str]:
        words = (word for name in self._question.names for word in words_of(name))
        return (stemmed for stemmed in map(stem, words) if stemmed not in companies)

    def _score(self, passage: Passage, piece: Piece, stems: frozenset[str]) -> float:
        total = sum(self._weights.values())
        if not total:
            return 0.0
        heading = stems_of(f"{piece.heading} {piece.header} {passage.about}")
        places = (stems, heading, stems_of(piece.near), self._inside[passage.ref])
        share = sum(weight * _match(word, places) for word, weight in self._weights.items()) / total
        return share * self._kind_factor(piece) * self._year_factor(passage, piece)

    def _kind_factor(self, piece: Piece) -> float:
        return 1.0 if _KIND_SIGNS[self._question.kind].search(piece.text) else _WRONG_KIND

    def _year_factor(self, passage: Passage, piece: Piece) -> float:
        """Ask that each year of the question stands in the piece or around it, or is the filing's own."""
        wanted = self._question.years
        if not wanted:
            return 1.0
        close = years_of(f"{piece.text} {piece.header} {piece.heading}")
        around = years_of(f"{piece.near} {passage.period or ''} {passage.date or ''}")
        values = [1.0 if year in close else 0.95 if year in around else _WRONG_YEAR for year in wanted]
        return sum(values) / len(values)


def _match(word: str, places: tuple[frozenset[str], ...]) -> float:
    piece, heading, near, passage = places
    if word in piece:
        return _IN_PIECE
    if kin_of(word) & piece:
        return _KIN_IN_PIECE
    if word in heading:
        return _IN_HEADING
    if word in near:
        return _NEAR
    return _IN_PASSAGE if word in passage else 0.0


def choose(found: Sequence[Found], *, limit: int, floor: float = THRESHOLD, spread: float = 0.75) -> list[Found]:
    """Return the best pieces, one a passage, that are above the threshold and not far below the best."""
    if not found or found[0].score < floor:
        return []
    least = max(floor, found[0].score * spread)
    best: dict[int, Found] = {}
    for one in found:
        if one.score >= least:
            best.setdefault(one.passage.ref, one)
    return list(best.values())[:limit]
