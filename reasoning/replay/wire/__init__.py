"""How requests look on the wire: one format for each API, and the only list of APIs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from reasoning.replay.wire.base import WireFormat
from reasoning.replay.wire.chat import CHAT
from reasoning.replay.wire.responses import RESPONSES

# The first is the default.
FORMATS: Mapping[str, WireFormat] = {one.name: one for one in (CHAT, RESPONSES)}
DEFAULT_API = CHAT.name


def format_of_dialect(dialect: str) -> WireFormat:
    """Return the format of the services that speak a dialect."""
    return next((one for one in FORMATS.values() if one.dialect == dialect), CHAT)


def format_of_body(body: Mapping[str, Any]) -> WireFormat:
    """Return the format of a request body."""
    return next((one for one in FORMATS.values() if one.entries_key in body), CHAT)
