"""Which pieces answer a question: how much of what it asks about is in them, or right around them.

A word counts by how rare it is among the passages at hand. A word that is in none of them weighs most and is missing
everywhere, so a question about something else scores low. From ``THRESHOLD`` on a piece is an answer.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from chat.providers.offline.passages import QUOTABLE, FiledPassage, Piece, ToolMessage, has_counts
from chat.providers.offline.question import (
    FRAME_WORDS,
    STOP_WORDS,
    AnswerKind,
    Question,
    first_word,
    stem,
    stems_of,
    synonyms_of,
    words_of,
    years_of,
)

THRESHOLD = 0.45
_FRAME_WEIGHT, _PROPER_WEIGHT = 0.3, 2.0  # against the weight of a topic
_IN_PIECE, _SYNONYM, _IN_HEADING, _NEAR, _IN_PASSAGE = 1.0, 0.8, 0.7, 0.5, 0.35
_SUBJECT_ABSENT = 0.7  # a name, or all that is asked about it, is missing
_YEAR_AROUND, _WRONG_YEAR = 0.95, 0.4
_NO_FIGURE, _NOBODY, _WRONG_KIND = 0.6, 0.65, 0.8  # it doesn't hold the kind of thing that was asked for
_CLOSE_TO_BEST, _OTHER_HALF = 0.85, 0.7  # the share of the best score that another quotation must have
_REPEATS = 0.6  # of the shorter one's words

_NUMBER_WORD = (
    r"(?:two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|\w+teen|twenty|thirty"
    r"|(?:for|fif|six|seven|eigh|nine)ty|dozen)(?:-\w+)?"
)
_MONTH = r"\b(?:January|February|March|April|May|June|July|August|September|October|November|December)\b"
_SIGNS: dict[AnswerKind, re.Pattern[str]] = {
    "figure": re.compile(rf"\d|\b{_NUMBER_WORD}\b", re.I),
    "money": re.compile(r"[$€£¥]\s?\d|\d[\d,.]*\s*(?:million|billion|thousand|\|)|\|\s*\(?\d", re.I),
    "percent": re.compile(
        rf"(?:\d|\b{_NUMBER_WORD})\s*(?:%|percent)|\bhalf\b|\b(?:one|two|three)[ -](?:thirds?|quarters?|fifths?)", re.I
    ),
    "date": re.compile(rf"\b(?:19|20)\d\d\b|{_MONTH}"),
    "person": re.compile(
        r"\b[A-Z][a-z]+ (?:[A-Z]\. )?[A-Z][a-z]+|\b(?:Officer|President|Chair\w*|Director|Committee|Head|LLP)\b"
    ),
    "place": re.compile(r"\b(?:in|at|near|of|from) (?:the )?[A-Z]"),
    "reason": re.compile(
        r"\b(?:because|due|driven|reflect\w*|result\w*|attributable|caused?|owing|primarily|offset)\b", re.I
    ),
}
_FIGURE_KINDS = frozenset({"number", "figure", "money", "percent", "date"})
_COUNT = re.compile(
    rf"(?:(?<![$€£¥\d.,])\d[\d,]*(?:\.\d+)?(?:\s(?:million|billion))?(?!\s?%|[\d.,]*\d)|\b{_NUMBER_WORD})\b", re.I
)
_DATE = re.compile(rf"\b\d{{1,2}}/\d{{1,2}}/\d{{2,4}}\b|\b(?:19|20)\d\d\b|{_MONTH}\s+\d{{1,2}}\b")


@dataclass(frozen=True, slots=True)
class ScoredPiece:
    """A piece and how well it answers, 0 to about 1. ``words`` are the question's stems that it holds."""

    passage: FiledPassage
    piece: Piece
    score: float
    bonus: float  # orders pieces that hold as much, and lifts none over the threshold
    words: frozenset[str]

    @property
    def total(self) -> float:
        return self.score + self.bonus

    @property
    def content(self) -> frozenset[str]:
        """Stems of the words that say something."""
        return frozenset(stem(word) for word in words_of(self.piece.text) if word not in STOP_WORDS)


