"""The type of a file by its content, and its text: plain, of HTML, of RTF, of a PDF.

Nothing is executed, rendered or fetched. All but plain text is parsed in a process of its own with limits of time and
memory.
"""

from __future__ import annotations

import io
import logging
import re
from collections.abc import Callable
from itertools import islice
from pathlib import PurePath
from typing import Any, NamedTuple

import pypdf
from pypdf.errors import FileNotDecryptedError
from striprtf.striprtf import rtf_to_text

from chat.attachments.encodings import UTF_8, decode, detect_encoding
from chat.filings.parse import parse
from chat.html.process import FILES, NoProcessError, RenderTimeoutError, run_in_process

PDF, HTML, RTF, PLAIN = "application/pdf", "text/html", "application/rtf", "text/plain"
DECODED = ("text/",)  # media types whose encoding matters begin so
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
    (re.compile(rb"\s{0,100}\{\\rtf"), RTF),
)
_TEXT_TYPES = {".csv": "text/csv", ".md": "text/markdown", ".markdown": "text/markdown", ".html": HTML, ".htm": HTML}
_BINARY_SUFFIXES = frozenset({".png", ".jpg", ".jpeg", ".gif", ".webp", ".pdf"})
MAX_FORM_FIELDS = 1_000
_PDF_START = b"%PDF-"
MAX_PDF_OFFSET = 1_024  # as much may be in front of it, as viewers allow
_HTML_START = re.compile(r"\s*<(?:!doctype html|html)\b", re.IGNORECASE)
_BLANK_LINES = re.compile(r"\n[ \t]*(?:\n[ \t]*){2,}")


class FileText(NamedTuple):
    """The text of a file, at most as much as is used. ``problem``: why there is none."""

    text: str = ""
    is_cut: bool = False
    problem: str = ""  # encrypted, pages, slow, busy, unreadable, empty, encoding


def media_type_of(name: str, content: bytes) -> str | None:
    """Return the media type by content, of a text by its name too; None for anything that isn't accepted."""
    for signature, media_type in _SIGNATURES:
        if signature.match(content):
            return media_type
    suffix = PurePath(name).suffix.lower()
    if suffix == ".pdf" and _PDF_START in content[:MAX_PDF_OFFSET]:
        return PDF
    encoding = detect_encoding(content)
    # a damaged image or PDF is refused rather than attached as text
    if encoding is None or suffix in _BINARY_SUFFIXES:
        return None
    return HTML if _HTML_START.match(decode(content, encoding) or "") else _TEXT_TYPES.get(suffix, PLAIN)


def encoding_of(media_type: str, content: bytes) -> str:
    """Return the encoding of a text file, nothing for a file of another kind."""
    return detect_encoding(content) or UTF_8 if media_type.startswith(DECODED) else ""


def text_in(media_type: str, content: bytes, *, max_chars: int, encoding: str = UTF_8) -> FileText:
    """Return the text of a non-image file."""
    if media_type.startswith(DECODED):
        text = decode(content, encoding)
        if text is None:
            return FileText(problem="encoding")
        if media_type != HTML:
            return shortened(text, max_chars)
        return read_apart(read_html, text, max_chars)
    return read_apart(read_pdf if media_type == PDF else read_rtf, content, max_chars)


def read_apart(work: Callable[[Any, int], FileText], content: bytes | str, max_chars: int) -> FileText:
    """Read a file in the process for files."""
    try:
        return run_in_process(work, content, max_chars, pool=FILES, limit_s=TIME_LIMIT_S)
    except NoProcessError:
        return FileText(problem="busy")
    except RenderTimeoutError:
        return FileText(problem="slow")


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
    """Return the text layer of a PDF, its pages separated by PAGE_BREAK, with what was typed into its form in front."""
    # In the process for files, so it doesn't change the server's own logging.
    logging.getLogger("pypdf").setLevel(logging.CRITICAL)  # its warnings quote the file
    pages: list[str] = []
    try:
        reader = pypdf.PdfReader(io.BytesIO(content[content.find(_PDF_START) :]))
        if reader.is_encrypted and not reader.decrypt(""):
            return FileText(problem="encrypted")
        if len(reader.pages) > MAX_PDF_PAGES:
            return FileText(problem="pages")
        typed = form_values(reader)
        chars = len(typed)
        for page in reader.pages:
            pages.append(page.extract_text().strip())
            chars += len(pages[-1]) + 1
            if chars > max_chars:
                break
    except FileNotDecryptedError:
        return FileText(problem="encrypted")
    except Exception:  # noqa: BLE001 - a broken file may raise anything, MemoryError included
        return FileText(problem="unreadable")
    return shortened(typed + PAGE_BREAK.join(pages), max_chars)


def form_values(reader: pypdf.PdfReader) -> str:
    """Return what was typed or chosen in the form of a PDF, a line for each field; nothing without a form."""
    lines = []
    for name, form_field in islice((reader.get_fields() or {}).items(), MAX_FORM_FIELDS):
        value = form_field.get("/V")
        chosen = value if isinstance(value, list) else [value]
        # The state of a check box is a name, which begins with a slash.
        words = ", ".join(str(each).removeprefix("/") for each in chosen if each not in (None, "", "/Off"))
        if words and form_field.get("/FT") != "/Sig":
            lines.append(f"{form_field.get('/TU') or name}: {words}")
    return "\n".join(["Form fields:", *lines, "", ""]) if lines else ""


def shortened(text: str, max_chars: int) -> FileText:
    text = _BLANK_LINES.sub("\n\n", text.replace("\r\n", "\n").replace("\x00", "")).strip()
    # PDFs have lone surrogates, which can't be stored
    text = text.encode("utf-8", "replace").decode()
    if not text.strip(PAGE_BREAK + " \n"):
        return FileText(problem="empty")
    return FileText(text[:max_chars], is_cut=len(text) > max_chars)
