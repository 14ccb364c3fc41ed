"""How a stored passage is laid out on the reader page: its number, its lines, and the cells of a table."""

from __future__ import annotations

import re
from dataclasses import dataclass

from django import template

register = template.Library()

CELL_SEPARATOR = " | "
_FIGURE = re.compile(r"[(\[$€£+−–-]*\s*[$€£]?\s*\d[\d.,]*\s*[)\]%x]*", re.ASCII)
_NO_FIGURE = {"—", "–", "-", "n/a", "N/A"}


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell. ``is_figure`` sets it to the right."""

    text: str
    is_figure: bool


@register.filter
def passage_number(anchor: str) -> str:
    """Return the number of a passage in its section, as its anchor ``#item-7-p31`` has it."""
    return anchor.rpartition("-p")[2].lstrip("#")


@register.filter
def lines(text: str) -> list[str]:
    """Return the lines of ``text`` that are not blank."""
    return [line for line in text.splitlines() if line.strip()]


@register.filter
def table_rows(text: str) -> list[tuple[Cell, ...]]:
    """Return the rows of a table passage, one a line, every row padded to the widest."""
    rows = [[word.strip() for word in line.split(CELL_SEPARATOR)] for line in lines(text)]
    width = max(map(len, rows), default=0)
    return [tuple(map(_cell, row + [""] * (width - len(row)))) for row in rows]


def _cell(text: str) -> Cell:
    return Cell(text, is_figure=text in _NO_FIGURE or _FIGURE.fullmatch(text) is not None)
