"""Files that are ZIP archives: how much may be in them."""

from __future__ import annotations

import io
import re
from zipfile import ZIP_DEFLATED, BadZipFile, ZipFile

from lxml import etree

from chat.files.blocks import RefusedFileError

MAX_ENTRIES = 20_000
MAX_ENTRY_BYTES, MAX_BYTES = 100 * 1024**2, 400 * 1024**2  # unpacked
ENCRYPTED = 0x1  # flag of an entry
_RELATIONS = "_rels/.rels"
_STRICT, _TRANSITIONAL = rb"http://purl\.oclc\.org/ooxml/(\w+)/(\w+)", rb"http://schemas.openxmlformats.org/\1/2006/\2"


def open_archive(content: bytes) -> ZipFile:
    """Return an archive whose contents aren't too large. Raises RefusedFileError.

    What an entry says of its size holds: no more of it is unpacked.
    """
    try:
        archive = ZipFile(io.BytesIO(content))
    except (BadZipFile, ValueError, NotImplementedError) as error:
        raise RefusedFileError("unreadable") from error
    entries = archive.infolist()
    sizes = [entry.file_size for entry in entries]
    if len(entries) > MAX_ENTRIES or sum(sizes) > MAX_BYTES or max(sizes, default=0) > MAX_ENTRY_BYTES:
        raise RefusedFileError("memory")
    if any(entry.flag_bits & ENCRYPTED for entry in entries):
        raise RefusedFileError("encrypted")
    return archive


def transitional(content: bytes) -> bytes:
    """Return an Office file with the namespaces that libraries know; one saved as "Strict" has those of the standard.

    Raises RefusedFileError.
    """
    archive = open_archive(content)
    if _RELATIONS not in archive.namelist() or not re.search(_STRICT, archive.read(_RELATIONS)):
        return content
    out = io.BytesIO()
    with ZipFile(out, "w", ZIP_DEFLATED, compresslevel=1) as written:
        for name in archive.namelist():
            part = archive.read(name)
            is_xml = name.endswith((".xml", ".rels"))
            written.writestr(name, re.sub(_STRICT, _TRANSITIONAL, part) if is_xml else part)
    return out.getvalue()


def parse_xml(content: bytes) -> etree._Element:
    """Return the root of an XML document. Entities are not expanded, and nothing is fetched."""
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False)
    return etree.fromstring(content, parser)
