"""How much one turn takes in before it is ended (product 25). Each delta is counted once, at the cost of its length."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Cap = Literal["answer", "thinking", "arguments", "calls"]


@dataclass(frozen=True, slots=True)
class TurnLimits:
    """Sizes are bytes of UTF-8; answer and thinking count for the turn, arguments for one call.

    The calls of a response that are to be run. As many more can be refused, each with a result; beyond that the
    response is no longer read.
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
