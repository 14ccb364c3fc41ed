"""A question as the analyst understands it: what it is about, whom it names, which years, and which kind of answer."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from chat.providers.analyst.words import FRAME_WORDS, STOP_WORDS, stem, words_of, years_of

Kind = Literal["number", "money", "percent", "date", "person", "place", "reason", "any"]

_NAME = r"[A-Z0-9][\w.&\-]*(?:\s+(?:(?:of|and|&)\s+)?[A-Z][\w.&\-]*)*"
_POSSESSIVE = re.compile(rf"\b({_NAME})(?:['’]s|(?<=s)['’])(?=\s)")
_SUBJECT = re.compile(
    rf"\b(?:did|does|do|has|have|had|is|was|were|are|will|can|would|could|should|about|of|at|by)\s+"
    rf"({_NAME}(?:['’]s)?)(?=[\s?,.]|$)",
)
# Measures of a question, and names of forms, say nothing of what it is about.
_WITHOUT = re.compile(
    r"\bhow (?:large|big|long|old|often|far|high|low|close|well|fast|soon|wide)\b|\b(?:10|8|20|40)-[KQF]\b", re.I
)
_LOWER_POSSESSIVE = re.compile(r"\b([a-z][\w&]{2,})['’]s\s")
_KINDS: tuple[tuple[Kind, re.Pattern[str]], ...] = (
    (
        "percent",
        re.compile(r"\b(?:percent\w*|what (?:share|part|portion|proportion)|what (?:\w+ ){0,4}rate\b|%)", re.I),
    ),
    ("number", re.compile(r"\bhow (?:many|large|big|long|often|far)\b|\bnumber of\b", re.I)),
    ("date", re.compile(r"\bwhen\b|\b(?:what|which) (?:\w+ )?(?:date|day|month|year)\b", re.I)),
    ("person", re.compile(r"\bwho(?:m|se)?\b", re.I)),
    ("place", re.compile(r"\bwhere\b|\bin (?:which|what) (?:city|country|court|place|state)\b", re.I)),
    ("reason", re.compile(r"\bwhy\b|\bhow come\b|\bwhat (?:caused|led|drove)\b", re.I)),
    (
        "money",
        re.compile(
            r"\bhow much\b|\bwhat (?:was|were|is|are|did|does|do|has|have)\b.*"
            r"\b(?:sales|revenues?|income|earnings|profit|loss|costs?|expenses?"
            r"|cash|debt|assets|liabilities|dividends?|margin|charge|price)\b",
            re.I,
        ),
    ),
)
_LEANS_BACK = re.compile(
    r"^\s*(?:and|or|but|so|what about|how about|what of|same|also|then)\b"
    r"|\b(?:it|its|they|their|them|that|this|those|he|she)\b",
    re.I,
)


_COMPARES = re.compile(r"\b(?:compar\w+|versus|vs|both|two companies|each company|differ\w*)\b", re.I)
_ASKS_RECORD = re.compile(
    r"\b(?:when|what date|which date)\b.*\bfiled\b|\bfiling date\b|\bdate of (?:the )?filing\b|\b(?:what|which) form\b"
    r"|\bwhat (?:fiscal )?(?:year|period) (?:does|is)\b|\bwhich (?:fiscal )?(?:year|period) does\b",
    re.I,
)
_SMALL_TALK = frozenset(
    """hello hi hey thanks thank good morning evening afternoon night ok okay bye cool great nice test testing ping
    help welcome sorry yes no sure fine name model version bot chatbot work joke""".split()  # noqa: SIM905
)
_ABOUT_ITSELF = re.compile(
    r"\b(?:who|what) are you\b|\bwhat can (?:you|i) (?:do|ask)\b|\bare you (?:an?|real|chat\w*)\b|\bhow do you work\b"
    r"|\b(?:which|what) (?:language )?model are you\b|\byour (?:name|model|version)\b|\bwho (?:made|built) you\b",
    re.I,
)


@dataclass(frozen=True, slots=True)
class Question:
    """``topics`` are the words that it is about, as written; ``frames`` the words around them. No word is in both.

    ``names`` are whom it speaks of by possessive or as subject: companies, perhaps places.
    """

    text: str
    topics: tuple[str, ...]
    frames: tuple[str, ...]
    names: tuple[str, ...]
    years: frozenset[str]
    kind: Kind
    proper: frozenset[str] = frozenset()  # topics written with a capital inside a sentence

    @property
    def is_small_talk(self) -> bool:
        """Nothing is asked that a filing could answer: a greeting, thanks, or a question about who answers."""
        asked = set(self.topics) - _SMALL_TALK
        return bool(_ABOUT_ITSELF.search(self.text)) or not (asked or self.frames or self.names or self.years)

    @property
    def asks_record(self) -> bool:
        """It asks what the record of a filing says: when it was filed, for which period."""
        return bool(_ASKS_RECORD.search(self.text))

    @property
    def compares(self) -> bool:
        """It asks about several companies side by side."""
        return bool(_COMPARES.search(self.text))

    @property
    def company(self) -> str | None:
        """The one company that it plainly speaks of; None where there is doubt, and the search decides."""
        named = [name for name in self.names if name[0].isupper() or name[0].isdigit()]
        return named[0] if len(named) == 1 and not self.compares else None

    @property
    def query(self) -> str:
        """The words to search for, in order, each once."""
        kept = {word.lower() for word in (*self.topics, *self.frames)} | set(self.years)
        words = re.findall(r"[^\s?!,;:()\"“”]+", _WITHOUT.sub(" ", self.text))
        named = [word for name in self.names for word in name.split()]
        chosen = [word.strip(".'’") for word in words if _is_kept(word, kept, named)]
        return " ".join(dict.fromkeys(chosen))[:300] or self.text[:300]


def read_question(text: str, earlier: Sequence[str] = ()) -> Question:
    """Understand a question; ``earlier`` ones, oldest first, fill in what a follow-up leaves out."""
    question = _read(text)
    if (
        earlier
        and (not question.names or len(question.topics) < 2)
        and (_LEANS_BACK.search(text) or _is_bare(question))
    ):
        return _completed(question, read_question(earlier[-1], earlier[:-1][-3:]))
    return question


def _read(text: str) -> Question:
    names = _names(text)
    named = {stem(word) for name in names for word in words_of(name)}
    words = [
        word
        for word in dict.fromkeys(words_of(_WITHOUT.sub(" ", text)))
        if word not in STOP_WORDS and stem(word) not in named
    ]
    words = [word for word in words if word not in years_of(text) and len(word) > 1]
    return Question(
        text=text,
        topics=tuple(word for word in words if word not in FRAME_WORDS),
        frames=tuple(word for word in words if word in FRAME_WORDS),
        names=names,
        years=years_of(text),
        kind=next((kind for kind, pattern in _KINDS if pattern.search(text)), "any"),
        proper=_proper(text),
    )


def _completed(question: Question, before: Question) -> Question:
    """Fill a follow-up from the question before it: whom it is about, and what, unless it says so itself."""
    names = question.names or before.names
    if len(question.topics) >= 2:
        return replace(question, text=_joined(question.text, names), names=names)
    topics = tuple(dict.fromkeys((*before.topics, *question.topics)))
    years = question.years or before.years
    words = (*names, *topics, *before.frames, *question.frames, *sorted(years))
    kind = before.kind if question.kind == "any" else question.kind
    frames = tuple(dict.fromkeys((*before.frames, *question.frames)))
    return Question(" ".join(words), topics, frames, names, years, kind, before.proper | question.proper)


def _joined(text: str, names: tuple[str, ...]) -> str:
    return text if not names or names[0] in text else f"{names[0]} {text}"


def _is_bare(question: Question) -> bool:
    return len(question.topics) < 2 and not question.names


def _names(text: str) -> tuple[str, ...]:
    found = [match.group(1) for pattern in (_POSSESSIVE, _SUBJECT) for match in pattern.finditer(text)]
    found += [match.group(1) for match in _LOWER_POSSESSIVE.finditer(text)]
    names = (_without_lead(name) for name in found)
    return tuple(dict.fromkeys(name for name in names if name and not name.isdigit()))


def _proper(text: str) -> frozenset[str]:
    """Return the words that are names of something: a capital that no sentence's beginning explains."""
    inside = re.findall(r"(?<=[^.?!:\s\"“(])[ ,]+([A-Z][\w'’&-]+)", text)
    return frozenset(word for found in inside for word in words_of(found) if word not in STOP_WORDS)


def _without_lead(name: str) -> str:
    """Drop words at the front that only look like a name because a sentence begins there."""
    words = re.sub(r"['’]s$", "", name).split()
    while words and (words[0].lower() in STOP_WORDS or words[0].lower() in FRAME_WORDS or words[0].isdigit()):
        words = words[1:]
    return " ".join(words)


def _is_kept(word: str, kept: set[str], named: list[str]) -> bool:
    bare = re.sub(r"['’]s?$", "", word.strip(".'’"))
    return word in named or bare in named or any(part in kept for part in words_of(word))
