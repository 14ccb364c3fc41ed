"""Does a value look like a secret, or like a word, a type, a placeholder, an expression?

Rules that find a name such as ``password`` ask here whether what follows is worth hiding: "password is required" is a
sentence, "password is hunter2" is a leak. All tests look at a bounded number of characters.
"""

from __future__ import annotations

import re

from reasoning.redaction.words import STOP_WORDS, TYPES

_MASKS = ("[redacted", "redacted]", "[unavailable", "***", "•••", "…", "[vector", "[base64", "[text", "xxxx", "XXXX")
_PLACEHOLDER = re.compile(
    r"""(?x)
    (?: <[^>]*>? | \$\{.* | \$[A-Z][A-Z_]*+ | \$\(.* | \{\{.* | \{[\w.]*\}
      | %\(\w+\)s | %s | %[A-Z_]+% | \.{3,} | -+ | _+ | \?+
      | (?i:your|my|some|the|insert|replace|change|example|sample|dummy|fake|placeholder)[-_ ]?
        (?i:own|new|secret|api|access|auth|db|database)?[-_ ]?
        (?i:api)?[-_ ]?(?i:key|token|secret|password|here|me|this|value)[-_ ]?(?i:here)?
      | (?:os\.|process\.|env\.|import\.meta|getenv|settings\.|config\.|self\.|this\.|request\.|std::|env\().*
      | !(?:vault|secret|env|Ref|Sub|GetAtt)\b.* | \?\w*\}?
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
_EXPRESSION = re.compile(r"[A-Za-z_][\w.:]{2,}(?:\(.*|\[(?!redacted\b).*)|[A-Za-z_]+(?:\.[A-Za-z_]+)+\(?")
_CMDLET = re.compile(
    r"(?:New|Get|Set|Read|Convert(?:To|From)?|Import|Export|Add|Invoke|Out|Select)-[A-Z][A-Za-z]{2,40}"
)
_HEX = re.compile(r"[0-9a-fA-F]++")
_KINDS = ("[0-9]", "[a-zß-öø-ÿ]", "[A-ZÀ-ÖØ-Þ]", r"[^0-9a-zA-ZÀ-ÖØ-öø-ÿ]")
_CHANGE = re.compile("|".join(f"(?<={one})(?!{one})(?!\\Z)" for one in _KINDS))
_SYMBOL = re.compile(r"[!@#$%^&*+=~?](?!\Z)")


def is_inert(value: str) -> bool:
    """Tell a mask, a placeholder, a type or an empty value: nothing to hide."""
    bare = value.strip("\"'`*_\\ ,;")
    return (
        not bare.strip("{}[]()")
        or bare.startswith(_MASKS)
        or bare.lower() in TYPES
        or _PLACEHOLDER.fullmatch(bare[:200]) is not None
    )


def is_number_like(value: str) -> bool:
    """Tell numbers, dates, quarters and names of algorithms."""
    return any(pattern.fullmatch(value) for pattern in (_NUMBERISH, _DATE, _ALGORITHM))


def is_mixed(value: str) -> bool:
    """Tell a value of letters with digits or symbols, as passwords are and words aren't."""
    if len(value) < 5 or is_number_like(value):
        return False
    letters = any(map(str.isalpha, value))
    digits = any(map(str.isdigit, value))
    return (letters and digits) or (_SYMBOL.search(value) is not None and (letters or digits))


def is_random(value: str, *, least: int = 16) -> bool:
    """Tell a run of characters that no person would have chosen: an unlabelled key."""
    if len(value) < least or is_number_like(value):
        return False
    start = value[:128]
    digits = sum(map(str.isdigit, start))
    if not digits or digits == len(start):
        return False
    return changes(start) >= 0.3 or _is_hex(start)


def changes(value: str) -> float:
    """Return the share of neighbours of different kind (small, capital, digit, other), 0 to 1."""
    start = value[:256]
    return len(_CHANGE.findall(start)) / max(len(start) - 1, 1)


def _is_hex(value: str) -> bool:
    return _HEX.fullmatch(value) is not None


def is_word(value: str) -> bool:
    """Tell a word that a sentence goes on with, such as "required" or "stored"."""
    low = value.lower().strip("'’")
    return low in STOP_WORDS or low in TYPES or (low.isalpha() and len(low) > 4 and low.endswith(_WORDY_ENDING))


def is_expression(value: str) -> bool:
    """Tell code: a call, an index, a dotted name."""
    bare = value[:200].lstrip("[({")
    return _EXPRESSION.fullmatch(bare) is not None or _CMDLET.fullmatch(bare) is not None


def trimmed(value: str) -> str:
    """Return the value without the punctuation of the sentence around it."""
    return value.rstrip(".,;:)]}\"'`*>").rstrip("\\")
