"""What to do about a request that failed before anything of its answer came.

Each remedy is tried once; waiting, twice at most. What a service took in is never asked for again: after the first
piece of an answer, and (but for a request that was refused whole) after a tool has run, a failure ends the turn.
Replay 2.10, D6.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from chat.providers.base import ProviderError
from reasoning.egress import EgressPlan
from reasoning.selection import BY_SETTING

Remedy = Literal["omit items", "compact", "wait"]
MAX_WAITS = 2
MAX_WAIT_S = 30.0  # longer, and a person would rather decide for themselves
FIRST_WAIT_S = 0.5
_ITEM_REASONS = frozenset({"ciphertext", "not_found_item", "unpaired_item"})
_WORTH_WAITING = frozenset({"rate_limited", "server_error", "disconnected"})


def naming_settings(error: ProviderError, plan: EgressPlan) -> ProviderError:
    """Return a refusal with the settings that held back what was not sent, where nothing else tells its cause."""
    held = any(omission.rule in BY_SETTING for omission in plan.omissions)
    if error.code != "refused" or error.reason or not held:
        return error
    advice = "It may want its earlier thinking back: reasoning.includeInContext true, reasoning.stripFromContext none."
    return ProviderError(error.code, f"{error.message} {advice}", retryable=False, reason="missing_reasoning")


@dataclass(slots=True)
class Healing:
    """The remedies of one turn that are used up."""

    omits_items: bool = False
    _compacted: bool = False
    _waits: int = field(default=0)

    def remedy(self, error: ProviderError, *, tool_ran: bool) -> Remedy | None:
        """Return what may help, and count it as tried; None where the turn fails."""
        if error.reason in _ITEM_REASONS and not self.omits_items:
            self.omits_items = True
            return "omit items"
        if error.code == "context_overflow" and not self._compacted:
            self._compacted = True
            return "compact"
        if tool_ran or not error.retryable or error.code not in _WORTH_WAITING:
            return None
        if self._waits >= MAX_WAITS or self.wait_s(error) > MAX_WAIT_S:
            return None
        self._waits += 1
        return "wait"

    def wait_s(self, error: ProviderError) -> float:
        """Return how long to wait: what the service says, else half a second, then twice that."""
        if error.retry_after_s is not None:
            return error.retry_after_s
        return FIRST_WAIT_S * 2.0 ** max(0, self._waits - 1)
