"""What a user has answered to a question of a tool: encrypted until the tool has it, then gone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from chat.eventlog.encryption import decrypt, encrypt


def seal_answers(answers: Mapping[str, Any]) -> bytes:
    """Return answers as the database may hold them."""
    return encrypt(dict(answers))


def open_answers(sealed: bytes | memoryview | None) -> Mapping[str, Any]:
    """Return answers that were sealed; none where there are none. Raises as ``encryption.decrypt``."""
    return dict(decrypt(sealed)) if sealed else {}
