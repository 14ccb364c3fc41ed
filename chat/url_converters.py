"""Ids and numbers in addresses and forms."""

from __future__ import annotations

import re
import uuid


def parse_id(text: object) -> uuid.UUID | None:
    """Return the id that a query string or a form has; None for what is none."""
    try:
        return uuid.UUID(str(text))
    except ValueError:
        return None


def parse_number(text: str | None) -> int | None:
    """Return the number that a query string or a form has; None for what is none. No digits of other scripts."""
    return int(text) if text and re.fullmatch(r"[0-9]{1,9}", text) else None


class IdConverter:
    """``<id:…>``: a UUID with dashes, as addresses have it, or without, as envelopes and cards name it."""

    regex = "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|[0-9a-f]{32}"

    def to_python(self, value: str) -> uuid.UUID:
        return uuid.UUID(value)

    def to_url(self, value: uuid.UUID | str) -> str:
        """Return the form with dashes, so that a page has one address."""
        return str(uuid.UUID(str(value)))
