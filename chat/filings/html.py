# ruff: noqa: SIM905 - long word lists read best as text
"""HTML and inline XBRL to raw blocks, on lxml.

The walk is iterative and linear in the document. Scripts, styles, inline-XBRL headers and whatever the source hides
are dropped; inline elements, whatever their ids, never split a sentence. Nothing is fetched and no entity is loaded:
the HTML parser knows neither external entities nor document types.
"""

from __future__ import annotations

import re
from dataclasses import replace

from lxml import etree
from lxml import html as lxml_html

from chat.filings.blocks import CELL_SEPARATOR, RawBlock, clean, is_heading
from chat.filings.grid import Cell, is_figure
from chat.filings.items import starts_section
from chat.filings.pages import numbered
from chat.filings.plaintext import text_blocks
from chat.filings.tables import OpenTable, row_cells

_BREAKING = frozenset(
    "address article aside blockquote body center dd div dl dt fieldset figure footer form h1 h2 h3 h4 h5 h6 header hr"
    " li main nav ol p pre section table tbody td tfoot th thead tr ul page".split()
)
_SKIPPED = frozenset(["script", "style", "head", "noscript", "template", "ix:header", "ix:hidden", "svg", "select"])
_STRONG = frozenset(["b", "strong", "u", "h1", "h2", "h3", "h4", "h5", "h6"])
_HIDDEN_STYLE = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)
_STRONG_STYLE = re.compile(r"font-weight\s*:\s*(?:bold|[6-9]00)|text-decoration\s*:\s*underline", re.IGNORECASE)
_PLAIN_STYLE = re.compile(r"font-weight\s*:\s*(?:normal|[1-5]00)", re.IGNORECASE)
_BULLET = re.compile(r"[•●▪■◦·*–—☐☒☑✓-]|\[[ x]?\]|o|\(?[a-z0-9]{1,3}[.)]|\*{1,3}|[†‡]", re.IGNORECASE)
_RULE = re.compile(r"[-_=*.—–\s]{3,}")  # a line drawn with letters
_PROSE_CHARS = 400  # a cell that is longer is no field of a row: its table only lays out text
_XML_DECLARATION = re.compile(r"^\s*<\?xml[^>]*\?>")
_BACK_TO_CONTENTS = re.compile(r"(?:back to )?(?:table of )?contents|index", re.IGNORECASE)


def parse_html(text: str) -> etree._Element | None:
    """Return the root element, or None where there is no element at all."""
    parser = lxml_html.HTMLParser(
        encoding="utf-8", huge_tree=True, no_network=True, remove_comments=True, remove_pis=True
    )
    source = _XML_DECLARATION.sub("", text).encode("utf-8", "replace")
    try:
        return lxml_html.document_fromstring(source, parser=parser, ensure_head_body=False)
    except (etree.ParserError, etree.XMLSyntaxError):
        return None


def html_blocks(root: etree._Element) -> list[RawBlock]:
    """Return the raw blocks of a parsed document in reading order."""
    walk = _Walk()
    walker = etree.iterwalk(root, events=("start", "end"))
    for event, element in walker:
        if event == "end":
            walk.leave(element)
        elif _is_dropped(element):
            walker.skip_subtree()
            walk.skip(element)
        elif element.tag == "pre":
            walker.skip_subtree()
            walk.preformatted(element)
        else:
            walk.enter(element)
    return numbered(walk.finish())


def _is_dropped(element: etree._Element) -> bool:
    return element.tag in _SKIPPED or bool(_HIDDEN_STYLE.search(element.get("style", "")))


