"""Words as the analyst compares them: stems, and the few groups of words that filings and people use for one thing."""

from __future__ import annotations

import re
from functools import lru_cache

_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*|\d+(?:[.,]\d+)*")
_YEAR = re.compile(r"\b(?:19|20)\d\d\b")
_ENDINGS = (
    *("ations", "ation", "ments", "ment", "ities", "ity", "ings", "ing", "ions", "ion"),
    *("ates", "ated", "ate", "ies", "ied", "ed", "es", "ly", "e", "s"),
)
_GROUPS = """
spend spent expense cost expenditure
pay paid payment
profit income earning
sales revenue turnover
buy bought purchase acquire acquisition takeover
repurchase buyback
fall fell drop decline decrease lower reduce
rise rose grow grew growth increase higher
shareholder stockholder holder
staff worker employee workforce headcount
headquarter headquartered address
ticker symbol
ceo chief
cfo chief financial
salary compensation remuneration
biggest largest greatest
minimum least smallest lowest
maximum most highest
lawsuit litigation suit case proceeding sue
shop store outlet
form found organized incorporate establish
debt borrowing
appoint become became name elect promote succeed
breach violate default
covenant ratio requirement
country nation
auditor audit accountant
hack cyber cybersecurity
leak release
outage downtime interruption
insure insured insurance
"""
# Questions name the kind, filings the case: the right words answer the left one, not the other way round.
_CASES = """
change: increase decrease rise fall grow decline up down higher lower
trend: increase decrease rise fall grow decline
"""
STOP_WORDS = frozenset(
    """a about after all also am an and any are as at be been before being between both but by can could did do does
    doing during each either else ever few for from further get give given gives got had has have having he her here
    hers him his how i if in into is it its itself just let like list many me more most much must my no nor not of off
    on once one only or other our out over own per please same say says she should show shows so some such tell than
    that the their them then there these they this those through to too under until up us very was we were what when
    where whether which while who whom whose why will with within without would you your yours according ago already
    anything came come comes mean means happen happens happened happening know find explain describe summarise summarize
    compare look looks went two three four bring brings brought take takes took taken make makes made put go goes keep
    kept""".split()  # noqa: SIM905
)
# Words that say which kind of answer is wanted, or frame the question, more than what it is about.
FRAME_WORDS = frozenset(
    """amount annual answer company companies cover date day describes detail document end exact exactly fact figure
    file filed filing filings first fiscal fourth information kind last latest level main mention new number part
    percent percentage period portion proportion quarter question quarterly recent related report reported say second
    share stated statement third total type value versus year years yearly""".split()  # noqa: SIM905
)


def words_of(text: str) -> list[str]:
    """Return the words and numbers of a text in lower case, possessives without their ending."""
    return [_bare(word) for word in _WORD.findall(text.lower())]


def stems_of(text: str) -> frozenset[str]:
    """Return the stems of a text's words."""
    return frozenset(map(stem, words_of(text)))


def years_of(text: str) -> frozenset[str]:
    """Return the years that a text names."""
    return frozenset(_YEAR.findall(text))


@lru_cache(maxsize=20_000)
def stem(word: str) -> str:
    """Return a word without its ending. Crude on purpose: both sides of a comparison are cut alike."""
    if word[:1].isdigit() or len(word) < 4:
        return word
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3 and not (ending == "s" and word.endswith("ss")):
            return _single_end(word[: -len(ending)]) + ("y" if ending in ("ies", "ied") else "")
    return word


def kin_of(stemmed: str) -> frozenset[str]:
    """Return the stems that mean about the same, without the word itself."""
    return _KIN.get(stemmed, frozenset())


def _single_end(stemmed: str) -> str:
    """Undo a consonant that was doubled before the ending: *planned* is *plan*."""
    is_doubled = len(stemmed) > 3 and stemmed[-1] == stemmed[-2] and stemmed[-1] not in "aeioulsz"
    return stemmed[:-1] if is_doubled else stemmed


def _bare(word: str) -> str:
    return re.sub(r"['’]s?$", "", word).replace("’", "'")


def _kin() -> dict[str, frozenset[str]]:
    table: dict[str, frozenset[str]] = {}
    for line in _GROUPS.strip().splitlines():
        group = frozenset(map(stem, line.split()))
        for member in group:
            table[member] = table.get(member, frozenset()) | (group - {member})
    for line in _CASES.strip().splitlines():
        kind, cases = line.split(":")
        table[stem(kind)] = table.get(stem(kind), frozenset()) | frozenset(map(stem, cases.split()))
    return table


_KIN = _kin()
# Stems that say that something rose or fell, not what.
MOVES = frozenset(map(stem, " ".join(_CASES.replace(":", " ").split()).split()))
