"""HTML, inline XBRL and plain text to raw blocks.

The walk over HTML is iterative and linear. Scripts, styles, inline-XBRL headers and hidden elements are dropped;
inline elements, whatever their ids, never split a sentence. Nothing is fetched and no entity is loaded: lxml's HTML
parser knows neither external entities nor document types.
"""

from __future__ import annotations

import re
from dataclasses import replace

from lxml import etree
from lxml import html as lxml_html

from chat.filings.blocks import CELL_SEPARATOR, Kind, RawBlock, clean, is_heading, without_page_numbers
from chat.filings.items import starts_section
from chat.filings.tables import Cell, OpenTable, Row, align_rows, is_figure, join_figures

_MARKUP = re.compile(r"<(?:html|body|div|p|table|font|center|pre|span|h[1-6])\b", re.IGNORECASE)
_XML_DECLARATION = re.compile(r"^\s*<\?xml[^>]*\?>")

_BREAKING = frozenset(
    "address article aside blockquote body center dd div dl dt fieldset figure footer form h1 h2 h3 h4 h5 h6 header hr"
    " li main nav ol p pre section table tbody td tfoot th thead tr ul page".split()
)
_SKIPPED = frozenset("script style head noscript template ix:header ix:hidden svg select".split())
_HEADINGS = frozenset("h1 h2 h3 h4 h5 h6".split())
_STRONG = _HEADINGS | {"b", "strong", "u"}
_HIDDEN_STYLE = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)
_STRONG_STYLE = re.compile(r"font-weight\s*:\s*(?:bold|[6-9]00)|text-decoration\s*:\s*underline", re.IGNORECASE)
_BULLET = re.compile(r"[•●▪■◦·*–—☐☒☑✓-]|\[[ x]?\]|o|\(?[a-z0-9]{1,3}[.)]|\*{1,3}|[†‡]", re.IGNORECASE)
_LINE = re.compile(r"[-_=*.—–\s]{3,}")  # drawn with characters
# Auditors' letters and 1990s reports lay out paragraphs in tables.
_PROSE_CHARS = 400  # a longer cell is no field of a row: its table only lays out text
_BACK_TO_CONTENTS = re.compile(r"(?:back to )?(?:table of )?contents|index", re.IGNORECASE)

_TEXT_COLUMNS = re.compile(r"(\s{3,}|\.{4,}|\t+)")
_TEXT_LINE = re.compile(r"[-=_*.\s|+]+")
_TEXT_TAG = re.compile(r"</?(?:PAGE|TABLE|CAPTION|S|C|FN|TEXT|DOCUMENT|PDF|XBRL)>", re.IGNORECASE)
_TAB_WIDTH = 8
# Plain text centres its titles by blanks.
_CENTRED_INDENT = 8
_CENTRED_MAX_CHARS = 60


def parse(text: str, *, is_filing: bool = True) -> tuple[list[RawBlock], etree._Element | None]:
    """Return the raw blocks of one document in reading order, and the root element if it is HTML.

    Of a document that is no filing, whose ``pre`` is code and whose lone numbers are no page numbers, all is returned.
    """
    root = parse_html(text) if _MARKUP.search(text) or not is_filing else None
    return (text_blocks(text) if root is None else html_blocks(root, is_filing=is_filing)), root


def parse_html(text: str) -> etree._Element | None:
    """Return the root element, or None where there is no element."""
    parser = lxml_html.HTMLParser(
        # No network and no entities: a filing comes from a stranger.
        encoding="utf-8",
        huge_tree=True,
        no_network=True,
        remove_comments=True,
        remove_pis=True,
    )
    source = _XML_DECLARATION.sub("", text).encode("utf-8", "replace")
    try:
        return lxml_html.document_fromstring(source, parser=parser, ensure_head_body=False)
    except (etree.ParserError, etree.XMLSyntaxError):
        return None


def html_blocks(root: etree._Element, *, is_filing: bool = True) -> list[RawBlock]:
    """Return the raw blocks of a parsed document in reading order."""
    walk = HtmlWalk(is_filing=is_filing)
    walker = etree.iterwalk(root, events=("start", "end"))
    for event, element in walker:
        if event == "end":
            walk.leave(element)
        elif element.tag in _SKIPPED or _HIDDEN_STYLE.search(element.get("style", "")):
            walker.skip_subtree()
            walk.skip(element)
        elif element.tag == "pre":
            walker.skip_subtree()
            walk.read_preformatted(element)
        else:
            walk.enter(element)
    # Footers are recognised by their repetition, so only once the whole document is read.
    return without_page_numbers(walk.finish()) if is_filing else walk.finish()


