"""The end of a text that was cut off, where half a secret may be left that no rule recognises."""

from __future__ import annotations

import re
from typing import Final

from reasoning.redaction.policy import REDACTED
from reasoning.redaction.rules.tokens import DISTINCT_PREFIXES, SHORT_PREFIXES

_LAST_WORD = re.compile(r"(?<!\S)\S++\Z")
# Runs of letters and digits that no secret has: a word, also in camel case, few digits, four of both.
_RUN = re.compile(r"[A-Za-z0-9]+")
_ORDINARY_RUN = re.compile(r"[A-Za-z]?[a-z]{0,24}|(?!AKIA|ASIA)[A-Z]{1,12}s?|\d{1,6}|[A-Za-z0-9]{1,4}")
_CAMEL_CASE = re.compile(r"(?!eyJ)[a-z]{0,24}(?:[A-Z][a-z]{1,24}){1,5}")
_MIN_HUMP_CHARS = 3  # on average
_MAX_MIXED_CHARS = 8
_MAX_DIGITS = 11
_PART_OF_TOKEN = re.compile(rf"(?<![A-Za-z0-9])(?:{'|'.join(DISTINCT_PREFIXES + SHORT_PREFIXES)})")
_USER_OF_URL = re.compile(r"//[^/\s]*(?:@|:(?!\d{1,5}(?:[/?#]|\Z)))")
_NO_YEARS = r"(?!(?:(?:19|20)\d\d[ /-]{0,3})+\Z)(?<!\d)"
_CUT_NUMBER = re.compile(rf"{_NO_YEARS}\d[\d .()/-]{{6,}}\Z")
# What is cut off within it is certain to be one: a card's number, a key block, an address.
_CUT_SECRET = re.compile(rf"{_NO_YEARS}(?:\d[ .()/-]{{0,2}}){{12,}}\Z|-{{5}}BEGIN [A-Z0-9 -]{{0,60}}\Z")
_CUT_EMAIL = re.compile(r"[^\s@]+@[\w.-]*\Z")
_CUT_OFF: Final = "…"


def without_cut_secret(text: str, *, personal: bool) -> tuple[str, bool]:
    """Return a redacted text with ``…`` in place of a last word that isn't ordinary, and whether one was masked.

    A mask replaces what is certain to be the beginning of something private; an address, where ``personal`` data is
    masked.
    """
    cut = _CUT_SECRET.search(text) or (_CUT_EMAIL.search(text) if personal else None)
    if cut:
        return text[: cut.start()] + REDACTED, True
    cut = _CUT_NUMBER.search(text) or _LAST_WORD.search(text)
    if cut is None or cut.group().endswith(REDACTED) or is_ordinary(cut.group()):
        return text, False
    return text[: cut.start()] + _CUT_OFF, False


def is_ordinary(word: str) -> bool:
    """Say whether no secret begins like this word or number. Letters beyond ASCII and punctuation are in none."""
    runs = _RUN.findall(word)
    odd = [run for run in runs if not _ORDINARY_RUN.fullmatch(run)]
    mixed = [run for run in runs if not run.isalpha() and not run.isdigit()]
    return (
        all(_CAMEL_CASE.fullmatch(run) and len(run) >= _MIN_HUMP_CHARS * sum(map(str.isupper, run)) for run in odd)
        and sum(map(len, mixed)) <= _MAX_MIXED_CHARS
        and sum(map(str.isdigit, word)) <= _MAX_DIGITS
        and " " not in word
        and not _PART_OF_TOKEN.search(word)
        and not _USER_OF_URL.search(word)
    )
