"""Files that are ZIP archives: how much may be in them."""

from __future__ import annotations

import io
from zipfile import BadZipFile, ZipFile

from lxml import etree

from chat.files.blocks import RefusedFileError

MAX_ENTRIES = 20_000
MAX_ENTRY_BYTES, MAX_BYTES = 100 * 1024**2, 400 * 1024**2  # unpacked
ENCRYPTED = 0x1  # flag of an entry


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


def parse_xml(content: bytes) -> etree._Element:
    """Return the root of an XML document. Entities are not expanded, and nothing is fetched."""
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False)
    return etree.fromstring(content, parser)
