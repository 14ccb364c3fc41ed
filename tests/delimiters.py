"""Delimiters as RULES.md spells them (normaliser 2), read independently of the normaliser."""

from __future__ import annotations

import re

_DELIMITER = re.compile(r"</?(?:think|thinking|reasoning|scratchpad)[ \t\r\n]{0,8}/?>", re.IGNORECASE | re.ASCII)


def has_delimiter(text: str) -> bool:
    """Say whether a text contains a delimiter."""
    return _DELIMITER.search(text) is not None
