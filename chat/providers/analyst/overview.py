"""What a company is: the opening of its business section, or of a text that begins with its name."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import pairwise

from chat.providers.analyst.passages import Passage, Piece
from chat.providers.analyst.question import Question
from chat.providers.analyst.words import stem, words_of

OVERVIEW_QUERY = "business overview company general background subsidiaries"
OVERVIEW_LIMIT = 20
_SENTENCES = 2
_OPENING_PASSAGES = 3
_FEWEST_WORDS = 6
_MOST_CHARS = 600
_BUSINESS = re.compile(r"Item 1$")
_ANNUAL = re.compile(r"10-K|20-F|40-F")
_ORDINAL = re.compile(r"-p(\d+)$")
_DEFINES = re.compile(
    r"(?:,? (?:Inc|Corp|Corporation|Company|Co|Ltd|plc|LLC)\b\.?)?(?:,[^.,]{0,80},| \([^)]{0,80}\))*"
    r" (?:(?:is|was) (?:an?|the|one|engaged|organized|incorporated)\b|pioneered\b"
    r"|(?:operate|provide|design|manufacture|sell|make|develop|generate|store|offer|franchise|run|own|create|produce"
    r"|market|distribute|deliver|serve|supply|supplie|build|manage|invest|engage)s?\b)"
)


def names_only(question: Question, passages: Sequence[Passage]) -> bool:
    """Say whether a question is nothing but the name of the one company that these passages are of."""
    companies = {passage.company for passage in passages}
    if len(companies) != 1 or question.years or question.frames or question.is_foreign or not question.topics:
        return False
    named = set(map(stem, words_of(*companies)))
    first = [word for word in words_of(*companies) if word not in ("the", "a")][:1]
    topics = set(map(stem, question.topics))
    return topics <= named and bool(topics & set(map(stem, first)))


def unread_opening(passages: Iterable[Passage]) -> str | None:
    """Return the address of the business section's first passage, where what was found of it does not say enough."""
    found = sorted(_business(passages), key=_ordinal)
    is_told = any(_from(one, partial(_defines, one)) for one in found if _ordinal(one) <= _OPENING_PASSAGES)
    return None if is_told or not found else _ORDINAL.sub("-p1", found[0].url)


def opening(passages: Sequence[Passage]) -> tuple[Passage, str] | None:
    """Return the passage that says what the company is, and its first sentences, verbatim; None if none does.

    In the opening of a business section any sentence will do if none says what the company makes or does.
    """
    first = [one for one in sorted(_business(passages), key=_ordinal) if _ordinal(one) <= _OPENING_PASSAGES]
    said = [(passage, _from(passage, partial(_defines, passage))) for passage in first]
    said += [(passage, _from(passage, _any)) for passage in first]
    said += [(passage, _from(passage, partial(_defines, passage))) for passage in passages]
    return next(((passage, told) for passage, told in said if told), None)


def _any(_piece: Piece) -> bool:
    return True


def _from(passage: Passage, begins: Callable[[Piece], bool]) -> str:
    pieces = [piece for piece in passage.pieces if _says_enough(piece)]
    place = next((place for place, piece in enumerate(pieces) if begins(piece)), None)
    return "" if place is None else _first_sentences(passage, pieces[place:])


def _business(passages: Iterable[Passage]) -> list[Passage]:
    return [one for one in passages if _BUSINESS.match(one.section) and _ANNUAL.match(one.filing)]


def _ordinal(passage: Passage) -> int:
    found = _ORDINAL.search(passage.url)
    return int(found[1]) if found else 10_000


def _says_enough(piece: Piece) -> bool:
    return piece.kind == "sentence" and len(words_of(piece.text)) >= _FEWEST_WORDS and not piece.text.endswith(":")


def _first_sentences(passage: Passage, pieces: Sequence[Piece]) -> str:
    """Return the first sentences that stand together, as one stretch of the passage."""
    start = passage.text.find(pieces[0].text)
    end = start + len(pieces[0].text)
    for _before, piece in pairwise(pieces[:_SENTENCES]):
        following = passage.text.find(piece.text, end)
        if (
            following >= 0
            and not passage.text[end:following].strip()
            and following + len(piece.text) - start <= _MOST_CHARS
        ):
            end = following + len(piece.text)
    return passage.text[start:end]


def _defines(passage: Passage, piece: Piece) -> bool:
    first = next((word for word in passage.company.split() if word.lower() not in ("the", "a")), "")
    subject = rf"(?:The )?(?:{re.escape(first)}(?:[ ’'][\w.&’']+){{0,4}}?|We|Company)"
    return re.match(subject + _DEFINES.pattern, piece.text, re.I) is not None
