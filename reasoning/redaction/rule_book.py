"""Which triggers a text contains, and what the rules of these triggers find in their windows."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from reasoning.redaction.blocks import BLOCK_HINT
from reasoning.redaction.policy import REDACTED
from reasoning.redaction.rules import (
    Rule,
    Span,
    Trigger,
    assignments,
    commands,
    merge_spans,
    personal_data,
    prose,
    requests,
    tables,
    tokens,
)
from reasoning.redaction.rules.tokens import find_cut_token
from reasoning.redaction.values import IDEOGRAPHS, lower_case

_WORD = re.compile(rf"[^\s{IDEOGRAPHS}]++|[{IDEOGRAPHS}]")
_REST_OF_WORD = re.compile(rf"[^\s{IDEOGRAPHS}]*+")
# A word of letters with its punctuation has no shape, and is itself the only name in it.
_PLAIN_WORD = re.compile(r"[*\"'(]{0,3}([A-Za-zÀ-ÖØ-öø-ÿ]?[a-zß-öø-ÿ]{0,24})[.,:;!?%)*\"']{0,3}")
_PLAIN_NUMBER = re.compile(
    r"[\"'(\[]?(?:19|20)\d\d-[01]\d-[0-3]\d[T_][0-2]\d:[0-5]\d(?::[0-5]\d(?:[.,]\d{1,9})?)?(?:Z|[+-]\d\d:?\d\d)?[\"')\],:]{0,3}"
    r"|[$(]?(?:[1-9]\d?(?:\.\d\d?)?|(?:19|20)\d\d)[%).,;:]{0,2}|\[[1-9]\d?\][.,;]?|[|>*#-]{1,3}|="
)
_MAX_REMEMBERED = 18  # characters of a word: texts repeat short words, and keys are longer
_LETTERS = re.compile(r"[^\W\d_]+")
_PART_OF_NAME = re.compile(r"(?<=[a-z])[A-Z]+(?![a-z])|(?<=[a-z])[A-Z][a-z]+|(?<![A-Za-z])[a-z]+(?=[A-Z])")
_MARK = re.compile(r"\[redacted\]?")
_MORE_THAN_MARKS = re.compile(r"[A-Za-z0-9]{4}")  # less than this is punctuation and labels
_REST_OF_RUN = re.compile(r"[A-Za-z0-9]++")  # ASCII alone: letters of other alphabets may follow without a blank
_ESCAPED_BREAK = re.compile(r"\\[nrt]")
_JSON_KEY = re.compile(r"\"\s{0,4}:\s{0,3}\Z")

# Where the triggers of a word begin and end in it.
TriggersOf = Callable[[str], list[tuple[int, int, Trigger]]]


class SeenTrigger(NamedTuple):
    """A trigger, where its own text begins and ends, and where the word begins that holds it."""

    start: int
    end: int
    word_start: int
    trigger: Trigger


class Window(NamedTuple):
    """What belongs to a trigger of this name, its whole words from ``start`` to ``end``."""

    start: int
    end: int
    name: str


class RuleBook:
    """The rules and triggers of a policy. Holds no text; one serves all streams."""

    def __init__(self, triggers: Iterable[Trigger], rules: Iterable[Rule]) -> None:
        self._rules = tuple(rules)
        self.rule_triggers = frozenset().union(*(rule.triggers for rule in self._rules))
        self._by_word: dict[str, list[Trigger]] = {}
        self._stems: list[tuple[re.Pattern[str], Trigger]] = []
        self._shapes: list[tuple[frozenset[str], re.Pattern[str], Trigger]] = []  # with their marks
        for trigger in triggers:
            for word in trigger.words:
                self._by_word.setdefault(word, []).append(trigger)
            if trigger.stems:
                self._stems.append((re.compile(trigger.stems), trigger))
            if trigger.shape:
                self._shapes.append((frozenset(trigger.marks), re.compile(trigger.shape), trigger))
        self._remembered = lru_cache(maxsize=8_192)(self.triggers_of)
        self._rules_for = lru_cache(maxsize=1_024)(self._rules_of)

    def triggers_in(
        self, text: str, start: int, end: int, base: int = 0, triggers_of: TriggersOf | None = None
    ) -> Iterator[SeenTrigger]:
        """Yield the triggers in the words of ``text[start:end]``, in order; their places count from ``-base``.

        ``triggers_of`` is asked about long words.
        """
        of_long_word = triggers_of or self.triggers_of
        for found in _WORD.finditer(text, start, end):
            word = found.group()
            triggers = self._remembered(word) if len(word) <= _MAX_REMEMBERED else of_long_word(word)
            for first, last, one in triggers:
                place = base + found.start()
                yield SeenTrigger(place + first, place + last, place, one)

    def triggers_of(self, word: str) -> list[tuple[int, int, Trigger]]:
        """Return where the triggers of a word begin and end in it; each at its last place, whose window ends last."""
        if plain := _PLAIN_WORD.fullmatch(word):
            low = word.lower()
            triggers = [*self._by_word.get(plain[1].lower(), ())]
            triggers += [trigger for stem, trigger in self._stems if stem.search(low)]
            return [(*plain.span(1), one) for one in triggers]
        if _PLAIN_NUMBER.fullmatch(word):
            return []
        low = _ESCAPED_BREAK.sub("  ", lower_case(word))
        names = [*_LETTERS.finditer(low)]
        if low != word:  # "contactPhone" has the trigger "phone"
            names += _PART_OF_NAME.finditer(word)
        places = [(trigger, one) for one in names for trigger in self._by_word.get(one.group().lower(), ())]
        # Most words have none of them, and a search is cheaper than an iterator.
        places += [(trigger, one) for stem, trigger in self._stems if stem.search(low) for one in stem.finditer(low)]
        signs = set(word)
        for marks, shape, trigger in self._shapes:
            if not marks.isdisjoint(signs) and shape.search(word):
                places += [(trigger, one) for one in shape.finditer(word)]
        last: dict[Trigger, tuple[int, int]] = {}
        for trigger, one in places:
            last[trigger] = max(last.get(trigger, (0, 0)), one.span())
        return sorted(((*span, trigger) for trigger, span in last.items()), key=lambda one: one[:2])

    def is_plain(self, text: str) -> bool:
        """True for a short text in which no rule has to look."""
        first = next(self.triggers_in(text, 0, len(text)), None)
        return first is None and not (BLOCK_HINT.search(text) or find_cut_token(text))

    def find(self, text: str, windows: Sequence[Window]) -> list[Span]:
        """Return what the rules of the triggers find in their windows, in order and without overlaps."""
        found: list[Span] = []
        places: dict[frozenset[str], list[tuple[int, int]]] = {}  # by the triggers that rules share
        for rule, names in self._rules_for(frozenset(window.name for window in windows)):
            if names not in places:
                places[names] = joined([window[:2] for window in windows if window.name in names])
            for start, end in places[names]:
                if rule.needs is None or rule.needs.search(text, start, end):
                    for span in rule.find(text[:end], start):
                        if masked := whole_secret(text, span):
                            found.append(masked._replace(rule=rule.name))
        return merge_spans(found) if found else found

    def _rules_of(self, names: frozenset[str]) -> list[tuple[Rule, frozenset[str]]]:
        """Return the rules of triggers with these names, and which of these are its own."""
        return [(rule, names & rule.triggers) for rule in self._rules if names & rule.triggers]


def whole_secret(text: str, span: Span) -> Span | None:
    """Return the span of all that has to be masked with a finding; None for what was masked before."""
    # What is little more than a mask stays, or a second redaction would find more than the first. A mask that somebody
    # wrote beside a secret doesn't save it.
    value = text[span.start : span.end]
    if value.endswith("\\") and text[span.end : span.end + 1] in ('"', "'"):
        value = value.rstrip("\\")  # of the quote, which JSON in a string escapes
        span = span._replace(end=span.start + len(value))
    if REDACTED[:-1] in value and not _MORE_THAN_MARKS.search(_MARK.sub(" ", value)):
        return None
    rest = _REST_OF_RUN.match(text, span.end)
    if rest and span.kind != "email" and value[-1].isalnum():
        span = span._replace(end=rest.end())  # the whole run of letters and digits: no rest is shown
    if value.isdigit() and _JSON_KEY.search(text, max(span.start - 8, 0), span.start):
        span = span._replace(mask=f'"{REDACTED}"')  # JSON remains JSON
    return span


def joined(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return spans, which are in order, as one where they overlap."""
    whole: list[tuple[int, int]] = []
    for start, end in spans:
        if whole and start < whole[-1][1]:
            whole[-1] = (whole[-1][0], max(whole[-1][1], end))
        else:
            whole.append((start, end))
    return whole


def whole_words(text: str, end: int, limit: int) -> int:
    """Return where the word ends that goes on at ``end``."""
    rest = _REST_OF_WORD.match(text, end, limit)
    return rest.end() if rest else end


@lru_cache(maxsize=2)
def rule_book(*, personal: bool) -> RuleBook:
    """Return the rules for secrets and, if asked for, personal data."""
    rooms = [tokens, requests, assignments, commands, tables, prose, *([personal_data] if personal else [])]
    return RuleBook(
        [trigger for room in rooms for trigger in room.TRIGGERS], [rule for room in rooms for rule in room.RULES]
    )
