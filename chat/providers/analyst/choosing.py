"""Which of the pieces that answer are quoted: the best, and others only where they add something."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from chat.providers.analyst.kinds import Kind
from chat.providers.analyst.question import Question
from chat.providers.analyst.scoring import THRESHOLD, Found
from chat.providers.analyst.signs import FIGURES, has_figure
from chat.providers.analyst.words import STOP_WORDS, stem, words_of

_LEAST_OF_BEST = 0.85
_LEAST_OF_BEST_FOR_OTHER_HALF = 0.7
_LEAST_HELD_OF_BEST = 0.85
_LEAST_BONUS_OF_BEST = 0.5
_TWIN_SCORE = 0.03
_MOST_ALIKE = 0.6  # of the smaller one's words


def choose(found: Sequence[Found], question: Question, *, limit: int) -> list[Found]:
    """Return the best pieces above the threshold, one a passage, and none that only repeats another.

    A second must be nearly as good as the best and hold the words itself, not beside it. Where two things are asked it
    may also hold words that the first lacks. In a comparison each company's best comes first.
    """
    good = _fullest_first([one for one in found if one.score >= THRESHOLD])
    chosen: list[Found] = []
    for one in _company_by_company(good, question) if question.compares else _close_to_best(good, question):
        if not chosen or (_holds_figure(one, question.kind) and all(_adds(one, other) for other in chosen)):
            chosen.append(one)
    return chosen[:limit]


def _fullest_first(good: list[Found]) -> list[Found]:
    """Put a fuller wording of the best piece in its place, *$30 million* for *$30*: filings say many things twice."""
    if not good:
        return []
    words = _content(good[0])
    fuller = [one for one in good if one.score >= good[0].score - _TWIN_SCORE and _content(one) > words]
    best = max(fuller, key=lambda one: one.score + one.bonus, default=good[0])
    return [best, *(one for one in good if one is not best)]


def _close_to_best(good: Sequence[Found], question: Question) -> Iterator[Found]:
    for one in good:
        is_other_half = question.asks_twice and _completes(one, good[0])
        if one is good[0] or is_other_half or _is_close(one, good[0]):
            yield one


def _completes(one: Found, best: Found) -> bool:
    """Say whether a piece holds as much of the question as the best, and other words of it."""
    is_as_full = len(one.words) >= len(best.words) and bool(one.words - best.words)
    return is_as_full and one.score >= best.score * _LEAST_OF_BEST_FOR_OTHER_HALF


def _is_close(one: Found, best: Found) -> bool:
    least = (best.score + best.bonus) * _LEAST_OF_BEST
    if one.bonus < best.bonus * _LEAST_BONUS_OF_BEST:
        return False
    return one.score + one.bonus >= least and one.held >= best.held * _LEAST_HELD_OF_BEST


def _company_by_company(found: Sequence[Found], question: Question) -> list[Found]:
    firsts = {one.passage.company: one for one in reversed(found)}
    leading = sorted(firsts.values(), key=lambda one: -one.score)
    return leading if len(leading) > 1 else list(_close_to_best(found, question))


def _adds(one: Found, other: Found) -> bool:
    """Say whether a piece tells more than another: it stands in another passage, and in other words."""
    if one.passage.ref == other.passage.ref:
        return False
    words, said = _content(one), _content(other)
    return len(words & said) < _MOST_ALIKE * min(len(words), len(said))


def _holds_figure(one: Found, kind: Kind) -> bool:
    """Where a figure was asked for, a sentence without any is no second answer."""
    return kind not in FIGURES or kind == "date" or has_figure(one.piece.text)


def _content(one: Found) -> frozenset[str]:
    return frozenset(stem(word) for word in words_of(one.piece.text) if word not in STOP_WORDS)
