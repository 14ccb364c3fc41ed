"""Which kind of answer a question asks for: read off its question words, and off a few nouns that say it."""

from __future__ import annotations

import re
from typing import Literal

Kind = Literal["number", "figure", "money", "percent", "date", "person", "place", "reason", "any"]

_KINDS: tuple[tuple[Kind, re.Pattern[str]], ...] = (
    (
        "percent",
        re.compile(r"\b(?:percent\w*|what (?:share|part|portion|proportion)|what (?:\w+ ){0,4}rate\b|%)", re.I),
    ),
    ("number", re.compile(r"\bhow many\b|\bnumber of\b", re.I)),
    (
        "figure",
        re.compile(r"\bby how much\b|\bhow (?:large|big|long|often|far)\b|\b(?:what|which)\b.*\bratio\b", re.I),
    ),
    ("date", re.compile(r"\bwhen\b|\b(?:what|which) (?:\w+ )?(?:date|day|month|year)\b", re.I)),
    ("person", re.compile(r"\bwho(?:m|se)?\b", re.I)),
    ("place", re.compile(r"\bwhere\b|\bin (?:which|what) (?:city|country|court|place|state)\b", re.I)),
    ("reason", re.compile(r"\bwhy\b|\bhow come\b|\bwhat (?:caused|led|drove)\b", re.I)),
    (
        "money",
        re.compile(
            r"^(?!.*\b(?:how|why|what|describe|explain|tell|risks?|summari[sz]e)\b)"
            r".*\b(?:sales|revenues?|income|earnings|profit|expenses?|dividends?)\b(?:\s+(?:in|for|of|from)\b.*)?\W*(?:\d{4}\W*)?$|"
            r"\bhow much\b|\b(?:what|which) (?:\w+ )?(?:amount|charge|costs?|price)\b"
            r"|\bwhat (?:was|were|is|are|did|does|do|has|have)\b.*"
            r"\b(?:sales|revenues?|income|earnings|profit|loss|costs?|expenses?"
            r"|cash|debt|assets|liabilities|dividends?|margin|charge|price)\b",
            re.I,
        ),
    ),
)


def kind_of(text: str) -> Kind:
    """Return the kind of answer; ``any`` where the question does not say."""
    return next((kind for kind, pattern in _KINDS if pattern.search(text)), "any")
