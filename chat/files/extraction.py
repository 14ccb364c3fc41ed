"""The type of a file by its content, and its text. A kind of document is a row of ``KINDS``.

Nothing is executed, rendered or fetched. All but plain text is parsed in a process of its own with limits of time and
memory.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Mapping
from functools import partial
from importlib import import_module
from pathlib import PurePath
from time import process_time
from typing import Any, Final, NamedTuple, TypeVar
from zipfile import BadZipFile, ZipFile

from chat.files.blocks import PAGE_BREAK, Block, Details, RefusedFileError, joined
from chat.files.encodings import UTF_8, decode, detect_encoding
from chat.files.images import ImageFile
from chat.processes import FILES, MemoryLimitError, NoProcessError, RenderTimeoutError, run_in_process
from chat.validation import storable, trimmed

PDF, RTF, EML, EPUB = "application/pdf", "application/rtf", "message/rfc822", "application/epub+zip"
_OFFICE = "application/vnd.openxmlformats-officedocument."
DOCX = f"{_OFFICE}wordprocessingml.document"
XLSX = f"{_OFFICE}spreadsheetml.sheet"
PPTX = f"{_OFFICE}presentationml.presentation"
HTML, PLAIN, CSV, MARKDOWN = "text/html", "text/plain", "text/csv", "text/markdown"
OLE = "application/x-ole-storage"  # recognised to be refused: old Office files, and new ones with a password
SVG = "image/svg+xml"  # recognised to be refused: no model takes it as an image
DECODED = ("text/",)  # media types whose encoding matters begin so
IMAGES = ("image/png", "image/jpeg", "image/gif", "image/webp")  # what browsers and models both take
MAX_PDF_PAGES = 2_000
TIME_LIMIT_S, COSTLY_S = 10.0, 2.0  # of processor time
# What programs write where nobody gave a title: their own words, an address, or the name of the file that they printed.
DEFAULT_TITLE = re.compile(
    r"(?:word document|(?:powerpoint )?presentation|excel workbook|untitled(?: document)?|document\d*"
    r"|microsoft (?:word|excel|powerpoint) - .*|(?:about|file|data|blob|https?):\S*"
    r"|\S*\.(?:docx?|xlsx?|pptx?|odt|rtf|indd|qxd|tex|dvi|html?|pdf))",
    re.IGNORECASE,
)
MAX_TITLE_CHARS = 300


class Kind(NamedTuple):
    """A kind of document: the module that reads it, and how its files' names end.

    Such a module has ``read(content, details)``. What it needs is loaded in the process for files alone.
    """

    module: str
    suffixes: tuple[str, ...]


KINDS: Final[Mapping[str, Kind]] = {
    PDF: Kind("chat.files.kinds.pdf", (".pdf",)),
    DOCX: Kind("chat.files.kinds.word", (".docx",)),
    XLSX: Kind("chat.files.kinds.workbook", (".xlsx",)),
    PPTX: Kind("chat.files.kinds.slides", (".pptx",)),
    HTML: Kind("chat.files.kinds.html", (".html", ".htm")),
    MARKDOWN: Kind("chat.files.kinds.markdown", (".md", ".markdown")),
    PLAIN: Kind("chat.files.kinds.text", (".txt",)),
    CSV: Kind("chat.files.kinds.table", (".csv",)),
    RTF: Kind("chat.files.kinds.rtf", (".rtf",)),
    EPUB: Kind("chat.files.kinds.epub", (".epub",)),
    EML: Kind("chat.files.kinds.mail", (".eml",)),
}
# What the dialogs of browsers offer; a file of another name is accepted by its content.
_TEXT_SUFFIXES = (".json", ".log", ".tsv", ".xml", ".yaml", ".yml")  # that not all systems know as text
OFFERED_DOCUMENTS = ",".join(("text/*", *(end for kind in KINDS.values() for end in kind.suffixes), *_TEXT_SUFFIXES))
_SIGNATURES = (
    (re.compile(rb"\x89PNG\r\n\x1a\n"), "image/png"),
    (re.compile(rb"\xff\xd8\xff"), "image/jpeg"),
    (re.compile(rb"GIF8[79]a"), "image/gif"),
    (re.compile(rb"RIFF....WEBP", re.DOTALL), "image/webp"),
    (re.compile(rb"\s{0,1000}%PDF-"), PDF),
    (re.compile(rb"\s{0,100}\{\\rtf"), RTF),
    (re.compile(rb"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"), OLE),
)
# A text is of these kinds by its name alone.
_TEXT_TYPES = {suffix: kind for kind in (CSV, MARKDOWN, HTML) for suffix in KINDS[kind].suffixes}
_BINARY_SUFFIXES = frozenset({".png", ".jpg", ".jpeg", ".gif", ".webp", ".pdf", ".docx", ".xlsx", ".pptx", ".epub"})
_PARTS = {
    "word/document.xml": DOCX,
    "xl/workbook.xml": XLSX,
    "ppt/presentation.xml": PPTX,
    "META-INF/container.xml": EPUB,
}
_ZIP_ENTRY = b"PK\x01\x02"
MAX_ZIP_ENTRIES = 50_000  # that are looked at; a book has some hundreds
_PDF_START = b"%PDF-"
MAX_PDF_OFFSET = 1_024  # as much may be in front of it, as viewers allow
_PDF_OBJECT = re.compile(rb"\d \d+ obj\b")
_SVG_START = re.compile(  # possessive: a run of comments can be divided in one way only
    r"\s*+(?:<\?xml[^>]{0,200}+>\s*+)?+(?:<!--(?:(?!-->).){0,2000}+-->\s*+)*+(?:<!DOCTYPE svg\b|<svg\b)",
    re.DOTALL | re.IGNORECASE,
)
_HTML_START = re.compile(r"\s*<(?:!doctype html|html)\b", re.IGNORECASE)
# Header lines. Possessive: to go back takes 100 times the memory of the file.
_EML_START = re.compile(rb"(?:[A-Za-z][A-Za-z0-9-]*+:[^\n]*+\n(?:[ \t][^\n]*+\n)*+)++\r?\n")
_BLANK_LINES = re.compile(r"\n[ \t]*(?:\n[ \t]*){2,}")


class FileText(NamedTuple):
    """The text of a file, at most as much as is used: ``text``, or ``blocks``. ``problem``: why there is none."""

    text: str = ""
    blocks: tuple[Block, ...] = ()
    title: str = ""  # that the file states
    pages: int = 0  # 0: it has none
    picture_sizes: tuple[tuple[int, int, int], ...] = ()  # as ``Details`` has them
    is_cut: bool = False
    problem: str = ""  # encrypted, pages, slow, busy, memory, unreadable, empty, scan, encoding
    is_costly: bool = False  # took long, for nothing


Found = TypeVar("Found", FileText, ImageFile)


def media_type_of(name: str, content: bytes) -> tuple[str | None, str]:
    """Return the media type by content, of a text by its name too; None where it has none of those known here.

    With it comes the encoding of a text, which takes long to detect; nothing for a file of another kind.
    """
    for signature, media_type in _SIGNATURES:
        if signature.match(content):
            return media_type, ""
    suffix = PurePath(name).suffix.lower()
    if (start := content.find(_PDF_START, 0, MAX_PDF_OFFSET + len(_PDF_START))) >= 0 and (
        suffix == ".pdf" or _PDF_OBJECT.search(content, start, start + MAX_PDF_OFFSET)
    ):
        return PDF, ""
    if content.startswith(b"PK\x03\x04"):
        return archived_type(content), ""
    if suffix in KINDS[EML].suffixes and _EML_START.match(content):
        return EML, ""
    encoding = detect_encoding(content)
    # a damaged image or PDF is refused rather than attached as text
    if encoding is None or suffix in _BINARY_SUFFIXES:
        return None, ""
    text = decode(content, encoding) or ""
    if suffix == ".svg" or _SVG_START.match(text):
        return SVG, ""
    return (HTML if _HTML_START.match(text) else _TEXT_TYPES.get(suffix, PLAIN)), encoding


def archived_type(content: bytes) -> str | None:
    """Return the media type of a document that is a ZIP archive, by a part that only its kind has."""
    # Counted before the directory is read, which takes time and memory for each entry.
    if content.count(_ZIP_ENTRY) > MAX_ZIP_ENTRIES:
        return None
    try:
        with ZipFile(io.BytesIO(content)) as archive:
            names = set(archive.namelist())
    except (BadZipFile, ValueError, NotImplementedError):
        return None
    return next((media_type for part, media_type in _PARTS.items() if part in names), None)


def encoding_of(media_type: str, content: bytes) -> str:
    """Return the encoding of a text file, nothing for a file of another kind."""
    return detect_encoding(content) or UTF_8 if media_type.startswith(DECODED) else ""


def is_read_apart(media_type: str) -> bool:
    """Whether the text of a file is read in a process of its own, as everything but plain text is."""
    return media_type == HTML or not media_type.startswith(DECODED)


def text_in(media_type: str, content: bytes, *, max_chars: int, encoding: str = UTF_8) -> FileText:
    """Return the text of a file that is no image: of plain text as it is, else read in the process for files."""
    if not is_read_apart(media_type):
        text = decode(content, encoding)
        return FileText(problem="encoding") if text is None else cut(storable_text(text), max_chars)
    return read_apart(read_text, media_type, content, max_chars, encoding)


def read_apart(work: Callable[..., FileText], *args: Any) -> FileText:
    """Read a file in the process for files."""
    try:
        return run_in_process(partial(measured, work), *args, pool=FILES, limit_s=TIME_LIMIT_S)
    except NoProcessError:
        return FileText(problem="busy")
    except MemoryLimitError:
        return FileText(problem="memory", is_costly=True)
    except RenderTimeoutError:
        return FileText(problem="slow", is_costly=True)


def measured(work: Callable[..., Found], *args: Any) -> Found:
    """Read a file, and say whether that took long for nothing. Runs in the process for files."""
    started = process_time()
    found = work(*args)
    return found._replace(is_costly=bool(found.problem) and process_time() - started > COSTLY_S)


def read_text(media_type: str, content: bytes, max_chars: int, encoding: str = UTF_8) -> FileText:
    """Return the text of a file. Runs in the process for files."""
    found = read_blocks(media_type, content, max_chars, encoding)
    if found.problem:
        return found
    text = cut(_BLANK_LINES.sub("\n\n", joined(found.blocks)), max_chars)
    return text._replace(title=found.title, pages=found.pages, is_cut=found.is_cut or text.is_cut)


def read_blocks(media_type: str, content: bytes, max_chars: int, encoding: str = UTF_8) -> FileText:
    """Return the blocks of a file, the first ``max_chars`` of its text. Runs in a process for files."""
    source: bytes | str | None = decode(content, encoding) if media_type.startswith(DECODED) else content
    if source is None:
        return FileText(problem="encoding")
    blocks: list[Block] = []
    details = Details()
    left = max_chars
    try:
        for block in import_module(KINDS[media_type].module).read(source, details):
            text = storable_text(block.text)
            blocks.append(block._replace(text=text[:left]))
            left -= len(text)
            if left < 0:
                break
    except RefusedFileError as refused:
        return FileText(problem=str(refused))
    except MemoryError:
        return FileText(problem="memory")
    except Exception:  # noqa: BLE001 - a broken file may raise anything
        return FileText(problem="unreadable")
    if not any(block.text.strip() for block in blocks):
        return FileText(problem="scan" if media_type == PDF else "empty")
    title = " ".join(storable_text(details.title).split())[:MAX_TITLE_CHARS]
    title = "" if DEFAULT_TITLE.fullmatch(title) else title
    return FileText(
        blocks=tuple(blocks),
        title=title,
        pages=details.pages,
        picture_sizes=tuple(details.picture_sizes),
        is_cut=left < 0,
    )


def storable_text(text: str) -> str:
    """Return a text with plain line ends, without what can't be stored: PDFs have NUL and lone surrogates."""
    return storable(text.replace("\r\n", "\n").replace("\r", "\n"))


def cut(text: str, max_chars: int) -> FileText:
    text = trimmed(text)
    if not text.strip(PAGE_BREAK + " \n"):
        return FileText(problem="empty")
    return FileText(text[:max_chars], is_cut=len(text) > max_chars)
