"""Passages of a tool's answer, cut into what can be quoted: sentences, and rows of tables.

Every piece is verbatim and whole. A sentence does not end at *U.S.*, *A.M. Best* or *Inc.*; where that is in doubt it
goes on. What a page or the passage cut off in mid-sentence is joined again, or is a fragment that nobody quotes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from chat.providers.analyst.sentences import is_list_item, is_run_in_heading, is_unfinished, split_sentences
from chat.providers.analyst.tables import heads_rows, is_row, names_columns

_MAX_CHARS = 40_000
_MAX_PASSAGES = 20
_CONTENTS_ROW = re.compile(r"(?:Part|Item)\s+[\dIVX]+[A-C]?\.?\s*\|.{0,150}$", re.I)
_TITLE_NUMBER = re.compile(r"^(?:Note|Item|Part|Exhibit|Table|Section|Page)\s+[\dIVX]+[\d.]*[A-Z]?\b", re.I)
_LINE = re.compile(r"[^\S\n]*(\S[^\n]*)")
_HEADING_MAX_CHARS = 120
_LIST_MAX_CHARS = 560

PieceKind = Literal["sentence", "row", "line", "heading", "columns", "lead", "list", "fragment"]
QUOTABLE: frozenset[PieceKind] = frozenset({"sentence", "row", "line", "list"})


@dataclass(frozen=True, slots=True)
class Piece:
    """One piece. ``near`` is the text right around it; ``header`` the row that names the columns of its table."""

    text: str
    kind: PieceKind
    near: str = ""
    heading: str = ""
    header: str = ""


@dataclass(frozen=True)
class Passage:
    """A passage as the tool message holds it. ``ref`` is the number to cite it by."""

    ref: int
    company: str
    filing: str
    date: str | None
    period: str | None
    section: str
    url: str
    text: str

    @cached_property
    def pieces(self) -> tuple[Piece, ...]:
        """What the passage consists of, in reading order."""
        return tuple(_pieces(self.text))

    @property
    def about(self) -> str:
        """What the passage belongs to, as words to compare."""
        return f"{self.company} {self.filing} {self.section}"


def read_passages(message: Mapping[str, Any]) -> tuple[Passage, ...]:
    """Read the passages of a tool message. What is no passage is passed over."""
    listed = message.get("passages")
    entries = [entry for entry in listed if isinstance(entry, Mapping)] if isinstance(listed, list) else []
    read = (_passage(entry) for entry in entries[:_MAX_PASSAGES])
    return tuple(passage for passage in read if passage is not None)


def _passage(entry: Mapping[str, Any]) -> Passage | None:
    ref, text = entry.get("ref"), entry.get("text")
    if not isinstance(ref, int) or not isinstance(text, str) or not text.strip():
        return None
    company, filing, section, url = (_string(entry, key) or "" for key in ("company", "filing", "section", "url"))
    date, period = _string(entry, "date"), _string(entry, "period")
    return Passage(ref, company, filing, date, period, section, url, text[:_MAX_CHARS])


def _string(entry: Mapping[str, Any], key: str) -> str | None:
    value = entry.get(key)
    return value if isinstance(value, str) and value else None


def _pieces(text: str) -> Iterator[Piece]:
    heading = header = ""
    cut = list(_cut(text))
    for place, (piece, kind) in enumerate(cut):
        if kind in ("heading", "line", "lead"):
            heading = piece
        header = _header(header, piece, kind)
        around = (other for other, _ in (*cut[max(0, place - 1) : place], *cut[place + 1 : place + 2]))
        yield Piece(piece, kind, " ".join(around), heading, header if kind == "row" and header != piece else "")
    yield from (Piece(listed, "list") for listed in _lists(text, cut))


def _lists(text: str, cut: Sequence[tuple[str, PieceKind]]) -> Iterator[str]:
    """Yield each lead-in together with as much as can be quoted of the list or table that it leads in."""
    at = 0
    for place, (piece, kind) in enumerate(cut):
        start = text.find(piece, at)
        at = start + len(piece)
        if kind == "lead":
            end = _list_end(text, at, cut[place + 1 :], start + _LIST_MAX_CHARS)
            if end > at:
                yield text[start:end]


def _list_end(text: str, at: int, following: Sequence[tuple[str, PieceKind]], most: int) -> int:
    for piece, kind in following:
        end = text.find(piece, at) + len(piece)
        if end > most or not (kind in ("row", "columns") or is_list_item(piece)):
            break
        at = end
    return at


def _header(header: str, piece: str, kind: PieceKind) -> str:
    """Keep the row that names a table's columns. Prose ends the table; a heading or a lead-in inside it does not."""
    if kind in ("row", "columns"):
        return piece if kind == "columns" or heads_rows(piece) else header
    return "" if kind == "sentence" else header


def _cut(text: str) -> Iterator[tuple[str, PieceKind]]:
    lines = list(_joined_lines(text))
    for place, line in enumerate(lines):
        if is_row(line):
            yield line, _row_kind(lines, place)
        elif _is_set_as_heading(line):
            # "Commission file number: 0-23985" is set like a heading, and a fact all the same.
            yield line, "line" if re.search(r"\d\d|:.*\d", _TITLE_NUMBER.sub("", line)) else "heading"
        else:
            yield from ((sentence, _sentence_kind(sentence)) for sentence in split_sentences(line))


def _row_kind(lines: list[str], place: int) -> PieceKind:
    if _CONTENTS_ROW.match(lines[place]):
        return "heading"
    following = lines[place + 1] if place + 1 < len(lines) and is_row(lines[place + 1]) else None
    is_first = place == 0 or not is_row(lines[place - 1])
    return "columns" if names_columns(lines[place], following, is_first=is_first) else "row"


def _sentence_kind(sentence: str) -> PieceKind:
    if is_run_in_heading(sentence):
        return "heading"
    if is_unfinished(sentence):
        return "fragment"
    return "lead" if sentence.endswith(":") else "sentence"


def _is_set_as_heading(line: str) -> bool:
    return len(line) <= _HEADING_MAX_CHARS and not re.search(r"[.!?:;,][\"”’)]*$", line)


def _joined_lines(text: str) -> Iterator[str]:
    """Yield the lines; one that goes on in the next, as over a page's end, together with it and what is between."""
    held: tuple[int, int] | None = None
    for match in _LINE.finditer(text):
        start, end = match.start(1), match.start(1) + len(match[1].rstrip())
        if held and _goes_on(text[slice(*held)], match[1]):
            held = (held[0], end)
            continue
        if held:
            yield text[slice(*held)]
        held = (start, end)
    if held:
        yield text[slice(*held)]


def _goes_on(line: str, following: str) -> bool:
    """Say whether a paragraph is cut between these lines: no stop, and small letters after it."""
    if is_row(line) or is_row(following) or not following[:1].islower():
        return False
    return not re.search(r"[.!?:;][\"”’)\]]*$", line) and len(line) > _HEADING_MAX_CHARS // 2
