"""Where sentences end, and which pieces of a paragraph are no whole sentence."""

from __future__ import annotations

import re
from collections.abc import Iterator

_ABBREVIATIONS = frozenset(
    """inc corp co ltd llc lp plc bros mr mrs ms dr prof st jr sr vs v no nos fig sec art ch vol approx est dept ext
    rev gen gov sen rep messrs jan feb mar apr jun jul aug sep sept oct nov dec e.g i.e etc cf al a.m p.m u.s u.k n.a
    d.c""".split()  # noqa: SIM905
)
_END = re.compile(r"[.!?][\"”’')\]]*\s+(?=[\"“‘('\[$€£•]*[A-Z0-9])")
_STOPPED = re.compile(r"[.!?:;][\"”’'*)\]]*(?:\s*[;,]?\s*(?:and|or))?$")
_BULLET = re.compile(r"^[•·▪◦●\-–—*☐☒]")
_REFERENCE = re.compile(
    r"(?:Please )?(?:refer to|see|for (?:more|additional|further|a) (?:\w+ )?(?:information|discussion|details?))\b",
    re.I,
)
_HEADING_MOST_WORDS = 4


def split_sentences(text: str) -> Iterator[str]:
    """Yield the sentences of a paragraph, verbatim."""
    start = 0
    for match in _END.finditer(text):
        if not _is_abbreviated(text[start : match.start() + 1], text[match.end() :]):
            yield text[start : match.end()].strip()
            start = match.end()
    rest = text[start:].strip()
    if rest:
        yield rest


def is_unfinished(sentence: str) -> bool:
    """Say whether a sentence was cut off: it has no stop, or begins in its middle. An item of a list needs neither."""
    if _BULLET.match(sentence):
        return False
    return sentence[:1].islower() or not _STOPPED.search(sentence)


def is_list_item(text: str) -> bool:
    """Say whether a text is one item of a list."""
    return bool(_BULLET.match(text))


def refers_elsewhere(sentence: str) -> bool:
    """Say whether a sentence only says where more is to be read."""
    return bool(_REFERENCE.match(sentence))


def is_run_in_heading(sentence: str) -> bool:
    """Say whether a sentence only titles those after it: *Comparable Sales.*"""
    words = re.findall(r"[^\W\d_][\w'’-]*", sentence)
    if not sentence.endswith(".") or not 0 < len(words) <= _HEADING_MOST_WORDS or re.search(r"\d", sentence):
        return False
    return all(word[0].isupper() for word in words if len(word) > 3)


def _is_abbreviated(before: str, after: str) -> bool:
    """Say whether the stop that ends ``before`` belongs to a word, an initial, or a number as in ``No. 5``."""
    if not before.endswith("."):
        return False
    last = re.split(r"[\s(“\"—–]", before[:-1])[-1].lower()
    if last in ("no", "nos"):
        return after[:1].isdigit()
    return last in _ABBREVIATIONS or re.fullmatch(r"(?:[a-z]\.)*[a-z]", last) is not None
