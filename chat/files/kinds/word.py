"""Word documents (.docx): paragraphs, headings by style, tables, and what is in footnotes and comments."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from docx.oxml.ns import qn
from lxml import etree

from chat.files.blocks import Block, Details, row
from chat.files.kinds.archive import open_archive, parse_xml, transitional

_HEADING = re.compile(r"heading (\d)", re.IGNORECASE)
_DOCUMENT, _STYLES, _PROPERTIES = "word/document.xml", "word/styles.xml", "docProps/core.xml"
_NOTES = ("word/footnotes.xml", "word/endnotes.xml", "word/comments.xml")
_PARTS = (_DOCUMENT, _STYLES, _PROPERTIES, *_NOTES)
_TITLE = "{http://purl.org/dc/elements/1.1/}title"
_PARAGRAPH, _TABLE, _ROW, _CELL = (qn(f"w:{name}") for name in ("p", "tbl", "tr", "tc"))
# A drawing is there a second time for older programs, and what was moved at its old place.
_SKIPPED = frozenset({"{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback", qn("w:moveFrom")})
_TEXTS = frozenset({qn("w:t"), "{http://schemas.openxmlformats.org/officeDocument/2006/math}t"})
_SPACES = {qn("w:tab"): "\t", qn("w:br"): "\n", qn("w:cr"): "\n", qn("w:noBreakHyphen"): "-"}
_MAX_STYLES = 10  # that a style is based on


def read(content: bytes, details: Details) -> Iterator[Block]:
    # Its parts are read here: the library refuses a file for a picture that is missing, and one with macros.
    archive = open_archive(transitional(content))
    parts = {name: parse_xml(archive.read(name)) for name in _PARTS if name in archive.namelist()}
    if _PROPERTIES in parts:
        details.title = parts[_PROPERTIES].findtext(_TITLE) or ""
    styles = {style.get(qn("w:styleId"), ""): style for style in parts[_STYLES]} if _STYLES in parts else {}
    levels = {name: level for name in styles if (level := level_of(name, styles))}
    yield from blocks_in(parts[_DOCUMENT], levels)
    for name in _NOTES:
        if name in parts:
            yield from blocks_in(parts[name], {})


def level_of(style_id: str, styles: Mapping[str, etree._Element]) -> int:
    """Return the level of the headings that have a style, 0 for others."""
    for _step in range(_MAX_STYLES):
        if (style := styles.get(style_id)) is None:
            break
        name = value_of(style, "w:name")
        if name.casefold() == "title":
            return 1
        if found := _HEADING.fullmatch(name):
            return int(found[1])
        style_id = value_of(style, "w:basedOn")
    return 0


def value_of(element: etree._Element, path: str) -> str:
    """Return the value of an element inside of another, empty where there is none."""
    found = element.find("/".join(map(qn, path.split("/"))))
    return found.get(qn("w:val"), "") if found is not None else ""


def blocks_in(parent: etree._Element, levels: dict[str, int]) -> Iterator[Block]:
    """Yield the blocks of an element, also those in content controls and insertions, which the library leaves out."""
    for element in parent:
        if element.tag == _PARAGRAPH:
            text = text_of(element)
            if not text.strip():
                continue
            level = levels.get(value_of(element, "w:pPr/w:pStyle"), 0)
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
