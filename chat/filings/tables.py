"""The rows of one table as they are read, and how they look once all of them are known.

A row is put among the blocks at once, so that what follows it has its place; ``finish`` then gives every row the same
columns. A short line inside the table, *Current assets:*, is a row of it, and so is one that stands above its columns,
*Year ended*; another line above or below is a caption or a note.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from lxml import etree

from chat.filings.blocks import CELL_SEPARATOR, RawBlock
from chat.filings.grid import Cell, aligned, is_figure, joined
from chat.filings.items import starts_section

_LABEL_MAX_CHARS = 150
_MOST_LABELS = 3  # in a row, before the rows that they head
_MAX_SPAN = 1000
_MAX_HELD = 100


@dataclass(frozen=True, slots=True)
class Row:
    """A row with the index of its block. A line by itself is a row of one cell."""

    index: int
    cells: tuple[Cell, ...]

    @property
    def is_line(self) -> bool:
        return len(self.cells) == 1


@dataclass(frozen=True, slots=True)
class SourceCell:
    """A cell as the source has it: how far it reaches to the right and down, and whether it says anything."""

    columns: int
    rows: int
    says: bool


class OpenTable:
    """A table that is being read. ``number`` tells it from the document's others."""

    def __init__(self, number: int) -> None:
        self._number = number
        self._held: list[tuple[int, int, int]] = []  # start, end, and how many rows more a cell from above holds them
        self._places: list[tuple[int, int]] = []
        self._cells: list[Cell] = []
        self._rows: list[Row] = []
        self._line: tuple[int, tuple[int, int]] | None = None

    def begin_row(self, cells: Sequence[SourceCell] | None, *, at: int) -> bool:
        """Begin a row, and say whether it is one of several cells. ``at`` is the index of the next block."""
        self._cells, self._line = [], None
        if cells is None:
            return False
        self._places = self._placed(cells)
        saying = [place for place, cell in zip(self._places, cells, strict=True) if cell.says]
        if len(saying) == 1:
            self._line = at, saying[0]
        return len(saying) > 1

    def add_cell(self, text: str) -> None:
        """Take what the next cell of the row says; what stands outside of all its cells goes to the right of them."""
        place = len(self._cells)
        end = self._places[-1][1] + place
        start, end = self._places[place] if place < len(self._places) else (end, end + 1)
        self._cells.append(Cell(text, start, end))

    def end_row(self) -> list[Cell]:
        """Return the cells of the row that say something."""
        return joined(self._cells)

    def add_row(self, index: int, cells: Sequence[Cell]) -> None:
        """Note that the block at ``index`` is a row of these cells."""
        self._rows.append(Row(index, tuple(cells)))

    def end_line(self, blocks: Sequence[RawBlock]) -> None:
        """End a row of one cell, which may have become one block."""
        if self._line and len(blocks) == self._line[0] + 1:
            index, (start, end) = self._line
            self.add_row(index, [Cell(blocks[index].text, start, end)])
        self._line = None

    def finish(self, blocks: list[RawBlock]) -> None:
        """Give the table's rows their columns."""
        finish(blocks, self._rows, table=self._number)

    def _placed(self, cells: Sequence[SourceCell]) -> list[tuple[int, int]]:
        held = sorted(self._held)
        self._held = [(start, end, rows - 1) for start, end, rows in held if rows > 1]
        places, at, past = [], 0, 0
        for cell in cells:
            while past < len(held) and held[past][0] <= at:
                at, past = max(at, held[past][1]), past + 1
            places.append((at, at + cell.columns))
            if cell.rows > 1 and len(self._held) < _MAX_HELD:
                self._held.append((at, at + cell.columns, cell.rows - 1))
            at += cell.columns
        return places


def row_cells(row: etree._Element) -> list[SourceCell] | None:
    """Return the cells of a row; None for a row around an inner table, which is layout."""
    if next(row.iterdescendants("table", "pre"), None) is not None:
        return None
    return [
        SourceCell(_span(cell.get("colspan")), _span(cell.get("rowspan")), _says(cell)) for cell in row.iter("td", "th")
    ]


def _says(cell: etree._Element) -> bool:
    return any(str(text).strip("\xa0 \n\t\r") for text in cell.itertext())


def _span(value: str | None) -> int:
    """Return what ``colspan`` or ``rowspan`` says, 1 where it says nothing that counts."""
    number = (value or "").strip()
    return max(1, min(int(number), _MAX_SPAN)) if number.isascii() and number.isdecimal() and len(number) < 9 else 1


def finish(blocks: list[RawBlock], rows: Sequence[Row], *, table: int) -> None:
    """Write the rows of one table anew, each with all of its columns. Other blocks stay as they are."""
    inner = _inner(blocks, rows)
    fields = aligned([row.cells for row in inner])
    for row, said in zip(inner, fields, strict=True):
        text = said[0] if row.is_line and not any(said[1:]) else CELL_SEPARATOR.join(said)
        blocks[row.index] = replace(blocks[row.index], text=text, kind="table", table=table)


def _inner(blocks: Sequence[RawBlock], rows: Sequence[Row]) -> list[Row]:
    """Return the rows, and of the lines those that belong among them: labels, headings of columns, bare sums."""
    inner: list[Row] = []
    lines: list[Row] = []
    labels_end = _labels_end(rows)
    for row in rows:
        if row.is_line:
            lines.append(row)
            continue
        is_headed = all(_is_label(blocks[line.index].text) for line in lines) and len(lines) <= _MOST_LABELS
        inner.extend(line for line in lines if is_headed and (inner or line.cells[0].start >= labels_end))
        inner.append(row)
        lines = []
    return [*inner, *(line for line in lines if inner and is_figure(line.cells[0].text))]


def _labels_end(rows: Sequence[Row]) -> int:
    """Return where the labels at the left end: a line that begins behind them heads columns."""
    firsts = [row.cells[0] for row in rows if not row.is_line]
    left = min((cell.start for cell in firsts), default=0)
    return min((cell.end for cell in firsts if cell.start == left), default=0)


def _is_label(text: str) -> bool:
    return len(text) <= _LABEL_MAX_CHARS and not starts_section(text)
