"""One turn as a machine: provider deltas in, updates out.

Joins normaliser, sections and guards for each provider response (a step) of the turn, and remembers what the steps have
in common: the sources that tools returned, the trace, the thinking. Text leaves it redacted as product 12 says; raw
thinking and raw arguments leave only inside canonical events, for the log. A scratchpad leaves as a ``Scratchpad`` or
not at all. No clock, no I/O: the caller passes time in through the trace steps.

At the end of a step everything that was held back is let go; ``end_step`` works after a cut stream as well.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from reasoning.beside import StatusLines
from reasoning.citations import Source, check_citations, citation_to_json
from reasoning.deltas import Channel, Delta, RawDelta, RawEnd, RawFields, RawItem, RawUsage
from reasoning.events import AssistantMessage, Event, Reasoning, ToolCall, ToolResult
from reasoning.leakguard import guard_bullets
from reasoning.normalizer import Normalizer
from reasoning.redaction import SECRETS_ONLY, StreamRedactor, redact_text
from reasoning.scratchpad import Scratchpad
from reasoning.sections import SectionParser
from reasoning.trace import ToolTraceStep, summary_from_trace
from reasoning.turncalls import StepCalls
from reasoning.updates import ShowScratchpad, ShowStatus, ShowText, StepOutcome, Update, Usage

BLOCK_BREAK = "\n\n"
CUT_SHORT = frozenset({"length", "content_filter"})  # finish reasons of an answer that is not whole
_ANSWER, _SUMMARY, _THINKING = Channel.ANSWER, Channel.SUMMARY, Channel.THINKING  # looking a member up costs 75 ns
_ITEM, _MESSAGE = "item", "message"
_VISIBLE, _TOOL = Channel.VISIBLE, Channel.TOOL


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
        self.extracted_blocks = 0
        self.masked = 0  # places in the answer, the thinking and the trace
        self.step = -1
        self._updates: list[Update] = []  # since the last time that they were given out
        self.reported_input = 0  # tokens of the newest request, as its service says

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
        self.step_chars = 0  # of content, to tell how long the end of the step may take
        self._bullets: list[str] = []
        self._calls = StepCalls()
        self._items: list[RawItem] = []
        self._order: list[str | int] = []  # of items, message and calls (their index), as the service gave them
        self._status = StatusLines()
        self._finish_reason: str | None = None
        self._step_has_thinking = False

    def feed(self, raw: RawDelta) -> tuple[Update, ...]:
        """Take one piece off the provider; return what may be shown now."""
        if isinstance(raw, RawFields):
            self._take_fields(raw.fields)
            self._end_word(raw.fields.get("content"))
        else:
            self._take_note(raw)
        return self._drained()

    def end_step(self, *, partial: bool = False) -> StepOutcome:
        """Let go of what was held, and say what the step leaves. ``partial``: the stream was cut or stopped."""
        self._channel(self._normalizer.finish())
        self._section(self._sections.finish())
        self._show_answer(_rest_of(self._shown_answer, partial=partial))
        self._show_thinking(_rest_of(self._shown_thinking, partial=partial))
        self._count()
        calls = {} if partial else self._calls.finished(turn_id=self._turn_id, step=self.step)
        events = (*self._reasoning_events(calls), *self._in_order(calls, partial=partial))
        return StepOutcome(self._drained(), events, tuple(calls.values()), self._finish_reason)

    def tool_finished(self, call: ToolCall, output: str, trace: ToolTraceStep, sources: Sequence[Source]) -> ToolResult:
        """Take a tool's result; return the event to record beside its trace step."""
        self._trace.append(trace)
        self._sources += sources
        self.masked += sum(trace.redactions.values())
        return ToolResult(call_id=call.call_id, output=output, ok=trace.status == "ok", step=call.step)

    def _count(self) -> None:
        counters = self._normalizer.counters
        self.stripped_delimiters += counters.stripped_delimiters
        self.extracted_blocks += counters.extracted_blocks
        self.masked += sum((self._shown_answer.counts + self._shown_thinking.counts).values())

    def _take_note(self, raw: RawItem | RawUsage | RawEnd) -> None:
        match raw:
            case RawItem():
                self._items.append(raw)
                self._order.append(_MESSAGE if raw.item.get("type") == _MESSAGE else _ITEM)
            case RawUsage():
                self.usage = self.usage.plus(raw)
                self.reported_input = raw.input_tokens or 0
            case RawEnd(finish_reason):
                self._finish_reason = finish_reason

    def _take_fields(self, fields: Mapping[str, Any]) -> None:
        content = fields.get("content") or ""
        self.step_chars += len(content)
        if content and len(fields) == 1 and type(fields) is dict and self._goes_straight(content):
            return
        if "tool_calls" in fields:
            self._calls.signatures.feed(fields["tool_calls"])
        elif "reasoning_summary" in fields:
            line = self._status.feed(fields["reasoning_summary"])
            self._updates += [ShowStatus(line)] if line else []
            return
        self._channel(self._normalizer.feed(fields))

    def _end_word(self, content: Any) -> None:
        """Show the last word of a line of the answer without the line break behind it, which is kept back."""
        if type(content) is not str or content[-1:] != "\n":
            return
        sections = self._sections
        if sections.keeps_break or (self._normalizer.keeps_break and not sections.keeps_line):
            self._show_answer(self._shown_answer.end_word())

    def _goes_straight(self, content: Any) -> bool:
        """Take a piece of plain answer, as most are, without a delta in between; False where it is to be looked at."""
        visible = self._normalizer.visible_now(content) if type(content) is str else None
        if visible is None:
            return False
        answer = self._sections.answer_now(visible)
        if answer is None:
            self._section(self._sections.feed(visible))
        elif answer:
            self._show_answer(self._shown_answer.feed(answer))
        return True

    def _drained(self) -> tuple[Update, ...]:
        updates = tuple(self._updates)
        self._updates.clear()
        return updates

    def _channel(self, deltas: Sequence[Delta]) -> None:
        for delta in deltas:
            text, channel = delta.text, delta.channel
            if isinstance(text, Scratchpad):
                self._notes.append(text)
                self._updates.append(ShowScratchpad(text))
            elif channel is _VISIBLE:
                self._section(self._sections.feed(text))
            elif channel is _THINKING:
                self._think(text)
            elif channel is _TOOL:
                index = self._calls.take(delta, text)
                self._order += [] if index is None else [index]

    def _section(self, deltas: Sequence[Delta]) -> None:
        for delta in deltas:
            text = delta.text
            if isinstance(text, Scratchpad):
                continue
            if delta.channel is _SUMMARY:
                self._bullets.append(text)
            else:
                self._show_answer(self._shown_answer.feed(text))

    def _think(self, text: str) -> None:
        if self._has_thinking and not self._step_has_thinking:
            self._show_thinking(BLOCK_BREAK)
        self._step_has_thinking = self._has_thinking = True
        self._show_thinking(self._shown_thinking.feed(text))

    def _show_thinking(self, shown: str) -> None:
        if shown:
            self._updates.append(ShowText(_THINKING, shown))

    def _show_answer(self, shown: str) -> None:
        if not shown:
            return
        if self._has_answer and not self._answer:
            self._updates.append(ShowText(_ANSWER, BLOCK_BREAK))
        self._has_answer = True
        self._answer.append(shown)
        self._updates.append(ShowText(_ANSWER, shown))

    def _reasoning_events(self, calls: Mapping[int, ToolCall]) -> Iterator[Event]:
        thinking = self._normalizer.thinking  # native text alone where there is any, even if tagged text came first
        if thinking:
            source = self._normalizer.source_field or ""
            yield self._reasoning(kind="text", text=thinking, source_field=source)
        if self._normalizer.reasoning_details:
            yield self._reasoning(kind="details", details=list(self._normalizer.reasoning_details))
        for signature in self._calls.signatures.of([(index, call.call_id) for index, call in calls.items()]):
            yield self._reasoning(kind="signature", item=signature)

    def _in_order(self, calls: Mapping[int, ToolCall], *, partial: bool) -> Iterator[Event]:
        """Yield items, message and calls as the service gave them, the message before the calls where it is not said.

        Items that came out of turn are put in the order of their index. Spec 002 decision 2.
        """
        is_whole = not partial and self._finish_reason not in CUT_SHORT
        items = iter(sorted((raw for raw in self._items if _is_opaque(raw)), key=lambda raw: raw.output_index))
        message = list(self._message_events(partial=partial))
        place = max((at for at, what in enumerate(self._order) if what == _MESSAGE), default=None)
        for at, what in enumerate(self._order):
            if what == _ITEM:
                yield self._reasoning(kind="item", item=dict(next(items).item), whole=is_whole)
            if at == place or (place is None and isinstance(what, int)):
                yield from message
                message = []
            if isinstance(what, int) and what in calls:
                yield calls[what]
        yield from message

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


def _is_opaque(raw: RawItem) -> bool:
    return raw.item.get("type") != _MESSAGE


def _rest_of(redactor: StreamRedactor, *, partial: bool) -> str:
    """Return what was held; of a stream that was cut, only what can't be the beginning of something private."""
    return redactor.abort() if partial else redactor.flush()
