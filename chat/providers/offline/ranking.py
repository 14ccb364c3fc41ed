"""Which pieces answer a question: how much of what it asks about is in them, or right around them.

A word counts by how rare it is among the passages at hand. A word that is in none of them weighs most and is missing
everywhere, so a question about something else scores low. From ``THRESHOLD`` on a piece is an answer.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from chat.providers.offline.passages import QUOTABLE, FiledPassage, PassagePiece, ToolMessage
from chat.providers.offline.question import (
    FRAME_WORDS,
    STOP_WORDS,
    AnswerKind,
    Question,
    names_one_of,
    stem,
    stems_of,
    synonyms_of,
    words_of,
    years_of,
)

# Chosen on sample questions: a lower one answers what the filings don't say, a higher one refuses too much.
THRESHOLD = 0.45
_FRAME_WEIGHT, _PROPER_WEIGHT = 0.3, 2.0  # against the weight of a topic
_IN_PIECE, _SYNONYM, _IN_HEADING, _NEAR, _IN_PASSAGE = 1.0, 0.8, 0.7, 0.5, 0.35
_LEAST_ASKED = 0.3  # of what is asked of a document that the question names
_MODIFIER = 0.6  # a word that only qualifies another: the debt of "debt service ratio"
_WRONG_YEAR = 0.4
_NO_FIGURE, _WRONG_KIND = 0.6, 0.8  # it doesn't hold the kind of thing that was asked for
_CLOSE_TO_BEST = 0.85  # the share of the best score that another quotation must have
_REPEATS = 0.6  # of the shorter one's words

_NUMBER_WORD = r"(?:two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|\w+teen|dozen)"
_MONTH = r"\b(?:January|February|March|April|May|June|July|August|September|October|November|December)\b"
_NAME = r"\b[A-Z][\w’'-]+ (?:[A-Z]\. )?[A-Z][\w’'-]+"
SIGNS: dict[AnswerKind, re.Pattern[str]] = {
    "figure": re.compile(rf"\d|\b{_NUMBER_WORD}\b", re.I),
    "money": re.compile(r"[$€£¥]\s?\d|\d[\d,.]*\s*(?:million|billion|thousand|\|)|\|\s*\(?\d[\d,.]*+(?!\s*%)", re.I),
    "percent": re.compile(rf"(?:\d|\b{_NUMBER_WORD})\s*(?:%|percent)|\bhalf\b", re.I),
    "date": re.compile(rf"\b(?:19|20)\d\d\b|{_MONTH}"),
    "person": re.compile(_NAME),
    "agent": re.compile(rf"{_NAME}|\b(?:Officer|President|Chair\w*|Director|Committee|Head|LLP)\b"),
    "cause": re.compile(r"\b(?:would|could|might|can|may)\b"),
    "reason": re.compile(
        r"\b(?:because|due|driven|reflect\w*|result\w*|attributable|caused?|owing|primarily|offset)\b", re.I
    ),
}
# Titles of sections by which a question may ask for what is in them.
_RISKS, _LAWSUITS = "risk factors", "legal proceedings"
_SECTIONS = {"Item 1A": _RISKS, "Part II, Item 1A": _RISKS, "Item 3": _LAWSUITS, "Part II, Item 1": _LAWSUITS}
_WORD_AND_NEXT = re.compile(r"([^\W\d_]+)(?=(?: ([a-z]+)\b)?)")
_NEEDS_DIGITS = frozenset({"figure", "money", "percent"})


@dataclass(frozen=True, slots=True)
class ScoredPiece:
    """A piece and how well it answers, 0 to about 1."""

    passage: FiledPassage
    piece: PassagePiece
    score: float
    bonus: float  # orders pieces that hold as much, and lifts none over the threshold

    @property
    def total(self) -> float:
        return self.score + self.bonus

    @property
    def content(self) -> frozenset[str]:
        """Stems of the words that say something."""
        return frozenset(stem(word) for word in words_of(self.piece.text) if word not in STOP_WORDS)


def rank(question: Question, passages: Sequence[FiledPassage]) -> list[ScoredPiece]:
    """Return every piece that can be quoted, best first."""
    # 1. The words of the question, each with a weight: what kind of word it is, times how rare it is here.
    pieces = [(passage, piece, stems_of(piece.text)) for passage in passages for piece in passage.pieces]
    topics = frozenset(map(stem, question.topics))
    factors = dict.fromkeys(map(stem, question.frames), _FRAME_WEIGHT) | dict.fromkeys(topics, 1.0)
    named = [stem(word) for word in words_of(" ".join(question.names)) if word not in STOP_WORDS | FRAME_WORDS]
    factors |= dict.fromkeys(named, _PROPER_WEIGHT)
    # The companies of these passages are named everywhere, so their names weigh nothing.
    companies = stems_of(" ".join(passage.company for passage in passages))
    # Rarity is counted in the passages at hand: the analyst reads nothing else.
    counts = Counter(stemmed for _passage, _piece, stems in pieces for stemmed in stems)
    weights = {
        word: factor * math.log((len(pieces) + 1) / (counts[word] + 0.5))
        for word, factor in factors.items()
        if word not in companies
    }
    # 2. What counts as the subject, without the names that all passages share.
    said: defaultdict[str, frozenset[str]] = defaultdict(frozenset)
    for passage, _piece, stems in pieces:
        said[passage.source] |= stems
    inside = {passage.ref: stems_of(passage.text) for passage in passages}
    subject = topics - companies
    phrases = frozenset(pairs_of(question.text, but=companies))
    # 3. Each piece: where it has each word decides how much of the weight counts.
    candidates = []
    for passage, piece, stems in pieces:
        if piece.kind not in QUOTABLE:
            continue
        title = stems_of(_SECTIONS.get(passage.section, ""))
        if subject and subject <= title:
            # What are the risks?: all of the section answers, and best what says what could happen.
            bonus = 0.1 * bool(SIGNS["cause"].search(piece.text))
            candidates.append(ScoredPiece(passage, piece, _IN_HEADING, bonus))
            continue
        above = stems_of(f"{piece.heading} {piece.header}")
        around = stems_of(f"{passage.company} {passage.filing} {passage.title} {passage.section}") | title
        near = stems_of(piece.near)
        modifiers = modifiers_in(piece.text) if question.kind in _NEEDS_DIGITS else frozenset()
        there = said[passage.source]
        if passage.is_attached:
            around |= there & frozenset(named)  # a document says once whose it is
        matches = match_words(weights, stems - modifiers, above | around, stems, near, inside[passage.ref])
        score = weighted_share(weights, matches)
        # A title or a name says where to look. Any name or number there would do for *Who?* or *How many?*, whatever is
        # asked: that must be there too.
        asked = {
            word: weight if there & {word, *synonyms_of(word)} else factors[word] * math.log(2 * len(pieces) + 2)
            for word, weight in weights.items()
            if passage.is_attached and word not in stems_of(passage.title) and word not in named
        }
        if asked and question.kind != "any" and (share := weighted_share(asked, matches)) < _LEAST_ASKED:
            score = min(score, share)
        score *= kind_factor(question.kind, piece, topics) * year_factor(question, passage, piece)
        candidates.append(ScoredPiece(passage, piece, score, wording_bonus(piece, phrases)))
    return sorted(candidates, key=lambda one: -one.total)


def match_words(
    words: Iterable[str],
    topics: frozenset[str],
    around: frozenset[str],
    stems: frozenset[str],
    near: frozenset[str],
    passage: frozenset[str],
) -> dict[str, float]:
    """Return how much of each word's weight counts, by the nearest place that has it.

    ``topics`` are the ``stems`` of a piece that don't only qualify another word.
    """
    matches: dict[str, float] = {}
    for word in words:
        synonyms = synonyms_of(word)
        if word in topics:
            matches[word] = _IN_PIECE
        elif synonyms & stems:
            matches[word] = _SYNONYM
        elif word in around:
            matches[word] = _IN_HEADING
        elif word in stems:
            matches[word] = _MODIFIER
        elif word in near or synonyms & around:
            matches[word] = _NEAR
        else:
            matches[word] = _IN_PASSAGE if word in passage else 0.0
    return matches


def weighted_share(weights: Mapping[str, float], matches: Mapping[str, float]) -> float:
    """Return how much of the weight of these words is matched."""
    return sum(weight * matches[word] for word, weight in weights.items()) / (sum(weights.values()) or 1.0)


def pairs_of(text: str, *, but: frozenset[str] = frozenset()) -> Iterator[tuple[str, str]]:
    """Yield the stems of adjacent words, also of those that say something: *breach our debt* holds *breach debt*."""
    words = words_of(text)
    yield from pairwise(map(stem, words))
    stems = (stem(word) for word in words if word not in STOP_WORDS)
    yield from pairwise(word for word in stems if word not in but)


def modifiers_in(text: str) -> frozenset[str]:
    """Return the stems of words that only precede another one: the debt of *debt service ratio*."""
    words = [(match[1].lower(), match[2]) for match in _WORD_AND_NEXT.finditer(text)]
    alone = {stem(word) for word, following in words if not following or following in STOP_WORDS}
    return frozenset(stem(word) for word, _following in words) - alone


def kind_factor(kind: AnswerKind, piece: PassagePiece, topics: frozenset[str]) -> float:
    """Return 1 where the piece holds the kind of thing asked for, less where it does not."""
    if kind == "any":
        return 1.0
    if kind == "cause":
        # What could breach it: the topics come after *could*, as an effect.
        modal = SIGNS[kind].search(piece.text)
        effects = stems_of(re.split("[,;]", piece.text[modal.end() :])[0]) if modal else frozenset()
        return 1.0 if any(effects & {topic, *synonyms_of(topic)} for topic in topics) else _WRONG_KIND
    missing = _WRONG_KIND if kind in ("agent", "reason") else _NO_FIGURE
    return 1.0 if SIGNS[kind].search(piece.text) else missing


def year_factor(question: Question, passage: FiledPassage, piece: PassagePiece) -> float:
    """Return 1 where all years of the question are in a piece, around it or the filing's own, less where not."""
    near = f"{piece.text} {piece.header} {piece.heading} {piece.near} {passage.period} {passage.date}"
    return 1.0 if question.years <= years_of(near) else _WRONG_YEAR


