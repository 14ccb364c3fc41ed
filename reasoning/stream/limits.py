"""How much one turn takes in before it is ended (product 25). Each delta is counted once, at the cost of its length."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import msgspec

Cap = Literal["answer", "thinking", "arguments", "calls"]


@dataclass(frozen=True, slots=True)
class TurnLimits:
    """Sizes are bytes of UTF-8; answer and thinking count for the turn, arguments for one call.

    ``calls_per_response``: how many calls of a response are run. As many more are refused, each with a result; beyond
    that the response is no longer read.
    """

    answer_bytes: int = 1_000_000
    thinking_bytes: int = 2_000_000
    arguments_bytes: int = 256_000
    calls_per_response: int = 32

    @property
    def calls_read(self) -> int:
        return 2 * self.calls_per_response


def utf8_bytes(text: str) -> int:
    """Return how many bytes a text has in UTF-8."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def cut_to_bytes(text: str, room: int) -> str:
    """Return the beginning of a text that has at most ``room`` bytes, whole characters only."""
    if len(text) <= room and utf8_bytes(text) <= room:
        return text
    return text.encode("utf-8", "surrogatepass")[: max(0, room)].decode("utf-8", "ignore")


class Room:
    """What a turn may still have of each limit. ``reached`` names the first that was passed."""

    def __init__(self, limits: TurnLimits) -> None:
        self.limits = limits
        self.reached: Cap | None = None
        self.answer = limits.answer_bytes
        self.thinking = self.opaque = limits.thinking_bytes
        # What is held back is on no channel yet, so what comes in is limited too, generously, in characters: a service
        # may send one text under two names.
        self.intake = 2 * (limits.answer_bytes + limits.thinking_bytes)

    def take_in(self, fields: Mapping[str, Any]) -> None:
        """Count the texts of one delta."""
        for text in fields.values():
            if isinstance(text, str):
                self.intake -= len(text)
        if self.intake < 0:
            self.reached = "answer" if "content" in fields else "thinking"

    def of_answer(self, text: str) -> str:
        """Return as much of a piece of the answer as there is room for."""
        size = utf8_bytes(text)
        if size > self.answer:
            text, self.reached = cut_to_bytes(text, self.answer), "answer"
        self.answer = max(0, self.answer - size)
        return text

    def of_thinking(self, text: str) -> str:
        """Return as much of a piece of thinking as there is room for."""
        size = utf8_bytes(text)
        if size > self.thinking:
            text, self.reached = cut_to_bytes(text, self.thinking), "thinking"
        self.thinking = max(0, self.thinking - size)
        return text

    def store_opaque(self, value: object) -> None:
        """Count what is stored as it came, and is no text."""
        self.opaque -= len(msgspec.json.encode(value)) if value else 0
        if self.opaque < 0:
            self.reached = "thinking"
