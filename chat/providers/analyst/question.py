"""A question as the analyst understands it: what it is about, whom it names, which years, and which kind of answer."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from chat.providers.analyst.kinds import Kind, kind_of
from chat.providers.analyst.language import FOREIGN_STOP_WORDS, is_foreign, without_elisions
from chat.providers.analyst.smalltalk import is_small_talk, without_opening
from chat.providers.analyst.words import FRAME_WORDS, STOP_WORDS, stem, words_of, years_of

_NAME = r"[A-Z0-9][\w.&\-]*(?:\s+(?:(?:of|and|&)\s+)?[A-Z][\w.&\-]*)*"
_POSSESSIVE = re.compile(rf"\b({_NAME})(?:['’]s|(?<=s)['’])(?=[\s?.,!]|$)")
_SUBJECT = re.compile(
    rf"\b(?:did|does|do|has|have|had|is|was|were|are|will|can|would|could|should|about|of|at|by)\s+"
    rf"({_NAME}(?:['’]s)?)(?=[\s?,.!]|$)",
)
# Measures of a question, and names of forms, say nothing of what it is about.
_WITHOUT = re.compile(
    r"\bhow (?:large|big|long|old|often|far|high|low|close|well|fast|soon|wide)\b|\b(?:10|8|20|40)-[KQF]\b", re.I
)
_LOWER_POSSESSIVE = re.compile(r"\b([a-z][\w&]{2,})['’]s\s")
_COMPARES = re.compile(
    r"\b(?:compar\w+|versus|vs|both|two companies|each company|differ\w*|which (?:of the )?(?:two )?compan(?:y|ies))\b",
    re.I,
)
_ASKS_TWICE = re.compile(
    r"\band (?:is|are|was|were|do|does|did|has|have|can|will|how|what|who|why|when|where|which|whether)\b", re.I
)
_ASKS_RECORD = re.compile(
    r"\b(?:when|what date|which date)\b.*\bfiled\b|\bfiling date\b|\bdate of (?:the )?filing\b|\b(?:what|which) form\b"
    r"|\bwhat (?:fiscal )?(?:year|period) (?:does|is)\b|\bwhich (?:fiscal )?(?:year|period) does\b",
    re.I,
)
# Markup, addresses and signs of markdown are no words to look for, and are not repeated to the reader.
_MARKUP = re.compile(
    r"<!--.*?-->|<(script|style)\b.*?</\1\s*>|</?[A-Za-z][^<>]*>|\b(?:https?://|www\.)\S+", re.S | re.I
)
_SIGNS = re.compile(r"[*`~^|\\<>{}\[\]=#]+|(?<!\w)_+|_+(?!\w)")
CLAUSE = re.compile(
    r"\b(?:how|who|why|when|where|which|whose|what|is|are|was|were|does|do|did|has|have|had|can|will|would|if)\b", re.I
)
# Filings spell these out, and their letters are too short to look for.
_IN_FULL = {"r&d": "research and development", "eps": "earnings per share"}
_ABBREVIATED = re.compile(r"\b(?:R&D|EPS)\b", re.I)
_WHOLE_BUSINESS = frozenset("business overview profile background introduction".split())  # noqa: SIM905
_EMPTY_FRAMES = frozenset("company information main detail kind".split())  # noqa: SIM905
_MAX_QUERY_CHARS = 300
_NAME_MOST_WORDS = 4


@dataclass(frozen=True, slots=True)
class Question:
    """``topics`` are the words that it is about, as written; ``frames`` the words around them. No word is in both.

    ``names`` are whom it speaks of by possessive or as subject: companies, perhaps places. ``context`` holds words of
    the question before that help to search and must not stand in an answer; ``carried`` the company from there.
    """

    text: str
    topics: tuple[str, ...]
    frames: tuple[str, ...]
    names: tuple[str, ...]
    years: frozenset[str]
    kind: Kind
    proper: frozenset[str] = frozenset()  # topics written with a capital inside a sentence
    context: tuple[str, ...] = ()
    carried: str | None = None
    is_foreign: bool = False

    @property
    def is_small_talk(self) -> bool:
        """Nothing is asked that a filing could answer: a greeting, thanks, or a question about who answers."""
        if self.names or self.years:
            return False
        return is_small_talk(self.text, self.topics, has_more=bool(self.frames))

    @property
    def asks_record(self) -> bool:
        """It asks what the record of a filing says: when it was filed, for which period."""
        return bool(_ASKS_RECORD.search(self.text))

    @property
    def compares(self) -> bool:
        """It asks about several companies side by side."""
        return bool(_COMPARES.search(self.text))

    @property
    def asks_twice(self) -> bool:
        """It asks a second thing after an *and*."""
        return bool(_ASKS_TWICE.search(self.text))

    @property
    def company(self) -> str | None:
        """The one company that it plainly speaks of; None where there is doubt, and the search decides."""
        if self.carried:
            return None if self.compares and self.proper else self.carried
        named = [name for name in self.names if name[0].isupper() or name[0].isdigit()]
        return named[0] if len(named) == 1 and not self.compares else None

    @property
    def is_overview(self) -> bool:
        """It names a company and asks nothing of it but what it is."""
        plain = not (set(self.topics) - _WHOLE_BUSINESS or set(self.frames) - _EMPTY_FRAMES or self.years)
        return plain and bool(self.company) and self.kind in ("any", "person") and not self.asks_record

    @property
    def is_bare_name(self) -> bool:
        """It is nothing but a few words that all have a capital, as a name has."""
        words = re.findall(r"[^\W\d_]\S*", self.text)
        return 0 < len(words) <= _NAME_MOST_WORDS and all(word[0].isupper() for word in words) and not self.years

    @property
    def nameable(self) -> frozenset[str]:
        """The words that may name a company, by their capitals. In a sentence an acronym is no name."""
        inner = {word for word in re.findall(r"\w[\w'’&-]+", self.text) if any(map(str.isupper, word[1:]))}
        acronyms = {part for word in inner if word.isupper() or "&" in word for part in words_of(word)}
        names = self.proper | {part for word in inner for part in words_of(word)}
        return names - acronyms if CLAUSE.search(self.text) else names

    @property
    def query(self) -> str:
        """The words to search for, in order, each once."""
        kept = {word.lower() for word in (*self.topics, *self.frames)} | set(self.years)
        words = re.findall(r"[^\s?!,;:()\"“”„«»¿¡？！、。]+", _WITHOUT.sub(" ", self.text))
        named = [word for name in self.names for word in name.split()]
        chosen = [word.strip(".'’") for word in words if _is_kept(word, kept, named)]
        told = {part for word in chosen for part in words_of(word)}
        chosen += [word for word in (*self.topics, *self.context) if word not in told]
        return " ".join(dict.fromkeys(chosen))[:_MAX_QUERY_CHARS] or self.text[:_MAX_QUERY_CHARS]

    @property
    def wide_query(self) -> str:
        """The words to search for in all filings: with the names, which a search for one company needs no more."""
        told = set(words_of(self.query))
        names = [name for name in self.names if not told.issuperset(words_of(name))]
        return " ".join((*names, self.query))[:_MAX_QUERY_CHARS]


def read_question(text: str) -> Question:
    """Understand a question by itself. Markup and a polite opening are passed over."""
    foreign = is_foreign(text)
    text = plain_text(without_elisions(text) if foreign else text)
    names = () if foreign else _names(text)
    words = _content_words(text, names, FOREIGN_STOP_WORDS if foreign else frozenset())
    return Question(
        text=text,
        topics=tuple(word for word in words if word not in FRAME_WORDS),
        frames=tuple(word for word in words if word in FRAME_WORDS),
        names=names,
        years=years_of(text),
        kind=kind_of(text),
        proper=frozenset() if foreign else _proper(text),
        is_foreign=foreign,
    )


def plain_text(text: str) -> str:
    """Return a message without tags, addresses, signs of markdown and a polite opening."""
    text = _ABBREVIATED.sub(lambda found: _IN_FULL[found[0].lower()], text)
    return without_opening(" ".join(_SIGNS.sub(" ", _MARKUP.sub(" ", text)).split()))


def _content_words(text: str, names: Iterable[str], passed_over: frozenset[str]) -> list[str]:
    named = {stem(word) for name in names for word in words_of(name)}
    words = dict.fromkeys(words_of(_WITHOUT.sub(" ", text)))
    empty = STOP_WORDS | passed_over | years_of(text)
    return [word for word in words if word not in empty and stem(word) not in named and len(word) > 1]


def _names(text: str) -> tuple[str, ...]:
    found = [match.group(1) for pattern in (_POSSESSIVE, _SUBJECT) for match in pattern.finditer(text)]
    found += [match.group(1) for match in _LOWER_POSSESSIVE.finditer(text)]
    if _COMPARES.search(text):
        found = [one for name in found for one in name.split(" and ")]
    names = (_without_lead(name) for name in found)
    return tuple(dict.fromkeys(name for name in names if name and not name.isdigit()))


def _proper(text: str) -> frozenset[str]:
    """Return the words that are names of something: a capital that no sentence's beginning explains."""
    inside = re.findall(r"(?<=[^.?!:\s\"“(])[ ,]+([A-Z][\w'’&-]+)", text)
    return frozenset(word for found in inside for word in words_of(found) if word not in STOP_WORDS)


def _without_lead(name: str) -> str:
    """Drop words at the front that only look like a name because a sentence begins there, and the stop at the end."""
    words = re.sub(r"['’]s$", "", name).split()
    while words and (words[0].lower() in STOP_WORDS or words[0].lower() in FRAME_WORDS or words[0].isdigit()):
        words = words[1:]
    return " ".join(words).rstrip(".")


def _is_kept(word: str, kept: set[str], named: list[str]) -> bool:
    bare = re.sub(r"['’]s?$", "", word.strip(".'’"))
    return word in named or bare in named or any(part in kept for part in words_of(word))
