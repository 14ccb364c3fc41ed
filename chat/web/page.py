"""A page of the web as sources that can be cited: passages of the length that those of documents have."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Collection
from unicodedata import normalize

from chat.documents.passages import passages_of
from chat.files.encodings import decode, stated_encoding
from chat.files.extraction import (
    DECODED,
    HTML,
    MARKDOWN,
    PDF,
    PLAIN,
    FileText,
    encoding_of,
    read_apart,
    read_blocks,
)
from chat.search.passage_text import anchors
from chat.tools.base import SearchResult, ToolArgumentsError
from chat.web.addresses import InvalidPageAddressError, PageAddress, read_address
from chat.web.fetch import Received, fetch
from chat.web.problems import ADDRESS_TEXTS, refusal
from reasoning.citations import Source

# By what a host calls them: how they are read.
TYPES = {
    "text/html": HTML,
    "application/xhtml+xml": HTML,
    "text/plain": PLAIN,
    "text/markdown": MARKDOWN,
    "application/pdf": PDF,
}
MAX_CHARS = 500_000
MAX_TITLE_CHARS, SNIPPET_CHARS = 120, 240
_NOT_IN_A_HEADER = re.compile(r"[^ -'*-~]+")  # nor brackets, which end a comment


async def open_page(url: str, *, hosts: Collection[str], site: str) -> SearchResult:
    """Return all passages of the page at an address. Raises ToolArgumentsError and ToolRefusedError.

    ``hosts``: those that the site allows. ``site``: its name, which the page's host gets.
    """
    try:
        address = read_address(url)
    except InvalidPageAddressError as error:
        raise ToolArgumentsError(ADDRESS_TEXTS[error.problem]) from None
    received = await fetch(address, hosts=hosts, agent=agent_of(site))
    media_type = TYPES.get(received.media_type)
    if media_type is None:
        raise refusal("type", received.address.host)
    found = await asyncio.to_thread(read_page, media_type, received)
    if found.problem:
        raise refusal("busy" if found.problem == "busy" else "unreadable", received.address.host)
    passages = sources_of(found, received.address)
    return SearchResult(passages, documents=1, publishers=(received.address.host,))


def agent_of(site: str) -> str:
    """Return how the server names itself to a host."""
    plain = normalize("NFKD", site).encode("ascii", "ignore").decode()
    name = " ".join(_NOT_IN_A_HEADER.sub(" ", plain).split())
    return f"Legible (reads a page when a user asks{'; ' if name else ''}{name})"


def read_page(media_type: str, received: Received) -> FileText:
    """Return the blocks of a page, read in the process for files."""
    encoding = stated_encoding(received.charset)
    if media_type.startswith(DECODED) and (not encoding or decode(received.content, encoding) is None):
        encoding = encoding_of(media_type, received.content)
    return read_apart(read_blocks, media_type, received.content, MAX_CHARS, encoding)


def sources_of(found: FileText, address: PageAddress) -> tuple[Source, ...]:
    """Return the passages of a page, each with an address of its own."""
    texts = list(passages_of(found.blocks))
    named = anchors([(one.section, one.text) for one in texts])
    return tuple(
        Source(
            ref=0,
            kind="web",
            title=found.title[:MAX_TITLE_CHARS] or address.host,
            publisher=address.host,
            date=None,
            period=None,
            section=one.section,
            page=one.page or None,
            anchor=anchor,
            url=f"{address.url}{anchor}",
            text=one.text,
            snippet=" ".join(one.text.split())[:SNIPPET_CHARS],
        )
        for one, anchor in zip(texts, named, strict=True)
    )
