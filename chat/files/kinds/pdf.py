"""PDFs by PDFium: their text layer with pages, paragraphs, headings by the outline and by their type, and forms.

Also pictures of their pages.
"""

from __future__ import annotations

import ctypes
import io
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from importlib import import_module
from typing import NamedTuple

import pypdfium2 as pdfium
from pypdfium2 import raw

from chat.files.blocks import MINOR_HEADING, Block, Details, RefusedFileError
from chat.files.extraction import MAX_PDF_PAGES

_START = b"%PDF-"
_BOLD = 600  # weight of a font
_LARGER = 1.12  # than the text: the least a heading is
_SIZES = 3  # levels of headings by their size
_HEADING_CHARS = 200
_PARAGRAPH_GAP = 0.5  # of the height of a line, above the first one of a paragraph
_MAX_REPEATED_SHARE = 0.2  # of the pages: what is on more is a running title
_MAX_BOOKMARKS = 5_000
_MAX_ANNOTATIONS = 1_000  # of a page
# Of a picture. A page is as wide as that, unless it is so long that it would be too high.
_PICTURE_WIDTH_PX, _PICTURE_HEIGHT_PX = 1_200, 2_400
_ROW = re.compile(r"\S.*?(?:\s+[$€£(]*[-–]?\d[\d.,]*[%)]*){2,}")  # figures at the end
_SENTENCE_END = re.compile(r"[.!?:;][\"”’)]?$")
_WORD = re.compile(r"[^\W\d_]{2}")
_HYPHENATED = re.compile(r"[\x02\ufffe]\s*")  # PDFium marks so where a word continues on the next line
# TeX draws some letters as an accent and a letter.
_ACCENTS = {"¨": "\u0308", "´": "\u0301", "ˆ": "\u0302", "˜": "\u0303", "˚": "\u030a", "ˇ": "\u030c"}
_ACCENTED = re.compile(rf"([{''.join(_ACCENTS)}])([^\W\d_])")


class Line(NamedTuple):
    """A line of a page. Lengths are those of the page; ``size`` is the height of its type."""

    text: str
    page: int
    size: float
    top: float
    bottom: float
    is_bold: bool


def read(content: bytes, details: Details) -> Iterator[Block]:
    with opened(content) as document:
        details.pages = len(document)
        if details.pages > MAX_PDF_PAGES:
            raise RefusedFileError("pages")
        details.title = document.get_metadata_value("Title")
        lines: dict[int, list[Line]] = {}
        scanned: list[int] = []
        has_form = document.get_formtype() != raw.FORMTYPE_NONE
        for number in range(1, details.pages + 1):
            page = document[number - 1]
            with closing(page), closing(page.get_textpage()) as textpage:
                size = picture_size(page)
                if not details.picture_sizes or details.picture_sizes[-1][1:] != size:
                    details.picture_sizes.append((number, *size))
                lines[number] = list(lines_of(textpage, number))
                if not lines[number] and next(page.get_objects([raw.FPDF_PAGEOBJ_IMAGE]), None):
                    scanned.append(number)
                has_form = has_form or has_notes(page)
        form = None
        if has_form:
            # Few files have a form, and pypdf takes time and memory to load.
            forms = import_module("chat.files.kinds.pdf_forms")
            with suppress(Exception):
                form = forms.PdfForm(content)
        headings = Headings(lines, outline_of(document))
        # A file of scans alone is refused as such.
        notes = notes_on_scans(scanned) if any(lines.values()) else {}
        for number, of_page in lines.items():
            yield from blocks_of(of_page, headings)
            if number in notes:
                yield Block(notes[number], page=number)
            if form and (values := form.values_on(number)):
                yield Block(values, page=number)
        if form and (values := form.values_elsewhere()):
            yield Block(values, page=details.pages)


def notes_on_scans(scanned: Iterable[int]) -> dict[int, str]:
    """Return a note for each run of pages whose text is missing, by its first page: models would not know of it."""
    runs: list[list[int]] = []
    for number in scanned:
        if runs and runs[-1][1] == number - 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    words = "[{} without a text layer, such as a scan: no text was read from it.]"
    return {
        first: words.format(f"Page {first}" if first == last else f"Pages {first} to {last}") for first, last in runs
    }


@contextmanager
def opened(content: bytes) -> Iterator[pdfium.PdfDocument]:
    """Open a PDF. Raises RefusedFileError."""
    content = content[max(0, content.find(_START)) :]
    try:
        document = pdfium.PdfDocument(content)
    except pdfium.PdfiumError as error:
        is_locked = error.err_code in {raw.FPDF_ERR_PASSWORD, raw.FPDF_ERR_SECURITY}
        raise RefusedFileError("encrypted" if is_locked else "unreadable") from error
    with closing(document):
        yield document


def draw(content: bytes, number: int) -> bytes:
    """Return a WebP picture of a page, with what is filled in and noted on it. Raises RefusedFileError, PdfiumError."""
    with opened(content) as document:
        if document.get_formtype() != raw.FORMTYPE_NONE:
            document.init_forms()  # else fields are empty; scripts of a form aren't run: this PDFium has no interpreter
        with closing(document[number - 1]) as page, closing(page.render(scale=picture_scale(page))) as bitmap:
            out = io.BytesIO()
            bitmap.to_pil().save(out, "WEBP", quality=80, method=2)
            return out.getvalue()


def picture_size(page: pdfium.PdfPage) -> tuple[int, int]:
    """Return width and height in pixels of a page's picture."""
    scale = picture_scale(page)
    width, height = (max(1, round(side * scale)) for side in page.get_size())
    return width, height


