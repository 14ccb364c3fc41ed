"""Where parsed text leaves the parsers: trimmed, guarded at its seams, in order, each piece on its channel.

Normaliser 4, 8, 10 and 13.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter

from reasoning.delimiters.tags import SeamGuard, Token, raw_text
from reasoning.deltas import Channel, Delta
from reasoning.scratchpad import Scratchpad

BLOCK_BREAK = "\n\n"  # between two messages of an answer, and two blocks of thinking
_CODE_MARKS = ("`", "~")
_JOINED = (Channel.VISIBLE, Channel.ANSWER, Channel.THINKING)  # on the others each delta is a thing of its own
# What a reader sees: no white space, control character, joiner, filler or selector. Half of a surrogate pair may become
# a character that is seen.
_SEEN = re.compile(
    "[^\\s\x00-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f"
    "\u2800\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)


@dataclass(frozen=True, slots=True)
class Counters:
    """What the normaliser did, in numbers only, for the structured log. Normaliser 13.

    ``extracted_blocks`` counts tagged blocks whose text is the thinking, ``dropped_blocks`` those that native text
    replaced. ``longest_hold`` is in characters.
    """

    stripped_delimiters: int = 0
    extracted_blocks: int = 0
    dropped_blocks: int = 0
    native_reasoning: bool = False
    longest_hold: int = 0

    def plus(self, other: Counters) -> Counters:
        """Add up the counters of two responses."""
        return Counters(
            self.stripped_delimiters + other.stripped_delimiters,
            self.extracted_blocks + other.extracted_blocks,
            self.dropped_blocks + other.dropped_blocks,
            self.native_reasoning or other.native_reasoning,
            max(self.longest_hold, other.longest_hold),
        )


def is_blank(text: str) -> bool:
    """Say whether a reader would see nothing of a text. Product 18."""
    return _SEEN.search(text) is None


class DeltaBuffer:
    """Collect what one call yields; neighbours on one channel of text leave as one delta."""

    def __init__(self) -> None:
        self._deltas: list[Delta] = []

    def put(self, channel: Channel, text: str) -> None:
        if text:
            self._deltas.append(Delta(channel, text))

    def append(self, delta: Delta) -> None:
        self._deltas.append(delta)

    def drain(self) -> tuple[Delta, ...]:
        """Return everything since the last call, in order."""
        deltas, self._deltas = self._deltas, []
        if len(deltas) < 2:
            return tuple(deltas)  # nearly always
        joined: list[Delta] = []
        for channel, group in groupby(deltas, key=attrgetter("channel")):
            if channel in _JOINED:
                joined.append(Delta(channel, "".join(str(delta.text) for delta in group)))
            else:
                joined += group
        return tuple(joined)


class WhitespaceTrimmer:
    """Strip the white space at both ends of a text that arrives in pieces. Normaliser 4.

    White space that may turn out to be the end is held back. ``live`` holds back from a line break on only, so that no
    word waits for the next delta; the last line may then end in blanks. ``strips_start=False`` trims the end alone.
    """

    def __init__(self, *, live: bool = False, strips_start: bool = True) -> None:
        self._live = live
        self._strips_start = strips_start
        self.reset()

    def reset(self) -> None:
        """Begin another text."""
        self.held: list[str] = []  # white space that may be the end
        self._is_at_start = self._strips_start

    def feed(self, text: str) -> str:
        """Return what is certainly not at an end."""
        if self._is_at_start:
            text = text.lstrip()
        if not text:
            return ""
        self._is_at_start = False
        if self.held:
            self.held.append(text)
            if text.isspace():
                return ""
            text = "".join(self.held)
            self.held.clear()
        end = len(text.rstrip())
        if self._live:
            line_break = text.find("\n", end)
            end = len(text) if line_break < 0 else line_break
        if end < len(text):
            self.held.append(text[end:])
        return text[:end]


class ResponseState:
    """What the two fields of one response share: outgoing deltas, thinking and counters."""

    def __init__(self) -> None:
        self.deltas = DeltaBuffer()
        self.native_field = ""  # where native text came
        self.native: list[str] = []
        self.tagged: list[str] = []
        self.stripped_delimiters = 0
        self.tagged_blocks = 0
        self.longest_hold = 0
        self.ended_in_hint = False  # inside the thought that only the profile claims
        self.unclosed_after_text = False  # a thought without an end took the rest of the answer
        self.has_open_thought = False  # the newest tagged thought has no closer

    @property
    def thinking(self) -> str | None:
        """The thinking of the whole response: native text where there is any, else the tagged blocks. Normaliser 8."""
        text = "".join(self.native if self.native_field else self.tagged)
        return None if is_blank(text) else text

    @property
    def source_field(self) -> str | None:
        """The native field that the thinking came from, ``think_tags``, or None."""
        return self.native_field or ("think_tags" if self.tagged else None)

    @property
    def counters(self) -> Counters:
        has_native = bool(self.native_field)
        extracted, dropped = (0, self.tagged_blocks) if has_native else (self.tagged_blocks, 0)
        return Counters(self.stripped_delimiters, extracted, dropped, has_native, self.longest_hold)

    def count_hold(self, tokens: Sequence[Token]) -> None:
        self.longest_hold = max(self.longest_hold, len(raw_text(tokens)))

    def note_unclosed(self, *, is_prefilled: bool, follows_text: bool) -> None:
        """Remember that the response ended inside a thought. Product 34, 35."""
        self.ended_in_hint, self.unclosed_after_text = is_prefilled, follows_text

    def add_scratchpad(self, text: str) -> None:
        notes = text.strip()
        if notes:
            self.deltas.append(Delta(Channel.SCRATCHPAD, Scratchpad(notes)))


class ContentOutput:
    """The output of ``content``: the answer, and tagged thoughts where there is no native text.

    ``live`` doesn't trim the answer, which the section parser does; an answer without sections may end in blanks.
    """

    def __init__(self, response: ResponseState, *, live: bool = False) -> None:
        self.response = response
        self._seam = SeamGuard()
        self._answer_ends = None if live else WhitespaceTrimmer()
        self._thought_ends = WhitespaceTrimmer(live=live)
        self._is_in_block = False
        self._unseen: list[str] = []  # before the first character of a block that is seen
        self._last = ""  # character of the answer

    def continue_text(self, before: str) -> None:
        """Guard the seam to a text that was shown before."""
        self._last = before[-1:]
        self._seam.feed(before, is_after_removal=False)

    def visible(self, text: str, *, is_after_removal: bool) -> None:
        # Backticks that join would begin or end other code than what was parsed.
        if is_after_removal and self._last in _CODE_MARKS and text[:1] == self._last:
            text = f" {text}"
        self._last = text[-1:]
        text = self._seam.feed(text, is_after_removal=is_after_removal)
        self.response.deltas.put(Channel.VISIBLE, self._answer_ends.feed(text) if self._answer_ends else text)

    def thought(self, text: str) -> None:
        response = self.response
        text = self._thought_ends.feed(text)
        if not self._is_in_block:
            self._unseen.append(text)
            if is_blank(text):
                return
            text = "".join(self._unseen)
            self._is_in_block = True
            response.tagged_blocks += 1
            text = BLOCK_BREAK + text if response.tagged else text
        # Servers may send one thought natively and as tags: native text has precedence (spec 003).
        if not text or response.native_field:
            return
        response.tagged.append(text)
        response.deltas.put(Channel.THINKING, text)

    def end_thought(self) -> None:
        # Live, the blanks at the end of the block were emitted already; what is stored has none.
        tagged, last = self.response.tagged, ""
        while tagged and not last:
            last = tagged.pop().rstrip()
        tagged += [last] if last else []
        self._thought_ends.reset()
        self._is_in_block = False
        self._unseen.clear()


class NativeOutput(ContentOutput):
    """The output of the native field: all of it is one block of thinking, however it is interleaved."""

    def visible(self, text: str, *, is_after_removal: bool) -> None:
        response = self.response
        text = self._seam.feed(text, is_after_removal=True)
        if not text:
            return
        # Tagged text was emitted before native text came; a blank line separates the two on the page.
        starts_block = response.tagged and not response.native
        response.native.append(text)
        response.deltas.put(Channel.THINKING, BLOCK_BREAK + text if starts_block else text)
