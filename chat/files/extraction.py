"""The type of a file by its content, and its text: plain, of HTML, of RTF, of a PDF.

Nothing is executed, rendered or fetched. All but plain text is parsed in a process of its own with limits of time and
memory.
"""

from __future__ import annotations

import io
import logging
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from itertools import islice
from pathlib import PurePath
from time import process_time
from typing import Any, NamedTuple, TypeVar

import pypdf
from pypdf.errors import FileNotDecryptedError, LimitReachedError
from pypdf.generic import DictionaryObject, StreamObject
from striprtf.striprtf import rtf_to_text

from chat.files.encodings import UTF_8, decode, detect_encoding
from chat.files.images import ImageFile
from chat.filings.parse import parse
from chat.html.process import FILES, NoProcessError, RenderTimeoutError, run_in_process

PDF, HTML, RTF, PLAIN = "application/pdf", "text/html", "application/rtf", "text/plain"
SVG = "image/svg+xml"  # recognised to be refused: no model takes it as an image
DECODED = ("text/",)  # media types whose encoding matters begin so
IMAGES = ("image/png", "image/jpeg", "image/gif", "image/webp")  # what browsers and models both take
PAGE_BREAK = "\f"  # between the pages of a PDF
MAX_PDF_PAGES = 2_000
TIME_LIMIT_S, COSTLY_S = 10.0, 2.0  # of processor time
_SIGNATURES = (
    (re.compile(rb"\x89PNG\r\n\x1a\n"), "image/png"),
    (re.compile(rb"\xff\xd8\xff"), "image/jpeg"),
    (re.compile(rb"GIF8[79]a"), "image/gif"),
    (re.compile(rb"RIFF....WEBP", re.DOTALL), "image/webp"),
    (re.compile(rb"\s{0,1000}%PDF-"), PDF),
    (re.compile(rb"\s{0,100}\{\\rtf"), RTF),
)
_TEXT_TYPES = {".csv": "text/csv", ".md": "text/markdown", ".markdown": "text/markdown", ".html": HTML, ".htm": HTML}
_BINARY_SUFFIXES = frozenset({".png", ".jpg", ".jpeg", ".gif", ".webp", ".pdf"})
MAX_FORM_FIELDS = 1_000
_PDF_START = b"%PDF-"
MAX_PDF_OFFSET = 1_024  # as much may be in front of it, as viewers allow
_PDF_OBJECT = re.compile(rb"\d \d+ obj\b")
_SVG_START = re.compile(
    r"\s*(?:<\?xml[^>]{0,200}>\s*)?(?:<!--.{0,2000}?-->\s*)*(?:<!DOCTYPE svg\b|<svg\b)", re.DOTALL | re.IGNORECASE
)
MAX_PARENTS = 16  # of a field of a form
PASSWORD_FIELD, PUSH_BUTTON = 1 << 13, 1 << 16  # flags of fields
_HTML_START = re.compile(r"\s*<(?:!doctype html|html)\b", re.IGNORECASE)
_BLANK_LINES = re.compile(r"\n[ \t]*(?:\n[ \t]*){2,}")


class FileText(NamedTuple):
    """The text of a file, at most as much as is used. ``problem``: why there is none."""

    text: str = ""
    is_cut: bool = False
    problem: str = ""  # encrypted, pages, slow, busy, memory, unreadable, empty, encoding
    is_costly: bool = False  # took long, for nothing


Found = TypeVar("Found", FileText, ImageFile)


