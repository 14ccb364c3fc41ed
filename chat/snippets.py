"""The place in a text where searched words stand, short, masked, and with the words marked."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from chat.titles import plain
from reasoning.redaction import redact_text

BEFORE_CHARS, SNIPPET_CHARS = 48, 160
_AROUND_CHARS = 1000
_ENDINGS = re.compile(r"(?:ies|ing|ed|es|s|y|ly)$")


class Part(NamedTuple):
    """A piece of a snippet."""

    text: str
    is_match: bool


def marked(text: str, words: Sequence[str]) -> tuple[Part, ...]:
    """Return the first place in ``text`` with one of these words, as parts. Masked before it is cut (product 12)."""
    wanted = _pattern(words)
    first = wanted.search(text)
    at = first.start() if first else 0
    near = text[max(0, at - _AROUND_CHARS) : at + _AROUND_CHARS]
    line = " ".join(plain(each) for each in redact_text(near).splitlines())
    return tuple(_parts(_cut(" ".join(line.split()), wanted), wanted))


def _cut(line: str, wanted: re.Pattern[str]) -> str:
    if len(line) <= SNIPPET_CHARS:
        return line
    found = wanted.search(line)
    start = max(0, (found.start() if found else 0) - BEFORE_CHARS)
    start = line.find(" ", start) + 1 if start else 0
    end = start + SNIPPET_CHARS
    kept = line[start:end].rsplit(" ", 1)[0] if end < len(line) else line[start:]
    return ("…" if start else "") + kept + ("…" if end < len(line) else "")


def _parts(line: str, wanted: re.Pattern[str]) -> list[Part]:
    parts, done = [], 0
    for found in wanted.finditer(line):
        parts += [Part(line[done : found.start()], is_match=False), Part(found[0], is_match=True)]
        done = found.end()
    return [part for part in (*parts, Part(line[done:], is_match=False)) if part.text]


def _pattern(words: Sequence[str]) -> re.Pattern[str]:
    """Match these words in any ending, about as the engines do, from a word's start."""
    stems = [_ENDINGS.sub("", word) if len(word) > 4 else word for word in words]
    return re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, stems))})\w*", re.IGNORECASE)
