"""One turn as a state machine: provider deltas in, updates and canonical events out.

Text leaves it redacted as product 12 says; raw thinking and raw arguments leave only inside canonical events, for the
log. A scratchpad leaves as a ``Scratchpad`` only. No clock, no I/O.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import msgspec
from msgspec import Struct

from reasoning.citations import Source, check_citations, citation_to_json
from reasoning.deltas import Channel, Delta, RawDelta, RawEnd, RawFields, RawItem, RawUsage
from reasoning.events import AssistantMessage, Event, Reasoning, ToolCall, ToolResult
from reasoning.leak_guard import guard_bullets
from reasoning.redaction import REPEAT, SECRETS_ONLY, StreamRedactor, redact_text
from reasoning.scratchpad import Scratchpad
from reasoning.stream.limits import Cap, TurnLimits, cut_to_bytes, utf8_bytes
from reasoning.stream.normalizer import Normalizer
from reasoning.stream.output import BLOCK_BREAK, Counters
from reasoning.stream.sections import SectionParser
from reasoning.stream.tool_calls import ToolCallAssembler
from reasoning.trace import MIN_BULLETS, ToolTraceStep, summary_from_trace

CUT_SHORT = frozenset({"length", "content_filter"})  # finish reasons of an answer that is not complete
MAX_TOKENS = 2**31 - 1  # a service may report any number; the database column takes this one
MAX_STATUS_CHARS = 120
_MAX_LINE_CHARS = 1_000  # of a status line that has no end yet; more of it would not be shown
_ITEM, _MESSAGE = "item", "message"


class ShowText(Struct, frozen=True):  # one for nearly every token, like Delta
    """Append this redacted text on ``channel``: answer or thinking."""

    channel: Channel
    text: str


@dataclass(frozen=True, slots=True)
class ReplaceText:
    """Replace the last ``chars`` characters that were shown on ``channel`` by this redacted text."""

    channel: Channel
    chars: int
    text: str


@dataclass(frozen=True, slots=True)
class ShowScratchpad:
    """Pass this to the sockets that have a grant, and to nothing else."""

    scratchpad: Scratchpad


@dataclass(frozen=True, slots=True)
class ShowStatus:
    """Show this while the model thinks: a line of the service's own summary, redacted. Never stored (product 7)."""

    text: str


Update = ShowText | ReplaceText | ShowScratchpad | ShowStatus


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
class StepOutcome:
    """What a finished step leaves: the last updates, events to record, calls to run."""

    updates: tuple[Update, ...]
    events: tuple[Event, ...]
    calls: tuple[ToolCall, ...]
    finish_reason: str | None


