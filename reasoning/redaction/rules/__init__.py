"""The rules, a module for each subject. Here is what their rows are made of: triggers, windows, rules, spans."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from reasoning.redaction.allowlist import is_harmless
from reasoning.redaction.policy import REDACTED
from reasoning.redaction.values import strip_punctuation

# Windows: what may belong to a finding, from the end of its trigger on. They are possessive, so that more text can only
# make a window longer.
WORD = re.compile(r"\S*+")


# Plain words of a sentence; not those behind which a value is stated.
_PROSE = r"(?:\s{1,4}+(?!(?:is|was|are|be|to|as|for|ist|war|sind|lautet|für|es|est)\s)[a-zß-öø-ÿ]{1,24}+(?=\s)){4}"


def next_words(count: int, *, until_prose: bool = False) -> re.Pattern[str]:
    """Return a window of the trigger's word and ``count`` more; a quoted text counts as one.

    ``until_prose``: it ends where a sentence goes on without a value. For words that are common in sentences: the text
    behind them would come late, in jumps.
    """
    part = r"[^\s\"'`]*+(?:[\"'`](?:(?<=[\s=:(,>\[{\\].)[^\"'`\n]{0,256}+)?+[^\s\"'`]*+){0,12}+"
    stop = rf"(?!{_PROSE})" if until_prose else ""
    # The blank behind the last word tells it from the end of a line.
    return re.compile(rf"{part}(?:{stop}\s{{1,40}}+{part}){{0,{count}}}+[ \t]?+")


@dataclass(frozen=True, slots=True, eq=False)
class Trigger:
    """Words in lower case, stems of words, or a shape that may begin a finding; nothing else makes a rule run.

    The rules see the text from the trigger's word to the end of its ``window``, at most ``max_chars``, and no more.
    """

    name: str
    words: frozenset[str] = frozenset()
    # Alternatives that each begin with a letter and have no group: ``re`` then skips to their first letters.
    stems: str = ""
    shape: str = ""  # that no word of letters has; it begins with the characters to which a search can skip
    marks: str = ""  # of which a word with the shape has one
    window: re.Pattern[str] = WORD
    max_chars: int = 512
    needs: re.Pattern[str] | None = None  # in the word or its window, or no rule runs


class Span(NamedTuple):
    """A stretch ``[start, end)`` of a text to replace by ``mask``; ``kind`` is what is counted."""

    start: int
    end: int
    kind: str = "secret"
    mask: str = REDACTED
    rule: str = ""  # by whose name a report counts it


@dataclass(frozen=True, slots=True)
class Rule:
    """``find(text, start)`` gets a text that ends with the window of a trigger, whose word is at ``start``.

    Of the ``examples`` it masks the first, written as a line of redaction_cases, and leaves the second.
    """

    name: str
    triggers: frozenset[str]
    examples: tuple[str, str]
    find: Callable[[str, int], Iterable[Span]]
    needs: re.Pattern[str] | None = None  # a quick search: where it finds nothing, ``find`` is not called


def pattern_rule(
    name: str,
    triggers: str,
    examples: tuple[str, str],
    pattern: str,
    *,
    kind: str = "secret",
    accept: Callable[[re.Match[str], str], object] = lambda _found, _value: True,
    strip: bool = False,
    needs: str = "",
) -> Rule:
    """Make a rule that masks the group ``value`` wherever ``accept(match, value)`` agrees.

    A pattern with a group ``secret`` has its value judged by that part. ``strip`` removes punctuation behind the value.
    """
    search = re.compile(pattern).search

    def find(text: str, start: int) -> Iterator[Span]:
        while found := search(text, start):
            group = "secret" if found.groupdict().get("secret") is not None else "value"
            value = strip_punctuation(found[group]) if strip else found[group]
            start = max(found.end(), start + 1)
            shown = {value, found[group]}  # "eyJhbGciOi..." is no whole token
            if accept(found, value) and (kind != "secret" or not any(map(is_harmless, shown))):
                yield Span(found.start("value"), found.start(group) + len(value), kind)

    return Rule(name, frozenset(triggers.split()), examples, find, re.compile(needs) if needs else None)


def merge_spans(spans: Iterable[Span]) -> list[Span]:
    """Return the spans in order and without overlaps: where two overlap, their union is masked."""
    merged: list[Span] = []
    for span in sorted(spans, key=lambda span: (span.start, -span.end)):
        if not merged or span.start >= merged[-1].end:
            merged.append(span)
            continue
        last = merged[-1]
        # A URL with a password contains something like an address.
        if span.kind == "email" and (last.kind == "email" or span.end > last.end):
            continue  # half a user:password@host looks like an address; the host may stay
        kind = "secret" if "secret" in (last.kind, span.kind) else last.kind
        merged[-1] = Span(last.start, max(last.end, span.end), kind, rule=last.rule)
    return merged


def apply_spans(text: str, spans: Sequence[Span]) -> str:
    """Return ``text`` with every span replaced by its mask."""
    parts: list[str] = []
    done = 0
    for span in spans:
        parts += (text[done : span.start], span.mask)
        done = span.end
    return "".join((*parts, text[done:]))
