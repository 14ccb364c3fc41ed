"""Turn a provider's deltas into clean channels. Runs once, at the provider boundary. Spec 003, normaliser 1 to 13.

Any chunking of the same stream gives the same channels, at linear cost. What may still turn out to be private is held
back: half a delimiter, a tag inside apparent code, a ``<REASONING>`` block, a thought whose end is in doubt, white
space that may be the last. ``finish`` releases it all and must be called on every way out, errors included.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from reasoning.delimiters.headings import ScratchpadHeadings
from reasoning.delimiters.tags import PLAIN_GRAMMAR, Grammar, Tag, TagScanner, Token, grammar_of, raw_text
from reasoning.deltas import Channel, Delta
from reasoning.scratchpad import Scratchpad
from reasoning.services.thinking_formats import ThinkingFormat
from reasoning.stream.output import ContentOutput, Counters, NativeOutput, ResponseState, is_blank
from reasoning.stream.surrogates import SurrogateJoiner
from reasoning.stream.think_blocks import ThinkTagParser
from reasoning.stream.tool_calls import ToolCallReader, mappings_in
from reasoning.unseen import UNSEEN, StreamCleaner

NATIVE_FIELDS = ("reasoning_content", "reasoning", "thinking")
THINKING_FIELDS = (*NATIVE_FIELDS, "reasoning_details")  # all that a delta may have


@dataclass(frozen=True, slots=True)
class Normalized:
    """A whole response: the answer, trimmed; the thinking, or None where there was none."""

    visible: str
    thinking: str | None
    counters: Counters


class Normalizer:
    """Feed it the deltas of one response.

    ``starts_in_reasoning`` comes from the model profile: the chat template wrote the opener already. Normaliser 1.
    ``family``: how its models mark thoughts beside the tags of every model. Product 33.
    ``open_scratchpads``: those of the response before.
    ``live`` emits the answer's white space at once and leaves trimming to the section parser. It also drops the unseen
    characters of each field that redaction would drop: a delimiter must not be hidden by them until then.
    """

    def __init__(
        self,
        *,
        starts_in_reasoning: bool = False,
        live: bool = False,
        family: ThinkingFormat | None = None,
        open_scratchpads: Collection[str] = (),
    ) -> None:
        self._response = ResponseState()
        self._live = live
        self._grammar = grammar_of(family)
        starts_in_thought = starts_in_reasoning or bool(family and family.starts_in_thought)
        self._content = self._new_content(
            starts_in_reasoning=starts_in_thought, may_end_scratchpad="content" in open_scratchpads
        )
        native = ThinkTagParser(
            NativeOutput(self._response), is_native=True, may_end_scratchpad="native" in open_scratchpads
        )
        self._native = _Field(native, cleans=live)
        self._tool_calls = ToolCallReader()
        self._details: list[Any] = []
        self._blanks: list[str] = []  # before native text
        self._is_finished = False

    @property
    def counters(self) -> Counters:
        return self._response.counters

    @property
    def source_field(self) -> str | None:
        """The native field that thinking came from, ``think_tags``, or None."""
        return self._response.source_field

    @property
    def reasoning_details(self) -> tuple[Any, ...]:
        """The opaque elements of ``reasoning_details``, as received."""
        return tuple(self._details)

    @property
    def call_signatures(self) -> Mapping[int, Mapping[str, Any]]:
        """What the service put on its calls beside name and arguments, by their index."""
        return {index: joiner.whole for index, joiner in self._tool_calls.signatures.items()}

    @property
    def thinking(self) -> str | None:
        """The thinking to store, or None. Tagged text that came before native text is not part of it. Normaliser 8."""
        return self._response.thinking

    @property
    def ended_in_hint(self) -> bool:
        """Whether it ended inside the thought that only the model profile claims. Product 34."""
        return self._response.ended_in_hint

    @property
    def unclosed_after_text(self) -> bool:
        """Whether a thought without an end took the rest of an answer. Product 35."""
        return self._response.unclosed_after_text

    @property
    def has_open_thought(self) -> bool:
        """Whether a thought in the content has no closer: that may come with the next response of the turn."""
        return self._response.has_open_thought and not self._response.native_field

    @property
    def open_scratchpads(self) -> frozenset[str]:
        """The fields that ended in a scratchpad, which may end in the next response of the turn."""
        fields = {"content": self._content, "native": self._native}
        return frozenset(name for name, field in fields.items() if field.parser.leaves_scratchpad_open)

    @property
    def open_scratchpad(self) -> Scratchpad | None:
        """The beginning of the scratchpad that is being written: all of it is private, wherever it ends."""
        for open_one in (self._content.parser.scratchpad, self._native.parser.scratchpad):
            if open_one and open_one.beginning:
                return Scratchpad(open_one.beginning)
        return None

    def feed(self, delta: Mapping[str, Any]) -> tuple[Delta, ...]:
        """Return what is certain now: native text, then content, then tool calls. Spec 001 EC-006."""
        if self._is_finished or not isinstance(delta, (dict, Mapping)):  # a dict is recognised five times as fast
            return ()
        content = delta.get("content")
        # Most deltas are plain content: no native field has to be looked for in them.
        is_plain = isinstance(content, str)
        if not is_plain or not delta.keys().isdisjoint(THINKING_FIELDS):
            self._feed_native(delta)
        if content:
            self._content.feed(content if is_plain else answer_text(content))
        tool_calls = delta.get("tool_calls")
        if tool_calls:
            for piece in self._tool_calls.feed(tool_calls):
                # A model that calls a tool has stopped thinking, with or without a closer.
                self._content.parser.settle(is_final=False)
                self._response.deltas.append(piece)
        return self._response.deltas.drain()

    def continue_text(self, before: str) -> None:
        """Parse the content that comes as the continuation of a text that was shown, which is not returned again."""
        self._content.continue_text(before)

    def end_message(self) -> tuple[Delta, ...]:
        """Release what was held back of the content. Content that follows is another message's. Product 20."""
        self._content.finish()
        self._content = self._new_content(may_end_scratchpad=self._content.parser.leaves_scratchpad_open)
        return self._response.deltas.drain()

    def finish(self) -> tuple[Delta, ...]:
        """Release everything that was held back. Later calls of this or ``feed`` yield nothing. Normaliser 11."""
        if self._is_finished:
            return ()
        self._is_finished = True
        self._native.finish()
        self._content.finish()
        for piece in self._tool_calls.finish():
            self._response.deltas.append(piece)
        return self._response.deltas.drain()

    def _new_content(self, *, starts_in_reasoning: bool = False, may_end_scratchpad: bool = False) -> _Field:
        output = ContentOutput(self._response, live=self._live)
        parser = ThinkTagParser(output, starts_in_reasoning=starts_in_reasoning, may_end_scratchpad=may_end_scratchpad)
        return _Field(parser, self._grammar, cleans=self._live)

    def _feed_native(self, delta: Mapping[str, Any]) -> None:
        details = delta.get("reasoning_details")
        if isinstance(details, list | tuple):
            self._details += details
        text, name = native_text(delta)
        response = self._response
        if not text or (name == "reasoning_details" and response.native_field not in ("", name)):
            return  # no native text, or the same text once more in a delta of its own
        if not response.native_field:
            # Blanks alone are no native text (product 18); they belong to it, if more comes.
            self._blanks.append(text)
            if is_blank(text):
                return
            text = "".join(self._blanks)
            response.native_field = name
            self._content.parser.doubt_hint()
        self._native.feed(text)


