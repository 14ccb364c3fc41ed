"""Passages of a tool's answer, cut into what can be quoted: sentences and rows of tables.

Every piece is verbatim and whole. A sentence doesn't end at *U.S.* or *Inc.*; where that is in doubt it continues. What
a page or the passage cut off in mid-sentence is never quoted.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import zip_longest
from typing import Literal

import msgspec

_HEADING_MAX_CHARS = 120
_CELL_MAX_CHARS = 300
_ABBREVIATIONS = frozenset(
    """inc corp co ltd llc lp plc bros mr mrs ms dr prof st jr sr vs v no nos fig sec art ch vol approx est dept ext
    rev gen gov sen rep messrs jan feb mar apr jun jul aug sep sept oct nov dec e.g i.e etc cf al a.m p.m u.s u.k n.a
    d.c""".split()
)
_SENTENCE_END = re.compile(r"[.!?][\"”’')\]]*\s+(?=[\"“‘('\[$€£•]*[A-Z0-9])")
_STOP = re.compile(r"[.!?:;][\"”’'*)\]]*(?:\s*[;,]?\s*(?:and|or))?$")
_BULLET = re.compile(r"^[•·▪◦●\-–—*☐☒]")
_CONTENTS_ROW = re.compile(r"(?:Part|Item)\s+[\dIVX]+[A-C]?\.?\s*\|.{0,150}$", re.I)
_PERIOD = re.compile(  # digits that are no figure: dates, lengths of periods, units, marks of footnotes
    r"\b(?:jan|feb|mar|apr|may|june?|july?|aug|sep|oct|nov|dec)[a-z]*\.?\s+\d{1,2}\b,?|\b(?:19|20)\d\d\b"
    r"|\b\d+[\s-]+(?:weeks?|months?|days?)\b|\bQ[1-4]\b|\bFY\s?\d\d\b|\(\s*[\da-z]{1,2}\s*\)|\bin 0+s?\b|\b000s\b",
    re.I,
)
_FIGURE_CELL = re.compile(r"^[($€£¥\s-]*\d[\d,.\s]*\)?\s*%?\)?$|^[—–-]$")

PieceKind = Literal["sentence", "row", "line", "heading", "columns", "lead", "fragment"]
QUOTABLE: frozenset[PieceKind] = frozenset({"sentence", "row", "line"})


@dataclass(frozen=True, slots=True)
class PassagePiece:
    """One piece. ``near`` is the text right around it; ``header`` the row that names the columns of its table."""

    text: str
    kind: PieceKind
    near: str = ""
    heading: str = ""
    header: str = ""


class FiledPassage(msgspec.Struct, frozen=True, dict=True):
    """A passage as the tool message has it. ``ref`` is the number to cite it by."""

    ref: int
    text: str
    kind: str = "filing"
    company: str = ""
    filing: str = ""
    title: str = ""  # of any other document
    date: str | None = None
    period: str | None = None
    page: int | None = None
    section: str = ""
    url: str = ""

    @property
    def is_attached(self) -> bool:
        """Whether it is of anything but a filing: a file of the chat, or a document."""
        return self.kind != "filing"

    @property
    def source(self) -> str:
        """The address of its document."""
        return self.url.partition("#")[0]

    @cached_property
    def pieces(self) -> tuple[PassagePiece, ...]:
        """What the passage consists of, in reading order."""
        cut = list(cut_pieces(self.text))
        pieces = []
        heading = header = ""
        for place, (text, kind) in enumerate(cut):
            if kind in ("heading", "line", "lead"):
                heading = text
            if kind == "columns":
                header = text
            elif kind == "sentence":
                # Prose ends the table; a heading or a lead-in inside it does not.
                header = ""
            near = " ".join(other for other, _kind in (*cut[max(0, place - 1) : place], *cut[place + 1 : place + 2]))
            pieces.append(PassagePiece(text, kind, near, heading, header if kind == "row" else ""))
        return tuple(pieces)


class SearchScope(msgspec.Struct, frozen=True):
    """What a search says that it searched: ``filings`` is their number, ``company`` the one it was narrowed to."""

    query: str = ""
    company: str = ""
    filings: int = 0
    companies: tuple[str, ...] = ()


class ToolMessage(msgspec.Struct, frozen=True):
    """What a search returned, and what it says was searched."""

    passages: tuple[FiledPassage, ...]
    searched: SearchScope = SearchScope()

    @property
    def companies(self) -> tuple[str, ...]:
        """The companies of the passages, each once."""
        return tuple(dict.fromkeys(passage.company for passage in self.passages if passage.company))


def read_result(content: str) -> ToolMessage | None:
    """Read a tool message; None if it is no search result."""
    try:
        return msgspec.json.decode(content, type=ToolMessage)
    except (msgspec.MsgspecError, RecursionError):
        return None


def cut_pieces(text: str) -> Iterator[tuple[str, PieceKind]]:
    """Yield the headings, rows and sentences of a passage with their kinds."""
    lines = [line.strip() for line in text.split("\n") if line.strip()]
    for line, following in zip_longest(lines, lines[1:]):
        if is_row(line):
            is_header = names_columns(line, following if following and is_row(following) else None)
            yield line, "heading" if _CONTENTS_ROW.match(line) else "columns" if is_header else "row"
            continue
        is_cut_off = following is not None and following[0].islower()
        if len(line) <= _HEADING_MAX_CHARS and not is_cut_off and not re.search(r"[.!?:;,][\"”’)]*$", line):
            # "Commission file number: 0-23985" is set like a heading, and a fact all the same.
            yield line, "line" if re.search(r"\d\d|:.*\d", line) else "heading"
            continue
        for sentence in split_sentences(line):
            words = re.findall(r"[^\W\d_][\w'’-]*", sentence)
            is_title = all(word[0].isupper() for word in words if len(word) > 3) and 0 < len(words) <= 4
            if is_title and sentence.endswith(".") and not re.search(r"\d", sentence):
                # A heading that runs into its paragraph: *Comparable Sales.*
                yield sentence, "heading"
            elif not _BULLET.match(sentence) and (sentence[:1].islower() or not _STOP.search(sentence)):
                yield sentence, "fragment"
            else:
                yield sentence, "lead" if sentence.endswith(":") else "sentence"


def split_sentences(text: str) -> Iterator[str]:
    """Yield the sentences of a paragraph, verbatim."""
    start = 0
    for match in _SENTENCE_END.finditer(text):
        before = text[start : match.start() + 1]
        last = re.split(r"[\s(“\"—–]", before[:-1])[-1].lower() if before.endswith(".") else None
        if last is None or not (last in _ABBREVIATIONS or re.fullmatch(r"(?:[a-z]\.)*[a-z]", last)):
            yield text[start : match.end()].strip()
            start = match.end()
    if rest := text[start:].strip():
        yield rest


def cells_of(row: str) -> Sequence[str]:
    """Return the filled cells of a row."""
    return [cell.strip() for cell in row.split("|") if cell.strip()]


def is_row(line: str) -> bool:
    """Say whether a line is a row of a table. Cells with paragraphs in them only lay out prose."""
    return " | " in line and max(map(len, cells_of(line)), default=0) <= _CELL_MAX_CHARS


def names_columns(row: str, following: str | None) -> bool:
    """Say whether a row only names columns: periods, units and words, above a row with figures.

    A row of a label and a date or a word is a fact (a signature's date, a place of incorporation).
    """
    has_figures_below = following is not None and any(map(_FIGURE_CELL.match, cells_of(following)))
    return has_figures_below and not re.search(r"\d", _PERIOD.sub(" ", row))
