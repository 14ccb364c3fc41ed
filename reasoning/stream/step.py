"""One provider response of a turn as a state machine: deltas in, updates and canonical events out.

Text leaves it redacted as product 12 says; raw thinking and raw arguments leave only inside canonical events, for the
log. A scratchpad leaves as a ``Scratchpad`` only. No clock, no I/O.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import takewhile
from typing import TYPE_CHECKING, Any

from reasoning.citations import check_citations, citation_to_json
from reasoning.deltas import Channel, Delta, RawDelta, RawEnd, RawFields, RawItem, RawMessage, RawUsage
from reasoning.events import AssistantMessage, Event, Reasoning, ToolCall
from reasoning.redaction import REPEAT, SECRETS_ONLY, StreamRedactor, redact_text
from reasoning.scratchpad import RepeatGuard, Scratchpad
from reasoning.services.signatures import SignatureJoiner, is_opaque, signatures_of_call
from reasoning.services.text_calls import has_text_call
from reasoning.stream.continuation import ContinuedText
from reasoning.stream.limits import cut_to_bytes
from reasoning.stream.normalizer import Normalizer
from reasoning.stream.output import BLOCK_BREAK
from reasoning.stream.reasoning_details import clean_details
from reasoning.stream.sections import SectionParser
from reasoning.stream.tool_calls import ToolCallAssembler, is_cut_off, mappings_in
from reasoning.stream.updates import ReplaceText, ShowScratchpad, ShowStatus, ShowText, Update

if TYPE_CHECKING:
    from reasoning.stream.turn import TurnMachine

CUT_SHORT = frozenset({"length", "content_filter"})  # finish reasons of an answer that is not complete
MAX_STATUS_CHARS = 120
_MAX_LINE_CHARS = 1_000  # of a status line that has no end yet; more of it would not be shown
_REDACTED_AGAIN_CHARS = 2_048  # at the end of an answer that is continued: a secret may begin there
MAX_PHASE_CHARS = 64  # of a word of the service; a longer one is no phase


@dataclass(slots=True)
class _MessageText:
    """One message of a step: the parser of its sections, and its answer, as shown."""

    number: int
    sections: SectionParser
    answer: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class StepOutcome:
    """What a finished step leaves: the last updates, events to record, calls to run.

    ``is_thought_unclosed``: a thought without an end took the rest of an answer (product 35). ``has_text_call``: the
    answer, or a thought without one, contains a tool call that the service didn't recognise (product 39).
    """

    updates: tuple[Update, ...]
    events: tuple[Event, ...]
    calls: tuple[ToolCall, ...]
    finish_reason: str | None
    is_thought_unclosed: bool = False
    has_text_call: bool = False


def is_blank(raw: RawDelta) -> bool:
    """Say whether a delta has nothing of an answer: an end, token counts, or blanks."""
    if isinstance(raw, RawFields):
        return all(isinstance(value, str) and not value.strip() for value in raw.fields.values())
    return isinstance(raw, RawEnd | RawUsage)


class StepMachine:
    """Feed it the deltas of one response, then end it. ``TurnMachine.begin_step`` makes one.

    Once the room of the turn is used up nothing more is accepted: the caller closes the stream, and ends the step as
    partial.
    """

    def __init__(self, turn: TurnMachine, number: int, *, starts_in_reasoning: bool) -> None:
        self._turn = turn
        self.room = turn.room
        self.number = number
        self.chars = 0  # of content: the end of a long step takes longer
        self._updates: list[Update] = []
        self._normalizer = Normalizer(
            starts_in_reasoning=starts_in_reasoning,
            live=True,
            family=turn.family,
            open_scratchpads=turn.open_scratchpads,
        )
        self._thinking_redactor = StreamRedactor()
        self._thinking_guard = RepeatGuard(turn.scratchpads)
        self._shown_thinking: list[str] = []
        self._shown_notes_tokens = 0  # of the scratchpad that is open
        self._messages: list[_MessageText] = []
        self._begin_message(0)
        self._tool_calls = ToolCallAssembler()
        self._signatures = SignatureJoiner()  # of the message
        self._items: list[RawItem] = []
        # Items, messages and the indexes of calls, as the service sent them.
        self._order: list[RawItem | RawMessage | int] = []
        self._status_line = ""
        self._finish_reason: str | None = None
        self._is_empty = True  # nothing but blanks, an end and token counts so far
        self._has_thinking = False
        self._room_for_thinking = self.room.thinking

    def feed(self, raw: RawDelta) -> Sequence[Update]:
        """Return what may be shown now."""
        turn = self._turn
        if self.room.reached:
            return ()
        self._is_empty = self._is_empty and is_blank(raw)
        match raw:
            case RawFields():
                self._feed_fields(raw)
            case RawItem():
                self.room.store_opaque(raw.item)
                # Without ciphertext a service doesn't find it again (replay 7), and its texts are the thinking's, which
                # is stored without what is private.
                if raw.item.get("type", "reasoning") != "reasoning" or raw.item.get("encrypted_content"):
                    self._items.append(raw)
                    self._order.append(raw)
            case RawMessage():
                self._order.append(raw)
            case RawUsage():
                turn.count_usage(raw)
            case RawEnd(finish_reason):
                self._finish_reason = finish_reason
        updates, self._updates = self._updates, []
        return updates

    @property
    def said_nothing(self) -> bool:
        """Whether the response ended as a complete answer does, and held nothing of one."""
        return self._is_empty and self._finish_reason == "stop"

    @property
    def was_blocked(self) -> bool:
        """Whether a filter ended the response before it held anything of an answer."""
        return self._is_empty and self._finish_reason == "content_filter"

    def end(self, *, partial: bool = False) -> StepOutcome:
        """Emit what was held back, and return what the step leaves. ``partial``: the stream was cut or stopped."""
        normalizer = self._normalizer
        self._route(normalizer.finish())
        if not partial and self._is_answer_in_hint():
            self._show_hinted_answer()
        self._end_message(partial=partial)
        # Of a stream that was cut, what can be the beginning of a secret is dropped.
        self._show_thinking(self._thinking_redactor.abort() if partial else self._thinking_redactor.flush(), ends=True)
        self._turn.has_open_thought = normalizer.has_open_thought
        self._turn.open_scratchpads = normalizer.open_scratchpads
        self._turn.counters = self._turn.counters.plus(normalizer.counters)
        self._turn.redactions += self._thinking_redactor.counts
        thinking = self._remove_repeats()
        # A stream that was cut or stopped runs no call. A response that reached its limit runs none if the arguments of
        # one aren't JSON (product 32).
        turn = self._turn
        finish = self._tool_calls.finish
        calls = {} if partial else finish(turn_id=turn.turn_id, step=self.number, offered=turn.tool_names)
        if self._finish_reason in CUT_SHORT and is_cut_off(calls.values()):
            calls = {}
        # An item or a signature of an answer that was cut is incomplete, and its service refuses it.
        is_whole = not partial and self._finish_reason not in CUT_SHORT
        reasoning = self._reasoning_events(thinking, calls, is_whole=is_whole)
        events = (*reasoning, *self._ordered_events(calls, partial=partial, is_whole=is_whole))
        answers = ["".join(message.answer) for message in self._messages if message.answer]
        return StepOutcome(
            tuple(self._updates),
            events,
            tuple(calls.values()),
            self._finish_reason,
            is_thought_unclosed=is_whole and normalizer.unclosed_after_text,
            # Some services take a call for the rest of a thought that the model didn't end (vLLM, seen 2026-05).
            has_text_call=not calls and any(map(has_text_call, answers or [thinking])),
        )

    def _begin_message(self, number: int) -> None:
        """Start another message of the step. Each has sections and a redaction of its own (product 20)."""
        is_continued = self._turn.continues and not any(message.answer for message in self._messages)
        self._before = self._turn.cut_answer if is_continued else ""
        self._sections = SectionParser(live=True, before=self._before)
        self._messages.append(_MessageText(number, self._sections))
        self._continuation = ContinuedText(self._before) if self._before else None
        # People in an answer may be shown, people in thinking not (product 12).
        self._answer_redactor = StreamRedactor(SECRETS_ONLY)
        # A tag or a secret that begins at the end of the answer so far ends in what continues it.
        if self._before:
            self._normalizer.continue_text(self._before)
        end = self._before[-_REDACTED_AGAIN_CHARS:]
        self._shown_before = end[len(self._answer_redactor.feed(end)) :]  # and is held back once more
        self._answer_redactor.counts.clear()
        self._answer_guard = RepeatGuard(self._turn.scratchpads)

    def _end_message(self, *, partial: bool = False) -> None:
        if self._continuation:
            self._feed_sections(self._continuation.finish())
        self._show_answer(self._answer_redactor.feed(self._sections.finish()))
        # Only now: the section parser may still release text.
        self._show_answer(self._answer_redactor.abort() if partial else self._answer_redactor.flush(), ends=True)
        if self._messages[-1].answer and (partial or self._finish_reason in CUT_SHORT):
            self._show_answer(self._sections.held_blanks)  # a text that continues this one is joined to them
        self._turn.redactions += self._answer_redactor.counts

    def _feed_fields(self, raw: RawFields) -> None:
        fields, room = raw.fields, self._turn.room
        if raw.message != self._messages[-1].number and "content" in fields:
            self._route(self._normalizer.end_message())
            self._end_message()
            self._begin_message(raw.message)
        if "tool_calls" in fields:
            room.store_opaque(
                [found for call in mappings_in(fields["tool_calls"]) if (found := signatures_of_call(call))]
            )
        if "signatures" in fields:
            room.store_opaque(fields["signatures"])
            self._signatures.add(fields["signatures"])
        elif "reasoning_summary" in fields:
            self._show_status(fields["reasoning_summary"])
            return
        if "reasoning_details" in fields:
            room.store_opaque(fields["reasoning_details"])
        self.chars += len(fields.get("content") or "")
        room.take_in(fields)
        self._route(self._normalizer.feed(fields))
        if (notes := self._normalizer.open_scratchpad) and notes.tokens_est != self._shown_notes_tokens:
            self._shown_notes_tokens = notes.tokens_est
            self._updates.append(ShowScratchpad(notes, is_open=True))

    def _route(self, deltas: Sequence[Delta]) -> None:
        turn = self._turn
        for delta in deltas:
            text = delta.text
            if isinstance(text, Scratchpad):
                turn.scratchpads.append(text)
                self._answer_guard.learn(text)
                self._thinking_guard.learn(text)
                self._updates.append(ShowScratchpad(text))
            elif delta.channel is Channel.VISIBLE:
                self._feed_sections(self._continuation.feed(text) if self._continuation else text)
            elif delta.channel is Channel.THINKING:
                text = self.room.of_thinking(text)
                # On the page a blank line separates the thoughts of two steps.
                if turn.has_thinking and not self._has_thinking:
                    self._show_thinking(BLOCK_BREAK)
                self._has_thinking = turn.has_thinking = True
                self._show_thinking(self._thinking_redactor.feed(text))
            elif not self.room.reached:
                if self._tool_calls.feed(delta):
                    self._order.append(delta.index or 0)
                if self._tool_calls.longest_bytes > self.room.limits.arguments_bytes:
                    self.room.reached = "arguments"
                elif len(self._tool_calls) > self.room.limits.calls_read:
                    self.room.reached = "calls"

    def _feed_sections(self, text: str) -> None:
        shown = self._answer_redactor.feed(self._sections.feed(text))
        if self._sections.held_blanks:
            # A line break is held back, for it may turn out to be trailing. The word before it is complete.
            shown += self._answer_redactor.end_word()
        self._show_answer(shown)

    def _is_answer_in_hint(self) -> bool:
        """Say whether all text came in a thought that no tag opened: only the profile said so, and it is the answer."""
        is_all = self._normalizer.ended_in_hint and not any(message.answer for message in self._messages)
        return is_all and not self._tool_calls and self._finish_reason == "stop"

    def _show_hinted_answer(self) -> None:
        """Show the thinking of a response without an end of its thought as the answer. Product 34."""
        self._updates.append(ReplaceText(Channel.THINKING, sum(map(len, self._shown_thinking)), ""))
        self._shown_thinking.clear()
        self._thinking_redactor, self._thinking_guard = StreamRedactor(), RepeatGuard(self._turn.scratchpads)
        self._has_thinking = False
        answer = self._normalizer.thinking or ""
        family = self._turn.family
        self._normalizer = Normalizer(live=True, family=family and replace(family, starts_in_thought=False))
        if self._before:
            self._normalizer.continue_text(self._before)
        self._route((*self._normalizer.feed({"content": answer}), *self._normalizer.finish()))

    def _show_answer(self, redacted: str, *, ends: bool = False) -> None:
        turn = self._turn
        if redacted and self._shown_before:
            pairs = zip(self._shown_before, redacted, strict=False)
            shown = sum(1 for _pair in takewhile(lambda pair: pair[0] == pair[1], pairs))
            # Behind the first difference, which is a mask, nothing of it was shown.
            self._shown_before = self._shown_before[shown:] if shown == len(redacted) else ""
            redacted = redacted[shown:]
        if turn.scratchpads:
            redacted = self._mask(self._answer_guard, redacted, ends=ends)
        redacted = self.room.of_answer(redacted)
        if not redacted:
            return
        answer = self._messages[-1].answer
        if turn.has_answer and not answer:
            self._updates.append(ShowText(Channel.ANSWER, BLOCK_BREAK))
        turn.has_answer = True
        answer.append(redacted)
        self._updates.append(ShowText(Channel.ANSWER, redacted))

    def _show_thinking(self, redacted: str, *, ends: bool = False) -> None:
        if self._turn.scratchpads:
            redacted = self._mask(self._thinking_guard, redacted, ends=ends)
        if redacted:
            self._shown_thinking.append(redacted)
            self._updates.append(ShowText(Channel.THINKING, redacted))

    def _mask(self, guard: RepeatGuard, text: str, *, ends: bool) -> str:
        """Return what of a text may be shown without repeating notes that are known by now. Product 22."""
        before = guard.count
        shown = guard.feed(text) + (guard.flush() if ends else "")
        self._turn.redactions[REPEAT] += guard.count - before
        return shown

    def _remove_repeats(self) -> str:
        """Remove what repeats the scratchpad from the texts of this step, also where it was shown. Product 22.

        Return the thinking that is stored.
        """
        scratchpad = self._turn.scratchpad
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
                self._turn.redactions[REPEAT] += count
        return scratchpad.remove_repeats(self._normalizer.thinking or "")[0]

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

    def _reasoning_events(self, thinking: str, calls: Mapping[int, ToolCall], *, is_whole: bool) -> Iterator[Event]:
        normalizer = self._normalizer
        # The normaliser has collected it by itself, without a limit.
        if thinking and (text := cut_to_bytes(thinking, self._room_for_thinking)):
            yield self._reasoning(kind="text", text=text, source_field=normalizer.source_field or "")
        if normalizer.reasoning_details:
            yield self._reasoning(
                kind="details", details=clean_details(normalizer.reasoning_details, self._turn.scratchpad)
            )
        # Thinking without anything opaque is recorded as such, above.
        added = self._signatures.whole or {}
        signed = {name: value for name, value in added.items() if is_opaque(name, value)}
        if signed and is_whole:
            yield self._reasoning(kind="signature", item={"message": signed})
        of_calls = normalizer.call_signatures
        for index, call in calls.items():
            if signatures := of_calls.get(index):
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
                case RawItem():
                    yield self._reasoning(kind="item", item=dict(next(items).item), whole=is_whole)
        for rest in messages.values():
            yield from rest

    def _reasoning(self, **values: Any) -> Reasoning:
        return Reasoning(model=self._turn.model, provider=self._turn.provider, step=self.number, **values)

    def _message_events(self, phases: Mapping[int, str], *, partial: bool) -> dict[int, list[AssistantMessage]]:
        """Return the messages by number. The last one has the summary, which may be all that it has."""
        turn = self._turn
        if not self._tool_calls:
            turn.summarise(next((one.sections.bullets for one in reversed(self._messages) if one.sections.bullets), []))
        summary = () if self._tool_calls else turn.summary
        # What is stored is what was shown, redacted once. Live, the last blanks were emitted.
        texts = [(message.number, "".join(message.answer)) for message in self._messages]
        if not (partial or self._finish_reason in CUT_SHORT):
            texts = [(number, text.rstrip()) for number, text in texts]
        spoken = [(number, text) for number, text in texts if text.strip()] or (texts[-1:] if summary else [])
        events: dict[int, list[AssistantMessage]] = {}
        for position, (number, text) in enumerate(spoken, 1):
            phase = phases.get(number, "")
            phase = phase if len(phase) <= MAX_PHASE_CHARS else ""
            message = AssistantMessage(
                text=text,
                summary=summary if position == len(spoken) else (),
                citations=tuple(map(citation_to_json, check_citations(text, turn.sources))),
                partial=partial,
                continues=turn.continues and bool(text),
                step=self.number,
                phase=phase,
                model=turn.model if phase else "",
                provider=turn.provider if phase else "",
            )
            turn.continues = turn.continues and not text
            events.setdefault(number, []).append(message)
        return events
