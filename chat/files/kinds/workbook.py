"""Excel workbooks (.xlsx): the stored values of each sheet, row by row, and formulas without one."""

from __future__ import annotations

import datetime as dt
import io
import re
from collections.abc import Iterable, Iterator
from contextlib import closing
from itertools import repeat, zip_longest
from typing import Any

import openpyxl

from chat.files.blocks import Block, Details, row
from chat.files.kinds.archive import open_archive, transitional

MAX_GAP = 200  # empty cells that a row may have beyond its values; of more only the values are read
_NO_VALUE = re.compile(rb"</f>\s*(?:<v\s*/>|<v>\s*</v>|</c>)")  # of a formula, which its program did not compute
MAX_ROWS = 1_048_576  # of a sheet, as Excel has it; a file may claim to have more


def read(content: bytes, details: Details) -> Iterator[Block]:
    content = transitional(content)
    archive = open_archive(content)
    sheets = [name for name in archive.namelist() if name.startswith("xl/worksheets/")]
    formulas = None
    if any(_NO_VALUE.search(archive.read(name)) for name in sheets):
        formulas = openpyxl.load_workbook(io.BytesIO(content), read_only=True)
    with closing(openpyxl.load_workbook(io.BytesIO(content), read_only=True, data_only=True)) as workbook:
        details.title = workbook.properties.title or ""
        for sheet in workbook.worksheets:
            yield Block(sheet.title, "heading", 1)
            # What a file says of its size may be wrong.
            sheet.reset_dimensions()
            written: Iterable[Any] = repeat(())
            if formulas is not None:
                formulas[sheet.title].reset_dimensions()
                written = formulas[sheet.title].iter_rows(max_row=MAX_ROWS)
            for cells, sources in zip(sheet.iter_rows(max_row=MAX_ROWS), written, strict=False):
                values = [shown(cell) or shown(source) for cell, source in zip_longest(cells, sources)]
                filled = [value for value in values if value]
                # One value in a remote column must not add thousands of empty cells.
                if found := row(values if len(values) - len(filled) <= MAX_GAP + len(filled) else filled):
                    yield found


def shown(cell: Any) -> str:
    """Return a value much as its sheet shows it."""
    value = None if cell is None else getattr(cell.value, "text", cell.value)  # of a formula for many cells
    match value:
        case None:
            return ""
        case bool():
            return str(value).upper()
        case int() | float() if "%" in (cell.number_format or ""):
            return f"{value * 100:.10g}%"
        case float():
            return f"{value:.15g}"
        case dt.datetime() if value.time() == dt.time():
            return value.date().isoformat()
    return str(value)
