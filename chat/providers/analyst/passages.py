"""Passages of a tool's answer, cut into what can be quoted: sentences, and rows of tables.

Every piece is verbatim. A sentence does not end at *U.S.*, *A.M. Best* or *Inc.*; where that is in doubt it goes on.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

_ABBREVIATIONS = frozenset(
    """inc corp co ltd llc lp plc bros mr mrs ms dr prof st jr sr vs v no nos fig sec art ch vol approx est dept ext
    rev gen gov sen rep messrs jan feb mar apr jun jul aug sep sept oct nov dec e.g i.e etc cf al a.m p.m u.s u.k n.a
    d.c""".split()  # noqa: SIM905
)
_END = re.compile(r"[.!?][\"”’')\]]*\s+(?=[\"“‘('\[$€£•]*[A-Z0-9])")
_MAX_CHARS = 40_000
_MAX_PASSAGES = 20
_CELL = " | "
_CONTENTS_ROW = re.compile(r"(?:Part|Item)\s+[\dIVX]+[A-C]?\.?\s*\|.{0,150}$", re.I)

PieceKind = Literal["sentence", "row", "line", "heading"]


@dataclass(frozen=True, slots=True)
class Piece:
    """One quotable piece. ``near`` is the text right around it; ``header`` the first row of its table."""

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
        """What can be quoted, in reading order."""
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
        if kind in ("heading", "line"):
            heading = piece
        header = _header(header, piece, kind)
        around = (other for other, _ in (*cut[max(0, place - 1) : place], *cut[place + 1 : place + 2]))
        yield Piece(piece, kind, " ".join(around), heading, header if kind == "row" and header != piece else "")


def _header(header: str, piece: str, kind: str) -> str:
    """Keep the row that names a table's columns. Prose ends the table; a heading or a lead-in inside it does not."""
    if kind == "row":
        return piece if _is_header(piece) else header
    return "" if kind == "sentence" and not piece.endswith(":") else header


def _is_header(row: str) -> bool:
    """A row of years or dates names columns, and so does one without any figure."""
    cells = [cell.strip() for cell in row.split("|")]
    dated = [cell for cell in cells if re.search(r"\b(?:19|20)\d\d$", cell)]
    return not re.search(r"\d", row) or (len(dated) >= 2 and len(dated) * 2 >= len(cells))


def _cut(text: str) -> Iterator[tuple[str, PieceKind]]:
    for line in text.splitlines():
        line = line.strip()
        if not line:
            continue
        if _CELL in line:
            yield line, "heading" if _CONTENTS_ROW.match(line) else "row"
        elif len(line) <= 120 and not re.search(r"[.!?:;,][\"”’)]*$", line):
            # "Commission file number: 0-23985" is set like a heading, and a fact all the same.
            yield line, "line" if re.search(r"\d\d|:.*\d", line) else "heading"
        else:
            yield from ((sentence, "sentence") for sentence in split_sentences(line))


def split_sentences(text: str) -> Iterator[str]:
    """Yield the sentences of a paragraph, verbatim."""
    start = 0
    for match in _END.finditer(text):
        if not _is_abbreviated(text[start : match.start() + 1], text[match.end() :]):
            yield text[start : match.end()].strip()
            start = match.end()
    rest = text[start:].strip()
    if rest:
        yield rest


def _is_abbreviated(before: str, after: str) -> bool:
    """Say whether the stop that ends ``before`` belongs to a word, an initial, or a number as in ``No. 5``."""
    if not before.endswith("."):
        return False
    last = re.split(r"[\s(“\"—–]", before[:-1])[-1].lower()
    if last in ("no", "nos"):
        return after[:1].isdigit()
    return last in _ABBREVIATIONS or re.fullmatch(r"(?:[a-z]\.)*[a-z]", last) is not None
