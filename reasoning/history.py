"""The log as turns and steps: the selected branch, cut at its newest compaction.

A step is one provider response with the results of its calls. Nothing here decides what is sent; ``reasoning.egress``
does. Replay rules 1 to 4.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from reasoning.events import (
    AssistantMessage,
    Compaction,
    Event,
    Reasoning,
    ToolCall,
    ToolResult,
    TurnEnd,
    UserMessage,
)

Part = Reasoning | AssistantMessage | ToolCall
_STEP_KINDS = (Reasoning, AssistantMessage, ToolCall, ToolResult)


@dataclass(slots=True)
class Step:
    """What one provider response left behind, in its order, and the results of its calls."""

    parts: list[Part] = field(default_factory=list)
    results: dict[str, ToolResult] = field(default_factory=dict)

    @property
    def calls(self) -> list[ToolCall]:
        return [part for part in self.parts if isinstance(part, ToolCall)]

    @property
    def reasoning(self) -> list[Reasoning]:
        return [part for part in self.parts if isinstance(part, Reasoning)]

    @property
    def messages(self) -> list[AssistantMessage]:
        return [part for part in self.parts if isinstance(part, AssistantMessage)]

    @property
    def text(self) -> str:
        return "\n\n".join(message.text for message in self.messages if message.text)

    def events(self) -> Iterator[Event]:
        yield from self.parts
        yield from self.results.values()

    def without(self, dropped: Iterable[Part]) -> Step:
        """Return the step without these parts, and without results that have no call any more."""
        gone = [id(part) for part in dropped]
        kept = [part for part in self.parts if id(part) not in gone]
        calls = {part.call_id for part in kept if isinstance(part, ToolCall)}
        return Step(kept, {call_id: result for call_id, result in self.results.items() if call_id in calls})


@dataclass(slots=True)
class Turn:
    """One question and the steps that answer it. ``is_running``: it is the newest and has not ended."""

    question: str = ""
    question_seq: int = 0
    steps: list[Step] = field(default_factory=list)
    end: str | None = None
    is_running: bool = False
    strays: list[ToolResult] = field(default_factory=list)  # results without a call

    @property
    def has_failed(self) -> bool:
        """Errored, stopped, capped, or broken off: no end, and a later turn. Replay rule 4."""
        return self.end != "completed" and not self.is_running

    @property
    def has_reasoning(self) -> bool:
        return any(step.reasoning for step in self.steps)


@dataclass(frozen=True, slots=True)
class History:
    """The turns that may be sent, oldest first, what stands for those before them, and what it stands for."""

    turns: tuple[Turn, ...]
    summary: str = ""
    below: tuple[Event, ...] = ()  # events that the summary stands for


def read_history(events: Iterable[Event]) -> History:
    """Return the selected branch of ``events`` (any order) as turns. Nothing is changed or copied."""
    active = sorted((event for event in events if event.active), key=lambda event: event.seq)
    newest = next((event for event in reversed(active) if isinstance(event, Compaction)), None)
    if newest is None:
        return History(_turns(active))
    border = _untorn(active, newest.to_seq)
    cut_turns = {event.turn for event in active if event.seq > border and isinstance(event, _STEP_KINDS)}
    above: list[Event] = []
    below: list[Event] = []
    for event in active:
        keeps_question = isinstance(event, UserMessage) and event.turn in cut_turns  # of a turn cut between its steps
        is_above = event.seq > border or keeps_question
        (above if is_above else below).append(event)
    return History(_turns(above), newest.summary, tuple(below))


def _untorn(active: Sequence[Event], border: int) -> int:
    """Move a border that would tear a step to where the step begins. Replay rule 2."""
    for turn in _turns(active):
        for step in turn.steps:
            seqs = [event.seq for event in step.events()]
            if seqs and min(seqs) <= border < max(seqs):
                return min(seqs) - 1
    return border


def _turns(events: Sequence[Event]) -> tuple[Turn, ...]:
    readers: dict[str, _TurnReader] = {}
    for event in events:
        if not isinstance(event, Compaction):
            readers.setdefault(event.turn, _TurnReader()).take(event)
    turns = tuple(reader.turn for reader in readers.values())
    if turns:
        turns[-1].is_running = turns[-1].end is None
    return turns


class _TurnReader:
    """Puts the events of one turn into steps.

    An event without an index begins a new step behind a result; so does a thought behind an answer or a call, for each
    response thinks first.
    """

    def __init__(self) -> None:
        self.turn = Turn()
        self._by_index: dict[int, Step] = {}
        self._index = 0
        self._after_result = False

    def take(self, event: Event) -> None:
        match event:
            case UserMessage():
                self.turn.question, self.turn.question_seq = event.text, event.seq
            case Reasoning() | AssistantMessage() | ToolCall():
                self._step(self._index_of(event)).parts.append(event)
                self._after_result = False
            case ToolResult():
                self._answer(event)
                self._after_result = True
            case TurnEnd():
                self.turn.end = event.status

    def _index_of(self, event: Part) -> int:
        if event.step is not None:
            return event.step
        current = self._by_index.get(self._index, Step())
        thinks_again = isinstance(event, Reasoning) and event.kind == "text" and (current.calls or current.messages)
        return self._index + 1 if self._after_result or thinks_again else self._index

    def _step(self, index: int) -> Step:
        self._index = index
        if index not in self._by_index:
            self._by_index[index] = Step()
            self.turn.steps.append(self._by_index[index])
        return self._by_index[index]

    def _answer(self, result: ToolResult) -> None:
        """Give a result to the call that it names: in its own step, else in the newest step that waits for it."""
        asked = [step for step in self.turn.steps if any(call.call_id == result.call_id for call in step.calls)]
        own = self._by_index.get(result.step) if result.step is not None else None
        waiting = [step for step in reversed(asked) if result.call_id not in step.results]
        found = own if own is not None and own in asked else next(iter(waiting or asked), None)
        if found is None:
            self.turn.strays.append(result)
        else:
            found.results.setdefault(result.call_id, result)
