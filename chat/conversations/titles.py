"""Titles of conversations, made from their first question."""

from __future__ import annotations

from reasoning.redaction import redact_text

TITLE_CHARS = 60
_READ_CHARS = 2000


def title_from(text: str) -> str:
    """Return one redacted line of ``text``, cut at a word."""
    line = " ".join(redact_text(text[:_READ_CHARS]).split())
    return line if len(line) <= TITLE_CHARS else line[:TITLE_CHARS].rsplit(" ", 1)[0] + "…"
