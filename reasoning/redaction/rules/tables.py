"""Private values in tables: Markdown, CSV, aligned columns, INSERT statements.

The heading of a column says what is in its cells.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import islice

from reasoning.redaction.allowlist import is_expression, is_harmless
from reasoning.redaction.classify import FOREIGN_PASSWORD_WORDS, KeyKind, classify
from reasoning.redaction.rules import Rule, Span, Trigger
from reasoning.redaction.rules.prose import PASSWORD_NAME, accepts_digits
from reasoning.redaction.values import NEXT_NAME, WEAK_MIN_CHARS, is_mixed, is_number_like, is_random, is_word, wordset

_RULE_LINE = re.compile(r"\s{0,8}[|:+=-][|:+= \t-]{2,400}+(?=\n|\Z)")  # below the heading of a Markdown table
_LINE = re.compile(r"[^\n]++")
_COLUMN_NAME = re.compile(r"[^\W\d][\w.\-']{0,30}+(?: [\w.\-#°]{1,24}+){0,4}")
_PART_OF_SENTENCE = re.compile(r" +\w+ ")  # a cell of several words behind a comma and a blank
_MARKDOWN_COLUMN_NAME = re.compile(r"[^|:=\[\]]{0,40}")
# INSERT INTO users (name, password) VALUES (…): values are matched to columns from the right.
_INSERT = re.compile(r"(?i)\)\s{0,4}VALUES?\s{0,4}(?P<rows>(?:\([^()]{1,400}(?:\),?\s{0,4})?){1,40})")
_INSERT_ROW = re.compile(r"(?<!\w)\([^()]{1,400}")
_LITERAL = re.compile(r"'((?:[^']|'')*+)'?|([^\s',]++)")
_NAME_OR_WORD = re.compile(r"[A-Za-z][a-z]*+(?:(?:[-_.]?[A-Z][a-z]*+|[-_.][a-z]++)++(?:\(\))?)?+")  # of a secret, too
_CELL_MARKUP = " \t\r\"'`*_"
_MAX_HEADING_CHARS = 400
_MAX_COLUMNS = 32

# A cell in quotes may contain the delimiter.
_CELL = {char: re.compile(rf'(?:\A|(?<=[{char}]))([ ]*"[^"]*"[ ]*(?=[{char}]|\Z)|[^{char}]*)') for char in "|\t;,"}
_BLANKS = "  "  # between columns that are aligned
_CELL[_BLANKS] = re.compile(r"([^ ]++(?: [^ ]++)*+)")

Cell = tuple[int, str]  # place in the line, text


def find_in_tables(
    text: str, start: int, kind_of_column: Callable[[str], str], is_private: Callable[[str, str, str], bool]
) -> Iterator[tuple[int, int, str]]:
    """Find the private values of columns by their headings, and yield them with the kind of the column, "" for none.

    ``is_private(value, kind, delimiter)`` judges a cell; the delimiter of an INSERT is "(". The heading may be held
    only from that name on, so columns are counted from the right.
    """
    columns: dict[int, str] = {}
    delimiter, is_ruled = "", False
    for line in _LINE.finditer(text, start):
        if columns and _RULE_LINE.fullmatch(line.group()):
            is_ruled = True
            continue
        if text[max(line.start() - 2, 0) : line.start()] == "\n\n":
            columns = {}  # a blank line ends a table
        cells, own_delimiter = split_cells(line.group())
        named = {} if columns and delimiter else private_columns(cells, own_delimiter, kind_of_column)
        if not columns and not named:
            continue
        # Clients of databases draw a line below the last row, too.
        is_first = not (columns and delimiter)
        is_heading = is_first and own_delimiter == "|" and _RULE_LINE.match(text, line.end()) is not None
        if own_delimiter == _BLANKS and not delimiter and not (is_ruled or text[start].isupper()):
            columns = {}  # the last word of a sentence is no heading of aligned columns
        # Where a line of one name is followed by one that names columns, it was no heading.
        is_row = own_delimiter and delimiter in ("", own_delimiter) and not (is_heading or (named and len(cells) > 1))
        if columns and is_row:
            delimiter = own_delimiter
            for number, kind in columns.items():
                place, cell = cells[number] if number < len(cells) else (0, "")
                value = cell.strip(_CELL_MARKUP)
                if value and is_private(value, kind, delimiter):
                    first = line.start() + place + cell.index(value)
                    yield first, first + len(value), kind
        else:
            if columns and delimiter:
                named = private_columns(cells, own_delimiter, kind_of_column)
            columns = named if is_heading or own_delimiter != "|" else {}
            delimiter = own_delimiter
    yield from find_in_inserts(text, start, kind_of_column, is_private)


def find_in_inserts(
    text: str, start: int, kind_of_column: Callable[[str], str], is_private: Callable[[str, str, str], bool]
) -> Iterator[tuple[int, int, str]]:
    for found in _INSERT.finditer(text, start):
        names = text[max(found.start() - _MAX_HEADING_CHARS, 0) : found.start()].rpartition("(")[2].split(",")
        kinds = [kind_of_column(name.strip(_CELL_MARKUP)) for name in reversed(names)]
        for row in _INSERT_ROW.finditer(text, found.start("rows"), found.end()):
            values = [one.span(one.lastindex or 0) for one in _LITERAL.finditer(text, row.start() + 1, row.end())]
            for kind, (first, end) in zip(kinds, reversed(values), strict=False):
                value = text[first:end]
                is_call = text.startswith("(", end)
                if kind and value and not is_call and is_private(value, kind, "("):
                    yield first, end, kind


def split_cells(line: str) -> tuple[list[Cell], str]:
    """Return the cells of a line, the last first, and their delimiter."""
    bare = line.strip()
    start = line.find(bare)
    delimiter = next((each for each in ("|", "\t", ";", ",", _BLANKS) if each in bare), "")
    if not delimiter:
        return [(0, line)], ""
    cells = [(start + cell.start(), cell[1]) for cell in islice(_CELL[delimiter].finditer(bare), _MAX_COLUMNS)]
    return [cell for cell in reversed(cells) if cell[1] or delimiter != "|"], delimiter


def private_columns(cells: list[Cell], delimiter: str, kind_of_column: Callable[[str], str]) -> dict[int, str]:
    """Return the kinds of the columns that a line names, from the right up to a cell that is no name.

    What is to the left of a name may not be held any more, or a mask by now.
    """
    pattern = _MARKDOWN_COLUMN_NAME if delimiter == "|" or cells[0][1].startswith('"') else _COLUMN_NAME
    columns = {}
    for number, (_place, cell) in enumerate(cells):
        name = cell.strip(_CELL_MARKUP)
        if not pattern.fullmatch(name) or (delimiter == "," and _PART_OF_SENTENCE.match(cell)):
            break
        if kind := kind_of_column(name):
            columns[number] = kind
    return columns


def find_secret_cells(text: str, start: int) -> Iterator[Span]:
    def kind_of_column(name: str) -> str:
        kind = classify(name)
        if (kind is KeyKind.SECRET and PASSWORD_NAME.search(name)) or name.lower() in FOREIGN_PASSWORD_WORDS:
            return "password"
        if kind is KeyKind.SECRET and accepts_digits(name):
            return "digits"
        return kind if kind in (KeyKind.SECRET, KeyKind.WEAK) else ""

    return (Span(first, end) for first, end, _kind in find_in_tables(text, start, kind_of_column, is_secret_cell))


def is_secret_cell(value: str, kind: str, delimiter: str) -> bool:
    if is_harmless(value):
        return False
    if delimiter == "(":
        return kind != KeyKind.WEAK
    # Programs align names of secrets, tokens and keys, hardly ever values.
    if delimiter == _BLANKS and kind != "password":
        return False
    is_framed = delimiter == "|"
    if " " in value or "[redacted" in value or value.count(")") > value.count("("):  # the end of a call
        return False
    if kind == "digits" and value.isdigit():
        return len(value) >= 4
    if is_word(value) or is_number_like(value.strip("#()")) or is_expression(value):
        return False
    if NEXT_NAME.match(value) and not (is_framed and kind == "password"):
        return False
    if kind == KeyKind.WEAK:
        return is_random(value, min_chars=WEAK_MIN_CHARS)
    return is_mixed(value) or (
        is_framed and len(value) >= 8 and (kind == "password" or not _NAME_OR_WORD.fullmatch(value))
    )


INSERT_WINDOW = r"(?:(?i:VALUES?)\s{0,4}+(?:\([^()]{0,400}+(?:\),?\s{0,4}+)?+){0,40}+)?+"
# Headings of columns: fewer words than names beside a value may have.
_TABLE_WORDS = wordset(
    "password passwords passwort kennwort passwd pwd pw pass passphrase passcode pin secret token key apikey credential"
    " clave"
)
_TABLE_WORDS |= FOREIGN_PASSWORD_WORDS
# Behind a column's name: the rest of the heading, and the rows; or the rows of an INSERT statement.
_ROWS = r"(?:\r?\n(?!\n)[^\n]{0,400}+)*+"


_MORE_WORDS = r"(?:(?<=[a-z])[ ][A-Za-z\#°][\w.\-\#°]{0,16}+){0,3}+"  # of a heading in a list of them

# A heading alone has no cells.
HAS_ROWS = re.compile(r"\n[^\n]|v(?i:alues)|V(?i:alues)")


def table_window(words: int) -> re.Pattern[str]:
    """Return a window for a name of a column of at most so many words, the rest of the heading, and the rows."""
    return re.compile(
        rf"""(?x)
        [\w\#.°\-\u0900-\u0eff]{{0,24}}+(?:['’]s)?+(?:[ ][\w\#.°'’\-]{{1,16}}+){{0,{words}}}+["'`*]{{0,3}}+ (?:
          (?:[,;\t][ ]?+(?:"[^"\n]{{1,40}}+"|["'`]?+[\w.\-]{{1,40}}+{_MORE_WORDS}["'`]?+)){{1,20}}+
          (?: ,?\s?\)\s{{0,4}}+{INSERT_WINDOW} | {_ROWS} )
        | \s?\)\s{{0,4}}+{INSERT_WINDOW}
        | [ \t]{{0,40}}+
          (?:\|[^\n]{{0,400}}+{_ROWS}
            | (?<=[ ]{{2}})[A-Za-z\#][\w.\-\#°]{{0,24}}+(?:[ ]{{1,40}}+[\w.\-\#°()]{{1,24}}+){{0,20}}+[ ]*+{_ROWS}
            | (?=\n[ \t|:\-]{{3}}){_ROWS}
            | \r?\n(?:[^\n,;\t| ]{{1,40}}+[ ]{{2}}[^\n]{{0,400}}+{_ROWS}
              | [^\n,;\t|]{{0,60}}+(?:[,;\t][^\n]{{0,400}}+{_ROWS})?+))  # the last column
        )?+"""
    )


TRIGGERS = (Trigger("table", _TABLE_WORDS, window=table_window(2), max_chars=4_096, needs=HAS_ROWS),)
RULES = (
    Rule(
        "column of secrets",
        frozenset({"table", "name"}),
        ("user,password\nanna,{password}", "| Key | Value |\n|---|---|\n| Revenue | 416,161 |"),
        find_secret_cells,
        HAS_ROWS,
    ),
)