class _Field:
    """One field's text on its way: whole characters, then tokens, then the parser."""

    def __init__(self, parser: ThinkTagParser, grammar: Grammar = PLAIN_GRAMMAR, *, cleans: bool = False) -> None:
        self.parser = parser
        self._joiner = SurrogateJoiner()
        self._grammar = grammar
        self._scanner = TagScanner(grammar)
        self._headings = ScratchpadHeadings()
        self._cleaner = StreamCleaner() if cleans else None
        self._shown_chars = 0  # of the tokens that come: the end of the text that is continued

    def continue_text(self, before: str) -> None:
        for token in self._scanner.feed(before):
            self._headings.feed(token)
        self._shown_chars = len(self._headings.held) + len(self._scanner.held)
        if not self._scanner.held:
            self._scanner = TagScanner(self._grammar)  # a response may begin with an opener that counts nowhere else
        self._headings.begin_response()
        self.parser.continue_text(before)

    def feed(self, text: str, *, is_final: bool = False) -> None:
        if is_final or self._joiner.high or UNSEEN.search(text):
            text = self._joiner.finish() if is_final else self._joiner.feed(text)
        if self._cleaner:
            text = self._cleaner.feed(text, is_final=is_final)
        for token in self._scanner.feed(text):
            self._parse(self._headings.feed(token))

    def finish(self) -> None:
        self.feed("", is_final=True)
        for rest in self._scanner.finish():
            self._parse(self._headings.feed(rest))
        self._parse(self._headings.finish())
        self.parser.settle(is_final=True)

    def _parse(self, tokens: Iterable[Token]) -> None:
        for token in tokens:
            if self._shown_chars:
                raw = raw_text([token])
                shown, self._shown_chars = self._shown_chars, max(self._shown_chars - len(raw), 0)
                token = replace(token, raw=raw[shown:]) if isinstance(token, Tag) else raw[shown:]
            if token:
                self.parser.feed(token)


def normalize_stream(deltas: Iterable[Mapping[str, Any]], *, starts_in_reasoning: bool = False) -> Normalized:
    """Return the channels of a whole response, streamed or in one delta. Scratchpads and tool calls are left out."""
    normalizer = Normalizer(starts_in_reasoning=starts_in_reasoning)
    pieces = [piece for delta in deltas for piece in normalizer.feed(delta)]
    pieces += normalizer.finish()
    visible = "".join(str(piece.text) for piece in pieces if piece.channel is Channel.VISIBLE)
    return Normalized(visible, normalizer.thinking, normalizer.counters)


def answer_text(content: object) -> str:
    """Return the text of ``content``: a string, or a list of parts of which the text parts count."""
    if isinstance(content, str):
        return content
    return "".join(_string(part, "text") for part in mappings_in(content) if part.get("type", "text") == "text")


def native_text(delta: Mapping[str, Any]) -> tuple[str, str]:
    """Return native reasoning text and the field it came from; the text is empty where there is none.

    The first field that has text counts, for servers mirror one text into several; blanks only where no field has
    more. A field of another type counts as absent. Spec 003 precedence, product 18.
    """
    found = "", ""
    for text, name in _native_texts(delta):
        if not is_blank(text):
            return text, name
        found = found if found[0] else (text, name)
    return found


def _native_texts(delta: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for name in NATIVE_FIELDS:
        if name in delta:
            yield _string(delta, name), name
    details = mappings_in(delta.get("reasoning_details"))
    yield "".join(_string(each, "text") or _string(each, "summary") for each in details), "reasoning_details"
    parts = (part.get("thinking") for part in mappings_in(delta.get("content")) if part.get("type") == "thinking")
    yield "".join(map(answer_text, parts)), "thinking"


def _string(mapping: Mapping[str, Any], key: str) -> str:
    value = mapping.get(key)
    return value if isinstance(value, str) else ""
