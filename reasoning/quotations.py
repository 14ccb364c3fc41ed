"""Finds the markers and quotations of an answer, block by block.

A block is a paragraph, a list item, a table row, a heading, or a blockquote with the line right after it. Code holds
neither markers nor quotations. Everything here is linear in the answer and takes any text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

_ONE = r"\[\d{1,4}(?: ?[,;] ?\d{1,4})*+\]"
_MARKER = re.compile(rf"(?<![\\!]){_ONE}(?: ?{_ONE})*(?!\()")
_DEFINITION = re.compile(r"[ ]{0,3}\[\d{1,4}\]:\s*\S+(?:\s+[\"'(].*)?\s*")
_REF = re.compile(r"\d+")
_FENCE = re.compile(r"[ ]{0,3}(?P<fence>`{3,}|~{3,})")
_ITEM = re.compile(r"[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]+")
_QUOTED_LINE = re.compile(r"[ ]{0,3}>[ ]?")
_HEADING = re.compile(r"[ ]{0,3}#{1,6}[ \t]")
_ATTRIBUTION = re.compile(r"\s*(?:[-–—]|\()?\s*\[\d|\s*[–—]\s*\S")
_TICKS = re.compile(r"`+")
_CLOSER = {"“": "”", "„": "”", "«": "»", '"': '"'}
_MARK = re.compile('["“”„«»]')


@dataclass(frozen=True, slots=True)
class Marker:
    """One marker, or several that stand together: ``[1]``, ``[1][2]``, ``[1, 2]``."""

    start: int
    refs: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Quotation:
    """Words that the answer claims to repeat. ``start`` is their place in the block."""

    start: int
    text: str


@dataclass(frozen=True, slots=True)
class Block:
    """One block of an answer: its markers and quotations, each in reading order."""

    markers: tuple[Marker, ...]
    quotations: tuple[Quotation, ...]


def quoting_blocks(answer: str) -> Iterator[Block]:
    """Yield the blocks that hold a marker or a quotation, in reading order."""
    for lines in filter(None, _blocks(answer)):
        block = _read(lines)
        if block.markers or block.quotations:
            yield block


def without_markers(text: str) -> str:
    """Return text without its markers, in one line."""
    return " ".join(_MARKER.sub(" ", text).split())


def _blocks(answer: str) -> Iterator[list[str]]:
    lines: list[str] = []
    fence = ""
    for line in answer.splitlines():
        if fence or _FENCE.match(line):
            fence = _next_fence(line, fence)
            yield lines
            lines = []
        elif _begins_block(line, lines):
            yield lines
            lines = [line]
        elif _DEFINITION.fullmatch(line):
            continue
        elif line.strip() or _awaits_source(lines):
            lines.append(line)
        else:
            yield lines
            lines = []
    yield lines


def _next_fence(line: str, fence: str) -> str:
    found = _FENCE.match(line)
    if not fence:
        return found["fence"] if found else ""
    is_closing = found and found["fence"].startswith(fence) and not line[found.end() :].strip()
    return "" if is_closing else fence


def _begins_block(line: str, lines: Sequence[str]) -> bool:
    if not lines or not line.strip():
        return False
    is_quoted = bool(_QUOTED_LINE.match(line))
    if _is_quote(lines):
        return not is_quoted if _has_source_line(lines) else not is_quoted and not _may_follow_quote(line, lines)
    return is_quoted or bool(_ITEM.match(line) or _HEADING.match(line) or _HEADING.match(lines[-1])) or line[0] == "|"


def _is_quote(lines: Sequence[str]) -> bool:
    return bool(lines) and bool(_QUOTED_LINE.match(lines[0]))


def _has_source_line(lines: Sequence[str]) -> bool:
    return bool(lines[-1].strip()) and not _QUOTED_LINE.match(lines[-1])


def _awaits_source(lines: Sequence[str]) -> bool:
    """A blank line after a blockquote ends it only if no source line follows."""
    return _is_quote(lines) and bool(_QUOTED_LINE.match(lines[-1]))


def _may_follow_quote(line: str, lines: Sequence[str]) -> bool:
    return bool(lines[-1].strip()) or bool(_ATTRIBUTION.match(line))


def _read(lines: Sequence[str]) -> Block:
    if _is_quote(lines):
        return _read_quote(lines)
    text = _without_code("\n".join(lines))
    return Block(tuple(_markers(text)), tuple(_quotations(text)))


def _read_quote(lines: Sequence[str]) -> Block:
    inner = [_QUOTED_LINE.sub("", line, count=1) for line in lines if _QUOTED_LINE.match(line)]
    text = _without_code("\n".join(_QUOTED_LINE.sub("", line, count=1) for line in lines))
    said = [line for line in inner if line.strip()]
    while len(said) > 1 and _ATTRIBUTION.match(said[-1]):
        said.pop()
    words = without_markers(" ".join(said)).strip()
    if len(words) > 1 and _CLOSER.get(words[0]) == words[-1] and not _MARK.search(words[1:-1]):
        words = words[1:-1].strip()
    quotation = (Quotation(0, words),) if any(char.isalnum() for char in words) else ()
    return Block(tuple(_markers(text)), quotation)


def _markers(text: str) -> Iterator[Marker]:
    for found in _MARKER.finditer(text) if "[" in text else ():
        yield Marker(found.start(), tuple(int(ref) for ref in _REF.findall(found[0])))


def _quotations(text: str) -> Iterator[Quotation]:
    """Yield what stands between quotation marks. Marks inside other marks belong to the words quoted."""
    opened: tuple[int, str] | None = None
    for found in _MARK.finditer(text):
        mark, at = found[0], found.start()
        if opened is None:
            if mark in _CLOSER and not _is_inch(text, at):
                opened = at, _CLOSER[mark]
        elif mark == opened[1]:
            words = without_markers(text[opened[0] + 1 : at])
            if any(char.isalnum() for char in words):
                yield Quotation(opened[0], words)
            opened = None


def _is_inch(text: str, at: int) -> bool:
    return text[at] == '"' and at > 0 and text[at - 1].isdigit()


def _without_code(text: str) -> str:
    """Return text with code spans blanked out, places kept. A run of backticks that none closes is no code."""
    if "`" not in text:
        return text
    runs = [(found.start(), found.end()) for found in _TICKS.finditer(text)]
    closing: dict[int, int] = {}  # place of a run: place of the next run of the same length
    following: dict[int, int] = {}
    for index in range(len(runs) - 1, -1, -1):
        length = runs[index][1] - runs[index][0]
        if length in following:
            closing[index] = following[length]
        following[length] = index
    pieces, done, index = [], 0, 0
    while index < len(runs):
        end = closing.get(index)
        if end is not None:
            pieces += [text[done : runs[index][0]], " " * (runs[end][1] - runs[index][0])]
            done = runs[end][1]
        index = index + 1 if end is None else end + 1
    return "".join([*pieces, text[done:]])
