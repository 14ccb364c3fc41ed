"""How ids appear in addresses."""

from __future__ import annotations

import uuid


class IdConverter:
    """``<id:…>``: a UUID with dashes, as addresses have it, or without, as envelopes and cards name it."""

    regex = "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|[0-9a-f]{32}"

    def to_python(self, value: str) -> uuid.UUID:
        return uuid.UUID(value)

    def to_url(self, value: uuid.UUID | str) -> str:
        """Return the form with dashes, so that a page has one address."""
        return str(uuid.UUID(str(value)))
