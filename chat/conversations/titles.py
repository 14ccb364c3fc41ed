"""Names and titles, as lists, the admin and logs show them: a secret is masked before it is stored (product 12)."""

from __future__ import annotations

from chat.validation import storable
from reasoning.redaction import redact_text

TITLE_CHARS = 60
_READ_CHARS = 2000


def masked_name(text: str, max_chars: int) -> str:
    """Return a name that somebody chose, masked, in one line."""
    # Without its invisible characters it may begin or end with a space.
    return redact_text(" ".join(storable(text).split()))[:max_chars].strip()


def title_from(text: str) -> str:
    """Return the title that a first question gives: one masked line of it, cut at a word or in a long one."""
    line = " ".join(redact_text(text[:_READ_CHARS]).split())
    if len(line) <= TITLE_CHARS:
        return line
    cut = line[:TITLE_CHARS]
    words = cut.rpartition(" ")[0]
    # Before a long address they would be too few to know the conversation by.
    return (words if len(words) >= TITLE_CHARS // 2 else cut) + "…"