def rank(question: Question, passages: Sequence[FiledPassage]) -> list[ScoredPiece]:
    """Return every piece that can be quoted, best first."""
    pieces = [(passage, piece, stems_of(piece.text)) for passage in passages for piece in passage.pieces]
    weights = _weigh(question, passages, Counter(stemmed for _, _, stems in pieces for stemmed in stems), len(pieces))
    inside = {passage.ref: stems_of(passage.text) for passage in passages}
    topics = frozenset(map(stem, question.topics))
    proper = frozenset(word for word in _proper_stems(question) if word in weights)
    candidates = []
    for passage, piece, stems in pieces:
        if piece.kind not in QUOTABLE:
            continue
        heading = stems_of(f"{piece.heading} {piece.header} {passage.company} {passage.filing} {passage.section}")
        places = (stems, heading, stems_of(piece.near), inside[passage.ref])
        matches = {word: _match(word, places) for word in weights}
        score = sum(weights[word] * match for word, match in matches.items()) / (sum(weights.values()) or 1.0)
        about = [matches[word] for word in topics - proper if word in matches]
        score *= 1.0 if all(matches[word] >= _NEAR for word in proper) else _SUBJECT_ABSENT
        score *= 1.0 if not about or max(about) >= _NEAR else _SUBJECT_ABSENT
        score *= _kind_factor(question.kind, piece, topics) * _year_factor(question, passage, piece)
        held = frozenset(word for word, match in matches.items() if match >= _SYNONYM) & topics
        candidates.append(ScoredPiece(passage, piece, score, _bonus(question, piece, topics), held))
    return sorted(candidates, key=lambda one: -one.total)


def choose(candidates: Sequence[ScoredPiece], question: Question, *, limit: int) -> list[ScoredPiece]:
    """Return the best pieces above the threshold, one a passage, and none that only repeats another.

    Where two things are asked, a second may hold words that the best lacks. In a comparison each company's best comes
    first.
    """
    good = [one for one in candidates if one.score >= THRESHOLD]
    if not good:
        return []
    # Filings say many things twice: a fuller wording of the best piece takes its place, *$30 million* for *$30*.
    best = max(
        (one for one in good if one.score >= good[0].score - 0.03 and one.content > good[0].content),
        key=lambda one: one.total,
        default=good[0],
    )
    good = [best, *(one for one in good if one is not best)]
    first_of_company = {one.passage.company: one for one in reversed(good)}
    if question.compares and len(first_of_company) > 1:
        good = sorted(first_of_company.values(), key=lambda one: -one.score)
    else:
        good = [one for one in good if one is best or _is_second(one, best, question)]
    chosen: list[ScoredPiece] = []
    for one in good:
        if all(one.passage.ref != other.passage.ref and not _repeats(one, other) for other in chosen):
            chosen.append(one)
    return chosen[:limit]


def _is_second(one: ScoredPiece, best: ScoredPiece, question: Question) -> bool:
    if question.kind in _FIGURE_KINDS - {"date"} and not re.search(r"\d", _DATE.sub(" ", one.piece.text)):
        return False
    if question.asks_twice and one.words - best.words and len(one.words) >= len(best.words):
        return one.score >= best.score * _OTHER_HALF
    is_as_full = len(one.words) >= len(best.words) and one.bonus >= best.bonus / 2
    return is_as_full and one.total >= best.total * _CLOSE_TO_BEST


def _repeats(one: ScoredPiece, other: ScoredPiece) -> bool:
    words, others = one.content, other.content
    return len(words & others) >= _REPEATS * min(len(words), len(others))


def unknown_name(question: Question, result: ToolMessage) -> str | None:
    """Return whom the question is about where these passages are about others; None if that is in order.

    A name that no company here bears may be a place or a thing of one: then a text says *at* it or *in* it, writes its
    first word small, or heads a row with it. Anything else would be answered from another company's text.
    """
    asked = stems_of(" ".join((question.text, *question.names)))
    if question.company or any(first_word(company) & asked for company in result.companies):
        return None
    text = "\n".join(passage.text for passage in result.passages)
    for name in question.names:
        escaped = re.escape(name)
        is_company = re.search(rf"\b{escaped},? (?:Inc|Corp|Company|LLC|Ltd|plc|Group|Holdings)", text, re.I)
        place = re.search(rf"\b(?:at|in|near|off) (?:the |our )?{escaped}\b(?!['’]|\s+[A-Z])", text)
        is_word = name[0].isupper() and re.search(rf"\b{re.escape(name.split()[0].lower())}\b", text)
        is_label = re.search(rf"(?:^|\| ){escaped} \|", text, re.M)
        if is_company or not (place or is_word or is_label):
            return name
    return None


