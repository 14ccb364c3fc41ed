"""Rows of tables as text, ``label | value | value``: which of them only name the columns."""

from __future__ import annotations

import re

CELL = " | "
_DATED = re.compile(r"\b(?:19|20)\d\d\b[\s*)]*(?:\(?[a-z\d]\))?$", re.I)
_MONTH = r"(?:jan|feb|mar|apr|may|june?|july?|aug|sep|oct|nov|dec)[a-z]*\.?"
# What has digits and is no figure: dates, years, lengths of periods, units, marks of footnotes.
_PERIOD = re.compile(
    rf"\b{_MONTH}\s+\d{{1,2}}\b,?|\b(?:19|20)\d\d\b|\b\d+[\s-]+(?:weeks?|months?|days?)\b|\bQ[1-4]\b"
    r"|\bFY\s?\d\d\b|\(\s*[\da-z]{1,2}\s*\)|\bin 0+s?\b|\b000s\b",
    re.I,
)
_FIGURE = re.compile(r"^[($€£¥\s-]*\d[\d,.\s]*\)?\s*%?\)?$|^[—–-]$")
_COUNT = re.compile(r"\(?\d[\d,]*\)?")
_CELL_MAX_CHARS = 300
_FEWEST_NAMED_COLUMNS = 3


def is_row(line: str) -> bool:
    """Say whether a line is a row of a table. Cells with paragraphs in them only lay out prose."""
    return CELL in line and max(map(len, _cells(line)), default=0) <= _CELL_MAX_CHARS


def names_columns(row: str, following: str | None, *, is_first: bool) -> bool:
    """Say whether a row only names columns: periods, units and words, with a row of what stands in them below it.

    A row of a label and a date or a word is a fact (a signature's date, a place of incorporation) and stays one.
    """
    cells = _cells(row)
    dated = sum(bool(_DATED.search(cell)) for cell in cells)
    if dated >= 2 and dated * 2 >= len(cells):
        return True
    if following is None or re.search(r"\d", _PERIOD.sub(" ", row)):
        return False
    below = _cells(following)
    if any(_FIGURE.match(cell) for cell in below):
        return dated > 0 or not re.search(r"\d", row)
    return is_first and len(cells) >= _FEWEST_NAMED_COLUMNS and len(below) >= len(cells) and not re.search(r"\d", row)


def heads_rows(row: str) -> bool:
    """Say whether a row can be shown as the columns of those below it: it has no figure, or none but dates."""
    cells = _cells(row)
    dated = sum(bool(_DATED.search(cell)) for cell in cells)
    return not re.search(r"\d", row) or (dated >= 2 and dated * 2 >= len(cells))


def has_counts(row: str) -> bool:
    """Say whether a row has a cell, after its label, that is a whole number and nothing else."""
    return any(_COUNT.fullmatch(cell) for cell in _cells(row)[1:])


def _cells(row: str) -> list[str]:
    return [cell.strip() for cell in row.split("|") if cell.strip()]
