"""Headings of the sections that our prompt asks for, in the languages of the UI. Spec 004 summary, product 16, 22.

A heading begins a line, outside code, which may be quoted or numbered. It is alone on its line, or ends with a colon
and text may follow.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from reasoning.delimiters.tags import Tag, Token, any_case, prefix_pattern

SUMMARY = "summary"
ANSWER = "answer"
SCRATCHPAD = "scratchpad"
_SECTION_NAMES = {
    SUMMARY: ("reasoning summary", "zusammenfassung der begründung", "zusammenfassung der überlegungen"),
    ANSWER: ("final answer", "endgültige antwort", "abschließende antwort", "finale antwort"),
}
_SCRATCHPAD_NAMES = {SCRATCHPAD: ("scratchpad", "notizblock")}
_QUOTES = r"[ \t]{0,3}(?:>[ \t]{1,3}){0,3}"
_LEAD = rf"{_QUOTES}(?:\#{{1,6}}[ \t]{{0,4}})?"
_NUMBER = r"[0-9]{1,2}[.)][ \t]{1,4}"
_MARKS = r"[*_]{0,3}"
_COLON = r"[:：]"
_BLANK = r"[ \t]{1,4}"
_IS_MARKED = re.compile(rf"{_QUOTES}(?:{_NUMBER})?[#*_]")


@dataclass(frozen=True, slots=True)
class LineStart:
    """How a line begins: with the heading of a section, by its name, or ``text``; and the length of that mark."""

    kind: str = "text"
    chars: int = 0


class HeadingGrammar:
    """Reads lines for headings of these names, by section."""

    def __init__(self, names: Mapping[str, tuple[str, ...]]) -> None:
        written = "|".join(
            f"(?P<{section}>{'|'.join(any_case(name, blank=_BLANK) for name in of_section)})"
            for section, of_section in names.items()
        )
        rest = rf"[ \t\r]{{0,8}}{_COLON}?{_MARKS}[ \t\r]{{0,8}}{_COLON}?"
        partial = "|".join(
            prefix_pattern(name, blank=_BLANK, rest=rest) for of_section in names.values() for name in of_section
        )
        begin = rf"{_LEAD}(?P<number>{_NUMBER})?(?P<marks>{_MARKS})(?:{_NUMBER})?(?:{written})[ \t]{{0,4}}"
        self._with_colon = re.compile(rf"{begin}(?:{_COLON}(?P=marks)|(?P=marks)[ \t]{{0,4}}{_COLON})")
        self._alone = re.compile(rf"{begin}(?P=marks)[ \t\r]{{0,8}}\Z")
        number = rf"(?:{_NUMBER})?{_MARKS}"
        self._partial = re.compile(
            rf"(?:{_LEAD}{number}(?:{_NUMBER})?(?:{partial})|{_LEAD}{number}[0-9]{{1,2}}[.)]?|{_LEAD}[0-9]{{1,2}}[.)]?|{_QUOTES}>)\Z"
        )
        first = {letter for of_section in names.values() for name in of_section for letter in name[0] + name[0].upper()}
        begin = rf"[ \t]{{0,3}}(?:[>0-9#*_{''.join(sorted(first))}]|\Z)"
        self._first, self._next = re.compile(begin), re.compile(rf"\n{begin}")

    def may_begin(self, text: str, start: int = 0) -> bool:
        """Say by its first characters whether the line that begins there may become a heading; nearly none may."""
        return self._first.match(text, start) is not None

    def next_line(self, text: str, start: int) -> int:
        """Return where the next line begins, behind a line break, that may become a heading; 0 if there is none."""
        found = self._next.search(text, start)
        return found.start() + 1 if found else 0

    def read(self, line: str, *, is_whole: bool, follows_blank: bool) -> LineStart | None:
        """Say whether a line, without its line break, is a heading; None if more of it is needed.

        A decision holds for every longer version of the line, and only lines of bounded length are undecided.
        """
        found = self._with_colon.match(line)
        if not found and is_whole:
            found = self._alone.match(line)
            # Plain words without a colon or a mark may end a wrapped sentence; after a blank line two of them don't.
            may_be_plain = follows_blank and found is not None and found.lastgroup != SCRATCHPAD and not found["number"]
            found = found if may_be_plain or _IS_MARKED.match(line) else None
        if found:
            return LineStart(str(found.lastgroup), found.end())
        return None if not is_whole and self._partial.match(line) else LineStart()


SECTIONS = HeadingGrammar(_SECTION_NAMES)
_NOTES = HeadingGrammar(_SCRATCHPAD_NAMES)
_ALL = HeadingGrammar(_SECTION_NAMES | _SCRATCHPAD_NAMES)


class ScratchpadHeadings:
    """Turn a ``Scratchpad:`` heading among the tokens of a field into an opener, and the next section's into its end.

    The end is a tag named ``section``: text, if no scratchpad is open. Product 22.
    """

    def __init__(self) -> None:
        self._begin_text()
        self._in_notes = False

    def _begin_text(self) -> None:
        self._seam = 0  # where in the line a response begins that continues it
        self._line = ""  # the beginning of a line that may become a heading
        self._at_line_start = True
        self._follows_blank = True
        self._line_is_blank = True  # what was read of the current line before

    @property
    def held(self) -> str:
        """The beginning of a line that may become a heading."""
        return self._line

    def begin_response(self) -> None:
        """Expect a heading also where a response begins that continues the text within its line."""
        self._seam = len(self._line)
        if not self._at_line_start:
            self._at_line_start, self._follows_blank = True, False

    def feed(self, token: Token) -> list[Token]:
        """Return the tokens that are certain now."""
        if isinstance(token, Tag):
            tokens: list[Token] = [self._line, token] if self._line else [token]
            self._begin_text()  # what follows a tag is another text
            return tokens
        if not self._at_line_start and "\n" not in token:
            self._line_is_blank = self._line_is_blank and token.isspace()
            return [token]
        return self._read_lines(token)

    def finish(self) -> list[Token]:
        """Return what was held back."""
        return self._read_lines("", is_final=True)

    def _read_lines(self, text: str, *, is_final: bool = False) -> list[Token]:
        tokens: list[Token] = []
        text, self._line = self._line + text, ""
        done = 0  # up to where the text is in tokens
        grammar = _ALL if self._in_notes else _NOTES
        start = 0 if self._at_line_start and grammar.may_begin(text) else grammar.next_line(text, 0) or len(text)
        while start < len(text):
            if start:
                self._follows_blank = self._is_blank(text, start - 1)
            end = text.find("\n", start)
            line = text[start:end] if end >= 0 else text[start:]
            heading = grammar.read(line, is_whole=is_final or end >= 0, follows_blank=self._follows_blank)
            if heading and heading.kind == "text" and self._seam:
                start, self._seam = self._seam, 0
                heading = grammar.read(line[start:], is_whole=is_final or end >= 0, follows_blank=False)
            if heading is None:
                text, self._line = text[:start], text[start:]
                break
            if heading.kind != "text":
                tokens += [text[done:start]] if start > done else []
                done = start + heading.chars
                self._in_notes = heading.kind == SCRATCHPAD
                raw = text[start:done]
                opener = Tag("scratchpad", "open", raw, is_heading=True)
                tokens.append(opener if self._in_notes else Tag("section", "close", raw))
                grammar = _ALL if self._in_notes else _NOTES
            start = grammar.next_line(text, start) or len(text)
        if text:
            self._at_line_start = text.endswith("\n") or self._line != ""
            self._follows_blank = self._is_blank(text, len(text) - self._at_line_start)
            self._line_is_blank = self._at_line_start or self._follows_blank
        tokens += [text[done:]] if done < len(text) else []
        return tokens

    def _is_blank(self, text: str, end: int) -> bool:
        """Say whether the line that ends there is blank; it may have begun in an earlier text."""
        start = text.rfind("\n", 0, end) + 1
        return not text[start:end].strip() and (start > 0 or self._line_is_blank)
