"""The type of a file by its content, and its text: plain, of HTML, of a PDF.

Nothing is executed, rendered or fetched. HTML and PDF are parsed in a process of its own with limits of time and
memory. Images are never decoded here.
"""

from __future__ import annotations

import io
import logging
import re
from pathlib import PurePath
from typing import NamedTuple

import pypdf
from pypdf.errors import FileNotDecryptedError

from chat.filings.parse import parse
from chat.html.process import FILES, RenderTimeoutError, run_in_process

PDF, HTML, PLAIN = "application/pdf", "text/html", "text/plain"
IMAGES = ("image/png", "image/jpeg", "image/gif", "image/webp")  # what browsers and models both take
PAGE_BREAK = "\f"  # between the pages of a PDF
MAX_PDF_PAGES = 2_000
TIME_LIMIT_S = 10.0  # of processor time
_SIGNATURES = (
    (re.compile(rb"\x89PNG\r\n\x1a\n"), "image/png"),
    (re.compile(rb"\xff\xd8\xff"), "image/jpeg"),
    (re.compile(rb"GIF8[79]a"), "image/gif"),
    (re.compile(rb"RIFF....WEBP", re.DOTALL), "image/webp"),
    (re.compile(rb"\s{0,1000}%PDF-"), PDF),
)
_TEXT_TYPES = {".csv": "text/csv", ".md": "text/markdown", ".markdown": "text/markdown", ".html": HTML, ".htm": HTML}
_BINARY_SUFFIXES = frozenset({".png", ".jpg", ".jpeg", ".gif", ".webp", ".pdf"})
_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f]")  # not ESC, which logs have for colours
_HTML_START = re.compile(r"\s*<(?:!doctype html|html)\b", re.IGNORECASE)
_BLANK_LINES = re.compile(r"\n[ \t]*(?:\n[ \t]*){2,}")


class FileText(NamedTuple):
    """The text of a file, at most as much as is used. ``problem``: why there is none."""

    text: str = ""
    is_cut: bool = False
    problem: str = ""  # encrypted, pages, slow, unreadable, empty


def media_type_of(name: str, content: bytes) -> str | None:
    """Return the media type by content, of a text by its name too; None for anything that isn't accepted."""
    for signature, media_type in _SIGNATURES:
        if signature.match(content):
            return media_type
    suffix = PurePath(name).suffix.lower()
    text = decode(content)
    # a damaged image or PDF is refused rather than attached as text
    if text is None or suffix in _BINARY_SUFFIXES:
        return None
    return HTML if _HTML_START.match(text) else _TEXT_TYPES.get(suffix, PLAIN)


def decode(content: bytes) -> str | None:
    """Return the text of these bytes: UTF-8, UTF-16 with its mark, or Windows-1252; None where they are no text."""
    # Windows-1252 is last because it accepts nearly any bytes
    encodings = ("utf-16",) if content.startswith((b"\xff\xfe", b"\xfe\xff")) else ("utf-8-sig", "cp1252")
    for encoding in encodings:
        try:
            text = content.decode(encoding)
        except UnicodeError:
            continue
        return None if _CONTROL.search(text) else text
    return None


def text_in(media_type: str, content: bytes, *, max_chars: int) -> FileText:
    """Return the text of a non-image file."""
    if media_type not in (PDF, HTML):
        return shortened(decode(content) or "", max_chars)
    work = read_pdf if media_type == PDF else read_html
    try:
        return run_in_process(work, content, max_chars, pool=FILES, limit_s=TIME_LIMIT_S)
    except RenderTimeoutError:
        return FileText(problem="slow")


def read_html(content: bytes, max_chars: int) -> FileText:
    """Return the visible text of HTML, as of a filing."""
    blocks, _root = parse(decode(content) or "")
    return shortened("\n\n".join(block.text for block in blocks), max_chars)


def read_pdf(content: bytes, max_chars: int) -> FileText:
    """Return the text layer of a PDF, its pages separated by PAGE_BREAK."""
    # In the process for files, so it doesn't change the server's own logging.
    logging.getLogger("pypdf").setLevel(logging.CRITICAL)  # its warnings quote the file
    pages: list[str] = []
    try:
        reader = pypdf.PdfReader(io.BytesIO(content))
        if reader.is_encrypted and not reader.decrypt(""):
            return FileText(problem="encrypted")
        if len(reader.pages) > MAX_PDF_PAGES:
            return FileText(problem="pages")
        chars = 0
        for page in reader.pages:
            pages.append(page.extract_text().strip())
            chars += len(pages[-1]) + 1
            if chars > max_chars:
                break
    except FileNotDecryptedError:
        return FileText(problem="encrypted")
    except Exception:  # noqa: BLE001 - a broken file may raise anything, MemoryError included
        return FileText(problem="unreadable")
    return shortened(PAGE_BREAK.join(pages), max_chars)


def shortened(text: str, max_chars: int) -> FileText:
    text = _BLANK_LINES.sub("\n\n", text.replace("\r\n", "\n").replace("\x00", "")).strip()
    # PDFs have lone surrogates, which can't be stored
    text = text.encode("utf-8", "replace").decode()
    if not text.strip(PAGE_BREAK + " \n"):
        return FileText(problem="empty")
    return FileText(text[:max_chars], is_cut=len(text) > max_chars)