class TurnMachine:
    """Feed it the deltas of each step (a provider response) of one turn.

    For each step: ``begin_step``, ``feed`` as deltas arrive, ``end_step``, then ``tool_finished`` for each call. Once
    ``reached`` names a limit, nothing more is taken in: the stream is to be closed, and the step ended as partial.
    """

    def __init__(
        self,
        *,
        turn_id: str,
        model: str,
        provider: str,
        system_prompt: str,
        starts_in_reasoning: bool = False,
        limits: TurnLimits | None = None,
    ) -> None:
        self._turn_id = turn_id
        self._model = model
        self._provider = provider
        self._system_prompt = system_prompt
        self._starts_in_reasoning = starts_in_reasoning
        self._limits = limits or TurnLimits()
        # Bytes that the turn may still have of each. What is held back is on no channel yet, so what comes in is
        # limited too, generously: a service may send one text under two names.
        self._answer_room = self._limits.answer_bytes
        self._thinking_room = self._opaque_room = self._limits.thinking_bytes
        self._intake_room = 2 * (self._limits.answer_bytes + self._limits.thinking_bytes)
        self.reached: Cap | None = None
        self._updates: list[Update] = []
        self._has_thinking = False
        self._has_answer = False
        self._sources: list[Source] = []
        self._trace: list[ToolTraceStep] = []
        self._scratchpads: list[Scratchpad] = []  # of all steps: a summary may repeat what an earlier one noted
        self.step = -1
        self.usage = TokenUsage()
        self.reported_input = 0  # tokens of the newest request, as its service reports them
        self.summary: tuple[str, ...] = ()
        self.summary_source = ""
        self.dropped_bullets = 0
        self.counters = Counters()  # of all steps
        self.masked = 0  # places in the answer, the thinking and the trace
        self.scratchpad_repeats = 0  # those of them that repeated the scratchpad

    @property
    def scratchpad(self) -> Scratchpad:
        """All notes of the turn so far."""
        return Scratchpad.join(self._scratchpads)

    @property
    def sources(self) -> tuple[Source, ...]:
        return tuple(self._sources)

    @property
    def trace(self) -> tuple[ToolTraceStep, ...]:
        return tuple(self._trace)

    def begin_step(self) -> None:
        """Start the next provider response of the turn."""
        self.step += 1
        self.step_chars = 0  # of content: the end of a long step takes longer
        self._normalizer = Normalizer(starts_in_reasoning=self._starts_in_reasoning, live=True)
        self._sections = SectionParser(live=True)
        # People in an answer may be shown, people in thinking not (product 12).
        self._answer_redactor = StreamRedactor(SECRETS_ONLY)
        self._thinking_redactor = StreamRedactor()
        self._answer: list[str] = []
        self._shown_thinking: list[str] = []
        self._bullets: list[str] = []
        self._tool_calls = ToolCallAssembler()
        self._items: list[RawItem] = []
        self._order: list[str | int] = []  # of items, message and calls (their index), as the service sent them
        self._status_line = ""
        self._finish_reason: str | None = None
        self._step_has_thinking = False
        self._step_thinking_room = self._thinking_room

    def feed(self, raw: RawDelta) -> tuple[Update, ...]:
        """Return what may be shown now."""
        if self.reached:
            return ()
        match raw:
            case RawFields(fields):
                self._feed_fields(fields)
            case RawItem():
                self._count_opaque(raw.item)
                self._items.append(raw)
                self._order.append(_MESSAGE if raw.item.get("type") == _MESSAGE else _ITEM)
            case RawUsage():
                self.usage = self.usage.plus(raw)
                self.reported_input = raw.input_tokens or 0
            case RawEnd(finish_reason):
                self._finish_reason = finish_reason
        return self._drain()

    def end_step(self, *, partial: bool = False) -> StepOutcome:
        """Emit what was held back, and return what the step leaves. ``partial``: the stream was cut or stopped."""
        self._route(self._normalizer.finish())
        self._route_sections(self._sections.finish())
        # Only now: the parsers may still release text into both.
        redactors = (self._answer_redactor, self._thinking_redactor)
        # Of a stream that was cut, what can be the beginning of a secret is dropped.
        answer, thinking = (redactor.abort() if partial else redactor.flush() for redactor in redactors)
        self._show_answer(answer)
        self._show_thinking(thinking)
        self.counters = self.counters.plus(self._normalizer.counters)
        self.masked += sum(redactor.counts.total() for redactor in redactors)
        self._remove_repeats()
        # Of a response that was cut off no call is run: its arguments may be half.
        calls = {} if partial else self._tool_calls.finish(turn_id=self._turn_id, step=self.step)
        events = (*self._reasoning_events(calls), *self._ordered_events(calls, partial=partial))
        return StepOutcome(self._drain(), events, tuple(calls.values()), self._finish_reason)

    def tool_finished(self, call: ToolCall, output: str, trace: ToolTraceStep, sources: Sequence[Source]) -> ToolResult:
        """Add a tool's result; return the event to record beside its trace step."""
        self._trace.append(trace)
        self._sources += sources
        self.masked += sum(trace.redactions.values())
        self.scratchpad_repeats += trace.redactions.get(REPEAT, 0)
        return ToolResult(call_id=call.call_id, output=output, ok=trace.status == "ok", step=call.step)

    def _feed_fields(self, fields: Mapping[str, Any]) -> None:
        if "tool_calls" in fields:
            self._count_opaque(self._tool_calls.feed_signatures(fields["tool_calls"]))
        elif "reasoning_summary" in fields:
            self._show_status(fields["reasoning_summary"])
            return
        if "reasoning_details" in fields:
            self._count_opaque(fields["reasoning_details"])
        self.step_chars += len(fields.get("content") or "")
        for text in fields.values():
            self._intake_room -= utf8_bytes(text) if isinstance(text, str) else 0
        if self._intake_room < 0:
            self.reached = "answer" if "content" in fields else "thinking"
        self._route(self._normalizer.feed(fields))
        if self._sections.has_pending_newline:
            # The newline is held back, for it may turn out to be trailing. The word before it is complete.
            self._show_answer(self._answer_redactor.end_word())

    def _route(self, deltas: Sequence[Delta]) -> None:
        for delta in deltas:
            text = delta.text
            if isinstance(text, Scratchpad):
                self._scratchpads.append(text)
                self._updates.append(ShowScratchpad(text))
            elif delta.channel is Channel.VISIBLE:
                self._route_sections(self._sections.feed(text))
            elif delta.channel is Channel.THINKING:
                text = self._within_thinking_room(text)
                # On the page a blank line separates the thoughts of two steps.
                if self._has_thinking and not self._step_has_thinking:
                    self._show_thinking(BLOCK_BREAK)
                self._step_has_thinking = self._has_thinking = True
                self._show_thinking(self._thinking_redactor.feed(text))
            elif not self.reached:
                if self._tool_calls.feed(delta):
                    self._order.append(delta.index or 0)
                if self._tool_calls.longest_bytes > self._limits.arguments_bytes:
                    self.reached = "arguments"
                elif len(self._tool_calls) > self._limits.calls_read:
                    self.reached = "calls"

    def _route_sections(self, deltas: Sequence[Delta]) -> None:
        for delta in deltas:
            if delta.channel is Channel.SUMMARY:
                self._bullets.append(str(delta.text))
            else:
                self._show_answer(self._answer_redactor.feed(str(delta.text)))

    def _within_thinking_room(self, text: str) -> str:
        size = utf8_bytes(text)
        if size > self._thinking_room:
            text, self.reached = cut_to_bytes(text, self._thinking_room), "thinking"
        self._thinking_room = max(0, self._thinking_room - size)
        return text

    def _count_opaque(self, value: object) -> None:
        """Count what is stored as it came, and is no text."""
        self._opaque_room -= len(msgspec.json.encode(value)) if value else 0
        if self._opaque_room < 0:
            self.reached = "thinking"

    def _show_answer(self, redacted: str) -> None:
        size = utf8_bytes(redacted)
        if size > self._answer_room:
            redacted, self.reached = cut_to_bytes(redacted, self._answer_room), "answer"
        self._answer_room = max(0, self._answer_room - size)
        if not redacted:
            return
        if self._has_answer and not self._answer:
            self._updates.append(ShowText(Channel.ANSWER, BLOCK_BREAK))
        self._has_answer = True
        self._answer.append(redacted)
        self._updates.append(ShowText(Channel.ANSWER, redacted))

    def _show_thinking(self, redacted: str) -> None:
        if redacted:
            self._shown_thinking.append(redacted)
            self._updates.append(ShowText(Channel.THINKING, redacted))

    def _remove_repeats(self) -> None:
        """Remove what repeats the scratchpad from the texts of this step, also where it was shown. Product 22."""
        scratchpad = self.scratchpad
        # Only now: a model writes its notes behind the answer.
        for channel, shown in ((Channel.ANSWER, self._answer), (Channel.THINKING, self._shown_thinking)):
            before = "".join(shown)
            text, count = scratchpad.remove_repeats(before)
            if count:
                shown[:] = [text]
                self._updates.append(ReplaceText(channel, len(before), text))
                self.scratchpad_repeats += count
                self.masked += count
        self._thinking, _count = scratchpad.remove_repeats(self._normalizer.thinking or "")

    def _show_status(self, text: object) -> None:
        """Show the last line that ended, redacted."""
        if not isinstance(text, str):
            return
        whole, line_break, rest = (self._status_line + text).rpartition("\n")
        self._status_line = rest[:_MAX_LINE_CHARS]
        lines = [line.strip(" *#\t") for line in whole.split("\n")] if line_break else []
        lines = [line for line in lines if line and "<" not in line]  # no delimiter of any kind
        if lines:
            self._updates.append(ShowStatus(redact_text(lines[-1])[:MAX_STATUS_CHARS]))

    def _drain(self) -> tuple[Update, ...]:
        updates, self._updates = self._updates, []
        return tuple(updates)

    def _reasoning_events(self, calls: Mapping[int, ToolCall]) -> Iterator[Event]:
        normalizer = self._normalizer
        # The normaliser has collected it by itself, without a limit.
        if self._thinking and (text := cut_to_bytes(self._thinking, self._step_thinking_room)):
            yield self._reasoning(kind="text", text=text, source_field=normalizer.source_field or "")
        if normalizer.reasoning_details:
            yield self._reasoning(kind="details", details=list(normalizer.reasoning_details))
        for signature in self._tool_calls.signatures(calls):
            yield self._reasoning(kind="signature", item=signature)

    def _ordered_events(self, calls: Mapping[int, ToolCall], *, partial: bool) -> Iterator[Event]:
        """Yield items, message and calls as the service sent them; without a mark the message precedes the calls.

        Items that came out of turn are put in the order of their index. Spec 002 decision 2.
        """
        # An item of an answer that was cut is incomplete, and its service refuses it.
        is_whole = not partial and self._finish_reason not in CUT_SHORT
        opaque = [raw for raw in self._items if raw.item.get("type") != _MESSAGE]
        items = iter(sorted(opaque, key=lambda raw: raw.output_index))
        message = self._message_event(partial=partial)
        message_at = max((at for at, what in enumerate(self._order) if what == _MESSAGE), default=None)
        for at, what in enumerate(self._order):
            if what == _ITEM:
                yield self._reasoning(kind="item", item=dict(next(items).item), whole=is_whole)
            if message and (at == message_at or (message_at is None and isinstance(what, int))):
                yield message
                message = None
            if isinstance(what, int) and what in calls:
                yield calls[what]
        if message:
            yield message

    def _reasoning(self, **values: Any) -> Reasoning:
        return Reasoning(model=self._model, provider=self._provider, step=self.step, **values)

    def _message_event(self, *, partial: bool) -> AssistantMessage | None:
        # What is stored is what was shown, redacted once.
        text = "".join(self._answer).rstrip()  # live, the last blanks were emitted
        has_calls = bool(self._tool_calls)
        if not has_calls:
            self._summarise()
        elif not text:
            return None
        if not (text or self.summary):
            return None
        return AssistantMessage(
            text=text,
            summary=() if has_calls else self.summary,
            citations=tuple(citation_to_json(citation) for citation in check_citations(text, self._sources)),
            partial=partial,
            step=self.step,
        )

    def _summarise(self) -> None:
        """Guard the model's bullets; with fewer than two left, build them from the trace. Spec 004 summary."""
        guard = partial(guard_bullets, system_prompt=self._system_prompt, scratchpad=self.scratchpad)
        guarded = guard(self._bullets)
        self.dropped_bullets += guarded.dropped
        from_trace: tuple[str, ...] = ()
        if len(guarded.shown) < MIN_BULLETS:
            from_trace = summary_from_trace(self._trace, guard=lambda bullets: set(guard(bullets).shown))
        self.summary = from_trace or tuple(redact_text(bullet) for bullet in guarded.shown)
        self.summary_source = ("trace" if from_trace else "model") if self.summary else ""


def _add(total: int | None, more: int | None) -> int | None:
    return total if more is None else min((total or 0) + more, MAX_TOKENS)
