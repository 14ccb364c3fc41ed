"""The text of a filing as the reader page shows it, made from its stored passages.

Blank lines separate blocks, a line right above another is its heading, lines with separators are rows of a table. A
section's title is in its first passage too, in the document's words and often over several lines; the page shows it
once, above.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, takewhile
from operator import itemgetter
from typing import Literal

from django.utils.html import format_html, format_html_join
from django.utils.text import slugify

from chat.filings.items import item_heading, part_of
from chat.filings.models import Filing, Passage
from chat.filings.tables import is_figure
from reasoning.citations import find_quotation

PART_PASSAGES = 300  # on one page: about 330 KB of text
SEPARATOR = re.compile(r"(?:^|\s)\|(?=\s|$)")
YEAR = re.compile(r"(?:19|20)\d\d")

TableRow = tuple["TableCell", ...]


@dataclass(frozen=True, slots=True)
class TableCell:
    """One cell. ``is_figure`` aligns it right; ``columns`` is how many columns it spans."""

    text: str
    is_figure: bool
    columns: int = 1

    @property
    def is_amount(self) -> bool:
        """Whether it is a figure of the table's body, not a year that names a column."""
        return self.is_figure and not YEAR.fullmatch(self.text)


@dataclass(frozen=True, slots=True)
class ReaderPart:
    """A heading or paragraph, ``text``, or a table: the rows that name its columns, and the others."""

    kind: Literal["heading", "text", "table"]
    text: str = ""
    heads: tuple[TableRow, ...] = ()
    rows: tuple[TableRow, ...] = ()


@dataclass(frozen=True, slots=True)
class ReaderPicture:
    """A page of a document as a picture: where it is, what it shows, and its size in pixels.

    ``problem`` says in words why it can't be drawn.
    """

    address: str
    label: str
    width: int
    height: int
    problem: str = ""


@dataclass(frozen=True, slots=True)
class ReaderPassage:
    """One passage. ``id`` is the fragment that citations name; ``number`` counts passages within their section."""

    id: str
    number: str
    parts: tuple[ReaderPart, ...]
    is_cited: bool = False
    page: int = 0  # of the document, where this passage is the first of it that is shown
    picture: ReaderPicture | None = None  # of that page


@dataclass(frozen=True, slots=True)
class ReaderSection:
    """One section of a filing: its first passage in the filing's order, and those of it that are shown.

    ``slug`` is its id on the page.
    """

    slug: str
    name: str
    title: str
    start: int
    passages: tuple[ReaderPassage, ...] = ()

    @property
    def part(self) -> int:
        """The part of the filing in which it begins."""
        return self.start // PART_PASSAGES + 1


def reader_sections(
    filing: Filing, shown: slice = slice(None), *, cited: str = "", quotes: Sequence[str] = ()
) -> tuple[ReaderSection, ...]:
    """Return a filing's sections in its order, with those of their passages that are ``shown``.

    A section that is resumed later appears again.
    """
    found = filing.passages.order_by("ordinal")
    passages = dict(enumerate(found[shown], start=shown.start or 0))
    sections: list[ReaderSection] = []
    names = enumerate(found.values_list("section", "section_title"))
    for (name, title), group in groupby(names, key=itemgetter(1)):
        places = [place for place, _names in group]
        before = sum(section.name == name for section in sections)
        slug = f"{slugify(name)}-{before + 1}" if before else slugify(name)
        own = tuple(
            reader_passage(passages[place], filing.form, quotes if passages[place].anchor == cited else None)
            for place in places
            if place in passages
        )
        sections.append(ReaderSection(slug, name, title, places[0], own))
    return tuple(sections)


def reader_passage(passage: Passage, form: str, quotes: Sequence[str] | None) -> ReaderPassage:
    """Return a passage as it is shown. ``quotes`` are marked in the cited one, and None of any other."""
    text = without_title(passage.text, passage.section, passage.section_title, form=form)
    fragment = passage.anchor.removeprefix("#")  # "item-7-p31"
    parts = passage_parts(text, passage.heading)
    marked = (mark_part(part, quotes) for part in parts) if quotes else parts
    return ReaderPassage(fragment, fragment.rpartition("-p")[2], tuple(marked), is_cited=quotes is not None)


def mark_part(part: ReaderPart, quotes: Sequence[str]) -> ReaderPart:
    """Mark quoted words in a paragraph, and whole rows of a table."""
    return replace(
        part,
        text=mark_quotes(part.text, quotes),
        rows=tuple(
            tuple(replace(cell, text=format_html("<mark>{}</mark>", cell.text)) if cell.text else cell for cell in row)
            if any(find_quotation(quote, " | ".join(cell.text for cell in row)) for quote in quotes)
            else row
            for row in part.rows
        ),
    )


