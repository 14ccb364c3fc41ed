"""Excel workbooks (.xlsx): the stored values of each sheet, row by row."""

from __future__ import annotations

import datetime as dt
import io
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import openpyxl

from chat.files.blocks import Block, Details, row
from chat.files.kinds.archive import open_archive

MAX_GAP = 200  # empty cells of a row that are kept, so that each value stays in its column
MAX_ROWS = 1_048_576  # of a sheet, as Excel has it; a file may claim to have more


def read(content: bytes, details: Details) -> Iterator[Block]:
    open_archive(content)
    with closing(openpyxl.load_workbook(io.BytesIO(content), read_only=True, data_only=True)) as workbook:
        details.title = workbook.properties.title or ""
        for sheet in workbook.worksheets:
            yield Block(sheet.title, "heading", 1)
            # What a file says of its size may be wrong.
            sheet.reset_dimensions()
            for cells in sheet.iter_rows(max_row=MAX_ROWS):
                values = [shown(cell) for cell in cells]
                filled = [value for value in values if value]
                # A cell far away must not cost those between.
                if found := row(values if len(values) - len(filled) <= MAX_GAP + len(filled) else filled):
                    yield found


def shown(cell: Any) -> str:
    """Return a value much as its sheet shows it."""
    value = cell.value
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
