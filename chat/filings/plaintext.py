"""Plain text, as EDGAR had it before HTML, to raw blocks.

Paragraphs are separated by blank lines. Lines whose columns are held apart by runs of spaces become table rows. Page
marks are dropped.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from chat.filings.blocks import CELL_SEPARATOR, RawBlock, clean, is_heading
from chat.filings.grid import Cell, joined
from chat.filings.items import starts_section
from chat.filings.pages import numbered
from chat.filings.tables import Row, finish

_COLUMNS = re.compile(r"(\s{3,}|\.{4,}|\t+)")
_TAB_WIDTH = 8
_CENTRED_INDENT = 8
_CENTRED_MAX_CHARS = 60
_RULE = re.compile(r"[-=_*.\s|+]+")
_MARK = re.compile(r"</?(?:PAGE|TABLE|CAPTION|S|C|FN|TEXT|DOCUMENT|PDF|XBRL)>", re.IGNORECASE)


def text_blocks(text: str) -> list[RawBlock]:
    """Return the raw blocks of a plain text document in reading order."""
    reader = _Reader()
    for line in text.splitlines():
        reader.read(_MARK.sub("", line).rstrip())
    return numbered(reader.finish())


class _Reader:
    """The state of one reading: the paragraph being built, and the rows of the table that may go on."""

    def __init__(self) -> None:
        self.blocks: list[RawBlock] = []
        self._paragraph: list[str] = []
        self._rows: list[Row] = []
        self._tables_seen = 0

    def read(self, line: str) -> None:
        is_rule = not line or _RULE.fullmatch(line) is not None
        cells = _cells(line)
        is_row = len(cells) > 1 and not is_rule
        if is_rule or is_row or _stands_alone(line, self._paragraph):
            self._end_paragraph()
        if is_row and not _is_centred(line, cells):
            self._rows.append(Row(len(self.blocks), tuple(cells)))
            self.blocks.append(RawBlock(CELL_SEPARATOR.join(cell.text for cell in cells), "table"))
        elif not is_rule:
            self._paragraph.append(line)

    def finish(self) -> list[RawBlock]:
        self._end_paragraph()
        self._end_table()
        return self.blocks

    def _end_paragraph(self) -> None:
        """End the paragraph. One of a single line may head rows of a table; another ends the table."""
        lines, self._paragraph = self._paragraph, []
        text = clean(" ".join(lines))
        if not text:
            return
        if len(lines) > 1:
            self._end_table()
        elif self._rows:
            indent = _indent(lines[0])
            self._rows.append(Row(len(self.blocks), (Cell(text, indent, indent + len(text)),)))
        self.blocks.append(RawBlock(text, "heading" if is_heading(text, is_strong=False) else "text"))

    def _end_table(self) -> None:
        rows, self._rows = self._rows, []
        if rows:
            self._tables_seen += 1
            finish(self.blocks, rows, table=self._tables_seen)


def _stands_alone(line: str, paragraph: list[str]) -> bool:
    """A line that opens a section, or one that is centred: well indented, short, and not where the last one began."""
    if starts_section(clean(line)):
        return True
    before = _indent(paragraph[-1]) if paragraph else None
    is_centred = _indent(line) >= _CENTRED_INDENT and len(line.strip()) < _CENTRED_MAX_CHARS
    was_centred = before is not None and before >= _CENTRED_INDENT and len(paragraph) == 1
    return before != _indent(line) and (is_centred or was_centred)


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _cells(line: str) -> list[Cell]:
    cells, at = [], 0
    for place, piece in enumerate(_COLUMNS.split(line)):
        width = _end_column(piece, at) - at
        if place % 2 == 0:
            cells.append(Cell(clean(piece), at, at + width))
        at += width
    return joined(cells)


def _end_column(piece: str, start: int) -> int:
    at = start
    for char in piece:
        at += _TAB_WIDTH - at % _TAB_WIDTH if char == "\t" else 1
    return at


def _is_centred(line: str, cells: Sequence[Cell]) -> bool:
    """An Item and its title, tabbed apart, are a heading rather than a row."""
    return len(cells) == 2 and starts_section(cells[0].text) and not cells[1].text[-1:].isdigit()
