"""Find exact delimiters in a stream, and hold back what may be half of one. Normaliser 2, 3, 10.

``TagScanner`` cuts text into text and tags, the same for every chunking. It holds at most one candidate, from the last
``<`` on and never longer than a tag can be (22 characters); what turns out to be no tag is let go whole.
``GlueGuard`` watches what comes out the other side: where something was cut out between two pieces, they must not make
a new delimiter together. Both are linear: every look at a ``<`` is bounded.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum

NAMES = ("thinking", "think", "reasoning", "scratchpad")
_MAX_BLANKS = 8


def _any_case(word: str) -> str:
    # ASCII letters only: with re.IGNORECASE a dotless i or a Kelvin sign would count as well.
    return "".join(f"[{letter}{letter.upper()}]" for letter in word)


def _start_of(word: str) -> str:
    nested = ""
    for letter in reversed(word):
        nested = f"(?:{_any_case(letter)}{nested})?"
    return nested


_NAME = "|".join(_any_case(name) for name in NAMES)
_TAG = re.compile(rf"<(?P<lead>/?)(?P<name>{_NAME})\s{{0,{_MAX_BLANKS}}}(?P<trail>/?)>")
_HALF = re.compile(rf"</?(?:(?:{'|'.join(_start_of(name) for name in NAMES)})|(?:{_NAME})\s{{0,{_MAX_BLANKS}}}/?)")


class TagKind(Enum):
    """What a delimiter does. VOID is the self-closing form: removed, without effect."""

    OPEN = "open"
    CLOSE = "close"
    VOID = "void"


@dataclass(frozen=True, slots=True)
class Tag:
    """One delimiter: its name in lower case, and the characters as they came."""

    name: str
    kind: TagKind
    raw: str

    @property
    def defused(self) -> str:
        """The delimiter as text that no parser takes for one. Normaliser 9."""
        return f"‹{self.raw[1:-1]}›"


Token = str | Tag


class TagScanner:
    """Cut a stream into text and tags. Joined, text and ``Tag.raw`` are the input."""

    __slots__ = ("_carry",)

    def __init__(self) -> None:
        self._carry = ""

    @property
    def is_idle(self) -> bool:
        """Whether nothing is held back."""
        return not self._carry

    def feed(self, text: str) -> list[Token]:
        """Return the tokens that are certain now, in order; no empty text."""
        if not self._carry and "<" not in text:
            return [text] if text else []
        buffer = self._carry + text
        tokens, end = _cut(buffer)
        half = buffer.rfind("<", end)
        if half < 0 or not _HALF.fullmatch(buffer, half):
            half = len(buffer)
        self._carry = buffer[half:]
        if half > end:
            tokens.append(buffer[end:half])
        return tokens

    def finish(self) -> str:
        """Return what was held back; at the end it is text."""
        carry, self._carry = self._carry, ""
        return carry


class GlueGuard:
    """Pass text on in pieces; where two pieces make a delimiter, its ``>`` becomes ``›``.

    What was passed on is never taken back, so the closing bracket is the one that can still be changed.
    """

    __slots__ = ("_half",)

    def __init__(self) -> None:
        self._half = ""

    @property
    def is_idle(self) -> bool:
        """Whether the next text cannot make a delimiter with the last."""
        return not self._half

    def pass_on(self, text: str) -> str:
        """Return ``text``, the same number of characters, with no delimiter in it or across the seam before it."""
        if not self._half and "<" not in text:
            return text
        seam = len(self._half)
        joined = _TAG.sub(_blunted, self._half + text)
        last = joined.rfind("<")
        self._half = joined[last:] if last >= 0 and _HALF.fullmatch(joined, last) else ""
        return joined[seam:]


def has_delimiter(text: str) -> bool:
    """Say whether a delimiter stands in ``text``: the last assertion before an answer is stored. Normaliser 10."""
    return _TAG.search(text) is not None


def _cut(buffer: str) -> tuple[list[Token], int]:
    tokens: list[Token] = []
    end = 0
    for match in _TAG.finditer(buffer):
        if match.start() > end:
            tokens.append(buffer[end : match.start()])
        tokens.append(_tag(match))
        end = match.end()
    return tokens, end


def _tag(match: re.Match[str]) -> Tag:
    kind = TagKind.CLOSE if match["lead"] else TagKind.OPEN
    return Tag(match["name"].lower(), TagKind.VOID if match["trail"] else kind, match[0])


def _blunted(match: re.Match[str]) -> str:
    return match[0][:-1] + "›"
