"""The columns of a table, told from where its cells stand.

Filings lay out figures on a fine grid: a currency sign, a number and a closing bracket each have a cell, and spacers
stand between. Cells that are one figure are joined; what overlaps from row to row is one column; places where no row
says anything are no columns. A cell that spans several columns stands in the first of them.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

MAX_COLUMNS = 60

_OPENING = frozenset({"$", "€", "£", "¥", "($", "(", "$(", "(€", "(£", "(¥"})
_CLOSING = frozenset({"%", ")", ")%", "%)", "x"})
_FIGURE_BEGINS = re.compile(r"[\d.,(\[—–-]|n/?[am]\b", re.IGNORECASE)
_FIGURE_ENDS = re.compile(r"[\d—–)-]$")
_FIGURE = re.compile(r"[(\[$€£¥+−–-]*\s*[$€£¥]?\s*\d[\d.,]*\s*[)\]%x]*|[—–-]", re.ASCII)

Place = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Cell:
    """What one cell says, and the places ``start`` to ``end``, not included, of the fine grid that it takes."""

    text: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class _Group:
    """Columns that share a field, the rows that say something there, and whether none of that is a figure."""

    columns: list[int]
    rows: list[int]
    is_text: bool


def joined(cells: Iterable[Cell]) -> list[Cell]:
    """Return the cells that say something; signs, brackets and ``%`` stand with the figure that they belong to."""
    found: list[Cell] = []
    for cell in cells:
        if not cell.text:
            continue
        if found and _is_one_figure(found[-1].text, cell.text):
            cell = Cell(found[-1].text + cell.text, found.pop().start, cell.end)
        found.append(cell)
    return found


def aligned(rows: Sequence[Sequence[Cell]]) -> list[list[str]]:
    """Return the fields of each row, one for each column of the table; an empty one where a row says nothing.

    Rows come from ``joined``. What lies after a row's last field is left out. A table of more than ``MAX_COLUMNS``
    columns keeps its rows as they are.
    """
    columns = _columns(cell for row in rows for cell in row)
    if len(columns) > MAX_COLUMNS:
        return [[cell.text for cell in row] for row in rows]
    placed = [_placed(row, columns) for row in rows]
    given = _merged(placed, len(columns))
    return [_fields(row, given) for row in placed]


def is_figure(text: str) -> bool:
    """Say whether a cell is a number, with its signs, or the dash that stands for none."""
    return _FIGURE.fullmatch(text) is not None


def _is_one_figure(before: str, text: str) -> bool:
    if before in _OPENING:
        return _FIGURE_BEGINS.match(text) is not None
    return text in _CLOSING and _FIGURE_ENDS.search(before) is not None


def _columns(cells: Iterable[Cell]) -> list[Place]:
    """Return the columns from left to right. Small cells make them; what lies over several of them makes none."""
    columns: list[Place] = []
    places = {(cell.start, cell.end) for cell in cells}
    for start, end in sorted(places, key=lambda place: (place[1] - place[0], place)):
        first, last = _touched(columns, start, end)
        if last - first <= 1:
            both = [(start, end), *columns[first:last]]
            columns[first:last] = [(min(one[0] for one in both), max(one[1] for one in both))]
    return columns


def _touched(columns: Sequence[Place], start: int, end: int) -> tuple[int, int]:
    return bisect_right(columns, start, key=lambda column: column[1]), bisect_left(
        columns, end, key=lambda column: column[0]
    )


def _placed(row: Sequence[Cell], columns: Sequence[Place]) -> dict[int, str]:
    """Return what a row says by column. Two cells in one column are one."""
    placed: dict[int, str] = {}
    for cell in row:
        first, last = _touched(columns, cell.start, cell.end)
        free = next((column for column in range(first, last) if column not in placed), first)
        placed[free] = f"{placed[free]} {cell.text}" if free in placed else cell.text
    return placed


def _merged(rows: Sequence[dict[int, str]], count: int) -> list[int]:
    """Return the field of each column: neighbours share one where the one's rows all lie above the other's.

    So does a heading that stands beside its figures and not above them. Labels at the left share one where no row has
    two of them, which is how some are set in.
    """
    groups = [_Group([column], *_said(rows, column)) for column in range(count)]
    for left in range(count - 2, -1, -1):
        if _is_above(groups[left].rows, groups[left + 1].rows):
            groups[left : left + 2] = [_both(groups[left], groups[left + 1])]
    while len(groups) > 1 and _are_labels(groups[0], groups[1]):
        groups[:2] = [_both(groups[0], groups[1])]
    fields = {column: field for field, group in enumerate(groups) for column in group.columns}
    return [fields[column] for column in range(count)]


def _said(rows: Sequence[dict[int, str]], column: int) -> tuple[list[int], bool]:
    said = {index: row[column] for index, row in enumerate(rows) if column in row}
    return list(said), not any(map(is_figure, said.values()))


def _both(one: _Group, other: _Group) -> _Group:
    return _Group(one.columns + other.columns, sorted(one.rows + other.rows), one.is_text and other.is_text)


def _is_above(one: Sequence[int], other: Sequence[int]) -> bool:
    return bool(one and other) and (one[-1] < other[0] or other[-1] < one[0])


def _are_labels(one: _Group, other: _Group) -> bool:
    return one.is_text and other.is_text and not set(one.rows) & set(other.rows)


def _fields(placed: dict[int, str], given: Sequence[int]) -> list[str]:
    fields = [""] * (max((given[column] for column in placed), default=-1) + 1)
    for column, text in sorted(placed.items()):
        fields[given[column]] = text
    return fields
