"""How a stored passage is laid out on the reader page: its number, its lines, and the cells of a table."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Protocol

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


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a passage; ``is_heading`` where it is the heading that the passage stands under."""

    text: str
    is_heading: bool


class Headed(Protocol):
    """A stored passage, as far as its layout needs it."""

    heading: str
    text: str


@register.filter
def lines(passage: Headed, section_heading: str) -> list[Line]:
    """Return the lines of a passage, without one that only repeats ``section_heading``, which stands above it."""
    above, heading = _letters(section_heading), _letters(passage.heading)
    shown = [line for line in _lines(passage.text) if _letters(line) != above]
    return [Line(line, is_heading=bool(heading) and _letters(line) == heading) for line in shown]


@register.filter
def table_rows(text: str) -> list[tuple[Cell, ...]]:
    """Return the rows of a table passage, one a line, every row padded to the widest."""
    rows = [[word.strip() for word in line.split(CELL_SEPARATOR)] for line in _lines(text)]
    width = max(map(len, rows), default=0)
    return [tuple(map(_cell, row + [""] * (width - len(row)))) for row in rows]


def _lines(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.strip()]


def _letters(text: str) -> str:
    """Return what of ``text`` survives capitals, spaces and full stops."""
    return "".join(filter(str.isalnum, text)).casefold()


def _cell(text: str) -> Cell:
    return Cell(text, is_figure=text in _NO_FIGURE or _FIGURE.fullmatch(text) is not None)
