"""Redaction of text that arrives in pieces, and of whole texts by the same machine.

Strategy: the text is cut into segments by what it says alone, never by how it was delivered, and each segment is
redacted by itself; so ``feed`` and ``flush`` give, joined, what one feed of the whole gives. Words that trigger nothing
are let go at the white space behind them. A word that triggers something opens a segment, which is held while any of
its triggers may go on, at most ``HOLD`` characters: an endless one is let go redacted, except its last ``KEPT``. Of a
long one the beginning is let go earlier where nothing that it holds reaches on, as in a list of odd words. An open key
block or ``<REDACTED>`` section swallows everything up to its end, which may be the end of the text. On an
exception the machine fails closed: one ``[unavailable]``, then nothing.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from typing import Final

from reasoning.redaction.breaks import BREAK, LONG_WORD, LONGEST, WORD, WORD_START, last_break
from reasoning.redaction.cleaning import clean
from reasoning.redaction.patterns import BLOCK, BLOCK_ENDS, rule_book
from reasoning.redaction.policy import DEFAULT, UNAVAILABLE, RedactionPolicy
from reasoning.redaction.spans import apply
from reasoning.redaction.triggers import SHAPES_ALONE, Seen

HOLD: Final = LONGEST
KEPT: Final = 512
LONG: Final = 320  # characters of a segment; from here on its beginning is let go as soon as nothing reaches beyond it
BEHIND: Final = 128  # characters that stay
FAR: Final = 1_024  # from a word that names something up to where even a value of many words is over
DENSE: Final = 64  # characters; no language has a trigger in each so many of a held text
_PIECE = 256
_FEW_WORDS = 32  # characters; words are looked at one by one up to here, and all at once in a longer text
_ROUNDS = 3
_SWALLOWED_TAIL = 192

_RUN_END = re.compile(r"(?=[\s\"'<>])")
_LINE_END = re.compile(r"(?=[\n\r])")
_PLAIN_WORD = re.compile(r"\s*[^\W\d_]{1,12}")


class StreamRedactor:
    """Redacts one text as it comes. Spec 004 redaction."""

    def __init__(self, policy: RedactionPolicy = DEFAULT) -> None:
        self.counts: Counter[str] = Counter()
        self._book = rule_book(policy)
        self._triggers = self._book.triggers
        self._held = ""
        self._last = ""  # the last character taken in, for what depends on its neighbour
        self._segment = False  # the held text opens with a trigger
        self._weighed = 0  # up to where the words of the segment were looked at
        self._ends: list[int] = []  # of those words
        self._names: list[int] = []  # of those with other triggers than shapes of their own, the ends
        self._next_cut = LONG
        self._alive: list[Seen] = []
        self._kinds: set[str] = set()
        self._dense = False  # the last forced text triggered something everywhere
        self._closer: re.Pattern[str] | None = None
        self._waits = False  # for more text: the held word is not over
        self._final = False
        self._failed = False

    def feed(self, text: str) -> str:
        """Take in a piece and return what may be shown by now."""
        if len(text) <= _PIECE:
            return self._take(text)
        return "".join(self._take(text[start : start + _PIECE]) for start in range(0, len(text), _PIECE))

    def end_word(self) -> str:
        """Let go of the held word, unless something private may begin in it: what comes next, if any, is a blank."""
        held = self._held
        if not held or self._segment or self._dense or self._closer is not None or self._failed:
            return ""
        try:
            if self._book.cut_token(held) or self._triggers.first(held + "\n", len(held) + 1) is not None:
                return ""
        except Exception:  # noqa: BLE001 - it stays held, and fails closed with what comes next
            return ""
        self._held = ""
        return held

    def flush(self) -> str:
        """End the text and return the rest. A second call returns nothing."""
        self._final = True
        rest = self._drain()
        self._reset("")
        return rest

    def abort(self) -> str:
        """End a text that was cut off: return of what is held only what can't be the beginning of something private."""
        held, in_segment = self._held, self._segment or self._closer is not None
        self._reset("")
        found = None if in_segment or self._failed else _PLAIN_WORD.fullmatch(held)
        return held if found else ""

    def _take(self, text: str) -> str:
        if text.isalnum() and text.isascii() and len(self._held) <= HOLD - _PIECE:
            self._last = text[-1]
            self._held += text
            return ""  # within a word
        shown = "" if self._failed else clean(text, self._last)
        if not shown:
            return ""
        self._last = shown[-1]
        held = self._held = self._held + shown
        if len(held) <= _FEW_WORDS and not (self._segment or self._dense or self._closer):
            end = self._triggers.plain_end(held)
            if end is not None:
                self._held = held[end:]
                return held[:end]
        if self._closer is None and len(held) <= HOLD and not BREAK.search(held, max(len(held) - len(shown) - 1, 0)):
            return ""
        return self._drain()

    def _drain(self) -> str:
        if self._failed:
            return ""
        out: list[str] = []
        try:
            self._waits = False
            while not self._waits and (piece := self._step()) is not None:
                out.append(piece)
        except Exception:  # noqa: BLE001 - whatever went wrong, the text must not pass
            self._failed = True
            out.append(UNAVAILABLE)
        return "".join(out)

    def _step(self) -> str | None:
        """Do one thing and return what it lets go; None where more text is needed."""
        if self._closer is not None:
            return self._swallow(self._closer)
        if self._dense and not self._segment:
            return self._let_go_dense()
        return self._weigh() if self._segment else self._let_go()

    def _let_go(self) -> str | None:
        held = self._held
        end = len(held) if self._final else last_break(held)
        start = self._first_trigger(end)
        if start is None:
            if not end:
                return None
            self._held, self._waits = held[end:], True
            return held[:end]
        self._reset(held[start:])
        self._segment = True
        return held[:start]

    def _let_go_dense(self) -> str | None:
        """Do without words where everything triggers something: their weighing would cost more than the rules."""
        if len(self._held) > HOLD:
            return self._force()
        self._dense = not self._final
        return None if self._dense else ""

    def _first_trigger(self, end: int) -> int | None:
        place = self._triggers.first(self._held, end) if end else None
        if self._final and place is None and (span := self._book.cut_token(self._held)):
            place = span.start
        if len(self._held) > HOLD and (long := LONG_WORD.search(self._held)):
            place = long.start() if place is None else min(place, long.start())
        if place is None:
            return None
        word = WORD_START.search(self._held, max(place - HOLD, 0), place)
        return word.start() if word else place

    def _weigh(self) -> str | None:
        limit = min(len(self._held), HOLD + 2)
        while (word := WORD.match(self._held, self._weighed, limit)) and word.end() <= HOLD:
            if (piece := self._weigh_word(word.end())) is not None:
                return piece
        if len(self._held) > HOLD:
            return self._force()
        return self._finish_segment() if self._final else None

    def _finish_segment(self) -> str | None:
        if not self._held:
            return None
        piece = self._weigh_word(len(self._held))
        return piece if piece is not None else self._release(len(self._held))

    def _weigh_word(self, end: int) -> str | None:
        """Look at the next word of the segment, and let the segment go if nothing in it may go on."""
        seen = self._triggers.seen(self._held, self._weighed, end)
        self._weighed = end
        self._kinds.update(name for name, _ in seen)
        if not self._kinds.isdisjoint(BLOCK_ENDS) and (block := BLOCK.search(self._held, 0, end)):
            return self._open_block(block)
        self._alive += seen
        self._ends.append(end)
        self._names += [end] * any(name not in SHAPES_ALONE for name, _ in seen)
        if not self._may_go_on(end):
            return self._release(end)
        return self._cut(end) if end >= self._next_cut else None

    def _cut(self, end: int) -> str | None:
        """Let go the beginning of a long segment, whose last words may go on, if nothing that it holds reaches further.

        So words that each might be the beginning of something don't hold one another.
        """
        self._next_cut = end + BEHIND
        start = _last(self._ends, end - BEHIND)
        if start is None or (_last(self._names, start) or -FAR) > start - FAR:
            return None
        for at, seen in enumerate(self._alive):
            if seen[1] > start:
                break
            if self._triggers.reaches(seen, self._held, start, end):
                self._alive = self._alive[at:]  # those before it are over
                return None
        shown = self._redact(self._held[:start])
        self._held, self._weighed, self._next_cut = self._held[start:], self._weighed - start, LONG
        self._ends, self._names = (
            [place - start for place in each if place > start] for each in (self._ends, self._names)
        )
        self._alive = [(name, place - start) for name, place in self._alive if place > start]
        return shown

    def _may_go_on(self, end: int) -> bool:
        """Tell whether a trigger's finding may; the latest is asked first, and each dies once."""
        while self._alive:
            if self._triggers.goes_on(self._alive[-1], self._held, end):
                return True
            self._alive.pop()
        return False

    def _open_block(self, block: re.Match[str]) -> str:
        before, rest = self._held[: block.start()], self._held[block.end() :]
        shown = self._redact(before) + self._book.policy.placeholder
        self.counts["secret"] += 1
        self._reset(rest)
        self._closer = BLOCK_ENDS[str(block.lastgroup)]
        return shown

    def _swallow(self, closer: re.Pattern[str]) -> str | None:
        found = closer.search(self._held)
        if found is None:
            self._held = "" if self._final else self._held[-_SWALLOWED_TAIL:]
            return None
        self._reset(self._held[found.end() :])
        return ""

    def _release(self, end: int) -> str:
        text, rest = self._held[:end], self._held[end:]
        shown = self._redact(text, at_end=self._final and not rest)
        self._reset(rest)
        return shown

    def _force(self) -> str:
        """Let an endless segment go except its last characters, and swallow a secret that runs over the edge."""
        text = self._held[:HOLD]
        self._kinds |= self._triggers.kinds(text)
        if self._dense and not self._kinds.isdisjoint(BLOCK_ENDS) and (block := BLOCK.search(text)):
            return self._open_block(block)
        self._dense = all(self._triggers.kinds(text[at : at + DENSE]) for at in range(0, HOLD, DENSE))
        spans = self._book.spans(text, frozenset(self._kinds))
        cut = HOLD - KEPT
        for span in spans:
            cut = span.end if span.start < cut < span.end else cut
        within = [span for span in spans if span.end <= cut]
        self.counts.update(span.kind for span in within)
        closer = _LINE_END if "header" in self._kinds else _RUN_END
        self._reset(self._held[cut:])
        self._closer = closer if cut == HOLD else None
        return apply(text[:cut], within)

    def _redact(self, text: str, *, at_end: bool = False) -> str:
        """Redact a segment, and again what came of it: beside a mask a rule may see what a secret hid from it."""
        kinds = frozenset(self._kinds)
        for _ in range(_ROUNDS):
            spans = self._book.spans(text, kinds)
            if at_end and (span := self._book.cut_token(text)) and not any(one.end > span.start for one in spans):
                spans.append(span)
            if not spans:
                break
            self.counts.update(span.kind for span in spans)
            text = apply(text, spans)
            kinds = frozenset(self._triggers.kinds(text))
        return text

    def _reset(self, held: str) -> None:
        self._held = held
        self._segment = False
        self._weighed = 0
        self._ends = []
        self._names = []
        self._next_cut = LONG
        self._alive = []
        self._kinds = set()
        self._closer = None


def _last(places: list[int], until: int) -> int | None:
    """Return the last of ``places``, which are in order, that is no further than ``until``."""
    at = bisect_right(places, until)
    return places[at - 1] if at else None
