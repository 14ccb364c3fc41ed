"""One turn as a state machine: what its steps share, and what is left when they have ended. No clock, no I/O."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import partial

from reasoning.citations import Source
from reasoning.delimiters.tags import blunt
from reasoning.deltas import RawUsage
from reasoning.events import AssistantMessage, Event, ToolCall, ToolResult
from reasoning.leak_guard import guard_bullets
from reasoning.redaction import REPEAT, redact_text
from reasoning.scratchpad import Scratchpad
from reasoning.services.thinking_formats import find_thinking_format
from reasoning.stream.limits import Room, TurnLimits
from reasoning.stream.output import Counters
from reasoning.stream.step import StepMachine
from reasoning.trace import MIN_BULLETS, ToolTraceStep, summary_from_trace

MAX_TOKENS = 2**31 - 1  # a service may report any number; the database column takes this one


@dataclass(frozen=True, slots=True)
class TokenUsage:
    """Tokens of a turn, summed over its steps. None: not reported.

    Reasoning is contained in output, what a service had cached in input.
    """

    input_tokens: int | None = None
    output_tokens: int | None = None
    reasoning_tokens: int | None = None
    cached_tokens: int | None = None

    def plus(self, usage: RawUsage) -> TokenUsage:
        return TokenUsage(
            _add(self.input_tokens, usage.input_tokens),
            _add(self.output_tokens, usage.output_tokens),
            _add(self.reasoning_tokens, usage.reasoning_tokens),
            _add(self.cached_tokens, usage.cached_tokens),
        )


@dataclass(frozen=True, slots=True)
class EndedPart:
    """What a turn holds already that runs again, to be continued. Product 41.

    ``steps`` is how many it has had; ``is_text_cut``: the next text continues its own; else it is another one.
    """

    steps: int = 0
    answer: str = ""
    thinking: str = ""  # redacted
    is_text_cut: bool = False
    trace: tuple[ToolTraceStep, ...] = ()
    sources: tuple[Source, ...] = ()
    summary: tuple[str, ...] = ()
    summary_source: str = ""
    usage: TokenUsage = TokenUsage()


class TurnMachine:
    """Decides what the deltas of one turn are.

    ``begin_step`` starts a provider response, which is fed and ended; then ``tool_finished`` for each of its calls. A
    turn that ends without an answer ends with ``closing_events``. ``room.reached`` names the limit that was passed.
    ``tool_names``: the tools that its model may call.
    """

    def __init__(
        self,
        *,
        turn_id: str,
        model: str,
        provider: str,
        system_prompt: str,
        starts_in_reasoning: bool = False,
        thinking_format: str = "",
        limits: TurnLimits | None = None,
        before: EndedPart | None = None,
        tool_names: Collection[str] = (),
    ) -> None:
        self.turn_id, self.model, self.provider = turn_id, model, provider
        self.tool_names = tool_names
        self.family = find_thinking_format(model, thinking_format)
        self._system_prompt = system_prompt
        self._starts_in_reasoning = starts_in_reasoning
        # The last response ended within a thought, which goes on behind the results of its calls.
        self.has_open_thought = False
        self.open_scratchpads: frozenset[str] = frozenset()  # fields of the last response that ended in one
        self.room = Room(limits or TurnLimits())
        before = before or EndedPart()
        self.continues = before.is_text_cut  # the next text continues where the last one was cut off
        self.cut_answer = before.answer if before.is_text_cut else ""
        self.has_thinking = bool(before.thinking)
        self.has_answer = bool(before.answer) and not before.is_text_cut
        self.room.of_answer(before.answer)
        self.room.of_thinking(before.thinking)
        self.scratchpads: list[Scratchpad] = []  # of all steps: a summary may repeat what an earlier one noted
        self._sources = list(before.sources)
        self._trace = list(before.trace)
        self.step = before.steps - 1  # the number of the present one
        self.usage = before.usage
        self.reported_input = 0  # tokens of the newest request, as its service reports them; 0 where it reports none
        self.summary, self.summary_source = before.summary, before.summary_source
        self.dropped_bullets = 0
        self.counters = Counters()  # of all steps
        self.redactions: Counter[str] = Counter()  # places in the answer, the thinking and the trace, by kind

    @property
    def masked(self) -> int:
        return self.redactions.total()

    @property
    def scratchpad_repeats(self) -> int:
        """Count the masked places that repeated the scratchpad."""
        return self.redactions[REPEAT]

    @property
    def scratchpad(self) -> Scratchpad:
        """All notes of the turn so far."""
        return Scratchpad.join(self.scratchpads)

    @property
    def sources(self) -> tuple[Source, ...]:
        return tuple(self._sources)

    @property
    def trace(self) -> tuple[ToolTraceStep, ...]:
        return tuple(self._trace)

    def begin_step(self, *, may_think: bool = True) -> StepMachine:
        """Start the next provider response of the turn. ``may_think``: the request didn't switch thinking off."""
        self.step += 1
        self.reported_input = 0
        starts_in_reasoning = self.has_open_thought or (self._starts_in_reasoning and may_think)
        return StepMachine(self, self.step, starts_in_reasoning=starts_in_reasoning)

    def tool_finished(self, call: ToolCall, output: str, trace: ToolTraceStep, sources: Sequence[Source]) -> ToolResult:
        """Add a tool's result; return the event to record beside its trace step."""
        self._trace.append(trace)
        self._sources += sources
        self.redactions.update(trace.redactions)
        return ToolResult(call_id=call.call_id, output=output, ok=trace.status == "ok", step=call.step)

    def closing_events(self) -> tuple[Event, ...]:
        """Return what a turn leaves that ends between its steps: a summary of what its tools did."""
        if self.summary or not self._trace:
            return ()
        self.summarise([])
        return (AssistantMessage(text="", summary=self.summary, step=self.step),) if self.summary else ()

    def summarise(self, bullets: Sequence[str]) -> None:
        """Guard the bullets of a summary; with fewer than two left, build them from the trace. Spec 004 summary."""
        guard = partial(guard_bullets, system_prompt=self._system_prompt, scratchpad=self.scratchpad)
        guarded = guard(bullets)
        if self.summary and not guarded.shown:
            return  # that of the part before a continuation
        self.dropped_bullets += guarded.dropped
        from_trace: tuple[str, ...] = ()
        if len(guarded.shown) < MIN_BULLETS:
            from_trace = summary_from_trace(self._trace, guard=lambda bullets: set(guard(bullets).shown))
        shown = from_trace or tuple(redact_text(bullet) for bullet in guarded.shown)
        self.summary = tuple(blunt(bullet) for bullet in shown)  # a query or code may contain a delimiter
        self.summary_source = ("trace" if from_trace else "model") if self.summary else ""

    def count_usage(self, usage: RawUsage) -> None:
        self.usage = self.usage.plus(usage)
        self.reported_input = usage.input_tokens or 0


def _add(total: int | None, more: int | None) -> int | None:
    return total if more is None else min((total or 0) + more, MAX_TOKENS)
