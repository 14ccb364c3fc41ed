"""Does a value look like a secret, or like a word, a type, a placeholder, an expression?

Rules that find a name such as ``password`` ask here whether what follows is worth hiding: "password is required" is a
sentence, "password is hunter2" is a leak. All tests look at a bounded number of characters.
"""

from __future__ import annotations

import re
from itertools import pairwise

from reasoning.redaction.words import STOP_WORDS, TYPES

_MASKS = ("[redacted", "[unavailable", "***", "•••", "…", "[vector", "[base64", "[text", "xxxx", "XXXX")
_PLACEHOLDER = re.compile(
    r"""(?x)
    (?: <[^>]*>? | \$\{.* | \$[A-Z][A-Z_]*+ | \$\(.* | \{\{.* | \{[\w.]*\}
      | %\(\w+\)s | %s | %[A-Z_]+% | \.{3,} | -+ | _+ | \?+
      | (?i:your|my|some|the|insert|replace|change|example|sample|dummy|fake|placeholder)[-_ ]?
        (?i:own|new|secret|api|access|auth|db|database)?[-_ ]?
        (?i:api)?[-_ ]?(?i:key|token|secret|password|here|me|this|value)[-_ ]?(?i:here)?
      | (?:os\.|process\.|env\.|import\.meta|getenv|settings\.|config\.|self\.|this\.|request\.|std::|env\().*
      | (?i:x{3,} | n/?a | tbd | todo)
    )"""
)
_WORDY_ENDING = ("ed", "ing", "able", "ible", "ly", "ful", "less", "ous", "tion", "ment", "ness", "ity", "ive", "ance")
_ALGORITHM = re.compile(
    r"(?i)(?:aes|sha|rsa|md|tls|ssl|hs|rs|es|ps|dh|ecdsa|hmac|utf|oauth|saml|v|http|ipv)[-_/]?\d[\d.\-]*"
)
_NUMBERISH = re.compile(
    r"[$€£¥+\-~≈]?\d[\d,.:/%x\-]*(?:%|k|m|b|bn|x|s|ms|st|nd|rd|th|am|pm|gb|mb|kb|bit|bits|px|characters)?",
    re.IGNORECASE,
)
_DATE = re.compile(r"(?:FY|Q[1-4]|H[12]|CY)[-' ]?\d{2,4}(?:[-/]?(?:Q[1-4]|\d{2,4}))?", re.IGNORECASE)
_EXPRESSION = re.compile(r"[A-Za-z_][\w.]{2,}(?:\(.*|\[(?!redacted\b).*)|[A-Za-z_]+(?:\.[A-Za-z_]+)+\(?")
_SYMBOLS = frozenset("!@#$%^&*+=~?")


def is_inert(value: str) -> bool:
    """Tell a mask, a placeholder, a type or an empty value: nothing to hide."""
    bare = value.strip("\"'`*_\\ ,;")
    return (
        not bare or bare.startswith(_MASKS) or bare.lower() in TYPES or _PLACEHOLDER.fullmatch(bare[:200]) is not None
    )


def is_number_like(value: str) -> bool:
    """Tell numbers, dates, quarters and names of algorithms."""
    return any(pattern.fullmatch(value) for pattern in (_NUMBERISH, _DATE, _ALGORITHM))


def is_mixed(value: str) -> bool:
    """Tell a value of letters with digits or symbols, as passwords are and words aren't."""
    if len(value) < 5 or is_number_like(value):
        return False
    letters = any(char.isalpha() for char in value)
    digits = any(char.isdigit() for char in value)
    return (letters and digits) or (any(char in _SYMBOLS for char in value[:-1]) and (letters or digits))


def is_random(value: str, *, least: int = 16) -> bool:
    """Tell a run of characters that no person would have chosen: an unlabelled key."""
    if len(value) < least or is_number_like(value):
        return False
    start = value[:128]
    digits = sum(char.isdigit() for char in start)
    if not digits or digits == len(start):
        return False
    return changes(start) >= 0.3 or _is_hex(start)


def changes(value: str) -> float:
    """Return the share of neighbours of different kind (small, capital, digit, other), 0 to 1."""
    kinds = [_kind(char) for char in value[:256]]
    return sum(one != two for one, two in pairwise(kinds)) / max(len(kinds) - 1, 1)


def _kind(char: str) -> int:
    if char.isdigit():
        return 0
    if char.islower():
        return 1
    return 2 if char.isupper() else 3


def _is_hex(value: str) -> bool:
    return all(char in "0123456789abcdefABCDEF" for char in value)


def is_word(value: str) -> bool:
    """Tell a word that a sentence goes on with, such as "required" or "stored"."""
    low = value.lower().strip("'’")
    return low in STOP_WORDS or low in TYPES or (low.isalpha() and len(low) > 4 and low.endswith(_WORDY_ENDING))


def is_expression(value: str) -> bool:
    """Tell code: a call, an index, a dotted name."""
    return _EXPRESSION.fullmatch(value[:200]) is not None


def trimmed(value: str) -> str:
    """Return the value without the punctuation of the sentence around it."""
    return value.rstrip(".,;:)]}\"'`*>").rstrip("\\")
