"""Tables in text (.csv, .tsv), row by row."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator

from chat.files.blocks import Block, Details, row

_SAMPLE_CHARS = 10_000
_MAX_FIELD_CHARS = 1_000_000


def read(content: str, details: Details) -> Iterator[Block]:
    csv.field_size_limit(_MAX_FIELD_CHARS)
    try:
        dialect: type[csv.Dialect] = csv.Sniffer().sniff(content[:_SAMPLE_CHARS], ",;\t|")
    except csv.Error:  # one column, or too irregular
        dialect = csv.excel
    for cells in csv.reader(io.StringIO(content, newline=""), dialect):
        if found := row(cells):
            yield found