class _Walk:
    """The state of one walk: the paragraph or row being built, its ids and links, and how deep bold goes."""

    def __init__(self) -> None:
        self.blocks: list[RawBlock] = []
        self.pieces: list[str] = []
        self.row: etree._Element | None = None  # the row of cells that is being read
        self.tables = [OpenTable(1)]  # the first is the document's own, for rows outside of any
        self.tables_seen = 1
        self.ids: list[str] = []
        self.links: list[str] = []
        self.strong = [False]
        self.strong_chars = 0
        self.plain_chars = 0

    def enter(self, element: etree._Element) -> None:
        tag = element.tag
        if tag in _BREAKING:
            self._break()
            self._begin(element)
        elif tag == "br":
            self.pieces.append("\n")
        self.strong.append(self._is_strong(element))
        self._note_ids(element)
        self._add(element.text)

    def leave(self, element: etree._Element) -> None:
        if element is self.row:
            self._end_row()
        elif element.tag in _BREAKING:
            self._leave_breaking(element)
        self.strong.pop()
        self._add(element.tail)

    def skip(self, element: etree._Element) -> None:
        self.strong.append(False)
        self._note_ids(element)

    def preformatted(self, element: etree._Element) -> None:
        self.flush()
        self.strong.append(False)
        self._note_ids(element)
        inner = text_blocks("".join(str(piece) for piece in element.itertext()))
        if inner and self.ids:
            inner[0] = replace(inner[0], ids=tuple(self.ids))
            self.ids = []
        self.blocks.extend(inner)

    def finish(self) -> list[RawBlock]:
        self.flush()
        while self.tables:
            self.tables.pop().finish(self.blocks)
        return self.blocks

    def flush(self) -> None:
        """End the paragraph. A forced line break ends it too where it is doubled or an Item follows."""
        source, strong = "".join(self.pieces), self.strong_chars > 0 and self.plain_chars == 0
        self.pieces, self.strong_chars, self.plain_chars = [], 0, 0
        for text in _paragraphs(source):
            self._append(text, "heading" if is_heading(text, is_strong=strong) else "text")
        if source.strip():
            self.links = []

    def _break(self) -> None:
        """End a paragraph. Inside a row of cells a break parts words only."""
        if self.row is not None:
            self.pieces.append(" ")
        else:
            self.flush()

    def _begin(self, element: etree._Element) -> None:
        if element.tag == "table":
            self.tables_seen += 1
            self.tables.append(OpenTable(self.tables_seen))
        elif element.tag == "tr":
            cells = row_cells(element)
            is_row = self.tables[-1].begin_row(cells, at=len(self.blocks))
            self.row = element if is_row else None

    def _leave_breaking(self, element: etree._Element) -> None:
        if self.row is not None and element.tag in {"td", "th"}:
            self.tables[-1].add_cell(clean("".join(self.pieces)))
            self.pieces = []
        self._break()
        if element.tag == "tr":
            self.tables[-1].end_line(self.blocks)
        elif element.tag == "table" and len(self.tables) > 1:
            self.tables.pop().finish(self.blocks)

    def _end_row(self) -> None:
        self.tables[-1].add_cell(clean("".join(self.pieces)))
        cells = self.tables[-1].end_row()
        self.pieces, self.row, self.strong_chars, self.plain_chars = [], None, 0, 0
        texts = [cell.text for cell in cells]
        if len(cells) == 2 and _BULLET.fullmatch(texts[0]) and not is_figure(texts[1]):
            self._append(" ".join(texts), "text")
        elif any(len(text) > _PROSE_CHARS for text in texts):
            for text in texts:
                self._append(text, "text")
        elif cells:
            self._append_row(cells)
        self.links = []

    def _append_row(self, cells: list[Cell]) -> None:
        before = len(self.blocks)
        self._append(CELL_SEPARATOR.join(cell.text for cell in cells), "table" if len(cells) > 1 else "text")
        if len(self.blocks) > before:
            self.tables[-1].add_row(before, cells)

    def _append(self, text: str, kind: str) -> None:
        if _RULE.fullmatch(text) or (self.links and _BACK_TO_CONTENTS.fullmatch(text)):
            return
        self.blocks.append(RawBlock(text, kind, tuple(self.ids), tuple(self.links)))  # type: ignore[arg-type]
        self.ids = []

    def _note_ids(self, element: etree._Element) -> None:
        for key in ("id", "name") if element.tag == "a" else ("id",):
            if value := element.get(key):
                self.ids.append(value)
        href = element.get("href", "") if element.tag == "a" else ""
        if href.startswith("#") and len(href) > 1:
            self.links.append(href[1:])

    def _add(self, text: str | None) -> None:
        if not text:
            return
        self.pieces.append(text.replace("\n", " "))
        if chars := len(text.strip()):
            if self.strong[-1]:
                self.strong_chars += chars
            else:
                self.plain_chars += chars

    def _is_strong(self, element: etree._Element) -> bool:
        style = element.get("style", "")
        if element.tag in _STRONG or _STRONG_STYLE.search(style):
            return True
        return self.strong[-1] and not _PLAIN_STYLE.search(style)


def _paragraphs(source: str) -> list[str]:
    paragraphs: list[str] = []
    is_new = True
    for line in source.split("\n"):
        text = clean(line)
        if not text:
            is_new = True
        elif is_new or starts_section(text):
            paragraphs.append(text)
            is_new = False
        else:
            paragraphs[-1] += " " + text
    return paragraphs
