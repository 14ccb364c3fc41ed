"""Estimate tokens without a tokeniser: four characters to a token, rounded up. Spec 000 rule 5, spec 001 ERR-002."""

from __future__ import annotations

_CHARS_PER_TOKEN = 4


def estimate_tokens(text: str) -> int:
    """Return how many tokens ``text`` is taken for; 0 for the empty text. Never fails."""
    return -(-len(text) // _CHARS_PER_TOKEN)
