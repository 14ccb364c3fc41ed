"""The text of a document as the reader page shows it, made from its stored passages.

Blank lines separate blocks. Headings, each on a line of its own, begin a passage; those of its section are shown once,
above it. Lines with separators are rows of a table.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from operator import itemgetter

from chat.documents.passages import SECTION_SEPARATOR
from chat.documents.pictures import pictures_of
from chat.filings.reader import (
    SEPARATOR,
    ReaderPart,
    ReaderPassage,
    ReaderSection,
    is_table,
    mark_part,
    read_table,
    table_rows,
)
from chat.models import Document


def document_sections(
    document: Document, shown: slice, *, cited: str = "", quotes: Sequence[str] = ()
) -> tuple[ReaderSection, ...]:
    """Return a document's sections in its order, with those of their passages that are ``shown``.

    ``cited`` is the anchor of the passage in which ``quotes`` are marked.
    """
    found = document.passages.order_by("ordinal")
    passages = dict(enumerate(found[shown], start=shown.start or 0))
    pictures = pictures_of(document, {passage.page for passage in passages.values()} - {0})
    sections: list[ReaderSection] = []
    page = 0
    names = enumerate(found.values_list("section", flat=True))
    for section, (name, group) in enumerate(groupby(names, key=itemgetter(1)), start=1):
        places = [place for place, _name in group]
        own = []
        for place in places:
            if passage := passages.get(place):
                fragment = passage.anchor.removeprefix("#")
                is_cited = passage.anchor == cited
                parts: Iterator[ReaderPart] = document_parts(passage.text, name)
                if is_cited and quotes:
                    parts = (mark_part(part, quotes) for part in parts)
                shown_page = passage.page if passage.page != page else 0
                number = fragment.rpartition("-p")[2]
                picture = pictures.get(shown_page)
                own.append(ReaderPassage(fragment, number, tuple(parts), is_cited, shown_page, picture))
                page = passage.page
        title = name.rpartition(SECTION_SEPARATOR)[2]
        sections.append(ReaderSection(f"section-{section}", name, title, places[0], tuple(own)))
    return tuple(sections)


def document_parts(text: str, section: str) -> Iterator[ReaderPart]:
    """Yield what a passage holds, in reading order, without the headings that its section is named after.

    A passage of nothing else has them.
    """
    headings = section.split(SECTION_SEPARATOR)
    blocks = [block.split("\n") for block in text.split("\n\n")]
    has_text = any(line not in headings for lines in blocks for line in lines)
    for lines in blocks:
        while has_text and lines and lines[0] in headings:
            lines.pop(0)
        # Markdown has separators at both ends of a row, and a row of dashes below the heads.
        rows = [line for line in lines if line.strip("|-: ")]
        if all(SEPARATOR.search(line) for line in rows) and is_table(rows):
            yield read_table(table_rows([line.strip().strip("|") for line in rows]))
            continue
        if any(line.strip() for line in lines):
            yield ReaderPart("text", "\n".join(lines))
