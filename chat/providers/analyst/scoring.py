"""Which pieces answer a question: how much of what it asks about stands in them, or right around them.

A word counts by how rare it is among the passages at hand, and nothing else is known of it: a word that is in none of
them weighs most and is missing everywhere, so a question about something else scores low. Above ``THRESHOLD`` a piece
is an answer.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from chat.providers.analyst.passages import Passage, Piece
from chat.providers.analyst.question import Kind, Question
from chat.providers.analyst.words import FRAME_WORDS, STOP_WORDS, kin_of, stem, stems_of, words_of, years_of

THRESHOLD = 0.45
_FRAME_WEIGHT = 0.3
_IN_PIECE, _KIN_IN_PIECE, _IN_HEADING, _NEAR, _IN_PASSAGE = 1.0, 0.8, 0.7, 0.5, 0.35
_PROPER_WEIGHT = 2.0
_SUBJECT_ABSENT = 0.7
_WRONG_KIND = 0.8
_NO_FIGURE = 0.6  # a figure was asked for, and there is none
_WRONG_YEAR = 0.4
_PHRASE_BONUS, _SUBJECT_BONUS = 0.15, 0.05
_KIND_SIGNS: dict[Kind, re.Pattern[str]] = {
    "number": re.compile(
        r"\d|\b(?:two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|\w+teen|twenty|thirty|(?:for|fif|six|seven|eigh|nine)ty|dozen)\b",
        re.I,
    ),
    "money": re.compile(r"[$€£¥]\s?\d|\d[\d,.]*\s*(?:million|billion|thousand|\|)|\|\s*\(?\d", re.I),
    "percent": re.compile(r"\d\s*%|percent|\bhalf\b|\b(?:one|two|three)[ -](?:thirds?|quarters?|fifths?)", re.I),
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


@dataclass(frozen=True, slots=True)
class Found:
    """A piece and how well it answers, 0 to about 1."""

    passage: Passage
    piece: Piece
    score: float
    bonus: float = 0.0  # orders pieces that hold as much, and lets none over the threshold


class Scorer:
    """Scores pieces of these passages for one question."""

    def __init__(self, question: Question, passages: Sequence[Passage]) -> None:
        self._question = question
        self._pieces = [(passage, piece) for passage in passages for piece in passage.pieces]
        self._stems = [stems_of(piece.text) for _, piece in self._pieces]
        self._inside = {passage.ref: stems_of(passage.text) for passage in passages}
        self._topics = frozenset(map(stem, question.topics))
        self._proper = self._proper_stems(passages)
        self._weights = self._weigh(passages)

    def ranked(self) -> list[Found]:
        """Return every piece that can be quoted, best first."""
        found = [
            Found(passage, piece, self._score(passage, piece, stems), self._bonus(piece))
            for (passage, piece), stems in zip(self._pieces, self._stems, strict=True)
            if piece.kind != "heading"
        ]
        return sorted(found, key=lambda one: -one.score - one.bonus)

    def _weigh(self, passages: Sequence[Passage]) -> dict[str, float]:
        """Return the weight of each word of the question, by stem. Names of companies at hand weigh nothing."""
        counts = Counter(stemmed for stems in self._stems for stemmed in stems)
        companies = stems_of(" ".join(passage.company for passage in passages))
        weights = {}
        for words, factor in ((self._question.topics, 1.0), (self._question.frames, _FRAME_WEIGHT)):
            for stemmed in map(stem, words):
                if stemmed not in companies:
                    weights[stemmed] = factor * math.log((len(self._stems) + 1) / (counts[stemmed] + 0.5))
        for stemmed in self._proper:
            weights[stemmed] = _PROPER_WEIGHT * math.log((len(self._stems) + 1) / (counts[stemmed] + 0.5))
        return weights

    def _proper_stems(self, passages: Sequence[Passage]) -> frozenset[str]:
        """Return the words of names in the question that are not the names of the companies at hand."""
        words = {word for name in self._question.names for word in words_of(name)} | self._question.proper
        companies = stems_of(" ".join(passage.company for passage in passages))
        return frozenset(map(stem, words - STOP_WORDS - FRAME_WORDS)) - companies

    def _score(self, passage: Passage, piece: Piece, stems: frozenset[str]) -> float:
        total = sum(self._weights.values())
        if not total:
            return 0.0
        heading = stems_of(f"{piece.heading} {piece.header} {passage.about}")
        places = (stems, heading, stems_of(piece.near), self._inside[passage.ref])
        matches = {word: _match(word, places) for word in self._weights}
        share = sum(weight * matches[word] for word, weight in self._weights.items()) / total
        return share * self._subject_factor(matches) * self._kind_factor(piece) * self._year_factor(passage, piece)

    def _subject_factor(self, matches: Mapping[str, float]) -> float:
        """Ask that every name stands there, and something of what is asked about it."""
        others = [matches[word] for word in self._topics - self._proper if word in matches]
        named = all(matches[word] >= _NEAR for word in self._proper)
        return (1.0 if named else _SUBJECT_ABSENT) * (1.0 if not others or max(others) >= _NEAR else _SUBJECT_ABSENT)

    def _kind_factor(self, piece: Piece) -> float:
        kind = self._question.kind
        if _KIND_SIGNS[kind].search(piece.text):
            return 1.0
        return _NO_FIGURE if kind in ("number", "money", "percent", "date") else _WRONG_KIND

    def _bonus(self, piece: Piece) -> float:
        """Prefer words that stand together as in the question, and a piece that begins with what it is asked about."""
        words = [stem(word) for word in words_of(piece.text)]
        pairs = set(pairwise(stem(word) for word in words_of(self._question.text)))
        shared = len(pairs & set(pairwise(words)))
        return _PHRASE_BONUS * shared / max(len(pairs), 1) + _SUBJECT_BONUS * bool(self._topics & set(words[:4]))

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
    if word in near or kin_of(word) & heading:
        return _NEAR
    return _IN_PASSAGE if word in passage else 0.0


def unknown_name(question: Question, passages: Sequence[Passage]) -> str | None:
    """Return whom the question is about where these passages are about others; None if that is in order.

    A name that no company at hand bears may still be a place or a thing of one: then the text says *at* it or *in* it,
    or writes its first word small. Anything else would be answered from another company's text.
    """
    if not question.names:
        return None
    asked = stems_of(" ".join((question.text, *question.names)))
    if any(_distinctive(passage.company) & asked for passage in passages):
        return None
    text = "\n".join(passage.text for passage in passages)
    return next((name for name in question.names if not _is_thing(name, text)), None)


def _distinctive(company: str) -> frozenset[str]:
    """Return the first word of a company's name that is more than an article."""
    words = [word for word in words_of(company) if word not in ("the", "a")]
    return frozenset(map(stem, words[:1]))


