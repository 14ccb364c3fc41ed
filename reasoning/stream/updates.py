"""What a turn reports while it runs: what may be shown now."""

from __future__ import annotations

from dataclasses import dataclass

from msgspec import Struct

from reasoning.deltas import Channel
from reasoning.scratchpad import Scratchpad


class ShowText(Struct, frozen=True):  # one for nearly every token, like Delta
    """Append this redacted text on ``channel``: answer or thinking."""

    channel: Channel
    text: str


@dataclass(frozen=True, slots=True)
class ReplaceText:
    """Replace the last ``chars`` characters that were shown on ``channel`` by this redacted text."""

    channel: Channel
    chars: int
    text: str


@dataclass(frozen=True, slots=True)
class ShowScratchpad:
    """Pass this to the sockets that have a grant, and to nothing else. ``is_open``: it continues."""

    scratchpad: Scratchpad
    is_open: bool = False


@dataclass(frozen=True, slots=True)
class ShowStatus:
    """Show this while the model thinks: a line of the service's own summary, redacted. Never stored (product 7)."""

    text: str


Update = ShowText | ReplaceText | ShowScratchpad | ShowStatus