def mark_quotes(text: str, quotes: Sequence[str]) -> str:
    """Return HTML with the quoted words marked; the text itself where none is in it."""
    pieces: list[str] = []
    done = 0
    for start, end in sorted(filter(None, (find_quotation(quote, text) for quote in quotes))):
        # quotations may overlap; the text before the end of the last one is marked already
        if start >= done:
            pieces += [text[done:start], format_html("<mark>{}</mark>", text[start:end])]
            done = end
    return format_html_join("", "{}", ((piece,) for piece in [*pieces, text[done:]])) if pieces else text


def without_title(text: str, name: str, title: str, *, form: str) -> str:
    """Return a passage's text without the lines at its beginning that repeat the section's name and title."""
    item = name.rpartition(", ")[2]
    titles = [letters_of(item + title), letters_of(title)]  # what is left of them: they may take several lines
    part, lines = "", text.split("\n")
    while lines:
        line, words = lines[0], letters_of(lines[0])
        if part_of(line):  # "PART II", which only the name of a 10-Q's section contains
            part = line if item == name else ""
        elif begun := [rest for rest in titles if rest.startswith(words) and (words or not line)]:
            titles = [rest.removeprefix(words) for rest in begun]
        elif not is_heading_of(item, line, form, is_heading=len(lines) > 1 and bool(lines[1])):
            break
        lines = lines[1:]
    return "\n".join([*filter(None, [part]), *lines]).strip("\n")


def is_heading_of(item: str, line: str, form: str, *, is_heading: bool) -> bool:
    """Say whether a line is the heading of this Item in other words than the contents have."""
    heading = item_heading(" ".join(fields_of(line)), form) if is_heading else None
    return heading is not None and not heading.is_run_in and heading.key.section.rpartition(", ")[2] == item


def passage_parts(text: str, heading: str) -> Iterator[ReaderPart]:
    """Yield what a passage holds, in reading order. ``heading`` is the one that it is filed under."""
    for block in text.split("\n\n"):
        lines = [line for line in block.splitlines() if line.strip()]
        above = list(takewhile(lambda line: not SEPARATOR.search(line), lines))
        rows = lines[len(above) :]
        last = [] if rows else above[-1:]  # of text; the lines above it are headings
        yield from (ReaderPart("heading", line.strip()) for line in above[: len(above) - len(last)])
        yield from (ReaderPart("heading" if line == heading else "text", line.strip()) for line in last)
        if is_table(rows):
            yield read_table(table_rows(rows))
        else:
            yield from (ReaderPart("text", " ".join(filter(None, fields_of(line)))) for line in rows)


def table_rows(lines: Sequence[str]) -> list[TableRow]:
    """Return the rows of a table, one a line, each padded to the widest. A line without fields spans all columns."""
    rows = [fields_of(line) for line in lines]
    width = max(map(len, rows), default=0)
    return [
        (TableCell(fields[0], is_figure=False, columns=width),)
        if len(fields) == 1 and width > 1
        else tuple(TableCell(text, is_figure(text)) for text in [*fields, *[""] * (width - len(fields))])
        for fields in rows
    ]


def read_table(rows: Sequence[TableRow]) -> ReaderPart:
    """Separate the rows that name columns from the others. A table of words has none."""
    heads = list(takewhile(lambda row: len(row) > 1 and not any(cell.is_amount for cell in row), rows))
    body = rows[len(heads) :]
    with_amounts = [row for row in body if any(cell.is_amount for cell in row)]
    if len(with_amounts) * 2 <= sum(len(row) > 1 for row in body):
        return ReaderPart("table", rows=tuple(rows))
    figures = {column for row in body if len(row) > 1 for column, cell in enumerate(row) if cell.is_figure}
    # A single head above all figures, such as their unit, spans them, also in the last row of heads.
    above = [
        head_rows(row, figures, spans=row is not heads[-1] or sum(bool(cell.text) for cell in row[1:]) == 1)
        for row in heads
    ]
    return ReaderPart("table", heads=tuple(above), rows=tuple(body))


def head_rows(row: TableRow, figures: set[int], *, spans: bool) -> TableRow:
    """Return a row of heads over their columns. With ``spans`` each one spans the columns up to the next."""
    starts = [column for column, cell in enumerate(row) if cell.text or column == 0 or not spans]
    ends = [*starts[1:], len(row)]
    return tuple(
        TableCell(row[start].text, end - start == 1 and start in figures, end - start)
        for start, end in zip(starts, ends, strict=True)
    )


def is_table(rows: Sequence[str]) -> bool:
    """Two rows are a table; so is one with several fields or figures, where a passage was cut inside a table."""
    if len(rows) != 1:
        return len(rows) > 1
    fields = [field for field in fields_of(rows[0]) if field]
    return len(fields) > 2 or (len(fields) == 2 and is_figure(fields[1]))


def fields_of(line: str) -> list[str]:
    return [field.strip() for field in SEPARATOR.split(line)]


def letters_of(words: str) -> str:
    return "".join(letter for letter in words.casefold() if letter.isalnum())
