"""How a stored passage is laid out on the reader page: its number, headings, paragraphs and tables.

A passage says by its lines what it holds (``chat.filings.passages``): blank lines part blocks, a line right above
another is its heading, and lines with separators are rows of a table. A row has its columns in order, empty ones too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Literal, Protocol

from django import template

register = template.Library()

CELL_SEPARATOR = " | "
_FIELDS = re.compile(r"(?:^|\s)\|(?=\s|$)")
_FIGURE = re.compile(r"[(\[$€£¥+−–-]*\s*[$€£¥]?\s*\d[\d.,]*\s*[)\]%x]*", re.ASCII)
_NO_FIGURE = {"—", "–", "-", "$—", "$–", "$-", "—%", "n/a", "N/A", "n/m", "NM"}
_YEAR = re.compile(r"(?:19|20)\d\d")

Row = tuple["Cell", ...]


class Laid(Protocol):
    """What a passage must have to be laid out."""

    heading: str
    text: str


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell. ``is_figure`` sets it to the right; ``columns`` is how many columns it spans."""

    text: str
    is_figure: bool
    columns: int = 1


@dataclass(frozen=True, slots=True)
class Part:
    """A heading or paragraph, ``text``, or a table: the rows that name its columns, and the others."""

    kind: Literal["heading", "text", "table"]
    text: str = ""
    heads: tuple[Row, ...] = ()
    rows: tuple[Row, ...] = ()


@register.filter
def passage_number(anchor: str) -> str:
    """Return the number of a passage in its section, as its anchor ``#item-7-p31`` has it."""
    return anchor.rpartition("-p")[2].lstrip("#")


@register.filter
def parts(passage: Laid) -> list[Part]:
    """Return what the passage holds, in reading order."""
    groups = (lines(group) for group in passage.text.split("\n\n"))
    return [part for group in groups if group for part in _parts(group, passage.heading)]


@register.filter
def lines(text: str) -> list[str]:
    """Return the lines of ``text`` that are not blank."""
    return [line for line in text.splitlines() if line.strip()]


@register.filter
def table_rows(text: str) -> list[Row]:
    """Return the rows of a table, one a line, each padded to the widest. A line without fields spans all columns."""
    rows = [_fields(line) for line in lines(text)]
    width = max(map(len, rows), default=0)
    return [_row(row, width) for row in rows]


def _parts(group: Sequence[str], heading: str) -> Iterator[Part]:
    above = list(takewhile(lambda line: not _is_row(line), group))
    rows = group[len(above) :]
    last = [] if rows else above[-1:]
    yield from (Part("heading", line.strip()) for line in above[: len(above) - len(last)])
    yield from (Part("heading" if line == heading else "text", line.strip()) for line in last)
    if _is_table(rows):
        yield _table(rows)
    else:
        yield from (Part("text", " ".join(filter(None, _fields(line)))) for line in rows)


def _is_row(line: str) -> bool:
    return _FIELDS.search(line) is not None


def _is_table(rows: Sequence[str]) -> bool:
    """At least two rows are a table; one is, where a passage was cut inside it: it has several fields or figures."""
    if len(rows) != 1:
        return len(rows) > 1
    fields = [field for field in _fields(rows[0]) if field]
    return len(fields) > 2 or (len(fields) == 2 and _is_figure(fields[1]))


def _table(group: Sequence[str]) -> Part:
    rows = table_rows("\n".join(group))
    heads = list(takewhile(lambda row: len(row) > 1 and not any(map(_counts, row)), rows))
    body = rows[len(heads) :]
    telling = [row for row in body if any(map(_counts, row))]
    if len(telling) * 2 <= sum(len(row) > 1 for row in body):
        return Part("table", rows=tuple(rows))
    figures = {place for row in body if len(row) > 1 for place, cell in enumerate(row) if cell.is_figure}
    above = [_head(row, figures, spans=row is not heads[-1] or _is_alone(row)) for row in heads]
    return Part("table", heads=tuple(above), rows=tuple(body))


def _is_alone(row: Row) -> bool:
    """Say whether one head stands over all figures, as their unit does."""
    return sum(bool(cell.text) for cell in row[1:]) == 1


def _head(row: Row, figures: set[int], *, spans: bool) -> Row:
    """Return a row of heads over their columns. One above another spans the columns up to the next."""
    starts = [place for place, cell in enumerate(row) if cell.text or place == 0 or not spans]
    ends = [*starts[1:], len(row)]
    return tuple(
        Cell(row[start].text, end - start == 1 and start in figures, end - start)
        for start, end in zip(starts, ends, strict=True)
    )


def _counts(cell: Cell) -> bool:
    """Say whether a cell is a figure that a table is there to tell, and no year that names a column."""
    return cell.is_figure and not _YEAR.fullmatch(cell.text)


def _row(fields: Sequence[str], width: int) -> Row:
    if len(fields) == 1 and width > 1:
        return (Cell(fields[0], is_figure=False, columns=width),)
    return tuple(map(_cell, [*fields, *[""] * (width - len(fields))]))


def _fields(line: str) -> list[str]:
    return [field.strip() for field in _FIELDS.split(line)]


def _cell(text: str) -> Cell:
    return Cell(text, _is_figure(text))


def _is_figure(text: str) -> bool:
    return text in _NO_FIGURE or _FIGURE.fullmatch(text) is not None
