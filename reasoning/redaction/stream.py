"""Redaction of text that arrives in pieces; whole texts are redacted by the same machine.

Each trigger in the text has a window: what may belong to its finding. Text is held from the first trigger on whose
window is still open. A word is decided when its windows, and those of the triggers inside them, have ended: each rule
runs once on the joined windows of its own triggers, and what it finds is masked. Where a window ends depends on the
content alone, so feeding text in pieces gives the same output as feeding it at once. At most ``MAX_HELD`` characters
are held: of a longer window all but the last ``OVERLAP`` characters are released, redacted.
On an exception the machine fails closed: one ``[unavailable]``, then nothing.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import accumulate
from typing import Final, NamedTuple

from reasoning.redaction.blocks import BLOCK_END, BLOCK_HINT, BLOCK_START, OPEN_BLOCK_START
from reasoning.redaction.cut_off import without_cut_secret
from reasoning.redaction.policy import DEFAULT, REDACTED, UNAVAILABLE, RedactionPolicy
from reasoning.redaction.rule_book import SeenTrigger, Window, joined, rule_book, whole_words
from reasoning.redaction.rules import Span, Trigger, apply_spans
from reasoning.redaction.rules.tokens import find_cut_token
from reasoning.redaction.values import IDEOGRAPHS
from reasoning.unseen import StreamCleaner

MAX_HELD: Final = 4_096
OVERLAP: Final = 512
_PIECE = 1024  # characters of a long text that are processed at once
_MAX_ROUNDS = 3
_MAX_QUALIFIER_CHARS = 40  # before a name
_BLOCK_OVERLAP = 192  # longer than any end of a block

# Words end at white space; ideographs are written without it, so each is a word.
_BREAK = re.compile(rf"[\s{IDEOGRAPHS}]")
_LAST_BREAK = re.compile(rf"(?s:.*)[\s{IDEOGRAPHS}]")
_LONG_WORD = re.compile(rf"[^\s{IDEOGRAPHS}]{{{MAX_HELD + 1}}}")
_ESCAPED = re.compile(r"\\.", re.DOTALL)
_STRING_REST = re.compile(r"(?:[^\"\\]|\\.)*+\"?", re.DOTALL)
_STRING_OR_LITERAL = re.compile(r"\"(?:[^\"\\]|\\.)*+\"?|-?\d[\d.eE+-]*|true|false|null", re.DOTALL)
# Where an endless secret ends: a block may begin within it.
_RUN_END = re.compile(rf"(?=[\s\"'<>]|{BLOCK_START.pattern})")
_LINE_END = re.compile(rf"(?=[\n\r]|{BLOCK_START.pattern})")
_NEVER = re.compile(r"(?!)")  # after a failure


class ShownMask(NamedTuple):
    """Where a mask is in the text that was shown, and the rule that set it."""

    start: int
    rule: str


class Moves:
    """Where the places of a text are once ``spans``, which are in order, are replaced by their masks."""

    def __init__(self, spans: Sequence[Span]) -> None:
        self._starts = [span.start for span in spans]
        self._ends = [span.end for span in spans]
        self._shifts = [0, *accumulate(len(span.mask) - (span.end - span.start) for span in spans)]

    def moved(self, place: int) -> int:
        passed = bisect_right(self._ends, place)
        return min([place, *self._starts[passed : passed + 1]]) + self._shifts[passed]

    def touches(self, start: int, end: int) -> bool:
        """True where a mask is in, or beside, what was ``start`` to ``end``."""
        passed = bisect_left(self._ends, start)
        return passed < len(self._starts) and self._starts[passed] <= end

    def covers(self, place: int) -> bool:
        passed = bisect_right(self._ends, place)
        return passed < len(self._starts) and self._starts[passed] <= place


def mask_numbers_of_json(text: str, spans: list[Span], *, in_string: bool) -> list[Span]:
    """Mask numbers and other literals as a whole, by a string, so that JSON remains JSON."""
    opened = _STRING_REST.match(text) if in_string else None
    tokens = _STRING_OR_LITERAL.finditer(text, opened.end() if opened else 0)
    numbers = [token.span() for token in tokens if not token.group().startswith('"')]
    masked: dict[int, Span] = {}  # by start, for one number may hold several findings
    for span in spans:
        number = next((one for one in numbers if one[0] <= span.start < one[1]), None)
        if number:
            span = Span(number[0], max(number[1], span.end), span.kind, f'"{REDACTED}"', span.rule)
        masked[span.start] = span
    return list(masked.values())


class StreamRedactor:
    """Redacts one text as it arrives. Spec 004 redaction."""

    def __init__(self, policy: RedactionPolicy = DEFAULT, masks: list[ShownMask] | None = None) -> None:
        """``masks`` collects each mask for a report, in order."""
        self.counts: Counter[str] = Counter()
        self._masks = masks
        self._shown_chars = 0
        self._book = rule_book(personal=policy.personal)
        # What repeats itself, as lines of a log and models in a loop do, is searched once. Only this text remembers it:
        # secrets aren't kept.
        self._find = lru_cache(maxsize=32)(self._book.find)
        self._triggers_of = lru_cache(maxsize=128)(self._book.triggers_of)
        self._masks_personal = policy.personal
        self._is_json: bool | None = None  # unknown before the first character that isn't blank
        self._in_string = False  # whether the held part of a JSON text begins in a string
        self._cleaner = StreamCleaner()
        # What ends the part that is dropped now, and the parts around it: a key block, a section, an endless secret.
        self._closers: list[re.Pattern[str]] = []
        self._restart("")

    def _restart(self, held: str) -> None:
        """Hold ``held``, and forget what was seen before."""
        self._held = held
        self._searched = 0  # how much of the held text was searched for triggers
        self._offset = 0  # of the held text since the restart: the places of triggers count from there
        self._open_triggers: deque[SeenTrigger] = deque()  # triggers whose windows may be open
        self._qualifier: SeenTrigger | None = None  # of the last word with triggers
        self._is_before_block = False  # whether a block may begin where the searched part ends

    def feed(self, text: str) -> str:
        """Accept a piece and return what may be shown by now."""
        shown = self._cleaner.feed(text)
        out, at = [], 0
        while at < len(shown):
            # A window that is too long to hold is cut as soon as it is, so at the same place for every chunking.
            room = min(max(MAX_HELD + 1 - len(self._held), 1), _PIECE)
            out.append(self._take(shown[at : at + room]))
            at += room
        return "".join(out)

    def _take(self, piece: str) -> str:
        self._held += piece
        if self._is_json is None:
            start = self._held.lstrip()
            if rest := start.lstrip("["):
                is_section = start[0] == "[" and rest[0].isalpha()  # of an INI file
                self._is_json = start[0] in "{[" and not is_section
        if not self._closers and len(self._held) <= MAX_HELD and not _BREAK.search(piece):
            return ""  # within a word
        return self._drain(is_final=False)

    def flush(self) -> str:
        """End the text and return the rest. A second call returns nothing."""
        self._held += self._cleaner.feed("", is_final=True)
        if not self._closers and (cut := find_cut_token(self._held)):
            self._record([cut._replace(rule="token at the end of the text")])
            self._held = self._held[: cut.start] + REDACTED + self._held[cut.end :]
            self.counts["secret"] += 1
        shown = self._drain(is_final=True)
        self._restart("")
        return shown

    def abort(self) -> str:
        """End a text that was cut off: as ``flush``, without what may be half a secret at its end."""
        shown, is_masked = without_cut_secret(self.flush(), personal=self._masks_personal)
        self.counts["secret"] += is_masked
        return shown

    def end_word(self) -> str:
        """Release what is held, unless something private may begin in it: a blank follows, if anything does."""
        if self._closers or self._is_json is None or BLOCK_HINT.search(self._held) or find_cut_token(self._held):
            return ""
        return self._drain(is_final=False, is_word_end=True)

    def _consume(self, count: int) -> str:
        """Remove the first characters of the held text, and return them."""
        consumed, self._held = self._held[:count], self._held[count:]
        self._offset += count
        self._searched = max(self._searched - count, 0)
        if self._is_json:
            self._in_string ^= _ESCAPED.sub("", consumed).count('"') % 2 == 1
        return consumed

    def _drain(self, *, is_final: bool, is_word_end: bool = False) -> str:
        out: list[str] = []
        try:
            while self._advance(out, is_final=is_final, is_word_end=is_word_end):
                pass
        except Exception:  # noqa: BLE001 - whatever went wrong, the text must not pass
            self._restart("")
            self._closers = [_NEVER]
            out.append(UNAVAILABLE)
        return "".join(out)

    def _emit(self, out: list[str], text: str) -> None:
        out.append(text)
        self._shown_chars += len(text)

    def _record(self, spans: list[Span]) -> None:
        """Report the masks that replace ``spans`` of the held text; those of earlier rounds move."""
        if self._masks is None:
            return
        base, held, moves = self._shown_chars, [], Moves(spans)
        while self._masks and self._masks[-1].start >= base:
            held.append(self._masks.pop())
        held = [one for one in held if not moves.covers(one.start - base)]
        held += [ShownMask(base + span.start, span.rule) for span in spans]
        self._masks += sorted(ShownMask(base + moves.moved(one.start - base), one.rule) for one in held)

    def _advance(self, out: list[str], *, is_final: bool, is_word_end: bool) -> bool:
        """Release, mask or drop something at the beginning of the held text; False where that needs more text."""
        if self._closers:
            return self._drop_block()
        self._search_whole_words(is_word_end=is_final or is_word_end)
        plain_end, windows = self._next_windows(is_final=is_final)
        if plain_end:
            self._emit(out, self._consume(plain_end))
        if windows:
            self._redact_windows([Window(start - plain_end, end - plain_end, name) for start, end, name in windows])
            return True
        if not self._open_triggers and self._is_before_block:
            return self._open_block(out, is_final=is_final)
        if len(self._held) > MAX_HELD and (self._open_triggers or not self._searched):
            self._release_overlong(out)
            return True
        return False

    def _search_whole_words(self, *, is_word_end: bool) -> None:
        """Look for triggers in the words that are complete, up to one that is too long to hold."""
        last_break = _LAST_BREAK.match(self._held, self._searched)
        end = len(self._held) if is_word_end else last_break.end() if last_break else 0
        if len(self._held) > MAX_HELD and (long_word := _LONG_WORD.search(self._held, self._searched)):
            end = min(end, long_word.start())
        self._search_up_to(end)

    def _search_up_to(self, end: int) -> None:
        """Look for triggers in the held text up to ``end``, or up to where a block may begin."""
        if end <= self._searched or self._is_before_block:
            return
        if block := BLOCK_HINT.search(self._held, self._searched, end):
            end, self._is_before_block = block.start(), True
        for one in self._triggers_in(self._held, self._searched, end):
            before = self._qualifier
            if before and before.word_start >= self._offset:
                between = self._held[before.end - self._offset : one.word_start - self._offset]
                if between.strip(" -\n:=`'\""):
                    self._qualifier = None
                else:  # "api" of "api key": the name is judged with it
                    is_near = one.word_start - before.word_start <= _MAX_QUALIFIER_CHARS
                    one = SeenTrigger(one.start, one.end, before.word_start if is_near else before.start, one.trigger)
            self._open_triggers.append(one)
            if one.trigger.name == "qualifier":
                self._qualifier = one
        self._searched = end

    def _triggers_in(self, text: str, start: int, end: int) -> Iterator[SeenTrigger]:
        return self._book.triggers_in(text, start, end, self._offset, self._triggers_of)

    def _next_windows(self, *, is_final: bool) -> tuple[int, list[Window]]:
        """Return how much of the held text is plain, and the windows behind that: none while one of them may grow."""
        while self._open_triggers:
            plain_end = max(self._open_triggers[0].word_start - self._offset, 0)
            windows = self._complete_windows(plain_end, is_final=is_final)
            if windows is None:
                return plain_end, []
            if windows:
                return plain_end, windows
        return self._searched, []

    def _complete_windows(self, first: int, *, is_final: bool) -> list[Window] | None:
        """Take the triggers of the word at ``first`` and those in their windows; None while one of these may grow."""
        limit = min(self._searched, first + MAX_HELD)
        is_complete = limit == self._searched and (is_final or self._is_before_block)
        group_end = 0  # where the windows of the first word end
        end, ends = 0, []
        for one in self._open_triggers:
            word_start = one.word_start - self._offset
            if word_start > first and not group_end:
                group_end = end
            if 0 < group_end <= word_start:
                break
            window_end = self._end_of(one, limit)
            if window_end == limit and not is_complete:
                return None
            ends.append(window_end)
            if window_end > end:
                end = window_end
        if whole_words(self._held, end, limit) == limit and not is_complete:
            return None
        return self._windows([(self._open_triggers.popleft(), end) for end in ends], limit)

    def _windows(self, ends: Iterable[tuple[SeenTrigger, int]], limit: int) -> list[Window]:
        """Return the windows of triggers in which a rule may find something; what overlaps is one window."""
        spans_of: dict[Trigger, list[tuple[int, int]]] = {}
        for one, end in ends:
            if one.trigger.name in self._book.rule_triggers:
                spans_of.setdefault(one.trigger, []).append((max(one.word_start - self._offset, 0), end))
        windows = []
        for trigger, spans in spans_of.items():
            for start, end in joined(spans):
                if not trigger.needs or trigger.needs.search(self._held, start, end):
                    windows.append(Window(start, whole_words(self._held, end, limit), trigger.name))
        return sorted(windows)

    def _end_of(self, one: SeenTrigger, limit: int) -> int:
        start = one.end - self._offset
        end = start + one.trigger.max_chars
        found = one.trigger.window.match(self._held, start, end if end < limit else limit)
        return found.end() if found else start

    def _redact_windows(self, windows: list[Window]) -> None:
        """Mask what is found in these windows of the held text."""
        # Beside a mask a rule may see what a secret hid from it, so windows with a mask are searched again.
        for _ in range(_MAX_ROUNDS):
            text = self._held[: max((window.end for window in windows), default=0)]
            spans = self._find(text, tuple(windows))
            if not spans:
                break
            if self._is_json:
                spans = mask_numbers_of_json(text, spans, in_string=self._in_string)
            self.counts.update(span.kind for span in spans)
            self._record(spans)
            moves = Moves(spans)
            self._mask(spans, moves)
            windows = [
                Window(moves.moved(start), whole_words(self._held, moves.moved(end), self._searched), name)
                for start, end, name in windows
                if moves.touches(start, end)
            ]

    def _mask(self, spans: list[Span], moves: Moves) -> None:
        """Replace ``spans`` in the held text, and move the triggers before the end of the last."""
        growth = moves.moved(spans[-1].end) - spans[-1].end
        last = spans[-1].end + self._offset

        def place(before: int) -> int:
            # Behind the last mask places stay right, for the offset that they count from moves with the text.
            return moves.moved(before - self._offset) + self._offset - growth

        before: list[SeenTrigger] = []
        while self._open_triggers and self._open_triggers[0].word_start < last:
            one = self._open_triggers.popleft()
            if not moves.covers(one.start - self._offset):
                before.append(SeenTrigger(place(one.start), place(one.end), place(one.word_start), one.trigger))
        self._open_triggers.extendleft(reversed(before))
        self._held = apply_spans(self._held, spans)
        self._offset -= growth
        self._searched += growth

    def _open_block(self, out: list[str], *, is_final: bool) -> bool:
        """Begin to drop the key block or the ``<REDACTED>`` section with which the held text begins."""
        block = BLOCK_START.match(self._held)
        if not block and not is_final and OPEN_BLOCK_START.fullmatch(self._held):
            return False
        self._is_before_block = False
        if block and block["public"]:
            self._emit(out, self._consume(block.end()))
            self._restart(self._held)
        elif block:
            self._record([Span(0, 0, rule="key block" if block["pem"] else "REDACTED section")])
            self._emit(out, REDACTED)
            self.counts["secret"] += 1
            self._consume(block.end())
            self._restart(self._held)
            self._closers = [BLOCK_END[str(block.lastgroup)]]
        else:
            self._emit(out, self._consume(1))  # what is left looks like no block
        return True

    def _drop_block(self) -> bool:
        found = self._closers[-1].search(self._held)
        self._consume(found.end() if found else max(len(self._held) - _BLOCK_OVERLAP, 0))
        self._restart(self._held)
        if found and found.lastgroup == "nested":
            self._closers.append(self._closers[-1])
        elif found:
            self._closers.pop()
        return found is not None

    def _release_overlong(self, out: list[str]) -> None:
        """Release an endless window but for its last characters, and drop a secret that runs over the edge."""
        if BLOCK_HINT.search(self._held, self._searched, MAX_HELD):
            self._search_up_to(MAX_HELD)
        if self._is_before_block and self._searched <= MAX_HELD:
            return  # all windows end at the block
        text = self._held[:MAX_HELD]
        seen = self._triggers_in(text, 0, MAX_HELD)
        windows = self._windows(((one, self._end_of(one, MAX_HELD)) for one in seen), MAX_HELD)
        spans = self._find(text, tuple(windows))
        # The overlap lets a rule see the context of what comes next.
        cut = MAX_HELD - OVERLAP
        for span in spans:
            cut = span.end if span.start < cut < span.end else cut
        spans = [span for span in spans if span.end <= cut]
        self.counts.update(span.kind for span in spans)
        self._record(spans)
        self._emit(out, apply_spans(text[:cut], spans))
        self._consume(cut)
        self._restart(self._held)
        if cut == MAX_HELD:
            self._closers = [_LINE_END if any(window.name == "header" for window in windows) else _RUN_END]
