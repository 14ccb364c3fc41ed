"""One turn as a state machine: provider deltas in, updates and canonical events out.

Text leaves it redacted as product 12 says; raw thinking and raw arguments leave only inside canonical events, for the
log. A scratchpad leaves as a ``Scratchpad`` only. No clock, no I/O.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import msgspec
from msgspec import Struct

from reasoning.citations import Source, check_citations, citation_to_json
from reasoning.deltas import Channel, Delta, RawDelta, RawEnd, RawFields, RawItem, RawMessage, RawUsage
from reasoning.events import AssistantMessage, Event, Reasoning, ToolCall, ToolResult
from reasoning.leak_guard import guard_bullets
from reasoning.redaction import REPEAT, SECRETS_ONLY, StreamRedactor, redact_text
from reasoning.scratchpad import Scratchpad
from reasoning.stream.limits import Cap, TurnLimits, cut_to_bytes, utf8_bytes
from reasoning.stream.normalizer import Normalizer
from reasoning.stream.output import BLOCK_BREAK, Counters
from reasoning.stream.reasoning_details import without_scratchpads
from reasoning.stream.sections import SectionParser
from reasoning.stream.signatures import is_opaque, merge_signatures, signatures_in
from reasoning.stream.tags import blunt
from reasoning.stream.tool_calls import ToolCallAssembler, is_cut_off, mappings_in
from reasoning.trace import MIN_BULLETS, ToolTraceStep, summary_from_trace

CUT_SHORT = frozenset({"length", "content_filter"})  # finish reasons of an answer that is not complete
MAX_TOKENS = 2**31 - 1  # a service may report any number; the database column takes this one
MAX_STATUS_CHARS = 120
_MAX_LINE_CHARS = 1_000  # of a status line that has no end yet; more of it would not be shown
MAX_PHASE_CHARS = 64  # of a word of the service; a longer one is no phase
_ITEM = "item"


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
    """Pass this to the sockets that have a grant, and to nothing else. ``is_open``: it goes on."""

    scratchpad: Scratchpad
    is_open: bool = False


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


@dataclass(slots=True)
class _MessageText:
    """One message of a step: its answer, as shown, and the bullets of its summary."""

    number: int
    answer: list[str] = field(default_factory=list)
    bullets: list[str] = field(default_factory=list)


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
        self._thinking_redactor = StreamRedactor()
        self._shown_thinking: list[str] = []
        self._shown_notes_tokens = 0  # of the scratchpad that is open
        self._messages: list[_MessageText] = []
        self._begin_message(0)
        self._tool_calls = ToolCallAssembler()
        self._signatures: dict[str, Any] = {}  # of the message
        self._items: list[RawItem] = []
        # Of items, messages and calls (their index), as the service sent them.
        self._order: list[str | RawMessage | int] = []
        self._status_line = ""
        self._finish_reason: str | None = None
        self._step_has_thinking = False
        self._step_thinking_room = self._thinking_room

    def feed(self, raw: RawDelta) -> tuple[Update, ...]:
        """Return what may be shown now."""
        if self.reached:
            return ()
        match raw:
            case RawFields():
                if raw.message != self._messages[-1].number and "content" in raw.fields:
                    self._route(self._normalizer.end_message())
                    self._end_message()
                    self._begin_message(raw.message)
                self._feed_fields(raw.fields)
            case RawItem():
                self._count_opaque(raw.item)
                self._items.append(raw)
                self._order.append(_ITEM)
            case RawMessage():
                self._order.append(raw)
            case RawUsage():
                self.usage = self.usage.plus(raw)
                self.reported_input = raw.input_tokens or 0
            case RawEnd(finish_reason):
                self._finish_reason = finish_reason
        return self._drain()

    def end_step(self, *, partial: bool = False) -> StepOutcome:
        """Emit what was held back, and return what the step leaves. ``partial``: the stream was cut or stopped."""
        self._route(self._normalizer.finish())
        self._end_message(partial=partial)
        # Of a stream that was cut, what can be the beginning of a secret is dropped.
        self._show_thinking(self._thinking_redactor.abort() if partial else self._thinking_redactor.flush())
        self.counters = self.counters.plus(self._normalizer.counters)
        self.masked += self._thinking_redactor.counts.total()
        self._remove_repeats()
        # Of a response that was cut off no call is run: its arguments may be half. At the limit of the output they are
        # half where they aren't JSON (product 32).
        calls = {} if partial else self._tool_calls.finish(turn_id=self._turn_id, step=self.step)
        if self._finish_reason in CUT_SHORT and is_cut_off(calls.values()):
            calls = {}
        # An item or a signature of an answer that was cut is incomplete, and its service refuses it.
        is_whole = not partial and self._finish_reason not in CUT_SHORT
        reasoning = self._reasoning_events(calls, is_whole=is_whole)
        events = (*reasoning, *self._ordered_events(calls, partial=partial, is_whole=is_whole))
        return StepOutcome(self._drain(), events, tuple(calls.values()), self._finish_reason)

    def tool_finished(self, call: ToolCall, output: str, trace: ToolTraceStep, sources: Sequence[Source]) -> ToolResult:
        """Add a tool's result; return the event to record beside its trace step."""
        self._trace.append(trace)
        self._sources += sources
        self.masked += sum(trace.redactions.values())
        self.scratchpad_repeats += trace.redactions.get(REPEAT, 0)
        return ToolResult(call_id=call.call_id, output=output, ok=trace.status == "ok", step=call.step)

    def _begin_message(self, number: int) -> None:
        """Start another message of the step. Each has sections and a redaction of its own (product 20)."""
        self._messages.append(_MessageText(number))
        self._sections = SectionParser(live=True)
        # People in an answer may be shown, people in thinking not (product 12).
        self._answer_redactor = StreamRedactor(SECRETS_ONLY)

    def _end_message(self, *, partial: bool = False) -> None:
        self._route_sections(self._sections.finish())
        # Only now: the section parser may still release text.
        self._show_answer(self._answer_redactor.abort() if partial else self._answer_redactor.flush())
        self.masked += self._answer_redactor.counts.total()

    def _feed_fields(self, fields: Mapping[str, Any]) -> None:
        if "tool_calls" in fields:
            self._count_opaque([found for call in mappings_in(fields["tool_calls"]) if (found := signatures_in(call))])
        if "signatures" in fields:
            self._count_opaque(fields["signatures"])
            self._signatures = merge_signatures(self._signatures, fields["signatures"])
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
        if (notes := self._normalizer.open_scratchpad) and notes.tokens_est != self._shown_notes_tokens:
            self._shown_notes_tokens = notes.tokens_est
            self._updates.append(ShowScratchpad(notes, is_open=True))
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
                self._messages[-1].bullets.append(str(delta.text))
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
        answer = self._messages[-1].answer
        if self._has_answer and not answer:
            self._updates.append(ShowText(Channel.ANSWER, BLOCK_BREAK))
        self._has_answer = True
        answer.append(redacted)
        self._updates.append(ShowText(Channel.ANSWER, redacted))

    def _show_thinking(self, redacted: str) -> None:
        if redacted:
            self._shown_thinking.append(redacted)
            self._updates.append(ShowText(Channel.THINKING, redacted))

    def _remove_repeats(self) -> None:
        """Remove what repeats the scratchpad from the texts of this step, also where it was shown. Product 22."""
        scratchpad = self.scratchpad
        # Only now: a model writes its notes behind the answer.
        answers = [message.answer for message in self._messages if message.answer]
        for channel, blocks in ((Channel.ANSWER, answers), (Channel.THINKING, [self._shown_thinking])):
            before = BLOCK_BREAK.join(map("".join, blocks))
            count = 0
            for block in blocks:
                text, found = scratchpad.remove_repeats("".join(block))
                if found:
                    block[:] = [text]
                    count += found
            if count:
                self._updates.append(ReplaceText(channel, len(before), BLOCK_BREAK.join(map("".join, blocks))))
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

    def _reasoning_events(self, calls: Mapping[int, ToolCall], *, is_whole: bool) -> Iterator[Event]:
        normalizer = self._normalizer
        # The normaliser has collected it by itself, without a limit.
        if self._thinking and (text := cut_to_bytes(self._thinking, self._step_thinking_room)):
            yield self._reasoning(kind="text", text=text, source_field=normalizer.source_field or "")
        if normalizer.reasoning_details:
            yield self._reasoning(kind="details", details=without_scratchpads(normalizer.reasoning_details))
        # Thinking without anything opaque is recorded as such, above.
        signed = {name: value for name, value in self._signatures.items() if is_opaque(name, value)}
        if signed and is_whole:
            yield self._reasoning(kind="signature", item={"message": signed})
        for index, call in calls.items():
            if signatures := normalizer.call_signatures.get(index):
                yield self._reasoning(kind="signature", item={"call_id": call.call_id, **signatures})

    def _ordered_events(self, calls: Mapping[int, ToolCall], *, partial: bool, is_whole: bool) -> Iterator[Event]:
        """Yield items, messages and calls as the service sent them; a message without a mark precedes the calls.

        Items that came out of turn are put in the order of their index. Spec 002 decision 2.
        """
        items = iter(sorted(self._items, key=lambda raw: raw.output_index))
        phases = {mark.number: mark.phase for mark in self._order if isinstance(mark, RawMessage)}
        messages = self._message_events(phases, partial=partial)
        unmarked = [number for number in messages if number not in phases]
        for what in self._order:
            match what:
                case RawMessage(number):
                    yield from messages.pop(number, ())
                case int():
                    for number in unmarked:
                        yield from messages.pop(number, ())
                    if what in calls:
                        yield calls[what]
                case _:
                    yield self._reasoning(kind="item", item=dict(next(items).item), whole=is_whole)
        for rest in messages.values():
            yield from rest

    def _reasoning(self, **values: Any) -> Reasoning:
        return Reasoning(model=self._model, provider=self._provider, step=self.step, **values)

    def _message_events(self, phases: Mapping[int, str], *, partial: bool) -> dict[int, list[AssistantMessage]]:
        """Return the messages by number. The last one has the summary, which may be all that it has."""
        if not self._tool_calls:
            self._summarise()
        summary = () if self._tool_calls else self.summary
        # What is stored is what was shown, redacted once. Live, the last blanks were emitted.
        texts = [(message.number, "".join(message.answer).rstrip()) for message in self._messages]
        spoken = [(number, text) for number, text in texts if text] or (texts[-1:] if summary else [])
        events: dict[int, list[AssistantMessage]] = {}
        for position, (number, text) in enumerate(spoken, 1):
            phase = phases.get(number, "")
            phase = phase if len(phase) <= MAX_PHASE_CHARS else ""
            message = AssistantMessage(
                text=text,
                summary=summary if position == len(spoken) else (),
                citations=tuple(map(citation_to_json, check_citations(text, self._sources))),
                partial=partial,
                step=self.step,
                phase=phase,
                model=self._model if phase else "",
                provider=self._provider if phase else "",
            )
            events.setdefault(number, []).append(message)
        return events

    def _summarise(self) -> None:
        """Guard the newest summary's bullets; with fewer than two left, build them from the trace. Spec 004 summary."""
        guard = partial(guard_bullets, system_prompt=self._system_prompt, scratchpad=self.scratchpad)
        guarded = guard(next((message.bullets for message in reversed(self._messages) if message.bullets), []))
        self.dropped_bullets += guarded.dropped
        from_trace: tuple[str, ...] = ()
        if len(guarded.shown) < MIN_BULLETS:
            from_trace = summary_from_trace(self._trace, guard=lambda bullets: set(guard(bullets).shown))
        shown = from_trace or tuple(redact_text(bullet) for bullet in guarded.shown)
        self.summary = tuple(blunt(bullet) for bullet in shown)  # a query or code may contain a delimiter
        self.summary_source = ("trace" if from_trace else "model") if self.summary else ""


def _add(total: int | None, more: int | None) -> int | None:
    return total if more is None else min((total or 0) + more, MAX_TOKENS)
