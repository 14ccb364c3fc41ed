"""Word documents (.docx): paragraphs, headings by style, tables, and what is in footnotes and comments."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator

import docx
from docx.oxml.ns import qn
from lxml import etree

from chat.files.blocks import Block, Details, row
from chat.files.kinds.archive import open_archive, parse_xml

_HEADING = re.compile(r"heading (\d)", re.IGNORECASE)
_NOTES = ("word/footnotes.xml", "word/endnotes.xml", "word/comments.xml")
_PARAGRAPH, _TABLE, _ROW, _CELL = (qn(f"w:{name}") for name in ("p", "tbl", "tr", "tc"))
# A drawing is there a second time for older programs, and what was moved at its old place.
_SKIPPED = frozenset({"{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback", qn("w:moveFrom")})
_TEXTS = frozenset({qn("w:t"), "{http://schemas.openxmlformats.org/officeDocument/2006/math}t"})
_SPACES = {qn("w:tab"): "\t", qn("w:br"): "\n", qn("w:cr"): "\n", qn("w:noBreakHyphen"): "-"}
_MAX_STYLES = 10  # that a style is based on


def read(content: bytes, details: Details) -> Iterator[Block]:
    archive = open_archive(content)
    document = docx.Document(io.BytesIO(content))
    details.title = document.core_properties.title or ""
    levels = {style.style_id: level for style in document.styles if (level := level_of(style))}
    yield from blocks_in(document.element.body, levels)
    for name in _NOTES:
        if name in archive.namelist():
            yield from blocks_in(parse_xml(archive.read(name)), {})


def level_of(style: object) -> int:
    """Return the level of the headings that have a style, 0 for others."""
    for _step in range(_MAX_STYLES):
        name = str(getattr(style, "name", "") or "")
        if name.casefold() == "title":
            return 1
        if found := _HEADING.fullmatch(name):
            return int(found[1])
        style = getattr(style, "base_style", None)
    return 0


def blocks_in(parent: etree._Element, levels: dict[str, int]) -> Iterator[Block]:
    """Yield the blocks of an element, also those in content controls and insertions, which the library leaves out."""
    for element in parent:
        if element.tag == _PARAGRAPH:
            text = text_of(element)
            if not text.strip():
                continue
            style = element.find(f"{qn('w:pPr')}/{qn('w:pStyle')}")
            level = levels.get(style.get(qn("w:val"), ""), 0) if style is not None else 0
            yield Block(text.strip(), "heading", level) if level else Block(text)
        elif element.tag == _TABLE:
            for one in outermost(element, _ROW):
                cells = (" ".join(map(text_of, cell.iter(_PARAGRAPH))) for cell in outermost(one, _CELL))
                if found := row(cells):
                    yield found
        else:
            yield from blocks_in(element, levels)


def outermost(parent: etree._Element, tag: str) -> Iterator[etree._Element]:
    """Yield the elements of this kind, but not those inside of them: of a table in a cell."""
    walker = etree.iterwalk(parent, events=("start",), tag=tag)
    for _event, element in walker:
        yield element
        walker.skip_subtree()


def text_of(paragraph: etree._Element) -> str:
    """Return the text of a paragraph, with its links, insertions and text boxes, without what was deleted."""
    pieces = []
    walker = etree.iterwalk(paragraph, events=("start",))
    for _event, element in walker:
        if element.tag in _SKIPPED:
            walker.skip_subtree()
        elif element.tag in _TEXTS:
            pieces.append(element.text or "")
        elif element.tag == _PARAGRAPH and pieces:
            pieces.append("\n")  # of a text box
        else:
            pieces.append(_SPACES.get(element.tag, ""))
    return "".join(pieces).strip("\n").rstrip()
