"""Where sorted text leaves the normaliser: trimmed, guarded at the seams, in order, each piece on its channel.

Normaliser 4 (the message is trimmed at its two ends), 8 (native thinking first), 10 (nothing glued together), 13.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from reasoning.deltas import Channel, Delta
from reasoning.scratchpad import Scratchpad
from reasoning.tagscan import GlueGuard

BLOCK_BREAK = "\n\n"
_VISIBLE, _THINKING = Channel.VISIBLE, Channel.THINKING


class _Draft:
    __slots__ = Delta.__slots__

    def __init__(self, channel: Channel, text: str) -> None:
        self.channel = channel
        self.text = text
        self.index = self.call_id = self.name = None


def text_delta(channel: Channel, text: str) -> Delta:
    """Return ``Delta(channel, text)``, in a third of the time: nearly every token of an answer becomes two of these.

    A frozen class sets each slot through ``object.__setattr__``; a twin with the same slots sets them outright and then
    takes the frozen class.
    """
    draft: Any = _Draft(channel, text)
    draft.__class__ = Delta
    return draft  # type: ignore[no-any-return]  # it is one now


@dataclass(frozen=True, slots=True)
class Counters:
    """What the normaliser did, in figures only, for the structured log. Normaliser 13, spec 003 counters.

    ``extracted_blocks`` counts tagged blocks whose text became thinking, ``longest_hold`` is in characters.
    """

    stripped_delimiters: int = 0
    extracted_blocks: int = 0
    native_reasoning: bool = False
    longest_hold: int = 0

    def as_dict(self) -> dict[str, Any]:
        """Return the figures by name."""
        return asdict(self)


class Outbox:
    """Collects what one delta yields; neighbours on one channel leave as one piece."""

    __slots__ = ("_channel", "_deltas", "_pieces")

    def __init__(self) -> None:
        self._deltas: list[Delta] = []
        self._channel = Channel.VISIBLE
        self._pieces: list[str] = []

    def put(self, channel: Channel, text: str) -> None:
        """Add a piece of text; the empty one counts for nothing."""
        if not text:
            return
        if channel is not self._channel:
            self._close()
            self._channel = channel
        self._pieces.append(text)

    def deliver(self, delta: Delta) -> None:
        """Add a finished delta."""
        self._close()
        self._deltas.append(delta)

    def drain(self) -> tuple[Delta, ...]:
        """Return everything since the last time, in order."""
        self._close()
        deltas = tuple(self._deltas)
        self._deltas.clear()
        return deltas

    def _close(self) -> None:
        if self._pieces:
            self._deltas.append(text_delta(self._channel, "".join(self._pieces)))
            self._pieces.clear()


class Trimmer:
    """Drops the blanks at the two ends of a text that comes in pieces; holds blanks that may be the last.

    ``is_live``: holds them only from a line break on, so that no word waits for the next one; a last line may then end
    in blanks. ``keeps_start``: blanks at the start are left to the caller.
    """

    __slots__ = ("_flows", "_has_begun", "_held", "_is_live", "_keeps_start")

    def __init__(self, *, is_live: bool = False, keeps_start: bool = False) -> None:
        self._is_live = is_live
        self._keeps_start = keeps_start
        self._held: list[str] = []
        self._has_begun = keeps_start
        self._flows = False  # it has begun, and nothing is held

    @property
    def keeps_break(self) -> bool:
        """Whether what is let go next, if anything is, begins with a line break that is held. Live only."""
        return bool(self._held) and self._is_live

    def feed(self, text: str) -> str:
        """Return what is certainly not at an end."""
        if self._flows and ("\n" not in text if self._is_live else not text[-1:].isspace()):
            return text
        if not self._has_begun:
            text = text.lstrip()
        if not text or (self._held and text.isspace()):
            self._held += [text] if text else []
            return ""
        return self._let_go(text)

    def restart(self) -> None:
        """Begin another text."""
        self._held, self._has_begun, self._flows = [], self._keeps_start, False

    def _let_go(self, text: str) -> str:
        held = self._held
        if held:
            text = "".join(held) + text
            held.clear()
        end = len(text.rstrip())
        if self._is_live:
            line_break = text.find("\n", end)
            end = len(text) if line_break < 0 else line_break
        self._has_begun, self._flows = True, end == len(text)
        if self._flows:
            return text
        held.append(text[end:])
        return text[:end]


class Ledger:
    """What the two fields of a response have in common: its thinking, and the figures."""

    def __init__(self, outbox: Outbox) -> None:
        self.outbox = outbox
        self.source_field: str | None = None
        self.native_seen = False
        self.stripped_delimiters = 0
        self.extracted_blocks = 0
        self.longest_hold = 0
        self._tagged: list[str] = []
        self._native: list[str] = []

    @property
    def thinking(self) -> str | None:
        """The thinking of the whole response: native where there is any, else the tagged blocks. Normaliser 8."""
        return "".join(self._native or self._tagged) or None

    @property
    def counters(self) -> Counters:
        """The figures so far."""
        return Counters(self.stripped_delimiters, self.extracted_blocks, self.native_seen, self.longest_hold)

    def add_native(self, text: str) -> str:
        """Take native text and return it as it is shown. It is one block, however it comes."""
        if not text:
            return ""
        begins_block = self._tagged and not self._native
        self._native.append(text)
        return BLOCK_BREAK + text if begins_block else text

    def add_tagged(self, text: str, *, begins_block: bool) -> str:
        """Take text of a tagged block and return it as it is shown: a blank line parts it from the block before."""
        if begins_block:
            self.extracted_blocks += 1
            self.source_field = self.source_field or "think_tags"
            text = BLOCK_BREAK + text if self._tagged else text
        self._tagged.append(text)
        return text

    def end_tagged(self) -> None:
        """Drop the blanks that a tagged block ended with; live they are out already."""
        text = ""
        while self._tagged and not text:
            text = self._tagged.pop().rstrip()
        self._tagged += [text] if text else []

    def add_scratchpad(self, text: str) -> None:
        """Take a whole scratchpad, trimmed. An empty one is none."""
        notes = text.strip()
        if notes:
            self.outbox.deliver(Delta(Channel.SCRATCHPAD, Scratchpad(notes)))


class _Outlet:
    """What the sinks of both fields do alike."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self.guard = GlueGuard()

    def scratchpad(self, text: str) -> None:
        self._ledger.add_scratchpad(text)

    def stripped(self) -> None:
        self._ledger.stripped_delimiters += 1

    def held(self, chars: int) -> None:
        self._ledger.longest_hold = max(self._ledger.longest_hold, chars)