class HtmlWalk:
    """The paragraph or row that is being read, its ids and links, and the nesting of bold."""

    def __init__(self, *, is_filing: bool) -> None:
        self.is_filing = is_filing
        self.blocks: list[RawBlock] = []
        self.pieces: list[str] = []
        self.row: etree._Element | None = None  # the open row of several cells
        self.tables = [OpenTable(1)]  # the first is the document's own, for rows outside of any
        self.table_count = 1
        self.ids: list[str] = []
        self.links: list[str] = []
        self.strong = [False]
        self.level = 0  # of the open heading
        self.strong_chars = self.plain_chars = 0

    def enter(self, element: etree._Element) -> None:
        """Read the start of an element."""
        if element.tag in _BREAKING:
            self.end_line()
        match element.tag:
            case "table":
                self.table_count += 1
                self.tables.append(OpenTable(self.table_count))
            case "tr":
                self.row = element if self.tables[-1].begin_row(element, index=len(self.blocks)) else None
            case "br":
                self.pieces.append("\n")
            case tag if tag in _HEADINGS:
                self.level = int(element.tag[1])
        style = element.get("style", "")
        is_strong = element.tag in _STRONG or bool(_STRONG_STYLE.search(style))
        self.strong.append(is_strong or self.strong[-1])
        self.note_ids(element)
        self.add_text(element.text)

    def leave(self, element: etree._Element) -> None:
        """Read the end of an element and the text behind it."""
        if element is self.row:
            self.end_row()
        elif element.tag in _BREAKING:
            if self.row is not None and element.tag in {"td", "th"}:
                self.end_cell()
            self.end_line()
            if element.tag == "tr":
                self.tables[-1].end_line(self.blocks)
            elif element.tag == "table" and len(self.tables) > 1:
                self.tables.pop().finish(self.blocks)
            elif element.tag in _HEADINGS:
                self.level = 0
        self.strong.pop()
        self.add_text(element.tail)

    def skip(self, element: etree._Element) -> None:
        """Leave out an element, but not its ids."""
        self.strong.append(False)
        self.note_ids(element)

    def read_preformatted(self, element: etree._Element) -> None:
        """Read ``pre`` as a plain text document in a filing, elsewhere unchanged."""
        self.end_paragraph()
        self.skip(element)
        text = "".join(str(piece) for piece in element.itertext())
        inner = text_blocks(text) if self.is_filing else [RawBlock(text.strip("\n"), "text")] if text.strip() else []
        if inner and self.ids:
            inner[0] = replace(inner[0], ids=tuple(self.ids))
            self.ids = []
        self.blocks.extend(inner)

    def finish(self) -> list[RawBlock]:
        """Return the blocks, with everything that is still open."""
        self.end_paragraph()
        while self.tables:
            self.tables.pop().finish(self.blocks)
        return self.blocks

    def end_line(self) -> None:
        """End a paragraph. Inside a row of cells a break only separates words."""
        if self.row is not None:
            self.pieces.append(" ")
        else:
            self.end_paragraph()

    def end_paragraph(self) -> None:
        """Append the paragraph. A forced line break also ends it where it is doubled or an Item follows."""
        source, is_strong = "".join(self.pieces), self.strong_chars > 0 and self.plain_chars == 0
        self.pieces, self.strong_chars, self.plain_chars = [], 0, 0
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
        for text in paragraphs:
            self.append(text, "heading" if is_heading(text, is_strong=is_strong) else "text")
        if source.strip():
            self.links = []

    def end_cell(self) -> None:
        """Add the text so far as a cell of the open row."""
        self.tables[-1].add_cell(clean("".join(self.pieces)))
        self.pieces = []

    def end_row(self) -> None:
        """Append the open row: as a row, as a bullet with its text, or as paragraphs that were laid out."""
        self.end_cell()
        cells = join_figures(self.tables[-1].cells)
        self.row, self.strong_chars, self.plain_chars = None, 0, 0
        texts = [cell.text for cell in cells]
        if len(cells) == 2 and _BULLET.fullmatch(texts[0]) and not is_figure(texts[1]):
            self.append(" ".join(texts), "text")
        elif any(len(text) > _PROSE_CHARS for text in texts):
            for text in texts:
                self.append(text, "text")
        elif cells:
            index = len(self.blocks)
            self.append(CELL_SEPARATOR.join(texts), "table" if len(cells) > 1 else "text")
            if len(self.blocks) > index:
                self.tables[-1].rows.append(Row(index, tuple(cells)))
        self.links = []

    def append(self, text: str, kind: Kind) -> None:
        """Append a block, unless it is a drawn line or a link back to the contents."""
        # "Back to contents" links would name every page of some filings.
        if _LINE.fullmatch(text) or (self.links and _BACK_TO_CONTENTS.fullmatch(text)):
            return
        self.blocks.append(RawBlock(text, kind, tuple(self.ids), tuple(self.links), level=self.level))
        self.ids = []

    def note_ids(self, element: etree._Element) -> None:
        """Remember an element's ids, and where a link leads."""
        is_link = element.tag == "a"
        names = ("id", "name") if is_link else ("id",)
        self.ids += [value for name in names if (value := element.get(name))]
        href = element.get("href", "") if is_link else ""
        if href.startswith("#") and len(href) > 1:
            self.links.append(href[1:])

    def add_text(self, text: str | None) -> None:
        """Add text to the paragraph or cell."""
        if not text:
            return
        self.pieces.append(text.replace("\n", " "))
        if self.strong[-1]:
            self.strong_chars += len(text.strip())
        else:
            self.plain_chars += len(text.strip())