def wording_bonus(piece: PassagePiece, phrases: frozenset[tuple[str, str]]) -> float:
    """Prefer words that are adjacent as in the question, the earlier the better."""
    words = words_of(piece.text) or [""]
    adjacent = list(pairwise(map(stem, words)))
    pairs = set(pairs_of(piece.text)) | set(pairs_of(piece.heading))
    return 0.15 * len(phrases & pairs) / max(len(phrases), 1) + 0.05 * (
        1 - next((place for place, pair in enumerate(adjacent) if pair in phrases), len(words)) / len(words)
    )


def choose(candidates: Sequence[ScoredPiece], question: Question, *, limit: int) -> list[ScoredPiece]:
    """Return the best pieces above the threshold, one a passage, and none that only repeats another.

    In a comparison each company's best comes first.
    """
    good = [one for one in candidates if one.score >= THRESHOLD]
    first_of_company = {one.passage.company: one for one in reversed(good)}
    if question.compares and len(first_of_company) > 1:
        good = sorted(first_of_company.values(), key=lambda one: -one.score)
    else:
        good = [one for one in good if one.total >= good[0].total * _CLOSE_TO_BEST]
    chosen: list[ScoredPiece] = []
    for one in good:
        if all(one.passage.ref != other.passage.ref and not repeats(one, other) for other in chosen):
            chosen.append(one)
    return chosen[:limit]


def repeats(one: ScoredPiece, other: ScoredPiece) -> bool:
    """Say whether two pieces share most words of the shorter one."""
    return len(one.content & other.content) >= _REPEATS * min(len(one.content), len(other.content))


def unknown_name(question: Question, result: ToolMessage) -> str | None:
    """Return whom the question is about where these passages are about others; None if that is in order.

    A name that no company here bears may be a place or a thing of one: then a text says *at* it or *in* it, or heads a
    row with it. Anything else would be answered from another company's text.
    """
    if question.company or names_one_of(" ".join((question.text, *question.names)), result.companies):
        return None
    for name in question.names:
        place = re.compile(rf"\b(?:at|in|near|off) (?:the |our )?{re.escape(name)}\b|^{re.escape(name)} \|", re.M)
        if not any(place.search(one.text) or (one.is_attached and name in one.text) for one in result.passages):
            return name
    return None
