"""What people read of a file: its name, and why it can't be used."""

from __future__ import annotations

import re

from django.utils.translation import gettext as _

from chat.files.extraction import MAX_PDF_PAGES, OLE, SVG
from chat.files.images import MAX_SIDE_PX
from chat.validation import storable

MAX_NAME_CHARS = 120
MAX_END_CHARS = 40  # of a long name
# Control characters, quotation marks, slashes, and invisible ones that reorder text; not what joins emoji or letters.
_UNSAFE = re.compile(r"[\x00-\x1f\x7f\"`<>|\\/\u200b\u200e\u200f\u2028-\u202e\u2066-\u2069]+")
_ENCRYPTED_PACKAGE = "EncryptedPackage".encode("utf-16-le")  # as OLE files name what Office encrypts


def clean_name(name: str) -> str:
    """Return a file's name without what could break a line, a quotation or a header; a long one is cut inside."""
    name = " ".join(_UNSAFE.sub(" ", storable(name)).split()).strip(". ") or "file"
    if len(name) <= MAX_NAME_CHARS:
        return name
    # The end distinguishes the files of a series, and has the suffix.
    return f"{name[: MAX_NAME_CHARS - MAX_END_CHARS - 1]}…{name[-MAX_END_CHARS:]}"


def refused_type(name: str, media_type: str | None, content: bytes, *, with_images: bool) -> str:
    """Say why a file of this type is not accepted."""
    if not content:
        return _("%(name)s is empty.") % {"name": name}
    if media_type == OLE:
        if _ENCRYPTED_PACKAGE in content:
            return problem_text("encrypted", name)
        return _("%(name)s is of an old Office format. Save it as DOCX, XLSX or PPTX.") % {"name": name}
    if media_type == SVG:
        words = _("%(name)s is an SVG drawing, which models can’t see. Save it as a PNG image and attach that.")
        return words % {"name": name}
    formats = "PDF, DOCX, XLSX, PPTX, HTML, Markdown, CSV, RTF, EPUB, EML"
    if with_images:
        words = _("%(name)s can’t be read. Allowed are text, %(formats)s, and PNG, JPEG, GIF, WebP images.")
    else:
        words = _("%(name)s can’t be read. Allowed are text, %(formats)s.")
    return words % {"name": name, "formats": formats}


def problem_text(problem: str, name: str) -> str:
    """Say why a file has no text that can be used. ``problem``: as ``FileText`` and ``ImageFile`` name it."""
    words = {
        "encrypted": _("%(name)s is protected by a password. Remove it and add the file again."),
        "pages": _("%(name)s has too many pages; at most %(most)s are allowed."),
        "slow": _("%(name)s takes too long to read. Add a part of it, or its text."),
        "busy": _("%(name)s was not added: other files are being read. Try again in a moment."),
        "large": _("%(name)s is too large: at most %(pixels)s pixels on each side are allowed."),
        "memory": _("%(name)s needs too much memory to be read. Make it smaller, or add a part of it."),
        "encoding": _("%(name)s has bytes that this encoding doesn’t have."),
        "unreadable": _("%(name)s is damaged or no valid file of its type."),
        "empty": _("%(name)s has no text that can be read."),
        "scan": _(
            "%(name)s has no text layer: it is a scan. Add a copy with recognised text, or attach its pages to a "
            "message as images."
        ),
    }[problem]
    return words % {"name": name, "most": MAX_PDF_PAGES, "pixels": MAX_SIDE_PX}
