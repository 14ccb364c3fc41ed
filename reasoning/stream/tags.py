"""Find reasoning delimiters in a stream of text. Normaliser 2, 3, 9, 10; linear for any chunking."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum

NAMES = ("thinking", "think", "reasoning", "scratchpad")
_MAX_BLANKS = 8


def _any_case(word: str) -> str:
    # ASCII letters only: with re.IGNORECASE a dotless i or a Kelvin sign would match as well.
    return "".join(f"[{letter}{letter.upper()}]" for letter in word)


def _prefix_pattern(word: str) -> str:
    nested = ""
    for letter in reversed(word):
        nested = f"(?:{_any_case(letter)}{nested})?"
    return nested


_NAME = "|".join(_any_case(name) for name in NAMES)
_TAG = re.compile(rf"<(?P<lead>/?)(?P<name>{_NAME})\s{{0,{_MAX_BLANKS}}}(?P<trail>/?)>")
_PARTIAL_TAG = re.compile(
    rf"</?(?:(?:{'|'.join(_prefix_pattern(name) for name in NAMES)})|(?:{_NAME})\s{{0,{_MAX_BLANKS}}}/?)"
)


class TagKind(Enum):
    """VOID is the self-closing form: it is removed and changes no state."""

    OPEN = "open"
    CLOSE = "close"
    VOID = "void"


@dataclass(frozen=True, slots=True)
class Tag:
    """One delimiter: its name in lower case, and its characters as received."""

    name: str
    kind: TagKind
    raw: str


Token = str | Tag


class TagScanner:
    """Split a stream into text and tags. Joined, text and ``Tag.raw`` equal the input."""

    def __init__(self) -> None:
        self._carry = ""

    def feed(self, text: str) -> list[Token]:
        """Return the tokens that are certain now, in order; no empty text."""
        buffer = self._carry + text
        # Most pieces of an answer contain no angle bracket.
        if "<" not in buffer:
            return [buffer] if buffer else []
        tokens: list[Token] = []
        end = 0
        for match in _TAG.finditer(buffer):
            if match.start() > end:
                tokens.append(buffer[end : match.start()])
            kind = TagKind.VOID if match["trail"] else TagKind.CLOSE if match["lead"] else TagKind.OPEN
            tokens.append(Tag(match["name"].lower(), kind, match[0]))
            end = match.end()
        # Hold back what may be the beginning of a tag: 22 characters at most.
        carry_at = _partial_tag_at(buffer, end)
        self._carry = buffer[carry_at:]
        if carry_at > end:
            tokens.append(buffer[end:carry_at])
        return tokens

    def finish(self) -> str:
        """Return the rest that was held back; at the end of the stream it is text."""
        carry, self._carry = self._carry, ""
        return carry


class SeamGuard:
    """Pass text through in pieces; where a removal joins two of them into a delimiter, its ``>`` becomes ``›``.

    Emitted text can't be changed any more, so the closing bracket is changed. A whole delimiter within one piece is
    code, and stays. Normaliser 9, 10.
    """

    def __init__(self) -> None:
        self._partial = ""  # the beginning of a delimiter at the end of the text so far
        self._seam = 0  # where in it something was removed last

    def feed(self, text: str, *, is_after_removal: bool) -> str:
        """Return ``text``, of the same length, with no delimiter across a seam before it."""
        before = len(self._partial)
        seam = before if is_after_removal else self._seam
        joined = self._partial + text
        if "<" not in joined:
            return joined
        joined = _TAG.sub(lambda match: blunt(match[0]) if match.start() < seam < match.end() else match[0], joined)
        partial_at = _partial_tag_at(joined, 0)
        self._partial, self._seam = joined[partial_at:], seam - partial_at
        return joined[before:]


def blunt(text: str) -> str:
    """Return ``text``, of the same length, without a delimiter: the ``>`` of each becomes ``›``."""
    return _TAG.sub(lambda match: match[0][:-1] + "›", text) if "<" in text else text


def raw_text(tokens: Iterable[Token]) -> str:
    """Return the characters as received."""
    return "".join(token.raw if isinstance(token, Tag) else token for token in tokens)


def is_scratchpad(token: Token, kind: TagKind) -> bool:
    return isinstance(token, Tag) and token.name == "scratchpad" and token.kind is kind


def without_scratchpads(tokens: Sequence[Token]) -> tuple[list[Token], list[str]]:
    """Separate code from the scratchpads in it. Normaliser 7, 9.

    A complete scratchpad stays private in code as anywhere else; an opener or a closer alone is a literal.
    """
    last_closer = max((at for at, token in enumerate(tokens) if is_scratchpad(token, TagKind.CLOSE)), default=-1)
    shown: list[Token] = []
    scratchpads: list[str] = []
    opener_at: int | None = None
    for at, token in enumerate(tokens):
        if opener_at is not None:
            if is_scratchpad(token, TagKind.CLOSE):
                scratchpads.append(raw_text(tokens[opener_at + 1 : at]))
                opener_at = None
        elif at < last_closer and is_scratchpad(token, TagKind.OPEN):
            opener_at = at
        else:
            shown.append(token)
    return shown, scratchpads


def _partial_tag_at(text: str, start: int) -> int:
    """Return where the beginning of a tag at the end of ``text`` starts; its length where there is none."""
    # Only the last bracket can begin a partial tag: each earlier one is followed by another.
    last = text.rfind("<", start)
    return last if last >= 0 and _PARTIAL_TAG.fullmatch(text, last) else len(text)
