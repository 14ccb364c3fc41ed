"""Tables of a filing: rows of cells in, rows with the same columns out.

Filings lay out figures on a fine grid: a currency sign, a number and a closing bracket each have a cell, with spacers
between. Cells of one figure are joined; cells that overlap from row to row are one column; a cell that spans several
columns is in the first of them.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from lxml import etree

from chat.filings.blocks import CELL_SEPARATOR, RawBlock
from chat.filings.items import starts_section

MAX_COLUMNS = 60

_OPENING = frozenset({"$", "€", "£", "¥", "($", "(", "$(", "(€", "(£", "(¥"})
_CLOSING = frozenset({"%", ")", ")%", "%)", "x"})
_FIGURE_START = re.compile(r"[\d.,(\[—–-]|n/?[am]\b", re.IGNORECASE)
_FIGURE_END = re.compile(r"[\d—–)-]$")
# Amounts as tables have them, $ (1,234.5) or 12.3%, and what means none.
_FIGURE = re.compile(r"[(\[$€£¥+−–-]*\s*[$€£¥]?\s*\d[\d.,]*\s*[)\]%x]*|\$?[—–-]%?|n/[am]|nm", re.ASCII | re.IGNORECASE)
_LABEL_MAX_CHARS = 150
_MOST_LABELS = 3  # in a row, above the rows that they head
# Attributes come from a stranger: a colspan of a billion would cost memory.
_MAX_SPAN = 1000
_MAX_ROW_SPANS = 100

Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Cell:
    """The text of a cell, and its places in the fine grid: ``start`` up to ``end``."""

    text: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Row:
    """A row with the index of its block. A line by itself is a row of one cell."""

    index: int
    cells: tuple[Cell, ...]

    @property
    def is_line(self) -> bool:
        return len(self.cells) == 1


def is_figure(text: str) -> bool:
    """Say whether a cell is a number, with its signs, or the dash for none."""
    return _FIGURE.fullmatch(text) is not None


def join_figures(cells: Iterable[Cell]) -> list[Cell]:
    """Return the cells that hold text, with signs, brackets and ``%`` joined to the figure that they belong to."""
    found: list[Cell] = []
    for cell in cells:
        if not cell.text:
            continue
        if found:
            before = found[-1].text
            opens_figure = before in _OPENING and _FIGURE_START.match(cell.text)
            closes_figure = before not in _OPENING and cell.text in _CLOSING and _FIGURE_END.search(before)
            if opens_figure or closes_figure:
                cell = Cell(before + cell.text, found.pop().start, cell.end)
        found.append(cell)
    return found


class OpenTable:
    """An HTML table that is being read. ``number`` is unique in the document.

    A row is put among the blocks at once, so that what follows it has its place; ``finish`` then gives every row the
    same columns.
    """

    def __init__(self, number: int) -> None:
        self._number = number
        self._row_spans: list[tuple[int, int, int]] = []  # start, end and number of the rows that a cell reaches down
        self._spans: list[Span] = []  # of the cells of the open row
        self.cells: list[Cell] = []
        self.rows: list[Row] = []
        self._line: tuple[int, Span] | None = None

    def begin_row(self, row: etree._Element, *, index: int) -> bool:
        """Begin a row; return whether several of its cells hold text. ``index`` is that of the next block."""
        self.cells, self._line = [], None
        if next(row.iterdescendants("table", "pre"), None) is not None:
            # Around an inner table: layout.
            return False
        cells = list(row.iter("td", "th"))
        self._spans = self.place_cells(cells)
        filled = [
            span
            for span, cell in zip(self._spans, cells, strict=True)
            if any(str(text).strip("\xa0 \n\t\r") for text in cell.itertext())
        ]
        if len(filled) == 1:
            self._line = index, filled[0]
        return len(filled) > 1

    def place_cells(self, cells: Sequence[etree._Element]) -> list[Span]:
        """Return the places of a row's cells, beside cells of the rows above that reach down into it."""
        above = sorted(self._row_spans)
        self._row_spans = [(start, end, rows - 1) for start, end, rows in above if rows > 1]
        spans, at, passed = [], 0, 0
        for cell in cells:
            while passed < len(above) and above[passed][0] <= at:
                at, passed = max(at, above[passed][1]), passed + 1
            columns, rows = span_of(cell, "colspan"), span_of(cell, "rowspan")
            spans.append((at, at + columns))
            if rows > 1 and len(self._row_spans) < _MAX_ROW_SPANS:
                self._row_spans.append((at, at + columns, rows - 1))
            at += columns
        return spans

    def add_cell(self, text: str) -> None:
        """Add the text of the next cell of the row; text outside of all its cells is put to the right of them."""
        place = len(self.cells)
        end = self._spans[-1][1] + place
        start, end = self._spans[place] if place < len(self._spans) else (end, end + 1)
        self.cells.append(Cell(text, start, end))

    def end_line(self, blocks: Sequence[RawBlock]) -> None:
        """End a row of one cell, which may have become one block."""
        if self._line and len(blocks) == self._line[0] + 1:
            index, (start, end) = self._line
            self.rows.append(Row(index, (Cell(blocks[index].text, start, end),)))
        self._line = None

    def finish(self, blocks: list[RawBlock]) -> None:
        """Give the table's rows their columns."""
        align_rows(blocks, self.rows, table=self._number)