class ContentOutlet(_Outlet):
    """The sink of ``content``: the answer, and tagged thoughts where there is no native text."""

    def __init__(self, ledger: Ledger, *, is_live: bool = False) -> None:
        super().__init__(ledger)
        self._answer_ends = Trimmer(is_live=is_live)
        self._thought_ends = Trimmer(is_live=is_live)
        self._is_in_block = False

    def visible(self, text: str) -> None:
        self._ledger.outbox.put(Channel.VISIBLE, self._answer_ends.feed(self.guard.pass_on(text)))

    def visible_now(self, text: str) -> tuple[Delta, ...]:
        """Return text of the answer at once. For text that needs no guard, while nothing waits in the outbox."""
        text = self.passed(text)
        return (text_delta(_VISIBLE, text),) if text else ()

    def passed(self, text: str) -> str:
        """Return what is visible now of text of the answer that needs no guard."""
        return self._answer_ends.feed(text)

    @property
    def keeps_break(self) -> bool:
        """Whether the answer goes on with a line break, if it goes on."""
        return self._answer_ends.keeps_break

    def thought(self, text: str) -> None:
        self._ledger.outbox.put(_THINKING, self._taken(text))

    def thought_now(self, text: str) -> tuple[Delta, ...]:
        """Return text of the thought that is open at once, while nothing waits in the outbox."""
        text = self._taken(text)
        return (text_delta(_THINKING, text),) if text else ()

    def end_thought(self) -> None:
        self._thought_ends.restart()
        self._ledger.end_tagged()
        self._is_in_block = False

    def _taken(self, text: str) -> str:
        if self._ledger.native_seen:
            return ""
        text = self._thought_ends.feed(text)
        if not text:
            return ""
        begins_block, self._is_in_block = not self._is_in_block, True
        return self._ledger.add_tagged(text, begins_block=begins_block)


class NativeOutlet(_Outlet):
    """The sink of the native field. Nothing of it is ever visible."""

    def visible(self, text: str) -> None:
        self.thought(text)

    def visible_now(self, text: str) -> tuple[Delta, ...]:
        return self.thought_now(text)

    def thought(self, text: str) -> None:
        self._ledger.outbox.put(_THINKING, self._ledger.add_native(self.guard.pass_on(text)))

    def thought_now(self, text: str) -> tuple[Delta, ...]:
        """Return native text at once. For text that needs no guard, while nothing waits in the outbox."""
        text = self._ledger.add_native(text)
        return (text_delta(_THINKING, text),) if text else ()

    def end_thought(self) -> None:
        pass
