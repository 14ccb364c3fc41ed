"""Turn a provider's deltas into clean channels. Runs once, at the provider boundary; the rules are in RULES.md.

Any chunking of the same stream gives the same channels. The answer holds no reasoning delimiter, whole or glued
together. What may still turn out to be private waits: half a delimiter (22 characters at most), a tag inside apparent
code, a ``<REASONING>`` block, a thought whose end is in doubt, blanks that may be the last. ``finish`` lets go of it
all and is to be called on every way out, errors included. Cost is linear; text without ``<`` takes a short way.

Scratchpads come out whole, when they end. Redaction, sections and storage are left to others. Spec 003, normaliser
1 to 13.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from reasoning.blocks import BlockSorter
from reasoning.deltas import Channel, Delta
from reasoning.outlets import ContentOutlet, Counters, Ledger, NativeOutlet, Outbox
from reasoning.providerfields import NATIVE_FIELDS, answer_text, native_text
from reasoning.surrogates import SurrogateJoiner, has_surrogate
from reasoning.tagscan import TagScanner
from reasoning.toolpieces import ToolPieces

_Note = Callable[[str], None]
_ShortWay = tuple[_Note, Callable[[str], tuple[Delta, ...]]]  # note it, give it on
_BEYOND_CONTENT = frozenset({*NATIVE_FIELDS, "reasoning_details", "tool_calls"})


@dataclass(frozen=True, slots=True)
class Normalized:
    """A whole response: the answer, trimmed; the thinking, or None where there was none."""

    visible: str
    thinking: str | None
    counters: Counters


class _Field:
    """One field's text on its way: whole characters, then tokens, then sorted."""

    def __init__(self, sorter: BlockSorter, outlet: ContentOutlet | NativeOutlet) -> None:
        self.joiner = SurrogateJoiner()
        self.scanner = TagScanner()
        self.sorter = sorter
        self.outlet = outlet

    @property
    def short_way(self) -> _ShortWay | None:
        """The way for text that holds no ``<`` and no half character, as long as nothing waits; None while it does."""
        is_idle = self.joiner.is_idle and self.scanner.is_idle and self.outlet.guard.is_idle
        straight = self.sorter.straight if is_idle else None
        if straight is None:
            return None
        code, channel = straight
        return code.note, self.outlet.visible_now if channel is Channel.VISIBLE else self.outlet.thought_now

    def feed(self, text: str) -> None:
        for token in self.scanner.feed(self.joiner.feed(text)):
            self.sorter.take(token)

    def finish(self) -> None:
        self.feed(self.joiner.finish())
        rest = self.scanner.finish()
        if rest:
            self.sorter.take(rest)
        self.sorter.settle(is_final=True)