class PdfForm:
    """What was typed, chosen or ticked in a PDF, a line for each field, at most ``MAX_FORM_FIELDS``."""

    def __init__(self) -> None:
        self._seen: set[str] = set()  # names of fields that are drawn on a page
        self._left = MAX_FORM_FIELDS

    def values_on(self, page: pypdf.PageObject) -> str:
        """Return the values of the fields that this page draws, and texts that were written on it."""
        annotations: Sequence[Any] = ()
        # A broken form must not cost the text of its page, nor a broken field the others.
        with suppress(Exception):
            annotations = page.annotations or ()
        lines = []
        for reference in islice(annotations, self._left):
            with suppress(Exception):
                annotation = reference.get_object()
                if annotation.get("/Subtype") == "/FreeText":
                    lines.append(f"Note: {annotation.get('/Contents', '')}")
                elif annotation.get("/Subtype") == "/Widget":
                    lines.append(self._line(annotation))
        return self._as_text(lines)

    def values_elsewhere(self, reader: pypdf.PdfReader) -> str:
        """Return the values of fields that no page draws."""
        fields: dict[str, Any] = {}
        with suppress(Exception):
            fields = reader.get_fields() or {}
        lines = []
        for name, found in islice(fields.items(), self._left):
            with suppress(Exception):
                if name not in self._seen:
                    lines.append(value_line(name, [found]))
        return self._as_text(lines)

    def _line(self, widget: DictionaryObject) -> str:
        levels = [widget]
        while len(levels) < MAX_PARENTS and isinstance(parent := levels[-1].get("/Parent"), DictionaryObject):
            levels.append(parent)
        name = ".".join(str(level["/T"]) for level in reversed(levels) if "/T" in level)
        is_button = any(level.get("/FT") == "/Btn" for level in levels)
        is_repeated = name in self._seen and not is_button
        self._seen.add(name)
        return "" if is_repeated else value_line(name, levels)

    def _as_text(self, lines: list[str]) -> str:
        found = list(filter(None, lines))
        self._left -= len(found)
        return "\n".join(["Form fields:", *found]) if found else ""


def value_line(name: str, levels: Sequence[DictionaryObject]) -> str:
    """Return a field's name and value, empty without one. ``levels``: the field, then those it inherits from."""

    def inherited(key: str) -> Any:
        return next((level[key].get_object() for level in levels if key in level), None)

    kind, flags = inherited("/FT"), int(inherited("/Ff") or 0)
    if kind == "/Sig" or (kind == "/Tx" and flags & PASSWORD_FIELD) or (kind == "/Btn" and flags & PUSH_BUTTON):
        return ""
    # The state of a button is that of its widget; several widgets are one choice.
    value = levels[0].get("/AS", inherited("/V")) if kind == "/Btn" else inherited("/V")
    if isinstance(value, StreamObject):
        value = value.get_data().decode("utf-8", "replace")
    options = inherited("/Opt") or []
    # what is shown, by what is stored
    labels = {str(each[0]): str(each[1]) for each in options if isinstance(each, list) and len(each) == 2}
    if kind == "/Btn":
        labels = {str(at): str(each) for at, each in enumerate(options)}
    chosen = [str(each).removeprefix("/") if kind == "/Btn" else str(each) for each in as_list(value)]
    words = ", ".join(labels.get(each, each) for each in chosen if each and each != "Off")
    return f"{inherited('/TU') or name}: {words}" if words else ""


def as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [] if value is None else [value]


def media_type_of(name: str, content: bytes) -> str | None:
    """Return the media type by content, of a text by its name too; None where it has none of those known here."""
    for signature, media_type in _SIGNATURES:
        if signature.match(content):
            return media_type
    suffix = PurePath(name).suffix.lower()
    if (start := content.find(_PDF_START, 0, MAX_PDF_OFFSET + len(_PDF_START))) >= 0 and (
        suffix == ".pdf" or _PDF_OBJECT.search(content, start, start + MAX_PDF_OFFSET)
    ):
        return PDF
    encoding = detect_encoding(content)
    # a damaged image or PDF is refused rather than attached as text
    if encoding is None or suffix in _BINARY_SUFFIXES:
        return None
    text = decode(content, encoding) or ""
    if suffix == ".svg" or _SVG_START.match(text):
        return SVG
    return HTML if _HTML_START.match(text) else _TEXT_TYPES.get(suffix, PLAIN)