def _is_thing(name: str, text: str) -> bool:
    if re.search(rf"\b{re.escape(name)},? (?:Inc|Corp|Company|LLC|Ltd|plc|Group|Holdings)", text, re.I):
        return False
    first = re.escape(name.split()[0])
    if name[:1].isupper() and re.search(rf"\b{first.lower()}\b", text):
        return True
    place = rf"\b(?:at|in|near|off)\s+(?:the |our )?{re.escape(name)}\b(?!['’]|\s+[A-Z])"
    return re.search(place, text, re.I if name.islower() else 0) is not None


def choose(found: Sequence[Found], *, limit: int, across: bool = False, spread: float = 0.75) -> list[Found]:
    """Return the best pieces above the threshold, one a passage, and none twice.

    Without ``across`` none is far below the best. With it each company's best comes first, as a comparison needs.
    """
    good = [one for one in found if one.score >= THRESHOLD]
    if not across:
        good = [one for one in good if one.score >= good[0].score * spread]
    chosen: dict[int, Found] = {}
    said: set[str] = set()
    for one in _company_by_company(good) if across else good:
        words = " ".join(one.piece.text.split())
        if words not in said:
            chosen.setdefault(one.passage.ref, one)
            said.add(words)
    return list(chosen.values())[:limit]


def _company_by_company(found: Sequence[Found]) -> list[Found]:
    firsts = {one.passage.company: one for one in reversed(found)}
    leading = sorted(firsts.values(), key=lambda one: -one.score)
    return [*leading, *(one for one in found if one not in leading)]
