"""Find reasoning delimiters in a stream of text. Normaliser 2, 3, 9, 10; linear for any chunking."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

NAMES = ("thinking", "think", "reasoning", "scratchpad")
_MAX_BLANKS = 8


def any_case(words: str, *, blank: str = "") -> str:
    """Return a pattern for lower-case words in any case; ``blank`` is the pattern for what separates them."""
    # Of each letter its own capital only: with re.IGNORECASE a dotless i or a Kelvin sign would match as well.
    return "".join(blank if letter == " " else f"[{letter}{letter.upper()}]" for letter in words)


def prefix_pattern(words: str, *, blank: str = "", rest: str = "") -> str:
    """Return a pattern for any beginning of the words; ``rest`` may follow the last of them."""
    nested = rest
    for letter in reversed(words):
        nested = f"(?:{any_case(letter, blank=blank)}{nested})?"
    return nested


_NAME = "|".join(any_case(name) for name in NAMES)
_BLANKS = rf"\s{{0,{_MAX_BLANKS}}}"
# A scratchpad's brackets may be escaped, for HTML or for Markdown (product 22).
_ESCAPED = any_case("scratchpad")
_LESS, _GREATER = r"(?:<|&(?:lt|\#60|\#[xX]3[cC]);)", r"\\?(?:>|&(?:gt|\#62|\#[xX]3[eE]);)"
_TAG = re.compile(
    rf"<(?P<lead>/?)(?P<name>{_NAME}){_BLANKS}(?P<trail>/?)>"
    rf"|{_LESS}(?P<escaped_lead>/?){_ESCAPED}{_BLANKS}(?P<escaped_trail>/?){_GREATER}"
)
_PARTIAL_ENTITY = r"(?:&(?:[lg]?t?|\#[xX]?[36]?[02cCeE]?))"
_PARTIAL_TAG = re.compile(
    rf"</?(?:{'|'.join(prefix_pattern(name) for name in NAMES)}|(?:{_NAME}){_BLANKS}/?)"
    rf"|{_PARTIAL_ENTITY}"
    rf"|{_LESS}/?(?:{prefix_pattern('scratchpad')}|{_ESCAPED}{_BLANKS}/?\\?{_PARTIAL_ENTITY}?)"
)


TagKind = Literal["open", "close", "void"]  # void is the self-closing form: it is removed and changes no state


@dataclass(frozen=True, slots=True)
class Tag:
    """One delimiter: its name in lower case, and its characters as received."""

    name: str
    kind: TagKind
    raw: str
    is_heading: bool = False  # a heading that opens a scratchpad


Token = str | Tag


class TagScanner:
    """Split a stream into text and tags. Joined, text and ``Tag.raw`` equal the input."""

    def __init__(self) -> None:
        self._carry = ""

    def feed(self, text: str) -> list[Token]:
        """Return the tokens that are certain now, in order; no empty text."""
        buffer = self._carry + text
        # Most pieces of an answer contain no angle bracket.
        if "<" not in buffer and "&" not in buffer:
            return [buffer] if buffer else []
        tokens: list[Token] = []
        end = 0
        for match in _TAG.finditer(buffer):
            if match.start() > end:
                tokens.append(buffer[end : match.start()])
            is_void, is_closer = match["trail"] or match["escaped_trail"], match["lead"] or match["escaped_lead"]
            kind: TagKind = "void" if is_void else "close" if is_closer else "open"
            tokens.append(Tag((match["name"] or "scratchpad").lower(), kind, match[0]))
            end = match.end()
        # Hold back what may be the beginning of a tag: 22 characters at most, or 32 where it is escaped.
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
        if "<" not in joined and "&" not in joined:
            return text
        joined = _TAG.sub(lambda match: blunt(match[0]) if match.start() < seam < match.end() else match[0], joined)
        partial_at = _partial_tag_at(joined, 0)
        self._partial, self._seam = joined[partial_at:], seam - partial_at
        return joined[before:]


def blunt(text: str) -> str:
    """Return ``text``, of the same length, without a delimiter: the ``>`` of each becomes ``›``."""
    return _TAG.sub(lambda match: match[0][:-1] + "›", text)


def raw_text(tokens: Iterable[Token]) -> str:
    """Return the characters as received."""
    return "".join(token.raw if isinstance(token, Tag) else token for token in tokens)


def is_scratchpad(token: Token, kind: TagKind) -> bool:
    return isinstance(token, Tag) and token.name == "scratchpad" and token.kind is kind


def without_scratchpads(tokens: Sequence[Token]) -> tuple[list[Token], list[str]]:
    """Separate code from the scratchpads in it. Normaliser 7, 9.

    A complete scratchpad stays private in code as anywhere else; an opener or a closer alone is a literal.
    """
    last_closer = max((at for at, token in enumerate(tokens) if is_scratchpad(token, "close")), default=-1)
    shown: list[Token] = []
    scratchpads: list[str] = []
    opener_at: int | None = None
    for at, token in enumerate(tokens):
        if opener_at is not None:
            if is_scratchpad(token, "close"):
                scratchpads.append(raw_text(tokens[opener_at + 1 : at]))
                opener_at = None
        elif at < last_closer and is_scratchpad(token, "open"):
            opener_at = at
        else:
            shown.append(token)
    return shown, scratchpads


def _partial_tag_at(text: str, start: int) -> int:
    """Return where the beginning of a tag at the end of ``text`` starts; its length where there is none."""
    # The last bracket can begin a partial tag, or the one before, if the last ends the tag.
    last = max(text.rfind("<", start), text.rfind("&", start))
    before = max(text.rfind("<", start, last), text.rfind("&", start, last)) if last > start else -1
    return next((at for at in (before, last) if at >= 0 and _PARTIAL_TAG.fullmatch(text, at)), len(text))