def _proper_stems(question: Question) -> frozenset[str]:
    words = {word for name in question.names for word in words_of(name)} | question.proper
    return frozenset(map(stem, words - STOP_WORDS - FRAME_WORDS))


def _weigh(
    question: Question, passages: Sequence[FiledPassage], counts: Mapping[str, int], pieces: int
) -> dict[str, float]:
    """Return the weight of each word of the question, by stem. Names of companies at hand weigh nothing."""
    companies = stems_of(" ".join(passage.company for passage in passages))
    factors = {stem(word): _FRAME_WEIGHT for word in question.frames}
    factors |= {stem(word): 1.0 for word in question.topics}
    factors |= dict.fromkeys(_proper_stems(question), _PROPER_WEIGHT)
    return {
        word: factor * math.log((pieces + 1) / (counts.get(word, 0) + 0.5))
        for word, factor in factors.items()
        if word not in companies
    }


def _match(word: str, places: tuple[frozenset[str], ...]) -> float:
    piece, heading, near, passage = places
    synonyms = synonyms_of(word)
    if word in piece:
        return _IN_PIECE
    if synonyms & piece:
        return _SYNONYM
    if word in heading:
        return _IN_HEADING
    if word in near or synonyms & heading:
        return _NEAR
    return _IN_PASSAGE if word in passage else 0.0


def _kind_factor(kind: AnswerKind, piece: Piece, topics: frozenset[str]) -> float:
    """Return 1 where the piece holds the kind of thing asked for, less where it does not."""
    if kind == "any":
        return 1.0
    text = _DATE.sub(" ", piece.text) if kind in ("figure", "number") else piece.text
    if kind != "number":
        missing = _NO_FIGURE if kind in _FIGURE_KINDS else _NOBODY if kind == "person" else _WRONG_KIND
        return 1.0 if _SIGNS[kind].search(text) else missing
    # A count must stand beside what is counted, *fourteen turbines*; in a row the label or the column says that.
    counts = list(_COUNT.finditer(text))
    if not counts or (piece.kind == "row" and not has_counts(piece.text)):
        return _NO_FIGURE
    beside = words_of(f"{piece.text.split('|')[0]} {piece.header}") if piece.kind == "row" else []
    for count in counts:
        beside += words_of(text[count.end() : count.end() + 100])[:5]
        beside += words_of(text[max(0, count.start() - 60) : count.start()])[-4:]
    return 1.0 if topics.intersection(map(stem, beside)) else _WRONG_KIND


def _year_factor(question: Question, passage: FiledPassage, piece: Piece) -> float:
    """Prefer pieces with the question's years in them or around them, or as the filing's own."""
    close = years_of(f"{piece.text} {piece.header} {piece.heading}")
    around = years_of(f"{piece.near} {passage.period} {passage.date}")
    values = [1.0 if year in close else _YEAR_AROUND if year in around else _WRONG_YEAR for year in question.years]
    return sum(values) / len(values) if values else 1.0


def _bonus(question: Question, piece: Piece, topics: frozenset[str]) -> float:
    """Prefer words that are adjacent or written as in the question, and a row that is named by them."""
    words = words_of(piece.text)
    stems = [stem(word) for word in words]
    pairs = set(pairwise(stem(word) for word in words_of(question.text)))
    label = [word for word in words_of(piece.text.split("|")[0]) if len(word) > 3] if piece.kind == "row" else []
    named = {stem(word) for word in label if word not in ("total", "net", "consolidated")}
    return (
        0.15 * len(pairs & set(pairwise(stems))) / max(len(pairs), 1)
        + 0.05 * bool(topics & set(stems[:4]))
        + 0.03 * len(set(question.topics) & set(words)) / max(len(question.topics), 1)
        + 0.03 * bool(question.years & years_of(piece.text))
        + (0.1 * len(named & topics) / len(named) if named else 0.0)
    )
