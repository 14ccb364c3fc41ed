"""What an answer reports of itself: token counts, scripted or counted, and the model that served it."""

from __future__ import annotations

from dataclasses import dataclass

from tests.contract_server.fault_kinds import ContextOverflow
from tests.contract_server.record import tokens
from tests.contract_server.rules.base import Asked
from tests.contract_server.script import Pending, Reply

SNAPSHOT = "2026-01-01"


@dataclass(frozen=True, slots=True)
class Numbers:
    """Token counts; ``reasoning`` is part of ``output``."""

    input: int
    output: int
    cached: int
    reasoning: int


def served_model(asked: Asked, reply: Reply) -> str:
    """Return the name that the reply carries: a dated snapshot, unless the script says otherwise."""
    return reply.model_in_reply or f"{asked.model}-{SNAPSHOT}"


def numbers_of(asked: Asked, pending: Pending, written: str, reasoning: str) -> Numbers:
    """Return the token counts of a reply that wrote this; what an overflow hushes up shows in its input."""
    given = pending.reply.usage
    overflow = _silent_overflow(asked, pending)
    return Numbers(
        input=given.get("input", asked.record.input_tokens) if overflow is None else overflow,
        output=given.get("output", tokens(_bytes(written))),
        cached=given.get("cached_tokens", asked.record.cached_tokens),
        reasoning=given.get("reasoning_tokens", tokens(_bytes(reasoning))),
    )


def _silent_overflow(asked: Asked, pending: Pending) -> int | None:
    fault = next((one for one in pending.faults() if isinstance(one, ContextOverflow) and one.silent), None)
    if fault is None:
        return None
    pending.spend(fault)
    asked.record.faults.append("context_overflow:silent")
    return fault.limit + 1


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