def encoding_of(media_type: str, content: bytes) -> str:
    """Return the encoding of a text file, nothing for a file of another kind."""
    return detect_encoding(content) or UTF_8 if media_type.startswith(DECODED) else ""


def is_read_apart(media_type: str) -> bool:
    """Whether a file is read in a process of its own, as everything but plain text is."""
    return media_type == HTML or not media_type.startswith(DECODED)


def text_in(media_type: str, content: bytes, *, max_chars: int, encoding: str = UTF_8) -> FileText:
    """Return the text of a file that is no image."""
    if media_type.startswith(DECODED):
        text = decode(content, encoding)
        if text is None:
            return FileText(problem="encoding")
        if not is_read_apart(media_type):
            return shortened(text, max_chars)
        return read_apart(read_html, text, max_chars)
    return read_apart(read_pdf if media_type == PDF else read_rtf, content, max_chars)


def read_apart(work: Callable[[Any, int], FileText], content: bytes | str, max_chars: int) -> FileText:
    """Read a file in the process for files."""
    try:
        return run_in_process(partial(measured, work), content, max_chars, pool=FILES, limit_s=TIME_LIMIT_S)
    except NoProcessError:
        return FileText(problem="busy")
    except RenderTimeoutError:
        return FileText(problem="slow", is_costly=True)


def measured(work: Callable[..., Found], *args: Any) -> Found:
    """Read a file, and say whether that took long for nothing. Runs in the process for files."""
    started = process_time()
    found = work(*args)
    return found._replace(is_costly=bool(found.problem) and process_time() - started > COSTLY_S)


def read_html(text: str, max_chars: int) -> FileText:
    """Return the visible text of HTML, as of a filing."""
    blocks, _root = parse(text)
    return shortened("\n\n".join(block.text for block in blocks), max_chars)


def read_rtf(content: bytes, max_chars: int) -> FileText:
    """Return the text of a document in Rich Text Format."""
    try:
        return shortened(rtf_to_text(content.decode("latin-1"), errors="replace"), max_chars)
    except Exception:  # noqa: BLE001 - a broken file may raise anything
        return FileText(problem="unreadable")


def read_pdf(content: bytes, max_chars: int) -> FileText:
    """Return the text layer of a PDF, its pages separated by PAGE_BREAK, each with what was typed into its form."""
    # In the process for files, so it doesn't change the server's own logging.
    logging.getLogger("pypdf").setLevel(logging.CRITICAL)  # its warnings quote the file
    pages: list[str] = []
    try:
        reader = pypdf.PdfReader(io.BytesIO(content[content.find(_PDF_START) :]))
        if reader.is_encrypted and not reader.decrypt(""):
            return FileText(problem="encrypted")
        if len(reader.pages) > MAX_PDF_PAGES:
            return FileText(problem="pages")
        form = PdfForm()
        chars = 0
        for page in reader.pages:
            pages.append(f"{page.extract_text().strip()}\n\n{form.values_on(page)}".strip())
            chars += len(pages[-1]) + 1
            if chars > max_chars:
                break
        else:
            pages.append(f"{pages.pop() if pages else ''}\n\n{form.values_elsewhere(reader)}".strip())
    except FileNotDecryptedError:
        return FileText(problem="encrypted")
    except (MemoryError, LimitReachedError):
        return FileText(problem="memory")
    except Exception:  # noqa: BLE001 - a broken file may raise anything
        return FileText(problem="unreadable")
    return shortened(PAGE_BREAK.join(pages), max_chars)


def shortened(text: str, max_chars: int) -> FileText:
    text = _BLANK_LINES.sub("\n\n", text.replace("\r\n", "\n").replace("\x00", "")).strip()
    # PDFs have lone surrogates, which can't be stored
    text = text.encode("utf-8", "replace").decode()
    if not text.strip(PAGE_BREAK + " \n"):
        return FileText(problem="empty")
    return FileText(text[:max_chars], is_cut=len(text) > max_chars)
