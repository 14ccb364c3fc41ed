"""JSON objects that are encrypted at rest and are no events: answers to a tool's question, tokens of MCP servers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from chat.eventlog.encryption import decrypt, encrypt


def seal_values(values: Mapping[str, Any]) -> bytes:
    """Return an object as the database may hold it."""
    return encrypt(dict(values))


def open_values(sealed: bytes | memoryview | None) -> Mapping[str, Any]:
    """Return an object that was sealed; an empty one where there is none. Raises as ``encryption.decrypt``."""
    return dict(decrypt(sealed)) if sealed else {}
