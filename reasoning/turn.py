"""One turn as a machine: provider deltas in, updates out.

Joins normaliser, sections and guards for each provider response (a step) of the turn, and remembers what the steps have
in common: the sources that tools returned, the trace, the thinking. Text leaves it redacted as product 12 says; raw
thinking and raw arguments leave only inside canonical events, for the log. A scratchpad leaves as a ``Scratchpad`` or
not at all. No clock, no I/O: the caller passes time in through the trace steps.

At the end of a step everything that was held back is let go; ``end_step`` works after a cut stream as well.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from reasoning.citations import Source, check_citations, citation_to_json
from reasoning.deltas import Channel, Delta, RawDelta, RawEnd, RawFields, RawItem, RawUsage
from reasoning.events import AssistantMessage, Event, Reasoning, ToolCall, ToolResult
from reasoning.leakguard import guard_bullets
from reasoning.normalizer import Normalizer
from reasoning.redaction import SECRETS_ONLY, StreamRedactor, redact_text
from reasoning.scratchpad import Scratchpad
from reasoning.sections import SectionParser
from reasoning.trace import ToolTraceStep, summary_from_trace

BLOCK_BREAK = "\n\n"
MOST_TOKENS = 2**31 - 1  # a service may report any number; a database takes this one
_ANSWER, _SUMMARY, _THINKING = Channel.ANSWER, Channel.SUMMARY, Channel.THINKING  # looking a member up costs 75 ns
_VISIBLE, _TOOL = Channel.VISIBLE, Channel.TOOL


@dataclass(frozen=True, slots=True)
class ShowText:
    """Append this redacted text on ``channel``: answer, thinking, or summary (one bullet)."""

    channel: Channel
    text: str


@dataclass(frozen=True, slots=True)
class ShowScratchpad:
    """Hand this to the sockets that hold a grant, and to nothing else."""

    scratchpad: Scratchpad


Update = ShowText | ShowScratchpad


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of a turn, summed over its steps. Reasoning is contained in output. None: not reported."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    reasoning_tokens: int | None = None

    def plus(self, usage: RawUsage) -> Usage:
        return Usage(
            _sum(self.input_tokens, usage.input_tokens),
            _sum(self.output_tokens, usage.output_tokens),
            _sum(self.reasoning_tokens, usage.reasoning_tokens),
        )


@dataclass(frozen=True, slots=True)
class StepOutcome:
    """What a finished step leaves: updates that were held, events to record, calls to run."""

    updates: tuple[Update, ...]
    events: tuple[Event, ...]
    calls: tuple[ToolCall, ...]
    finish_reason: str | None


@dataclass(slots=True)
class _Call:
    call_id: str = ""
    name: str = ""
    arguments: list[str] = field(default_factory=list)


class TurnMachine:
    """Feed it the deltas of each step; see the module for what it promises."""

    def __init__(
        self, *, turn_id: str, model: str, provider: str, system_prompt: str, starts_in_reasoning: bool = False
    ) -> None:
        self._turn_id = turn_id
        self._model = model
        self._provider = provider
        self._system_prompt = system_prompt
        self._starts_in_reasoning = starts_in_reasoning
        self._has_thinking = False
        self._has_answer = False
        self._sources: list[Source] = []
        self._trace: list[ToolTraceStep] = []
        self._notes: list[Scratchpad] = []  # of all steps: a summary may repeat what an earlier one noted
        self.usage = Usage()
        self.summary: tuple[str, ...] = ()
        self.summary_source = ""
        self.dropped_bullets = 0
        self.stripped_delimiters = 0
        self.step = -1

    @property
    def sources(self) -> tuple[Source, ...]:
        return tuple(self._sources)

    @property
    def trace(self) -> tuple[ToolTraceStep, ...]:
        return tuple(self._trace)

    def begin_step(self) -> None:
        """Start the next provider response of the turn."""
        self.step += 1
        self._normalizer = Normalizer(starts_in_reasoning=self._starts_in_reasoning, live=True)
        self._sections = SectionParser(live=True)
        self._shown_answer = StreamRedactor(SECRETS_ONLY)
        self._shown_thinking = StreamRedactor()
        self._answer: list[str] = []
        self._bullets: list[str] = []
        self._calls: dict[int, _Call] = {}
        self._items: list[RawItem] = []
        self._finish_reason: str | None = None
        self._step_has_thinking = False

    def feed(self, raw: RawDelta) -> tuple[Update, ...]:
        """Take one piece off the provider; return what may be shown now."""
        match raw:
            case RawFields(fields):
                return tuple(self._channelled(self._normalizer.feed(fields)))
            case RawItem():
                self._items.append(raw)
            case RawUsage():
                self.usage = self.usage.plus(raw)
            case RawEnd(finish_reason):
                self._finish_reason = finish_reason
        return ()

    def end_step(self, *, partial: bool = False) -> StepOutcome:
        """Let go of what was held, and say what the step leaves. ``partial``: the stream was cut or stopped."""
        updates = [*self._channelled(self._normalizer.finish()), *self._sectioned(self._sections.finish())]
        updates += self._answered(_rest_of(self._shown_answer, partial=partial))
        rest = _rest_of(self._shown_thinking, partial=partial)
        updates += [ShowText(_THINKING, rest)] if rest else []
        self.stripped_delimiters += self._normalizer.counters.stripped_delimiters
        calls = () if partial else tuple(self._finished_calls())
        events = (*self._reasoning_events(), *self._message_events(partial=partial), *calls)
        return StepOutcome(tuple(updates), events, calls, self._finish_reason)

    def tool_finished(self, call: ToolCall, output: str, trace: ToolTraceStep, sources: Sequence[Source]) -> ToolResult:
        """Take a tool's result; return the event to record beside its trace step."""
        self._trace.append(trace)
        self._sources += sources
        return ToolResult(call_id=call.call_id, output=output, ok=trace.status == "ok", step=call.step)

    def _channelled(self, deltas: Sequence[Delta]) -> list[Update]:
        updates: list[Update] = []
        for delta in deltas:
            text, channel = delta.text, delta.channel
            if isinstance(text, Scratchpad):
                self._notes.append(text)
                updates.append(ShowScratchpad(text))
            elif channel is _VISIBLE:
                updates += self._sectioned(self._sections.feed(text))
            elif channel is _THINKING:
                updates += self._thought(text)
            elif channel is _TOOL:
                self._called(delta, text)
        return updates

    def _sectioned(self, deltas: Sequence[Delta]) -> list[Update]:
        updates: list[Update] = []
        for delta in deltas:
            text = delta.text
            if isinstance(text, Scratchpad):
                continue
            if delta.channel is _SUMMARY:
                self._bullets.append(text)
            else:
                updates += self._answered(self._shown_answer.feed(text))
        return updates

    def _thought(self, text: str) -> list[Update]:
        begins_block = self._has_thinking and not self._step_has_thinking
        self._step_has_thinking = self._has_thinking = True
        shown = self._shown_thinking.feed(text)
        texts = (BLOCK_BREAK if begins_block else "", shown)
        return [ShowText(_THINKING, part) for part in texts if part]

    def _answered(self, shown: str) -> list[Update]:
        if not shown:
            return []
        begins_step = self._has_answer and not self._answer
        self._answer.append(shown)
        self._has_answer = True
        update = ShowText(_ANSWER, shown)
        return [ShowText(_ANSWER, BLOCK_BREAK), update] if begins_step else [update]

    def _called(self, delta: Delta, piece: str) -> None:
        call = self._calls.setdefault(delta.index or 0, _Call())
        call.call_id = call.call_id or delta.call_id or ""
        call.name = call.name or delta.name or ""
        call.arguments.append(piece)

    def _finished_calls(self) -> Iterator[ToolCall]:
        """Give each call what came, and an id of our own where none came or another call of the step has it."""
        taken = {""}
        for index, call in sorted(self._calls.items()):
            own = f"call_{self._turn_id[:8]}_{self.step}_{index}"
            call_id = own if call.call_id in taken else call.call_id
            taken.add(call_id)
            yield ToolCall(call_id=call_id, name=call.name, arguments="".join(call.arguments), step=self.step)

    def _reasoning_events(self) -> Iterator[Event]:
        for raw in sorted(self._items, key=lambda item: item.output_index):
            yield self._reasoning(kind="item", item=dict(raw.item))
        thinking = self._normalizer.thinking  # native text alone where there is any, even if tagged text came first
        if thinking:
            source = self._normalizer.source_field or ""
            yield self._reasoning(kind="text", text=thinking, source_field=source)
        if self._normalizer.reasoning_details:
            yield self._reasoning(kind="details", details=list(self._normalizer.reasoning_details))

    def _reasoning(self, **values: Any) -> Reasoning:
        return Reasoning(model=self._model, provider=self._provider, step=self.step, **values)

    def _message_events(self, *, partial: bool) -> Iterator[Event]:
        text = "".join(self._answer).rstrip()  # live, the last blanks were let go
        if self._calls and not text:
            return
        if not self._calls:
            self._summarise()
        citations = check_citations(text, self._sources)
        if text or self.summary:
            yield AssistantMessage(
                text=text,
                summary=() if self._calls else self.summary,
                citations=tuple(citation_to_json(citation) for citation in citations),
                partial=partial,
                step=self.step,
            )

    def _summarise(self) -> None:
        """Guard the model's bullets; with fewer than two left, build them from the trace. Spec 004 summary."""
        guarded = guard_bullets(
            self._bullets, system_prompt=self._system_prompt, scratchpad=Scratchpad.join(self._notes)
        )
        self.dropped_bullets += guarded.dropped
        from_trace = () if len(guarded.kept) > 1 else summary_from_trace(self._trace)
        self.summary = from_trace or tuple(redact_text(bullet) for bullet in guarded.kept)
        self.summary_source = ("trace" if from_trace else "model") if self.summary else ""


def _rest_of(redactor: StreamRedactor, *, partial: bool) -> str:
    """Return what was held; of a stream that was cut, only what can't be the beginning of something private."""
    return redactor.abort() if partial else redactor.flush()


def _sum(total: int | None, more: int | None) -> int | None:
    return total if more is None else min((total or 0) + more, MOST_TOKENS)
