"""The tool calls of one provider response, put together from their pieces."""

from __future__ import annotations

from dataclasses import dataclass, field

from reasoning.beside import CallSignatures
from reasoning.deltas import Delta
from reasoning.events import ToolCall


@dataclass(slots=True)
class _Call:
    call_id: str = ""
    name: str = ""
    arguments: list[str] = field(default_factory=list)


class StepCalls:
    """Feed it what comes on the tool channel. ``signatures`` are what the service put beside its calls."""

    def __init__(self) -> None:
        self.signatures = CallSignatures()
        self._calls: dict[int, _Call] = {}

    def __bool__(self) -> bool:
        return bool(self._calls)

    def take(self, delta: Delta, piece: str) -> int | None:
        """Take a piece of a call; return the index of one that was not known before."""
        index = delta.index or 0
        is_new = index not in self._calls
        call = self._calls.setdefault(index, _Call())
        call.call_id = call.call_id or delta.call_id or ""
        call.name = call.name or delta.name or ""
        call.arguments.append(piece)
        return index if is_new else None

    def finished(self, *, turn_id: str, step: int) -> dict[int, ToolCall]:
        """Give each call what came, and an id of our own where none came or another call of the step has it."""
        taken = {""}
        finished: dict[int, ToolCall] = {}
        for index, call in sorted(self._calls.items()):
            own = f"call_{turn_id[:8]}_{step}_{index}"
            call_id = own if call.call_id in taken else call.call_id
            taken.add(call_id)
            finished[index] = ToolCall(call_id=call_id, name=call.name, arguments="".join(call.arguments), step=step)
        return finished
