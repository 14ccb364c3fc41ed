"""Headings of the sections that our prompt asks for, in the languages of the UI. Spec 004 summary, product 16, 22.

A heading begins a line, outside code. It is alone on its line, or ends with a colon and text may follow.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from reasoning.stream.tags import Tag, TagKind, Token, any_case, prefix_pattern

SUMMARY = "summary"
ANSWER = "answer"
SCRATCHPAD = "scratchpad"
_SECTION_NAMES = {
    SUMMARY: ("reasoning summary", "zusammenfassung der begründung", "zusammenfassung der überlegungen"),
    ANSWER: ("final answer", "endgültige antwort", "abschließende antwort", "finale antwort"),
}
_SCRATCHPAD_NAMES = {SCRATCHPAD: ("scratchpad", "notizblock")}
_LEAD = r"[ \t]{0,3}(?:\#{1,6}[ \t]{0,4})?"
_MARKS = r"[*_]{0,3}"
_COLON = r"[:：]"
_BLANK = r"[ \t]{1,4}"
_IS_MARKED = re.compile(r"[ \t]*[#*_]")


@dataclass(frozen=True, slots=True)
class HeadingLine:
    """The section that a line begins, empty where it is no heading, and the length of the heading."""

    section: str = ""
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
        begin = rf"{_LEAD}(?P<marks>{_MARKS})(?:{written})[ \t]{{0,4}}"
        self._with_colon = re.compile(rf"{begin}(?:{_COLON}(?P=marks)|(?P=marks)[ \t]{{0,4}}{_COLON})")
        self._alone = re.compile(rf"{begin}(?P=marks)[ \t\r]{{0,8}}\Z")
        self._partial = re.compile(rf"{_LEAD}{_MARKS}(?:{partial})\Z")
        first = {letter for of_section in names.values() for name in of_section for letter in name[0] + name[0].upper()}
        self._first = re.compile(rf"[ \t]{{0,3}}(?:[#*_{''.join(sorted(first))}]|\Z)")

    def may_begin(self, line: str) -> bool:
        """Say by its first characters whether a line may become a heading; nearly none may."""
        return self._first.match(line) is not None

    def read(self, line: str, *, is_whole: bool, follows_blank: bool) -> HeadingLine | None:
        """Say whether a line, without its line break, is a heading; None if more of it is needed.

        A decision holds for every longer version of the line, and only lines of bounded length are undecided.
        """
        found = self._with_colon.match(line)
        if not found and is_whole:
            found = self._alone.match(line)
            # Plain words without a colon or a mark may end a wrapped sentence; after a blank line two of them don't.
            may_be_plain = follows_blank and found is not None and found.lastgroup != SCRATCHPAD
            found = found if may_be_plain or _IS_MARKED.match(line) else None
        if found:
            return HeadingLine(str(found.lastgroup), found.end())
        return None if not is_whole and self._partial.match(line) else HeadingLine()


SECTIONS = HeadingGrammar(_SECTION_NAMES)
_NOTES = HeadingGrammar(_SCRATCHPAD_NAMES)
_ALL = HeadingGrammar(_SECTION_NAMES | _SCRATCHPAD_NAMES)


class ScratchpadHeadings:
    """Turn a ``Scratchpad:`` heading among the tokens of a field into an opener, and the next section's into its end.

    The end is a tag named ``section``: text, if no scratchpad is open. Product 22.
    """

    def __init__(self) -> None:
        self._line = ""  # the beginning of a line that may become a heading
        self._at_line_start = True
        self._follows_blank = True
        self._line_is_blank = True
        self._in_notes = False

    def feed(self, token: Token) -> list[Token]:
        """Return the tokens that are certain now."""
        if isinstance(token, Tag):
            # What follows a tag is another text, whose first line begins here.
            tokens: list[Token] = [self._line, token] if self._line else [token]
            self._line, self._at_line_start, self._follows_blank, self._line_is_blank = "", True, True, True
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
        done = start = 0  # up to where the text is in tokens, and where the current line begins
        while start < len(text):
            end = text.find("\n", start)
            is_whole = is_final or end >= 0
            end = end if end >= 0 else len(text)
            if self._at_line_start:
                grammar = _ALL if self._in_notes else _NOTES
                line = text[start:end]
                heading: HeadingLine | None = HeadingLine()
                if grammar.may_begin(line):
                    heading = grammar.read(line, is_whole=is_whole, follows_blank=self._follows_blank)
                if heading is None:
                    self._line = text[start:]
                    break
                self._at_line_start = False
                if heading.section:
                    tokens += [text[done:start]] if start > done else []
                    done = start + heading.chars
                    self._in_notes = heading.section == SCRATCHPAD
                    kind, name = (TagKind.OPEN, "scratchpad") if self._in_notes else (TagKind.CLOSE, "section")
                    tokens.append(Tag(name, kind, text[start:done], is_heading=True))
            self._line_is_blank = self._line_is_blank and not text[start:end].strip()
            if end < len(text):
                self._at_line_start, self._follows_blank, self._line_is_blank = True, self._line_is_blank, True
            start = end + 1
        rest = text[done : len(text) - len(self._line)]
        return [*tokens, rest] if rest else tokens
