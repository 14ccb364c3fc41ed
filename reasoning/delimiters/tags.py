"""Find reasoning delimiters in a stream of text. Normaliser 2, 3, 9, 10; linear for any chunking."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal

from reasoning.services.thinking_formats import LEFTOVERS, THINK_TAGS, ThinkingFormat

THOUGHT_NAMES = (*THINK_TAGS, "reasoning")
NAMES = (*THOUGHT_NAMES, "scratchpad")
_MAX_BLANKS = 8
_MAX_ATTRIBUTE_CHARS = 200
_MAX_PRIVATE_ATTRIBUTE_CHARS = 64
_MAX_TAG_CHARS = 32 + _MAX_PRIVATE_ATTRIBUTE_CHARS


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
_THOUGHT_NAME = "|".join(any_case(name) for name in THOUGHT_NAMES)
_BLANKS = rf"\s{{0,{_MAX_BLANKS}}}"
# A scratchpad's brackets may be escaped, for HTML or for Markdown, in each form that a page draws as a bracket (product
# 22). Its tags may have attributes anywhere: what follows them is private all the same.
_ESCAPED = any_case("scratchpad")
_LESS = r"(?:<|&(?:lt|LT|\#0{0,5}60|\#[xX]0{0,4}3[cC]);)"
_GREATER = r"\\?(?:>|&(?:gt|GT|\#0{0,5}62|\#[xX]0{0,4}3[eE]);)"
_ATTRIBUTES = rf"(?<=\s)(?=[A-Za-z][\w-]{{0,20}}=)[^<>&]{{1,{_MAX_PRIVATE_ATTRIBUTE_CHARS}}}"
_PARTIAL_ATTRIBUTES = rf"(?<=\s)(?=[A-Za-z][\w-]{{0,20}}(?:=|\Z))[^<>&]{{1,{_MAX_PRIVATE_ATTRIBUTE_CHARS}}}"
_TAG = re.compile(
    rf"<(?P<lead>/?)(?P<name>{_NAME}){_BLANKS}(?P<trail>/?)>"
    rf"|{_LESS}(?P<escaped_lead>/?){_ESCAPED}{_BLANKS}(?:{_ATTRIBUTES}?)?(?P<escaped_trail>/?){_GREATER}"
)
_PARTIAL_ENTITY = r"(?:&(?:[lg]t?|[LG]T?|\#[xX]?0{0,5}[36]?[02cCeE]?)?)"
_PARTIAL_TAG = re.compile(
    rf"</?(?:{'|'.join(prefix_pattern(name) for name in NAMES)}|(?:{_NAME}){_BLANKS}/?)"
    rf"|{_PARTIAL_ENTITY}"
    rf"|{_LESS}/?(?:{prefix_pattern('scratchpad')}|{_ESCAPED}{_BLANKS}(?:{_PARTIAL_ATTRIBUTES})?/?\\?{_PARTIAL_ENTITY}?)"
)


# "void" is the self-closing form, and marks of a family that mean nothing: removed, without effect on the state.
# "leftover" counts at the end of an answer alone.
TagKind = Literal["open", "close", "void", "leftover"]


@dataclass(frozen=True, slots=True)
class Tag:
    """One delimiter: its name in lower case, and its characters as received.

    The marks of a family are named ``format`` around a thought and ``wrap`` around an answer. ``is_doubtful``: an
    opener that counts only if its closer follows.
    """

    name: str
    kind: TagKind
    raw: str
    is_heading: bool = False  # a heading that opens a scratchpad
    is_doubtful: bool = False


Token = str | Tag


class Grammar:
    """What counts as a delimiter in one field: the tags of every model, and the marks of a family of models."""

    def __init__(self, family: ThinkingFormat | None = None, *, has_leftovers: bool = False) -> None:
        marks: list[Tag] = []
        at_start: list[Tag] = []
        if family:
            marks += [Tag("format", "open", raw) for raw in family.opens]
            marks += [Tag("format", "close", raw) for raw in family.closes]
            marks += [Tag("format", "void", raw) for raw in family.removes]
            for first, last in family.wraps:
                marks += [Tag("wrap", "open", first), Tag("wrap", "close", last)]
            at_start = [Tag("format", "open", raw, is_doubtful=True) for raw in family.opens_message]
        known = {tag.raw for tag in marks}
        marks += [Tag("leftover", "leftover", raw) for raw in LEFTOVERS if has_leftovers and raw not in known]
        self.marks = {tag.raw: tag for tag in marks}
        self.start_marks = {tag.raw: tag for tag in at_start}
        self.tag = re.compile(f"{_TAG.pattern}|(?P<mark>{_alternatives(self.marks)})") if marks else _TAG
        self.beginnings = _beginnings(self.marks)
        self.max_chars = max(map(len, self.marks), default=0)
        # Most pieces of an answer contain none of these characters.
        firsts = "".join(sorted({"<", "&", *(raw[0] for raw in self.marks)}))
        self.first = re.compile(f"[{re.escape(firsts)}]")
        # Where a message begins: an opener with attributes, or words that open a thought there.
        words, half_words = _alternatives(self.start_marks), _alternatives(_beginnings(self.start_marks))
        with_attributes = rf"<(?P<name>{_THOUGHT_NAME})\s+(?=[^\s/<>])[^<>]{{1,{_MAX_ATTRIBUTE_CHARS}}}(?<!/)>"
        self.start = re.compile(rf"{with_attributes}" + (f"|(?P<words>{words})" if words else ""))
        half_names = "|".join(map(prefix_pattern, THOUGHT_NAMES))
        half = rf"<(?:{half_names}|(?:{_THOUGHT_NAME})\s[^<>]{{0,{_MAX_ATTRIBUTE_CHARS}}})"
        self.partial_start = re.compile(half + (f"|{half_words}" if half_words else ""))


@lru_cache(maxsize=64)
def grammar_of(family: ThinkingFormat | None) -> Grammar:
    """Return the grammar of an answer's text by models of a family."""
    return Grammar(family, has_leftovers=True)


