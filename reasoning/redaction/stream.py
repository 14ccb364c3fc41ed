"""Redaction of text that arrives in pieces; whole texts are redacted by the same machine.

The text is cut into segments by its content alone, never by how it was delivered, and each segment is redacted by
itself; so the output of ``feed`` and ``flush``, joined, is the output of one ``feed`` of the whole. A segment ends
where no trigger's finding can reach beyond it; a word without triggers is a segment of its own. At most ``MAX_HELD``
characters are held: of an endless segment all but the last ``OVERLAP`` characters are released, redacted.
On an exception the machine fails closed: one ``[unavailable]``, then nothing.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import Counter, deque
from collections.abc import Iterable
from functools import lru_cache
from operator import itemgetter
from typing import Final, NamedTuple

from reasoning.redaction import personal_data, prose, secrets
from reasoning.redaction.policy import DEFAULT, REDACTED, UNAVAILABLE, RedactionPolicy
from reasoning.redaction.prose import TRIGGER_IDEOGRAPHS
from reasoning.redaction.rules import Rule, Span, Trigger, apply_spans, merge_spans
from reasoning.redaction.secrets import BLOCK_END, BLOCK_START, find_cut_token

MAX_HELD: Final = 4_096
OVERLAP: Final = 512
_PIECE = 1_024  # characters of a long text that are processed at once
_MAX_ROUNDS = 3
_BLOCK_OVERLAP = 192  # longer than any end of a block
_MAX_BLOCK_START = 192  # longer than any start of one

# Words end at white space; ideographs are written without it, so each is a word.
_IDEOGRAPHS = "\u2e80-\ua4cf\uf900-\ufaff\ufe30-\ufe4f\uff00-\uffef\U00020000-\U0003ffff"
_BREAK = re.compile(rf"[\s{_IDEOGRAPHS}]")
_LAST_BREAK = re.compile(rf"(?s:.*)[\s{_IDEOGRAPHS}]")
_WORD = re.compile(rf"\s*+(?:[^\s{_IDEOGRAPHS}]++|[{_IDEOGRAPHS}])")
_LONG_WORD = re.compile(rf"[^\s{_IDEOGRAPHS}]{{{MAX_HELD + 1}}}")
_PASSAGE = re.compile(rf"[^{_IDEOGRAPHS}]++|(?P<ideograph>[{TRIGGER_IDEOGRAPHS}])")
_WORD_IN_PASSAGE = re.compile(r"\S++")
_LETTERS = re.compile(r"[^\W\d_]+")
_HUMP = re.compile(r"[A-Z](?<=[a-z].)")
_PART_OF_NAME = re.compile(r"(?<=[a-z])[A-Z]+(?![a-z])|(?<=[a-z])[A-Z][a-z]+|(?<![A-Za-z])[a-z]+(?=[A-Z])")
# Most words of an answer have none of the shapes: words, names in camel case, small numbers, years, citations, marks.
# One pattern that steps over them costs less than looking for each shape in them.
_LETTER = r"(?:[a-z]|[A-Z](?![A-Z]))"
_PLAIN = (
    rf"(?:[*\"']{{0,3}}(?:(?:{_LETTER}{{0,18}}[,.'’]++)*+{_LETTER}{{0,18}}|\$?[1-9]\d?(?:\.\d\d?)?|(?:19|20)\d\d[.,]?)"
    r"[%:;!?,*\"']{0,3}|\[[1-9]\d?\][.,;]?|[|>*#-]{1,3}|=)"
)
_ODD_WORDS = re.compile(rf"\s*+(?:{_PLAIN}(?:\s++|\Z))*+(?P<words>\S++(?:\s++(?!{_PLAIN}(?:\s|\Z))\S++)*+)?+")
_MARK = re.compile(r"\[redacted\]?")
_MORE_THAN_MARKS = re.compile(r"[A-Za-z0-9]{4}")  # less than this is punctuation and labels
_REST_OF_RUN = re.compile(r"[A-Za-z0-9]++")  # ASCII alone: letters of other alphabets may follow without a blank
_ESCAPED_BREAK = re.compile(r"\\[nrt]")
_JSON_KEY = re.compile(r"\"\s{0,4}:\s{0,3}\Z")
_QUOTE = re.compile(r"\\.|\"", re.DOTALL)
_STRING_REST = re.compile(r"(?:[^\"\\]|\\.)*+\"?", re.DOTALL)
_STRING_OR_LITERAL = re.compile(r"\"(?:[^\"\\]|\\.)*+\"?|-?\d[\d.eE+-]*|true|false|null", re.DOTALL)
_LAST_WORD = re.compile(r"(?<!\S)\S++\Z")
# A word in any script, a number of few digits, a citation, half a tag; with the marks of Markdown around it.
_ORDINARY_WORD = re.compile(
    r"[\[\](){}\"'“„«»*_`~|>#:+=–—-]{0,6}+"
    r"(?:[^\W\d_]?(?:[^\W\d_A-Z]{1,24}[-'’/]?){0,3}|[A-Z]{1,6}|(?:[A-Z]\.){2,4}|(?:\d{1,2}-[A-Z]/?){1,3}"
    r"|[$€£]?\d{1,6}(?:[.,:/-]\d{1,3}){0,3}|</?[a-z]{0,12}>?)"
    r"[\[\](){}\"'”“»*_`~|.,;:!?%…–—-]{0,8}"
)
_CUT_SECRET = re.compile(r"(?:\d[\d .()/-]{6,}|-{5}BEGIN [A-Z0-9 -]{0,60})\Z")
_RUN_END = re.compile(r"(?=[\s\"'<>])")
_LINE_END = re.compile(r"(?=[\n\r])")

# Characters that a reader doesn't see, or that a database refuses, could split a secret in two.
_UNSEEN = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\xad\u061c\u115f\u1160\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f"
    "\u3164\ufeff\uffa0\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e007f]"
)
_JOINERS = "\u200c\u200d\u200e\u200f"


def clean(text: str, before: str = "") -> str:
    """Return ``text`` without unseen characters; ``before`` is the character in front of it.

    Joiners stay behind a character that isn't ASCII, where they join letters or emoji.
    """
    if not _UNSEEN.search(text):
        return text
    shown = [before]
    for char in text:
        if not _UNSEEN.match(char):
            shown.append(char)
        elif "\ud800" <= char <= "\udfff":
            shown.append("\ufffd")
        elif char in "\x0b\x0c":
            shown.append("\n")
        elif char in _JOINERS and shown[-1] and not shown[-1][-1].isascii():
            shown.append(char)
    return "".join(shown[1:])


class SeenTrigger(NamedTuple):
    """A trigger, where its own text ends, and where the word begins that holds it."""

    trigger: Trigger
    end: int
    word_start: int


class RuleBook:
    """The rules and triggers of a policy. Holds no text; one serves all streams."""

    def __init__(self, triggers: Iterable[Trigger], rules: Iterable[Rule]) -> None:
        self._rules = tuple(rules)
        self._by_word: dict[str, list[Trigger]] = {}
        self._stems: list[tuple[re.Pattern[str], Trigger]] = []
        self._shapes: list[tuple[re.Pattern[str], Trigger]] = []
        for trigger in triggers:
            for word in trigger.words:
                self._by_word.setdefault(word, []).append(trigger)
            if trigger.stems:
                self._stems.append((re.compile(trigger.stems), trigger))
            if trigger.shape:
                self._shapes.append((re.compile(trigger.shape), trigger))

    def triggers_in(self, text: str, start: int, end: int, base: int = 0) -> list[SeenTrigger]:
        """Return the triggers in the words of ``text[start:end]``, in order; their places count from ``-base``."""
        if text.isascii():
            return self._triggers_in_passage(text, start, end, base)
        seen: list[SeenTrigger] = []
        for passage in _PASSAGE.finditer(text, start, end):
            if passage["ideograph"]:
                places = base + passage.end(), base + passage.start()
                seen += [SeenTrigger(one, *places) for one in self._by_word[passage.group()]]
            else:
                seen += self._triggers_in_passage(text, *passage.span(), base)
        return seen

    def _triggers_in_passage(self, text: str, start: int, end: int, base: int) -> list[SeenTrigger]:
        """Return the triggers in words that white space separates."""
        low = text[start:end].replace("İ", "I").lower()  # no other letter changes its length
        low = _ESCAPED_BREAK.sub("  ", low)
        found: list[tuple[int, int, Trigger]] = []
        if not self._by_word.keys().isdisjoint(_LETTERS.findall(low)):
            found = [
                (start + word.start(), start + word.end(), trigger)
                for word in _LETTERS.finditer(low)
                for trigger in self._by_word.get(word.group(), ())
            ]
        if _HUMP.search(text, start, end):  # "contactPhone" has the trigger "phone"
            found += [
                (word.start(), word.end(), trigger)
                for word in _PART_OF_NAME.finditer(text, start, end)
                for trigger in self._by_word.get(word.group().lower(), ())
            ]
        for stems, trigger in self._stems:
            found += [(start + one.start(), start + one.end(), trigger) for one in stems.finditer(low)]
        # No shape has white space in it, so the odd words can be searched without the others.
        for odd in _ODD_WORDS.finditer(text, start, end):
            if odd.lastgroup:
                span = odd.span("words")
                found += [
                    (*one.span(), trigger) for shape, trigger in self._shapes for one in shape.finditer(text, *span)
                ]
        if not found:
            return []
        found.sort(key=itemgetter(0, 1))
        starts = [word.start() for word in _WORD_IN_PASSAGE.finditer(text, start, end)]
        return [
            SeenTrigger(trigger, base + last, base + starts[bisect_right(starts, first) - 1])
            for first, last, trigger in found
        ]

    def find(self, text: str, triggers: set[str]) -> list[Span]:
        """Return what the rules of these triggers find, in order and without overlaps."""
        found: list[Span] = []
        for rule in self._rules:
            if triggers.isdisjoint(rule.triggers):
                continue
            for span in rule.find(text):
                # What is little more than a mask was redacted before and stays, or a second redaction would find more
                # than the first. A mask that somebody wrote beside a secret doesn't save it.
                value = text[span.start : span.end]
                if value.endswith("\\") and text[span.end : span.end + 1] in ('"', "'"):
                    value = value.rstrip("\\")  # of the quote, which JSON in a string escapes
                    span = span._replace(end=span.start + len(value))
                if REDACTED[:-1] in value and not _MORE_THAN_MARKS.search(_MARK.sub(" ", value)):
                    continue
                rest = _REST_OF_RUN.match(text, span.end)
                if rest and span.kind != "email" and value[-1].isalnum():
                    span = span._replace(end=rest.end())  # the whole run of letters and digits: no rest is shown
                if value.isdigit() and _JSON_KEY.search(text, max(span.start - 8, 0), span.start):
                    span = span._replace(mask=f'"{REDACTED}"')  # JSON remains JSON
                found.append(span)
        return merge_spans(found)


def mask_numbers_of_json(text: str, spans: list[Span], *, in_string: bool) -> list[Span]:
    """Mask numbers and other literals as a whole, by a string, so that JSON remains JSON."""
    opened = _STRING_REST.match(text) if in_string else None
    tokens = _STRING_OR_LITERAL.finditer(text, opened.end() if opened else 0)
    numbers = [token.span() for token in tokens if not token.group().startswith('"')]
    masked: dict[int, Span] = {}  # by start, for one number may hold several findings
    for span in spans:
        number = next((one for one in numbers if one[0] <= span.start < one[1]), None)
        if number:
            span = Span(number[0], max(number[1], span.end), span.kind, f'"{REDACTED}"')
        masked[span.start] = span
    return list(masked.values())


@lru_cache(maxsize=2)
def rule_book(*, personal: bool) -> RuleBook:
    """Return the rules for secrets and, if asked for, personal data."""
    rooms = (secrets, prose, personal_data) if personal else (secrets, prose)
    return RuleBook(
        [trigger for room in rooms for trigger in room.TRIGGERS], [rule for room in rooms for rule in room.RULES]
    )


class StreamRedactor:
    """Redacts one text as it arrives. Spec 004 redaction."""

    def __init__(self, policy: RedactionPolicy = DEFAULT) -> None:
        self.counts: Counter[str] = Counter()
        self._book = rule_book(personal=policy.personal)
        self._is_json: bool | None = None  # unknown before the first character that isn't blank
        self._in_string = False  # whether the held part of a JSON text begins in a string
        self._last = ""  # last character received: cleaning depends on it
        self._has_failed = False
        self._closer: re.Pattern[str] | None = None  # everything up to its match is dropped
        self._depth = 0  # of the dropped section: how many closers are missing to its end
        self._base = 0  # place in the text where the held part begins; all places below count from the text's start
        self._restart("")

    def _restart(self, held: str) -> None:
        """Hold ``held``, and forget what was seen before."""
        self._held = held
        self._scanned = self._base  # up to where triggers were looked for
        self._seen: list[SeenTrigger] = []  # in the scanned part
        self._may_open_block = False
        self._examined = self._base  # end of the last examined word of the segment, which begins with the held part
        self._passed = 0  # how many of them are in examined words
        self._open: deque[SeenTrigger] = deque()  # those whose findings may grow
        self._reach = 0  # where the findings that no longer grow end

    def feed(self, text: str) -> str:
        """Accept a piece and return what may be shown by now."""
        if len(text) > _PIECE:
            return "".join([self.feed(text[start : start + _PIECE]) for start in range(0, len(text), _PIECE)])
        shown = "" if self._has_failed else clean(text, self._last)
        if not shown:
            return ""
        self._last = shown[-1]
        self._held += shown
        if self._is_json is None and (start := shown.lstrip()):
            self._is_json = start[0] in "{["
        if self._closer is None and len(self._held) <= MAX_HELD and not _BREAK.search(shown):
            return ""  # within a word
        return self._drain(is_final=False)

    def flush(self) -> str:
        """End the text and return the rest. A second call returns nothing."""
        shown = self._drain(is_final=True)
        self._restart("")
        return shown

    def abort(self) -> str:
        """End a text that was cut off: as ``flush``, with a mask in place of a last word that isn't ordinary."""
        shown = self.flush()
        # What was cut off may be half a secret that no rule recognises yet.
        cut = _CUT_SECRET.search(shown) or _LAST_WORD.search(shown)
        if cut is None or cut.group().endswith(REDACTED) or _ORDINARY_WORD.fullmatch(cut.group()):
            return shown
        self.counts["secret"] += 1
        return shown[: cut.start()] + REDACTED

    def end_word(self) -> str:
        """Release the held word, unless something private may begin in it: a blank follows, if anything does."""
        held = self._held
        if not held or self._seen or self._closer is not None or self._has_failed:
            return ""
        try:
            if find_cut_token(held) or self._book.triggers_in(f"{held}\n", 0, len(held) + 1):
                return ""
        except Exception:  # noqa: BLE001 - the word stays held, and fails closed with what comes next
            return ""
        self._consume(self._base + len(held))
        self._restart("")
        return held

    def _consume(self, end: int) -> str:
        """Remove the held text up to ``end``, and return it."""
        consumed, self._held = self._held[: end - self._base], self._held[end - self._base :]
        self._base = end
        if self._is_json:
            self._in_string ^= sum(one.group() == '"' for one in _QUOTE.finditer(consumed)) % 2 == 1
        return consumed

    def _drain(self, *, is_final: bool) -> str:
        out: list[str] = []
        try:
            while not self._has_failed and self._advance(out, is_final=is_final):
                pass
        except Exception:  # noqa: BLE001 - whatever went wrong, the text must not pass
            self._has_failed = True
            self._restart("")
            out.append(UNAVAILABLE)
        return "".join(out)

    def _advance(self, out: list[str], *, is_final: bool) -> bool:
        """Release or drop the beginning of the held text; False where that needs more text."""
        if self._closer is not None:
            return self._drop_block(self._closer)
        self._scan(is_final=is_final)
        held_end = self._base + len(self._held)
        if self._examined == self._base:
            # Between segments: nothing private begins in words without triggers. The last word may be a cut token.
            plain_end = self._seen[0].word_start if self._seen else self._scanned
            if self._base < plain_end and not (is_final and plain_end == held_end):
                out.append(self._consume(plain_end))
                self._examined = plain_end
        # Inside a segment: word by word, until no finding of its triggers can grow.
        limit = min(self._scanned, self._base + MAX_HELD)
        while self._seen and (word := _WORD.match(self._held, self._examined - self._base)):
            if self._base + word.end() > limit:
                break
            if self._examine(out, self._base + word.end()):
                return True
        is_endless = bool(self._seen) or self._scanned == self._base  # a segment, or a word
        if is_endless and len(self._held) > MAX_HELD:
            self._force(out)
            return True
        if is_final and self._held:
            if not self._open_block(out, held_end):
                self._release(out, held_end, is_end=True)
            return True
        return False

    def _scan(self, *, is_final: bool) -> None:
        """Look for triggers in the words that are complete, up to a word that is too long to hold."""
        start = self._scanned - self._base
        last_break = _LAST_BREAK.match(self._held, start)
        end = len(self._held) if is_final else last_break.end() if last_break else start
        if len(self._held) > MAX_HELD and (long_word := _LONG_WORD.search(self._held, start)):
            end = min(end, long_word.start())
        if end > start:
            self._see(start, end)
            self._scanned = self._base + end

    def _see(self, start: int, end: int) -> None:
        seen = self._book.triggers_in(self._held, start, end, base=self._base)
        if seen:
            self._seen += seen
            self._may_open_block |= any(one.trigger.name in BLOCK_END for one in seen)

    def _examine(self, out: list[str], end: int) -> bool:
        """Continue to the end of the next word; True where the segment, or its beginning, was released."""

        def may_grow(one: SeenTrigger) -> bool:
            pattern = one.trigger.continuation
            return bool(pattern and pattern.fullmatch(self._held, one.end - self._base, end - self._base))

        before, self._examined = self._examined, end
        if self._open_block(out, end, since=before):
            return True
        older = len(self._open)
        while self._passed < len(self._seen) and self._seen[self._passed].word_start < end:
            one = self._seen[self._passed]
            self._passed += 1
            if may_grow(one):  # else its finding ends with the word
                self._open.append(one)
        while self._open:
            first = self._open[0]
            if first.word_start > self._base and first.word_start >= self._reach:
                self._release(out, first.word_start)  # no finding reaches its word, which opens the next segment
                return True
            if older <= 0 or may_grow(first):  # those of this word were asked above
                return False
            self._reach = max(self._reach, end if first.trigger.includes_next else before)
            self._open.popleft()
            older -= 1
        self._release(out, end)
        return True

    def _release(self, out: list[str], end: int, *, is_end: bool = False) -> None:
        """Show the held text up to ``end``, redacted. What was seen behind it opens the next segment."""
        count = bisect_left(self._seen, end, key=lambda one: one.word_start)
        triggers = {one.trigger.name for one in self._seen[:count]}
        self._show(out, self._held[: end - self._base], triggers, is_end=is_end)
        self._consume(end)
        del self._seen[:count]
        self._scanned, self._examined = max(self._scanned, end), max(self._examined, end)
        self._passed = max(self._passed - count, 0)
        self._reach = 0

    def _show(self, out: list[str], text: str, triggers: set[str], *, is_end: bool = False) -> None:
        # Beside a mask a rule may see what a secret hid from it, so the result is redacted again.
        for _ in range(_MAX_ROUNDS):
            spans = self._book.find(text, triggers) if triggers else []
            if is_end and (cut := find_cut_token(text)) and not any(span.end > cut.start for span in spans):
                spans.append(cut)
            if not spans:
                break
            if self._is_json:
                spans = mask_numbers_of_json(text, spans, in_string=self._in_string)
            self.counts.update(span.kind for span in spans)
            text = apply_spans(text, spans)
            triggers = {one.trigger.name for one in self._book.triggers_in(text, 0, len(text))}
        out.append(text)

    def _open_block(self, out: list[str], end: int, since: int = 0) -> bool:
        """Begin to drop a key block or a ``<REDACTED>`` section that starts in ``[since, end)``."""
        if not self._may_open_block:
            return False
        # Each word is examined once, so searching from the start each time would be quadratic.
        first = max(since - self._base - _MAX_BLOCK_START, 0)
        block = BLOCK_START.search(self._held, first, end - self._base)
        if not block:
            return False
        self._show(out, self._held[: block.start()], {one.trigger.name for one in self._seen if one.word_start < end})
        out.append(REDACTED)
        self.counts["secret"] += 1
        self._consume(self._base + block.end())
        self._restart(self._held)
        self._closer, self._depth = BLOCK_END[str(block.lastgroup)], 1
        return True

    def _drop_block(self, closer: re.Pattern[str]) -> bool:
        found = closer.search(self._held)
        end = found.end() if found else max(len(self._held) - _BLOCK_OVERLAP, 0)
        self._consume(self._base + end)
        self._restart(self._held)
        if found:
            self._depth += 1 if found.lastgroup == "nested" else -1
        self._closer = closer if self._depth else None
        return found is not None

    def _force(self, out: list[str]) -> None:
        """Release an endless segment but for its last characters, and drop a secret that runs over the edge."""
        end = self._base + MAX_HELD
        del self._seen[bisect_left(self._seen, self._examined, key=lambda one: one.word_start) :]
        self._see(self._examined - self._base, MAX_HELD)
        if self._open_block(out, end):
            return
        text, triggers = self._held[:MAX_HELD], {one.trigger.name for one in self._seen}
        spans = self._book.find(text, triggers)
        # The overlap lets a rule see the context of what comes next.
        cut = MAX_HELD - OVERLAP
        for span in spans:
            cut = span.end if span.start < cut < span.end else cut
        spans = [span for span in spans if span.end <= cut]
        self.counts.update(span.kind for span in spans)
        out.append(apply_spans(text[:cut], spans))
        self._consume(self._base + cut)
        self._restart(self._held)
        if cut == MAX_HELD:
            self._closer, self._depth = _LINE_END if "header" in triggers else _RUN_END, 1
