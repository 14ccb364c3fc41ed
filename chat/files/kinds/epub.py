"""Electronic books (.epub): the chapters in their order."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from urllib.parse import unquote

from chat.files.blocks import Block, Details, RefusedFileError
from chat.files.encodings import UTF_8, decode, detect_encoding
from chat.files.kinds import html
from chat.files.kinds.archive import open_archive, parse_xml

CONTAINER, RIGHTS = "META-INF/container.xml", "META-INF/rights.xml"
_NAMES = {
    "container": "urn:oasis:names:tc:opendocument:xmlns:container",
    "opf": "http://www.idpf.org/2007/opf",
    "dc": "http://purl.org/dc/elements/1.1/",
}


def read(content: bytes, details: Details) -> Iterator[Block]:
    archive = open_archive(content)
    entries = set(archive.namelist())
    if RIGHTS in entries:  # what a shop sells
        raise RefusedFileError("encrypted")
    root_file = parse_xml(archive.read(CONTAINER)).find(".//container:rootfile", _NAMES)
    path = root_file.get("full-path", "") if root_file is not None else ""
    package = parse_xml(archive.read(path))
    details.title = " ".join((package.findtext(".//dc:title", "", _NAMES)).split())
    addresses = {item.get("id"): item.get("href", "") for item in package.iterfind(".//opf:item", _NAMES)}
    for reference in package.iterfind(".//opf:itemref", _NAMES):
        address = unquote(addresses.get(reference.get("idref"), "").partition("#")[0])
        name = posixpath.normpath(posixpath.join(posixpath.dirname(path), address))
        if name in entries:
            chapter = archive.read(name)
            yield from html.read(decode(chapter, detect_encoding(chapter) or UTF_8) or "", Details())
