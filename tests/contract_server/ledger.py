"""What the server has issued: the memory behind every rule that compares a replay with its original."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tests.contract_server.issued import IssuedItems, Item, may_come_from
from tests.contract_server.script import text_of

TEXT_KEYS = ("reasoning_content", "reasoning", "thinking")
REASONING_KEYS = (*TEXT_KEYS, "reasoning_details")


@dataclass(frozen=True, slots=True)
class Call:
    """A call as issued; ``signature`` is there in the mode that signs the first call of a step."""

    id: str
    name: str
    arguments: str
    signature: str | None = None


@dataclass(frozen=True, slots=True)
class Step:
    """One response as issued. ``in_tags``: the reasoning went out inside the content, so its edges may be trimmed.

    ``items`` are the output items of a Responses reply; ``status`` says that the provider wrote about its reasoning,
    which is nobody's reasoning text.
    """

    serial: int
    model: str
    reasoning: str = ""
    content: str = ""
    calls: tuple[Call, ...] = ()
    details: tuple[Mapping[str, Any], ...] = ()
    in_tags: bool = False
    items: tuple[Item, ...] = ()
    status: tuple[str, ...] = ()

    def issued_as(self, text: str) -> bool:
        """Say whether ``text`` is this step's reasoning, unaltered."""
        return text == self.reasoning or (self.in_tags and text == self.reasoning.strip())


class Ledger:
    """All steps in the order of issue; a step is settled once its answer has gone out to a good end."""

    def __init__(self) -> None:
        self._steps: list[Step] = []
        self._by_call: dict[str, Step] = {}
        self._times: Counter[str] = Counter()
        self._settled: set[int] = set()
        self.items = IssuedItems()

    def issue(self, step: Step) -> None:
        self._steps.append(step)
        self._by_call |= {call.id: step for call in step.calls}
        if step.reasoning:
            self._times.update({step.reasoning, step.reasoning.strip()} if step.in_tags else {step.reasoning})
        self._times.update(step.status)
        self.items.add(step.serial, step.items or tuple(_as_items(step)))

    def settle(self, serial: int) -> None:
        self._settled.add(serial)

    def is_settled(self, serial: int) -> bool:
        return serial in self._settled

    def times_issued(self, reasoning: str) -> int:
        """Return how many steps went out with exactly this reasoning."""
        return self._times[reasoning]

    def step_of_call(self, call_id: str) -> Step | None:
        return self._by_call.get(call_id)

    def call(self, call_id: str) -> Call | None:
        step = self._by_call.get(call_id)
        return next((call for call in step.calls if call.id == call_id), None) if step else None

    def steps_behind(self, message: Mapping[str, Any]) -> Sequence[Step]:
        """Return the steps that an assistant message can have come from.

        By its calls; without calls by its text, which may be a part of what was issued (a client need not replay
        sections that it shows elsewhere). An exact match excludes partial ones.
        """
        if ids := [call["id"] for call in calls_of(message)]:
            steps = [self._by_call[id_] for id_ in ids if id_ in self._by_call]
            return list({step.serial: step for step in steps}.values())
        text = text_of(message.get("content"))
        found = [step for step in self._steps if not step.calls and may_come_from(text, step.content)]
        return [step for step in found if step.content.strip() == text.strip()] or found

    def has_detail(self, element: Mapping[str, Any], model: str) -> bool:
        """Say whether this element of ``reasoning_details`` was issued by this model."""
        return any(step.model == model and element in step.details for step in self._steps)


def calls_of(message: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return a message's tool calls; C1 has made sure that they are objects with an id."""
    return message.get("tool_calls") or []


def reasoning_texts(message: Mapping[str, Any]) -> Iterator[str]:
    """Yield the different non-empty reasoning texts of a message, whatever their keys."""
    values = {key: message.get(key) for key in TEXT_KEYS}
    yield from dict.fromkeys(value for value in values.values() if isinstance(value, str) and value)


def _as_items(step: Step) -> Iterator[Item]:
    """Yield a chat message as the items that it becomes when the conversation goes on over Responses."""
    if step.content:
        yield {"type": "message", "role": "assistant", "content": step.content}
    yield from ({"type": "function_call", "call_id": call.id, "name": call.name} for call in step.calls)
