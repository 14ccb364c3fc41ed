"""Secrets in the rows of a table whose heading names them: Markdown tables, and values parted by commas or tabs.

The heading may be held only from the name on, so columns are counted from the right.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import takewhile

from reasoning.redaction.keys import KeyKind
from reasoning.redaction.spans import Rule, Span
from reasoning.redaction.values import is_expression, is_inert, is_mixed, is_number_like, is_random, is_word

_LINE = re.compile(r"[^\n]++")
_NAME = re.compile(r"[^\W\d][\w.\-]{0,30}+")
_NAMES = {"|": re.compile(r"[^|:=\[\]]{0,40}")}
_INSERTED = re.compile(r"(?i)\)\s{0,4}VALUES?\s{0,4}(?P<rows>(?:\([^()]{1,400}(?:\),?\s{0,4})?){1,40})")
_LONGEST_HEADING = 400
_VALUES = re.compile(r"\([^()]{1,400}")
_LITERAL = re.compile(r"'((?:[^']|'')*+)'?|([^\s',]++)")
_MARKUP = " \t\r\"'`*_"
_MOST_COLUMNS = 32


def rules(classify: Callable[[str], KeyKind]) -> tuple[Rule, ...]:
    """Return the rule, with the names of columns judged by ``classify``."""
    return (
        Rule(frozenset({"table"}), lambda text: _tabled(text, classify)),
        Rule(frozenset({"name"}), lambda text: _inserted(text, classify)),
    )


def _tabled(text: str, classify: Callable[[str], KeyKind]) -> Iterator[Span]:
    columns: dict[int, KeyKind] = {}
    mark = ""
    for line in _LINE.finditer(text):
        cells, own_mark = _cells(line.group())
        if columns and own_mark and mark in ("", own_mark):
            mark = own_mark
            yield from _row(cells, columns, line.start(), is_framed=mark == "|")
        else:
            columns, mark = _secret_columns(cells, own_mark, classify), own_mark


def _inserted(text: str, classify: Callable[[str], KeyKind]) -> Iterator[Span]:
    """Find what SQL puts into columns called secret."""
    for found in _INSERTED.finditer(text):
        names = text[max(found.start() - _LONGEST_HEADING, 0) : found.start()].rpartition("(")[2].split(",")
        secret = {at for at, name in enumerate(reversed(names)) if classify(name.strip(_MARKUP)) is KeyKind.SECRET}
        for row in _VALUES.finditer(text, found.start("rows"), found.end()):
            values = [one.span(one.lastindex or 0) for one in _LITERAL.finditer(text, row.start() + 1, row.end())]
            for at, (start, end) in enumerate(reversed(values)):
                if at in secret and not is_inert(text[start:end]):
                    yield Span(start, end, "", "secret")


def _cells(line: str) -> tuple[list[tuple[int, str]], str]:
    """Return the cells of a line, the last first, with their places, and what parts them."""
    bare = line.strip()
    start = line.find(bare)
    mark = next((char for char in "|\t;," if char in bare), "")
    if not mark:
        return [(0, line)], ""
    places = []
    for cell in bare.split(mark)[:_MOST_COLUMNS]:
        places.append((start, cell))
        start += len(cell) + 1
    return [cell for cell in reversed(places) if cell[1] or mark != "|"], mark


def _secret_columns(cells: list[tuple[int, str]], mark: str, classify: Callable[[str], KeyKind]) -> dict[int, KeyKind]:
    """Return the columns that a heading calls secret; a line that has more than names in it is no heading.

    A mask, and what stands before it, doesn't count: redacted again, the text would be looked at from behind it on.
    """
    names = [name.strip(_MARKUP) for _, name in takewhile(lambda cell: "[redacted" not in cell[1], cells)]
    if not all(_NAMES.get(mark, _NAME).fullmatch(name) for name in names):
        return {}
    kinds = {number: classify(name) for number, name in enumerate(names)}
    return {number: kind for number, kind in kinds.items() if kind in (KeyKind.SECRET, KeyKind.WEAK)}


def _row(cells: list[tuple[int, str]], columns: dict[int, KeyKind], offset: int, *, is_framed: bool) -> Iterator[Span]:
    for number, kind in columns.items():
        if number >= len(cells):
            continue
        place, cell = cells[number]
        value = cell.strip(_MARKUP)
        if _is_value(value, kind, is_framed=is_framed):
            start = offset + place + cell.index(value)
            yield Span(start, start + len(value), "", "secret")


def _is_value(value: str, kind: KeyKind, *, is_framed: bool) -> bool:
    if (
        " " in value
        or "[redacted" in value
        or is_inert(value)
        or is_word(value)
        or is_number_like(value)
        or is_expression(value)
    ):
        return False
    if kind is KeyKind.WEAK:
        return is_random(value, least=12)
    return is_mixed(value) or (is_framed and len(value) >= 8)
