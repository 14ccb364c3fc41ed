"""Tables in text (.csv, .tsv), row by row."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from contextlib import suppress

from chat.files.blocks import Block, Details, row

_SAMPLE_CHARS = 10_000
_SEPARATOR = re.compile(r"sep=(.)\n")  # a line for Excel


def read(content: str, details: Details) -> Iterator[Block]:
    csv.field_size_limit(len(content) + 1)
    dialect: type[csv.Dialect] = csv.excel
    with suppress(csv.Error):  # one column, or too irregular
        dialect = csv.Sniffer().sniff(content[:_SAMPLE_CHARS], ",;\t|")
    delimiter, blank = dialect.delimiter, dialect.skipinitialspace
    if stated := _SEPARATOR.match(content.replace("\r\n", "\n", 1)):
        delimiter = stated[1]
        content = content.partition("\n")[2]
    # The sniffer's quotation mark is not used: it mistakes apostrophes for one.
    for cells in csv.reader(io.StringIO(content, newline=""), delimiter=delimiter, skipinitialspace=blank):
        if found := row(cells):
            yield found