class Normalizer:
    """Feed it the deltas of one response; see the module for what it promises.

    ``starts_in_reasoning`` comes from the model profile: the template has written the opener already. Normaliser 1.
    ``live`` lets blanks go at once and holds only blank lines, so that a word doesn't wait for the next; the answer may
    then end in blanks.
    """

    def __init__(self, *, starts_in_reasoning: bool = False, live: bool = False) -> None:
        self._outbox = Outbox()
        self._ledger = Ledger(self._outbox)
        content, native = ContentOutlet(self._ledger, is_live=live), NativeOutlet(self._ledger)
        self._content = _Field(BlockSorter(content, starts_in_reasoning=starts_in_reasoning), content)
        self._native = _Field(BlockSorter(native, is_native=True), native)
        self._tools = ToolPieces()
        self._details: list[Any] = []
        self._is_finished = False
        self._content_way: _ShortWay | None = None
        self._answer = content
        self._answer_note: _Note | None = None  # of the short way, where it leads to the answer
        self._native_way: _ShortWay | None = None
        self._native_name = ""

    @property
    def counters(self) -> Counters:
        """What was done so far, in figures. Normaliser 13."""
        return self._ledger.counters

    @property
    def source_field(self) -> str | None:
        """The native field that thinking came from, ``think_tags``, or None."""
        return self._ledger.source_field

    @property
    def reasoning_details(self) -> tuple[Any, ...]:
        """The opaque elements of ``reasoning_details``, as received."""
        return tuple(self._details)

    @property
    def thinking(self) -> str | None:
        """The thinking to keep, or None. Tagged text that came before native text is not part of it. Normaliser 8."""
        return self._ledger.thinking

    @property
    def is_thinking(self) -> bool:
        """Whether a tagged block is open now, so that a card can say so while it is held."""
        return self._content.sorter.is_thinking

    @property
    def keeps_break(self) -> bool:
        """Whether the answer goes on with a line break, if it goes on: then its last word is over."""
        return self._answer.keeps_break

    def feed(self, delta: Mapping[str, Any]) -> tuple[Delta, ...]:
        """Take one delta; return what is certain now: native text, then content, then tool calls. Spec 001 EC-006."""
        is_dict = type(delta) is dict
        way, text = self._content_way, delta.get("content") if is_dict else None
        if text is None and is_dict and len(delta) == 1:
            way, text = self._native_way, delta.get(self._native_name)
        if way is None or type(text) is not str or "<" in text or (len(delta) > 1 and _has_more(delta)):
            return self._feed_fields(delta)
        if not text.isascii() and has_surrogate(text):
            return self._feed_fields(delta)
        note, give_on = way
        note(text)
        return give_on(text)

    def visible_now(self, content: str) -> str | None:
        """Return what is visible of a delta of ``content`` alone; None where it must go through ``feed``.

        The way that nearly every token of an answer takes: nothing is made of it but text.
        """
        note = self._answer_note
        if note is None or "<" in content or not (content.isascii() or not has_surrogate(content)):
            return None
        note(content)
        return self._answer.passed(content)

    def finish(self) -> tuple[Delta, ...]:
        """Let go of everything that was held. Calling it again, or feeding afterwards, yields nothing.

        Normaliser 11.
        """
        if self._is_finished:
            return ()
        self._is_finished, self._content_way, self._native_way, self._answer_note = True, None, None, None
        self._native.finish()
        self._content.finish()
        for delta in self._tools.finish():
            self._outbox.deliver(delta)
        return self._outbox.drain()

    def _feed_fields(self, delta: Mapping[str, Any]) -> tuple[Delta, ...]:
        if self._is_finished or not isinstance(delta, Mapping):
            return ()
        content = delta.get("content")
        if _has_more(delta) or not isinstance(content, str):
            self._take_native(delta)
        if content:
            self._content.feed(answer_text(content))
        if delta.get("tool_calls"):
            self._take_tools(delta["tool_calls"])
        way = self._content_way = self._content.short_way
        self._answer_note = way[0] if way and way[1] == self._answer.visible_now else None
        return self._outbox.drain()

    def _take_native(self, delta: Mapping[str, Any]) -> None:
        details = delta.get("reasoning_details")
        if isinstance(details, list | tuple):
            self._details += details
        text, name = native_text(delta)
        if name == "reasoning_details" and self._ledger.native_seen and self._ledger.source_field != name:
            return  # the same text once more, in a delta of its own
        if not text:
            return
        self._native_name = name
        if not self._ledger.native_seen:
            self._ledger.native_seen, self._ledger.source_field = True, name
            self._content.sorter.native_seen()
        self._native.feed(text)
        self._native_way = self._native.short_way

    def _take_tools(self, tool_calls: object) -> None:
        for delta in self._tools.feed(tool_calls):
            self._content.sorter.settle(is_final=False)
            self._outbox.deliver(delta)


def _has_more(delta: Mapping[str, Any]) -> bool:
    """Say whether there is anything beside ``content``; servers send the other fields as null, too."""
    return not _BEYOND_CONTENT.isdisjoint(delta) and any(map(delta.get, _BEYOND_CONTENT))


def normalize_stream(deltas: Iterable[Mapping[str, Any]], *, starts_in_reasoning: bool = False) -> Normalized:
    """Return the channels of a whole response, streamed or in one delta. Scratchpads and tool calls are left out."""
    normalizer = Normalizer(starts_in_reasoning=starts_in_reasoning)
    pieces = [piece for delta in deltas for piece in normalizer.feed(delta)]
    pieces += normalizer.finish()
    visible = "".join(str(piece.text) for piece in pieces if piece.channel is Channel.VISIBLE)
    return Normalized(visible, normalizer.thinking, normalizer.counters)