def picture_scale(page: pdfium.PdfPage) -> float:
    """Return how many pixels a picture has for a point of its page."""
    width, height = (max(1.0, side) for side in page.get_size())
    scale: float = min(_PICTURE_WIDTH_PX / width, _PICTURE_HEIGHT_PX / height)
    return scale


def lines_of(textpage: pdfium.PdfTextPage, page: int) -> Iterator[Line]:
    """Yield the lines of a page that have text."""
    text = textpage.get_text_range()
    start = 0
    for written in re.split(r"(?<=\n)", text):
        if words := " ".join(as_words(written).split()):
            # Its first and last characters, and one between them: a bullet or a mark of a note has its own size.
            places = [start + found.start() for found in re.finditer(r"\S", written)]
            at = [
                raw.FPDFText_GetCharIndexFromTextIndex(textpage, place)
                for place in (places[0], places[len(places) // 2], places[-1])
            ]
            box = raw.FS_RECTF()
            raw.FPDFText_GetLooseCharBox(textpage, at[1], ctypes.byref(box))
            is_bold = all(raw.FPDFText_GetFontWeight(textpage, each) >= _BOLD for each in at)
            yield Line(words, page, round(abs(box.top - box.bottom), 1), box.top, box.bottom, is_bold)
        start += len(written)


def as_words(text: str) -> str:
    """Return a text with its divided words and accented letters whole again."""
    text = _HYPHENATED.sub("", text)
    return _ACCENTED.sub(lambda found: unicodedata.normalize("NFC", found[2] + _ACCENTS[found[1]]), text)


def has_notes(page: pdfium.PdfPage) -> bool:
    """Whether a text was written on a page."""
    for index in range(min(raw.FPDFPage_GetAnnotCount(page), _MAX_ANNOTATIONS)):
        annotation = raw.FPDFPage_GetAnnot(page, index)
        subtype = raw.FPDFAnnot_GetSubtype(annotation)
        raw.FPDFPage_CloseAnnot(annotation)
        if subtype == raw.FPDF_ANNOT_FREETEXT:
            return True
    return False


def outline_of(document: pdfium.PdfDocument) -> Mapping[int, Mapping[str, int]]:
    """Return the titles of the outline with their levels, by page."""
    found: defaultdict[int, dict[str, int]] = defaultdict(dict)
    for count, bookmark in enumerate(document.get_toc(), start=1):
        destination = bookmark.get_dest()
        index = destination.get_index() if destination else None
        if index is not None:
            found[index + 1][folded(bookmark.get_title())] = bookmark.level + 1
        if count >= _MAX_BOOKMARKS:
            break
    return found


class Headings:
    """Which lines of a document are headings: those of its outline, and larger or bold ones."""

    def __init__(self, lines: Mapping[int, list[Line]], outline: Mapping[int, Mapping[str, int]]) -> None:
        self._outline = outline
        chars: Counter[float] = Counter()
        pages: defaultdict[str, set[int]] = defaultdict(set)
        for line in (line for of_page in lines.values() for line in of_page):
            chars[line.size] += len(line.text)
            pages[folded(line.text)].add(line.page)
        self._size = chars.most_common(1)[0][0] if chars else 0.0
        most = max(2, _MAX_REPEATED_SHARE * len(lines))
        self._running = {text for text, found in pages.items() if len(found) > most}
        larger = sorted((size for size in chars if size >= self._size * _LARGER), reverse=True)
        # The levels of the outline come first.
        below = max((level for of_page in outline.values() for level in of_page.values()), default=0)
        self._levels = {size: below + min(rank, _SIZES) for rank, size in enumerate(larger, start=1)}

    def level(self, line: Line) -> int:
        """Return the level of a line that looks like a heading, else 0."""
        if len(line.text) > _HEADING_CHARS or not _WORD.search(line.text) or folded(line.text) in self._running:
            return 0
        if line.size in self._levels:
            return self._levels[line.size]
        is_title = line.is_bold and line.size >= self._size and not _SENTENCE_END.search(line.text)
        return MINOR_HEADING if is_title else 0

    def level_in_outline(self, text: str, page: int) -> int:
        """Return the level that the outline gives to a text of a page, else 0."""
        titles = self._outline.get(page)
        if not titles or len(text) > _HEADING_CHARS:
            return 0
        # The outline may leave out the number of a chapter, or have it alone.
        written = folded(text)
        return next((level for title, level in titles.items() if title and written.endswith(title)), 0)


def blocks_of(lines: Iterable[Line], headings: Headings) -> Iterator[Block]:
    """Yield the blocks of a page."""
    run: list[Line] = []
    level = 0
    for line in lines:
        level_here = headings.level(line)
        if run and (level_here != level or begins_paragraph(run[-1], line)):
            yield block_of(run, level, headings)
            run = []
        run.append(line)
        level = level_here
    if run:
        yield block_of(run, level, headings)


def begins_paragraph(before: Line, line: Line) -> bool:
    if _ROW.fullmatch(line.text) or _ROW.fullmatch(before.text):
        return True
    if abs(line.size - before.size) > (_LARGER - 1) * before.size:
        return True
    if line.top > before.top:  # at the top of another column
        return bool(_SENTENCE_END.search(before.text))
    return before.bottom - line.top > _PARAGRAPH_GAP * before.size


def block_of(run: list[Line], level: int, headings: Headings) -> Block:
    text = " ".join(line.text for line in run)
    level = headings.level_in_outline(text, run[0].page) or level
    if level and len(text) <= _HEADING_CHARS:
        return Block(text, "heading", level, run[0].page)
    return Block(text, "table" if _ROW.fullmatch(text) else "text", page=run[0].page)


def folded(text: str) -> str:
    """Return a text without what differs between an outline and its page, or between pages: space, case, numbers."""
    return " ".join(re.findall(r"[^\W\d_]+", unicodedata.normalize("NFKC", text).casefold()))
