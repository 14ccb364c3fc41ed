"""A file as EDGAR publishes it, split into its parts.

A full submission is an SGML envelope: a header, which alone states the filing date, then documents, each with its type.
A primary document by itself has no envelope, or only its own ``<DOCUMENT>`` lines.
"""

from __future__ import annotations

import datetime as dt
import re
from dataclasses import dataclass

from django.utils.translation import gettext as _

MAX_BYTES = 25 * 1024 * 1024
SUFFIXES = (".htm", ".html", ".xhtml", ".txt", ".xml")  # of the documents that EDGAR publishes
# Memory and time go by elements and lines: a real filing of 25 MB would have about half as many.
MAX_TAGS_AND_LINES = 1_000_000

_DOCUMENT = re.compile(r"<DOCUMENT>(?P<body>.*?)(?:</DOCUMENT>|(?=<DOCUMENT>)|\Z)", re.IGNORECASE | re.DOTALL)
_HEADER_END = re.compile(r"</(?:SEC|IMS)-HEADER>|<DOCUMENT>", re.IGNORECASE)
_HEADER_START = re.compile(r"<(?:SEC|IMS)-HEADER>|<SEC-DOCUMENT>|ACCESSION NUMBER:|CONFORMED SUBMISSION TYPE:")
_TEXT = re.compile(r"<TEXT>(?P<text>.*?)(?:</TEXT>|\Z)", re.IGNORECASE | re.DOTALL)
_WRAPPED = re.compile(r"^\s*<(?:XBRL|XML)>|</(?:XBRL|XML)>\s*$", re.IGNORECASE)
# Exhibit 13 is the annual report that a 10-K refers to, 99 the press release of an 8-K.
_READABLE_EXHIBIT = re.compile(r"EX-(?:13|99)\b", re.IGNORECASE)
_STATE = re.compile(r"\s*/(?:[A-Z]{2,3}/?)?$")  # EDGAR distinguishes namesakes: ACME INC /DE/
_FIELD = r"^[ \t<]*{name}[>:][ \t]*(?P<value>[^\r\n<]+)"


class DocumentError(ValueError):
    """A file can't be parsed as a filing. The text says why, for the person who loads it."""


@dataclass(frozen=True, slots=True)
class SubmissionPart:
    """One document of a submission: its type ("10-K", "EX-99.1"; empty if not said), file name and source text."""

    type: str
    filename: str
    text: str


@dataclass(frozen=True, slots=True)
class EdgarSubmission:
    """The fields of the envelope, empty without one, and the documents that have text for readers."""

    documents: tuple[SubmissionPart, ...]
    form: str = ""
    company: str = ""
    cik: str = ""
    accession: str = ""
    filed_on: dt.date | None = None
    period_on: dt.date | None = None


def check_size(size: int) -> None:
    """Raise DocumentError for more bytes than are parsed."""
    if size > MAX_BYTES:
        raise DocumentError(
            _("larger than the limit of %(limit)d MB (%(size).1f MB)")
            % {"limit": MAX_BYTES // 1024**2, "size": size / 1024**2}
        )


def decode(content: bytes) -> str:
    """Return the text of a file. Raises DocumentError where it is too large, too dense, empty or no text."""
    check_size(len(content))
    is_utf16 = content.startswith((b"\xff\xfe", b"\xfe\xff"))
    is_archive = content.startswith((b"%PDF", b"PK\x03\x04", b"\x1f\x8b", b"\xd0\xcf\x11\xe0"))
    if is_archive or (not is_utf16 and content[:4096].count(0) > 2):
        raise DocumentError(_("not an HTML or text document"))
    try:
        text = content.decode("utf-16", "replace") if is_utf16 else content.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = content.decode("cp1252", "replace")
    if not text.strip():
        raise DocumentError(_("the file is empty"))
    if text.count("<") + text.count("\n") > MAX_TAGS_AND_LINES:
        raise DocumentError(_("more than the limit of %(limit)d tags and lines") % {"limit": MAX_TAGS_AND_LINES})
    return text


def read_submission(text: str) -> EdgarSubmission:
    """Split a file into the fields of its header and its documents: the main one first, then exhibits 13 and 99."""
    end = _HEADER_END.search(text)
    header = text[: end.start()] if end and _HEADER_START.search(text[: end.start()]) else ""
    parts = []
    for document in _DOCUMENT.finditer(text):
        body = document["body"]
        found = _TEXT.search(body)
        lead = body[: found.start()] if found else body[:2000]
        source = _WRAPPED.sub("", found["text"] if found else body)
        parts.append(SubmissionPart(field_of(lead, "TYPE").upper(), field_of(lead, "FILENAME"), source))
    main = [part for part in parts[:1] if part.text.strip()]
    exhibits = [part for part in parts[1:] if _READABLE_EXHIBIT.match(part.type) and part.text.strip()]
    return EdgarSubmission(
        documents=(*main, *exhibits) or (SubmissionPart("", "", text),),
        form=field_of(header, "CONFORMED SUBMISSION TYPE"),
        company=_STATE.sub("", field_of(header, "COMPANY CONFORMED NAME")),
        cik=field_of(header, "CENTRAL INDEX KEY"),
        accession=field_of(header, "ACCESSION NUMBER"),
        filed_on=parse_date(field_of(header, "FILED AS OF DATE")),
        period_on=parse_date(field_of(header, "CONFORMED PERIOD OF REPORT")),
    )


def field_of(header: str, name: str) -> str:
    """Return a field of a header; empty where there is none."""
    found = re.search(_FIELD.format(name=re.escape(name)), header, re.IGNORECASE | re.MULTILINE)
    return found["value"].strip() if found else ""


def parse_date(value: str) -> dt.date | None:
    """Parse ``20241101``."""
    try:
        return dt.datetime.strptime(value, "%Y%m%d").date()
    except ValueError:
        return None