def text_blocks(text: str) -> list[RawBlock]:
    """Return the raw blocks of a plain text document in reading order.

    Paragraphs are separated by blank lines; lines with runs of spaces between their columns are table rows.
    """
    reader = TextReader()
    for line in text.splitlines():
        reader.read(_TEXT_TAG.sub("", line).rstrip())
    return without_page_numbers(reader.finish())


class TextReader:
    """The paragraph that is being read, and the rows of the table that may continue."""

    def __init__(self) -> None:
        self.blocks: list[RawBlock] = []
        self._paragraph: list[str] = []
        self._rows: list[Row] = []
        self._table_count = 0

    def read(self, line: str) -> None:
        """Read one line."""
        is_rule = not line or _TEXT_LINE.fullmatch(line) is not None
        cells = split_columns(line)
        is_row = len(cells) > 1 and not is_rule
        if is_rule or is_row or self.begins_paragraph(line):
            self.end_paragraph()
        # An Item and its title, tabbed apart, are a heading.
        is_title = len(cells) == 2 and starts_section(cells[0].text) and not cells[1].text[-1:].isdigit()
        if is_row and not is_title:
            self._rows.append(Row(len(self.blocks), tuple(cells)))
            self.blocks.append(RawBlock(CELL_SEPARATOR.join(cell.text for cell in cells), "table"))
        elif not is_rule:
            self._paragraph.append(line)

    def finish(self) -> list[RawBlock]:
        """Return the blocks, with everything that is still open."""
        self.end_paragraph()
        self.end_table()
        return self.blocks

    def begins_paragraph(self, line: str) -> bool:
        """Whether a line opens a section, or is centred: well indented, short, not where the last one began."""
        if starts_section(clean(line)):
            return True
        before = indent_of(self._paragraph[-1]) if self._paragraph else None
        is_centred = indent_of(line) >= _CENTRED_INDENT and len(line.strip()) < _CENTRED_MAX_CHARS
        was_centred = before is not None and before >= _CENTRED_INDENT and len(self._paragraph) == 1
        return before != indent_of(line) and (is_centred or was_centred)

    def end_paragraph(self) -> None:
        """Append the paragraph. A single line may head rows of a table; more lines end the table."""
        lines, self._paragraph = self._paragraph, []
        text = clean(" ".join(lines))
        if not text:
            return
        if len(lines) > 1:
            self.end_table()
        elif self._rows:
            indent = indent_of(lines[0])
            self._rows.append(Row(len(self.blocks), (Cell(text, indent, indent + len(text)),)))
        self.blocks.append(RawBlock(text, "heading" if is_heading(text, is_strong=False) else "text"))

    def end_table(self) -> None:
        """Give the rows so far their columns."""
        rows, self._rows = self._rows, []
        if rows:
            self._table_count += 1
            align_rows(self.blocks, rows, table=self._table_count)


def indent_of(line: str) -> int:
    """Return how many blanks a line begins with."""
    return len(line) - len(line.lstrip())


def split_columns(line: str) -> list[Cell]:
    """Return the cells of a line whose columns are set with blanks, dots or tabs."""
    cells, at = [], 0
    for place, piece in enumerate(_TEXT_COLUMNS.split(line)):
        start = at
        for char in piece:
            at += _TAB_WIDTH - at % _TAB_WIDTH if char == "\t" else 1
        if place % 2 == 0:
            cells.append(Cell(clean(piece), start, at))
    return join_figures(cells)
