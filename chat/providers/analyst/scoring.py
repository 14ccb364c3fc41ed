"""Which pieces answer a question: how much of what it asks about stands in them, or right around them.

A word counts by how rare it is among the passages at hand, and nothing else is known of it: a word that is in none of
them weighs most and is missing everywhere, so a question about something else scores low. Above ``THRESHOLD`` a piece
is an answer.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from chat.providers.analyst.passages import QUOTABLE, Passage, Piece
from chat.providers.analyst.question import Question
from chat.providers.analyst.sentences import refers_elsewhere
from chat.providers.analyst.signs import kind_factor
from chat.providers.analyst.words import FRAME_WORDS, STOP_WORDS, kin_of, stem, stems_of, words_of, years_of

THRESHOLD = 0.45
_FRAME_WEIGHT = 0.3
_WHOLE_LIST = 0.7  # against the one row or sentence that answers
_POINTER_AWAY = 0.7  # it only says where to read
_FEWEST_SHARED = 2  # words that a question in another language shares with the filings
_CONTEXT_WEIGHT, _CONTEXT_MOST = 0.3, 0.5  # of a word of the question before; of all of them against its own
_IN_PIECE, _KIN_IN_PIECE, _IN_HEADING, _NEAR, _IN_PASSAGE = 1.0, 0.8, 0.7, 0.5, 0.35
_PROPER_WEIGHT = 2.0
_SUBJECT_ABSENT = 0.7
_YEAR_AROUND, _WRONG_YEAR = 0.95, 0.4
_PHRASE_BONUS, _SUBJECT_BONUS, _EXACT_BONUS, _LABEL_BONUS, _YEAR_BONUS = 0.15, 0.05, 0.03, 0.1, 0.03
_WHOLE = frozenset(("total", "net", "consolidated"))


@dataclass(frozen=True, slots=True)
class Found:
    """A piece and how well it answers, 0 to about 1.

    ``words`` are the question's stems that stand in the piece itself, ``held`` the share that they make.
    """

    passage: Passage
    piece: Piece
    score: float
    held: float
    words: frozenset[str]
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
            self._found(passage, piece, stems)
            for (passage, piece), stems in zip(self._pieces, self._stems, strict=True)
            if piece.kind in QUOTABLE
        ]
        return sorted(found, key=lambda one: -one.score - one.bonus)

    def _found(self, passage: Passage, piece: Piece, stems: frozenset[str]) -> Found:
        matches = self._matches(passage, piece, stems)
        score = self._share(matches) * self._subject_factor(matches)
        score *= _POINTER_AWAY if refers_elsewhere(piece.text) else 1.0
        score *= _WHOLE_LIST if piece.kind == "list" else 1.0
        score *= kind_factor(self._question.kind, piece, self._topics) * self._year_factor(passage, piece)
        inside = {word: match for word, match in matches.items() if match >= _KIN_IN_PIECE}
        held = self._share({word: inside.get(word, 0.0) for word in matches})
        return Found(passage, piece, score, held, frozenset(inside) & self._topics, self._bonus(piece))

    def _weigh(self, passages: Sequence[Passage]) -> dict[str, float]:
        """Return the weight of each word of the question, by stem. Names of companies at hand weigh nothing."""
        counts = Counter(stemmed for stems in self._stems for stemmed in stems)
        companies = stems_of(" ".join(passage.company for passage in passages))
        weights = {}
        for words, factor in ((self._asked(counts), 1.0), (self._question.frames, _FRAME_WEIGHT)):
            for stemmed in map(stem, words):
                if stemmed not in companies:
                    weights[stemmed] = factor * math.log((len(self._stems) + 1) / (counts[stemmed] + 0.5))
        for stemmed in self._proper:
            weights[stemmed] = _PROPER_WEIGHT * math.log((len(self._stems) + 1) / (counts[stemmed] + 0.5))
        return weights | self._weigh_context(weights, counts, companies)

    def _asked(self, counts: Mapping[str, int]) -> tuple[str, ...]:
        """Return the topics; of another language those that stand in the filings, if they are enough to go by."""
        here = tuple(word for word in self._question.topics if stem(word) in counts)
        return here if self._question.is_foreign and len(here) >= _FEWEST_SHARED else self._question.topics

    def _weigh_context(
        self, own: Mapping[str, float], counts: Mapping[str, int], companies: frozenset[str]
    ) -> dict[str, float]:
        """Return little weights for the words of the question before: they order answers, and make none."""
        words = set(map(stem, self._question.context)) - own.keys() - companies
        weights = {word: math.log((len(self._stems) + 1) / (counts.get(word, 0) + 0.5)) for word in words}
        factor = min(_CONTEXT_WEIGHT, _CONTEXT_MOST * sum(own.values()) / (sum(weights.values()) or 1.0))
        return {word: weight * factor for word, weight in weights.items()}

    def _proper_stems(self, passages: Sequence[Passage]) -> frozenset[str]:
        """Return the words of names in the question that are not the names of the companies at hand."""
        words = {word for name in self._question.names for word in words_of(name)} | self._question.proper
        companies = stems_of(" ".join(passage.company for passage in passages))
        return frozenset(map(stem, words - STOP_WORDS - FRAME_WORDS)) - companies

    def _matches(self, passage: Passage, piece: Piece, stems: frozenset[str]) -> dict[str, float]:
        heading = stems_of(f"{piece.heading} {piece.header} {passage.about}")
        places = (stems, heading, stems_of(piece.near), self._inside[passage.ref])
        return {word: _match(word, places) for word in self._weights}

    def _share(self, matches: Mapping[str, float]) -> float:
        total = sum(self._weights.values())
        return sum(weight * matches[word] for word, weight in self._weights.items()) / total if total else 0.0

    def _subject_factor(self, matches: Mapping[str, float]) -> float:
        """Ask that every name stands there, and something of what is asked about it."""
        others = [matches[word] for word in self._topics - self._proper if word in matches]
        named = all(matches[word] >= _NEAR for word in self._proper)
        return (1.0 if named else _SUBJECT_ABSENT) * (1.0 if not others or max(others) >= _NEAR else _SUBJECT_ABSENT)

    def _bonus(self, piece: Piece) -> float:
        """Prefer words that stand together or as written in the question, and a row that is named by them."""
        words = [stem(word) for word in words_of(piece.text)]
        pairs = set(pairwise(stem(word) for word in words_of(self._question.text)))
        shared = len(pairs & set(pairwise(words)))
        exact = set(self._question.topics) & set(words_of(piece.text))
        return (
            _PHRASE_BONUS * shared / max(len(pairs), 1)
            + _SUBJECT_BONUS * bool(self._topics & set(words[:4]))
            + _EXACT_BONUS * len(exact) / max(len(self._question.topics), 1)
            + _YEAR_BONUS * bool(self._question.years & years_of(piece.text))
            + _LABEL_BONUS * (self._label_share(piece) if piece.kind == "row" else 0.0)
        )

    def _label_share(self, piece: Piece) -> float:
        """Return how much of a row's label is what was asked: *Total revenues* is, *Revenues from fees* is half."""
        label = {stem(word) for word in words_of(piece.text.split("|")[0]) if len(word) > 3 and word not in _WHOLE}
        return len(label & self._topics) / len(label) if label else 0.0

    def _year_factor(self, passage: Passage, piece: Piece) -> float:
        """Ask that each year of the question stands in the piece or around it, or is the filing's own."""
        wanted = self._question.years
        if not wanted:
            return 1.0
        close = years_of(f"{piece.text} {piece.header} {piece.heading}")
        around = years_of(f"{piece.near} {passage.period or ''} {passage.date or ''}")
        values = [1.0 if year in close else _YEAR_AROUND if year in around else _WRONG_YEAR for year in wanted]
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
