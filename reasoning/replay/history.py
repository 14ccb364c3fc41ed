"""The log as turns and steps: the selected branch, cut at its newest compaction.

A step is one provider response with the results of its calls. ``replay.selection`` decides what is sent. Replay rules
1 to 4.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from reasoning.events import (
    AssistantMessage,
    AttachedFile,
    Compaction,
    Continuation,
    Event,
    Reasoning,
    ToolCall,
    ToolResult,
    TurnEnd,
    UserMessage,
)

StepPart = Reasoning | AssistantMessage | ToolCall


@dataclass(slots=True)
class HistoryStep:
    """What one provider response left behind, in its order, and the results of its calls.

    ``is_continued``: the person asked for the rest of its text, which the next step begins with.
    """

    parts: list[StepPart] = field(default_factory=list)
    results: dict[str, ToolResult] = field(default_factory=dict)
    is_continued: bool = False

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

    def without(self, dropped: Iterable[StepPart]) -> HistoryStep:
        """Return the step without these parts, and without results that have no call any more."""
        dropped_ids = {id(part) for part in dropped}
        parts = [part for part in self.parts if id(part) not in dropped_ids]
        calls = {part.call_id for part in parts if isinstance(part, ToolCall)}
        results = {call_id: result for call_id, result in self.results.items() if call_id in calls}
        return HistoryStep(parts, results, self.is_continued)


@dataclass(slots=True)
class HistoryTurn:
    """One question and the steps that answer it. ``is_running``: it is the newest and has not ended."""

    question: str = ""
    attachments: tuple[AttachedFile, ...] = ()
    question_seq: int = 0
    steps: list[HistoryStep] = field(default_factory=list)
    end: str | None = None
    is_running: bool = False
    orphan_results: list[ToolResult] = field(default_factory=list)  # results without a call

    @property
    def has_failed(self) -> bool:
        """Errored, stopped, capped, or broken off: no end, and a later turn. Replay 4."""
        return self.end != "completed" and not self.is_running

    @property
    def has_reasoning(self) -> bool:
        return any(step.reasoning for step in self.steps)

    def events(self) -> list[Event]:
        """Return the events of the steps."""
        return [event for step in self.steps for event in step.events()]


@dataclass(frozen=True, slots=True)
class History:
    """The turns that may be sent, oldest first, and the summary that replaces the events before them.

    ``left_out``: the newest of these events are in no summary.
    """

    turns: tuple[HistoryTurn, ...]
    summary: str = ""
    left_out: bool = False
    compacted_events: tuple[Event, ...] = ()


def read_history(events: Iterable[Event]) -> History:
    """Return the selected branch of ``events`` (any order) as turns. Nothing is changed or copied."""
    active = sorted((event for event in events if event.active), key=lambda event: event.seq)
    newest = next((event for event in reversed(active) if isinstance(event, Compaction)), None)
    if newest is None:
        return History(turns_of(active))
    # A call without its result, or the reverse, would be refused, so the border moves before a step that it splits.
    border = newest.to_seq
    for step in (step for turn in turns_of(active) for step in turn.steps):
        seqs = [event.seq for event in step.events()]
        if seqs and min(seqs) <= border < max(seqs):  # no step is torn: replay 2
            border = min(seqs) - 1
            break
    step_events = (Reasoning, AssistantMessage, ToolCall, ToolResult)
    cut_turns = {event.turn for event in active if event.seq > border and isinstance(event, step_events)}
    sent: list[Event] = []
    compacted: list[Event] = []
    for event in active:
        # A turn that is cut between its steps is still sent with its question.
        is_sent = event.seq > border or (isinstance(event, UserMessage) and event.turn in cut_turns)
        (sent if is_sent else compacted).append(event)
    return History(turns_of(sent), newest.summary, newest.left_out, tuple(compacted))


def turns_of(events: Sequence[Event]) -> tuple[HistoryTurn, ...]:
    readers: dict[str, _TurnReader] = {}
    for event in events:
        if not isinstance(event, Compaction):
            readers.setdefault(event.turn, _TurnReader()).feed(event)
    turns = tuple(reader.turn for reader in readers.values())
    if turns:
        turns[-1].is_running = turns[-1].end is None
    return turns


class _TurnReader:
    """Put the events of one turn into steps.

    An event without a step index begins a new step after a result; so does a thought after an answer or a call, for
    each response thinks first.
    """

    def __init__(self) -> None:
        self.turn = HistoryTurn()
        self._by_index: dict[int, HistoryStep] = {}
        self._index = 0
        self._follows_result = False

    def feed(self, event: Event) -> None:
        match event:
            case UserMessage():
                self.turn.question, self.turn.question_seq = event.text, event.seq
                self.turn.attachments = event.attachments
            case Reasoning() | AssistantMessage() | ToolCall():
                self._index = self._step_index(event)
                if self._index not in self._by_index:
                    self._by_index[self._index] = HistoryStep()
                    self.turn.steps.append(self._by_index[self._index])
                self._by_index[self._index].parts.append(event)
                self._follows_result = False
            case ToolResult():
                self._add_result(event)
                self._follows_result = True
            case TurnEnd():
                self.turn.end = event.status
            case Continuation():
                self.turn.end = None
                if self.turn.steps:
                    step = self.turn.steps[-1]
                    step.is_continued = bool(step.text) and not step.calls

    def _step_index(self, event: StepPart) -> int:
        if event.step is not None:
            return event.step
        current = self._by_index.get(self._index, HistoryStep())
        thinks_again = isinstance(event, Reasoning) and event.kind == "text" and (current.calls or current.messages)
        return self._index + 1 if self._follows_result or thinks_again else self._index

    def _add_result(self, result: ToolResult) -> None:
        """Add a result to the call that it names: in its own step, else in the newest step that waits for it."""
        asking = [step for step in self.turn.steps if any(call.call_id == result.call_id for call in step.calls)]
        # Some services use ids again, so the result's own step is asked first.
        own = self._by_index.get(result.step) if result.step is not None else None
        waiting = [step for step in reversed(asking) if result.call_id not in step.results]
        found = own if own is not None and own in asking else next(iter(waiting or asking), None)
        if found is None:
            self.turn.orphan_results.append(result)
        else:
            found.results.setdefault(result.call_id, result)
