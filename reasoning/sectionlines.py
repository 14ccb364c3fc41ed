"""Say what one line is, for the section parser: a heading, a bullet, or text. Spec 004 prompt.

It can be asked of a line that is still coming; where the answer is open it says so, and only lines of bounded length
leave it open. An answer, once given, holds for every longer version of the line.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum

SUMMARY = "reasoning summary"
ANSWER = "final answer"
_LONGEST_OPEN = 80  # of a line that is no heading; half a heading is shorter by its pattern

_LEAD = r"[ \t]{0,3}(?:\#{1,6}[ \t]{0,4})?"
_MARKS = r"[*_]{0,3}"
_NAME = r"(?P<name>reasoning[ \t]{1,4}summary|final[ \t]{1,4}answer)"
_COLON = r"[:：]"
_HEADING = re.compile(
    rf"{_LEAD}(?P<marks>{_MARKS}){_NAME}[ \t]{{0,4}}(?:{_COLON}(?P=marks)|(?P=marks)[ \t]{{0,4}}{_COLON})",
    re.IGNORECASE | re.ASCII,
)
_HEADING_ALONE = re.compile(
    rf"{_LEAD}(?P<marks>{_MARKS}){_NAME}[ \t]{{0,4}}(?P=marks)[ \t\r]{{0,8}}\Z", re.IGNORECASE | re.ASCII
)
_IS_MARKED = re.compile(r"[ \t]*[#*_]")
_BULLET = re.compile(r"[ \t]*(?:[-*–][ \t]+|•[ \t]*|\d{1,3}[.)][ \t]+)")
_EMPTY_BULLET = re.compile(r"[ \t]*(?:[-*–]|\d{1,3}[.)])\r?")
_HALF_BULLET = re.compile(r"[ \t]*(?:[-*–]|\d{1,3}[.)]?)?[ \t\r]*\Z")
_RULE = re.compile(r"[ \t]*(?:-{3,}|\*{3,}|_{3,})[ \t\r]*\Z")
_HALF_RULE = re.compile(r"[ \t]*(?:-+|\*+|_+)[ \t\r]*\Z")
_FENCE = re.compile(r"[ \t]*(?:`{3}|~{3})")
_HALF_FENCE = re.compile(r"[ \t]*(?:`{1,2}|~{1,2})\Z")


def _start_of(words: str) -> str:
    nested = rf"[ \t\r]{{0,8}}{_COLON}?{_MARKS}[ \t\r]{{0,8}}{_COLON}?"
    for letter in reversed(words):
        nested = rf"(?:[ \t]{{1,4}}{nested})?" if letter == " " else f"(?:{letter}{nested})?"
    return nested


_HALF_HEADING = re.compile(rf"{_LEAD}{_MARKS}(?:{_start_of(SUMMARY)}|{_start_of(ANSWER)})\Z", re.IGNORECASE | re.ASCII)


class LineKind(Enum):
    """What a line is. OPEN: more of it is needed to say."""

    OPEN = "open"
    HEADING = "heading"
    BULLET = "bullet"
    BLANK = "blank"
    FENCE = "fence"
    TEXT = "text"


@dataclass(frozen=True, slots=True)
class Line:
    """The kind, the section that a heading starts, and the offset where the text behind the mark begins."""

    kind: LineKind
    section: str = ""
    rest_at: int = 0


def read_answer_line(line: str, *, is_whole: bool, follows_blank: bool) -> Line:
    """Say whether this line of an answer, outside code, is a heading. ``line`` has no line break."""
    heading = _heading(line, is_whole=is_whole, follows_blank=follows_blank)
    if heading is not None:
        return heading
    is_open = not is_whole and _HALF_HEADING.match(line)
    return Line(LineKind.OPEN if is_open else LineKind.TEXT)


def read_summary_line(line: str, *, is_whole: bool, follows_blank: bool) -> Line:
    """Say what this line of a summary is. A rule between sections counts as blank."""
    as_answer = read_answer_line(line, is_whole=is_whole, follows_blank=follows_blank)
    if as_answer.kind is not LineKind.TEXT:
        return as_answer
    if not line.strip():
        return Line(LineKind.BLANK, rest_at=len(line)) if is_whole else Line(LineKind.OPEN)
    if _FENCE.match(line):
        return Line(LineKind.FENCE)
    if len(line) <= _LONGEST_OPEN and not is_whole and _is_half(line):
        return Line(LineKind.OPEN)
    if len(line) <= _LONGEST_OPEN and is_whole and _RULE.match(line):
        return Line(LineKind.BLANK, rest_at=len(line))
    bullet = _BULLET.match(line) or _EMPTY_BULLET.fullmatch(line)
    return Line(LineKind.BULLET, rest_at=bullet.end()) if bullet else Line(LineKind.TEXT)


def _heading(line: str, *, is_whole: bool, follows_blank: bool) -> Line | None:
    inline = _HEADING.match(line)
    if inline:
        return Line(LineKind.HEADING, _section(inline), inline.end())
    alone = _HEADING_ALONE.match(line) if is_whole else None
    # Two plain words, without a colon or a mark, may end a sentence that was wrapped; after a blank line they don't.
    if alone and (follows_blank or _IS_MARKED.match(line)):
        return Line(LineKind.HEADING, _section(alone), len(line))
    return None


def _section(match: re.Match[str]) -> str:
    return SUMMARY if match["name"][0] in "rR" else ANSWER


def _is_half(line: str) -> bool:
    return bool(_HALF_BULLET.match(line) or _HALF_RULE.match(line) or _HALF_FENCE.match(line))