def _alternatives(raws: Iterable[str]) -> str:
    # By their first two characters, which most places of a text don't have; the longest first, where one begins with
    # another.
    groups: dict[str, list[str]] = {}
    for raw in sorted(raws, key=len, reverse=True):
        groups.setdefault(raw[:2], []).append(re.escape(raw[2:]))
    return "|".join(f"{re.escape(start)}(?:{'|'.join(rests)})" for start, rests in groups.items())


def _beginnings(raws: Iterable[str]) -> frozenset[str]:
    """Return what may become one of these."""
    return frozenset(raw[:length] for raw in raws for length in range(1, len(raw)))


PLAIN_GRAMMAR = Grammar()


class TagScanner:
    """Split a stream into text and tags. Joined, text and ``Tag.raw`` equal the input."""

    def __init__(self, grammar: Grammar = PLAIN_GRAMMAR) -> None:
        self._grammar = grammar
        self._carry = ""
        self._is_at_start = True  # nothing but blanks came

    @property
    def held(self) -> str:
        """What may become a tag, or begin one."""
        return self._carry

    def feed(self, text: str) -> list[Token]:
        """Return the tokens that are certain now, in order; no empty text."""
        buffer = self._carry + text if self._carry else text
        if self._is_at_start:
            return self._begin(buffer)
        if not self._grammar.first.search(buffer):
            return [buffer] if buffer else []
        return self._scan(buffer)

    def finish(self) -> list[Token]:
        """Return the rest that was held back; at the end of the stream it is text."""
        carry, self._carry = self._carry, ""
        return [carry] if carry else []

    def _begin(self, buffer: str) -> list[Token]:
        """Scan while the message may begin with an opener that counts nowhere else."""
        self._carry = ""
        start = len(buffer) - len(buffer.lstrip())
        if start == len(buffer):
            return [buffer] if buffer else []
        if self._grammar.partial_start.fullmatch(buffer, start):
            self._carry = buffer
            return []
        found = self._grammar.start.match(buffer, start)
        if not found:
            tokens = self._scan(buffer)
            self._is_at_start = not tokens  # a tag may still be held back
            return tokens
        self._is_at_start = False
        words = found.groupdict().get("words")
        opener = self._grammar.start_marks[words] if words else Tag(found["name"].lower(), "open", found[0])
        blanks = [buffer[:start]] if start else []
        return [*blanks, replace(opener, is_doubtful=True), *self.feed(buffer[found.end() :])]

    def _scan(self, buffer: str) -> list[Token]:
        tokens: list[Token] = []
        end = 0
        for match in self._grammar.tag.finditer(buffer):
            if match.start() > end:
                tokens.append(buffer[end : match.start()])
            tokens.append(self._tag(match))
            end = match.end()
        # Hold back what may be the beginning of a tag: 22 characters at most, or 32 where it is escaped, and 64 more of
        # attributes.
        carry_at = _partial_tag_at(buffer, end, self._grammar)
        self._carry = buffer[carry_at:]
        if carry_at > end:
            tokens.append(buffer[end:carry_at])
        return tokens

    def _tag(self, match: re.Match[str]) -> Tag:
        if mark := self._grammar.marks.get(match[0]):
            return mark
        is_void, is_closer = match["trail"] or match["escaped_trail"], match["lead"] or match["escaped_lead"]
        kind: TagKind = "void" if is_void else "close" if is_closer else "open"
        return Tag((match["name"] or "scratchpad").lower(), kind, match[0])


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
        if not (self._partial or "<" in text or "&" in text):
            return text  # nearly always
        before = len(self._partial)
        seam = before if is_after_removal else self._seam
        joined = self._partial + text
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


def _partial_tag_at(text: str, start: int, grammar: Grammar = PLAIN_GRAMMAR) -> int:
    """Return where the beginning of a tag at the end of ``text`` starts; its length where there is none."""
    if grammar.marks:
        # A mark may contain the beginnings of others, so each place is tried, the first one first.
        first = max(start, len(text) - max(grammar.max_chars, _MAX_TAG_CHARS))
        places = [found.start() for found in grammar.first.finditer(text, first)]
    else:
        # The last bracket can begin a partial tag, or the one before, if the last ends the tag.
        last = max(text.rfind("<", start), text.rfind("&", start))
        before = max(text.rfind("<", start, last), text.rfind("&", start, last)) if last > start else -1
        places = [before, last]
    partial = (at for at in places if at >= 0 and (text[at:] in grammar.beginnings or _PARTIAL_TAG.fullmatch(text, at)))
    return next(partial, len(text))
