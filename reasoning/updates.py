"""What a turn gives out while it runs, and at the end of each step."""

from __future__ import annotations

from dataclasses import dataclass

from reasoning.deltas import Channel, RawUsage
from reasoning.events import Event, ToolCall
from reasoning.scratchpad import Scratchpad

MOST_TOKENS = 2**31 - 1  # a service may report any number; a database takes this one


@dataclass(frozen=True, slots=True)
class ShowText:
    """Append this redacted text on ``channel``: answer, thinking, or summary (one bullet)."""

    channel: Channel
    text: str


@dataclass(frozen=True, slots=True)
class ShowScratchpad:
    """Hand this to the sockets that hold a grant, and to nothing else."""

    scratchpad: Scratchpad


@dataclass(frozen=True, slots=True)
class ShowStatus:
    """Say this while the model thinks: a line of the service's own summary, redacted. Never stored (product 7)."""

    text: str


Update = ShowText | ShowScratchpad | ShowStatus


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of a turn, summed over its steps. None: not reported.

    Reasoning is contained in output, what a service had cached in input.
    """

    input_tokens: int | None = None
    output_tokens: int | None = None
    reasoning_tokens: int | None = None
    cached_tokens: int | None = None

    def plus(self, usage: RawUsage) -> Usage:
        return Usage(
            _sum(self.input_tokens, usage.input_tokens),
            _sum(self.output_tokens, usage.output_tokens),
            _sum(self.reasoning_tokens, usage.reasoning_tokens),
            _sum(self.cached_tokens, usage.cached_tokens),
        )


@dataclass(frozen=True, slots=True)
class StepOutcome:
    """What a finished step leaves: updates that were held, events to record, calls to run."""

    updates: tuple[Update, ...]
    events: tuple[Event, ...]
    calls: tuple[ToolCall, ...]
    finish_reason: str | None


def _sum(total: int | None, more: int | None) -> int | None:
    return total if more is None else min((total or 0) + more, MOST_TOKENS)