def span_of(cell: etree._Element, name: str) -> int:
    """Return how many columns or rows a cell spans."""
    number = (cell.get(name) or "").strip()
    return max(1, min(int(number), _MAX_SPAN)) if number.isascii() and number.isdecimal() and len(number) < 9 else 1


def align_rows(blocks: list[RawBlock], rows: Sequence[Row], *, table: int) -> None:
    """Rewrite the blocks of one table's rows, each with all of its columns. Other blocks stay."""
    inner = rows_inside(blocks, rows)
    for row, fields in zip(inner, align([row.cells for row in inner]), strict=True):
        text = fields[0] if row.is_line and not any(fields[1:]) else CELL_SEPARATOR.join(fields)
        blocks[row.index] = replace(blocks[row.index], text=text, kind="table", table=table)


def rows_inside(blocks: Sequence[RawBlock], rows: Sequence[Row]) -> list[Row]:
    """Return the rows, and of the lines those that belong among them: labels, heads of columns, sums.

    A short line between rows, *Current assets:*, is a label, and so is one above its columns, *Year ended*; another
    line above or below is a caption or a note.
    """
    firsts = [row.cells[0] for row in rows if not row.is_line]
    left = min((cell.start for cell in firsts), default=0)
    labels_end = min((cell.end for cell in firsts if cell.start == left), default=0)  # a line behind it heads columns
    inner: list[Row] = []
    lines: list[Row] = []
    for row in rows:
        if row.is_line:
            lines.append(row)
            continue
        texts = [blocks[line.index].text for line in lines]
        are_labels = len(texts) <= _MOST_LABELS and all(
            len(text) <= _LABEL_MAX_CHARS and not starts_section(text) for text in texts
        )
        inner.extend(line for line in lines if are_labels and (inner or line.cells[0].start >= labels_end))
        inner.append(row)
        lines = []
    return [*inner, *(line for line in lines if inner and is_figure(line.cells[0].text))]


def align(rows: Sequence[Sequence[Cell]]) -> list[list[str]]:
    """Return the fields of each row, one for each column of the table, up to the row's last one with text.

    Rows come from ``join_figures``. A table of more than MAX_COLUMNS columns is left unchanged.
    """
    columns = find_columns(cell for row in rows for cell in row)
    if len(columns) > MAX_COLUMNS:
        return [[cell.text for cell in row] for row in rows]
    placed: list[dict[int, str]] = []  # the text of each row by column
    for row in rows:
        texts: dict[int, str] = {}
        for cell in row:
            first, last = find_overlap(columns, cell.start, cell.end)
            free = next((column for column in range(first, last) if column not in texts), first)
            texts[free] = f"{texts[free]} {cell.text}" if free in texts else cell.text
        placed.append(texts)
    return [[texts.get(column, "") for column in range(max(texts, default=-1) + 1)] for texts in placed]


def find_columns(cells: Iterable[Cell]) -> list[Span]:
    """Return the columns from left to right, or some of them where they are more than MAX_COLUMNS.

    Narrow cells make them; a cell over several of them makes none.
    """
    columns: list[Span] = []
    spans = {(cell.start, cell.end) for cell in cells}
    # Narrow ones first: a head over three years must not become their column.
    for start, end in sorted(spans, key=lambda span: (span[1] - span[0], span)):
        if len(columns) > MAX_COLUMNS:  # they only become more
            break
        first, last = find_overlap(columns, start, end)
        if last - first <= 1:
            both = [(start, end), *columns[first:last]]
            columns[first:last] = [(min(one[0] for one in both), max(one[1] for one in both))]
    return columns


def find_overlap(columns: Sequence[Span], start: int, end: int) -> tuple[int, int]:
    """Return the first of the columns that a span overlaps, and the one after the last."""
    first = bisect_right(columns, start, key=lambda column: column[1])
    return first, bisect_left(columns, end, key=lambda column: column[0])
