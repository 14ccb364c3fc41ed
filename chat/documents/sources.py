"""The stores of what can be cited, as one: tools, running turns and restored ones read through this module alone.

A further kind of source is a class with these methods, listed in ``STORES``.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, zip_longest
from typing import Protocol

from chat.attachments import passages as attached
from chat.documents import search as documents
from chat.documents.access import Reader
from chat.filings import search as filings
from chat.tools.base import DocumentEntry, SearchQuery, SearchResult
from reasoning.citations import SourceKind


class Store(Protocol):
    """Sources of one kind."""

    kind: SourceKind

    def search(self, query: SearchQuery, reader: Reader) -> SearchResult:
        """Return the passages that answer best, best first, and how much was searched."""
        ...

    def read(self, url: str, reader: Reader, neighbours: int) -> SearchResult:
        """Return the passage at an address with its neighbours; empty where the address is none of this store's."""
        ...

    def entries(self, reader: Reader) -> Sequence[DocumentEntry]:
        """Return what there is to be searched."""
        ...


class Filings:
    """SEC filings, which everybody may read."""

    kind: SourceKind = "filing"

    def search(self, query: SearchQuery, reader: Reader) -> SearchResult:
        return filings.search_passages(query)

    def read(self, url: str, reader: Reader, neighbours: int) -> SearchResult:
        return filings.read_passages(url, neighbours)

    def entries(self, reader: Reader) -> Sequence[DocumentEntry]:
        return [
            DocumentEntry("filing", filing.form, filing.company, filing.get_absolute_url())
            for filing in filings.list_filings()
        ]


class AttachedFiles:
    """Texts that are attached to the questions of the conversation."""

    kind: SourceKind = "attachment"

    def search(self, query: SearchQuery, reader: Reader) -> SearchResult:
        texts = attached.texts_of(reader.conversation_id)
        return SearchResult(attached.search(texts, query.text), documents=len(texts))

    def read(self, url: str, reader: Reader, neighbours: int) -> SearchResult:
        return SearchResult(attached.read(attached.texts_of(reader.conversation_id), url, neighbours))

    def entries(self, reader: Reader) -> Sequence[DocumentEntry]:
        return [
            DocumentEntry("attachment", text.name, "", text.url) for text in attached.texts_of(reader.conversation_id)
        ]


class Documents:
    """Documents of the collections that the conversation may read."""

    kind: SourceKind = "document"

    def search(self, query: SearchQuery, reader: Reader) -> SearchResult:
        return documents.search_passages(query, reader)

    def read(self, url: str, reader: Reader, neighbours: int) -> SearchResult:
        return documents.read_passages(url, reader, neighbours)

    def entries(self, reader: Reader) -> Sequence[DocumentEntry]:
        return [
            DocumentEntry("document", str(document), document.collection.name, document.get_absolute_url())
            for document in documents.list_documents(reader)
        ]


STORES: tuple[Store, ...] = (AttachedFiles(), Documents(), Filings())


def search(query: SearchQuery, reader: Reader, *, also: Sequence[SourceKind] = ()) -> SearchResult:
    """Search the kinds that a query names. Of several the best passages alternate: their scores can't be compared.

    ``also``: further kinds, whose documents aren't counted.
    """
    results = {store.kind: store.search(query, reader) for store in STORES if store.kind in (*query.kinds, *also)}
    in_turn = chain.from_iterable(zip_longest(*(result.passages for result in results.values())))
    return SearchResult(
        passages=tuple(passage for passage in in_turn if passage),
        documents=sum(results[kind].documents for kind in query.kinds if kind in results),
        publishers=tuple(publisher for result in results.values() for publisher in result.publishers),
    )


def read(url: str, reader: Reader, neighbours: int = 0) -> SearchResult:
    """Return the passage at an address, with as many neighbours on each side; empty if there is none."""
    results = (store.read(url, reader, neighbours) for store in STORES)
    return next((result for result in results if result.passages), SearchResult())


def entries(reader: Reader, kinds: Sequence[SourceKind]) -> list[DocumentEntry]:
    """Return what there is to be searched of these kinds."""
    return [entry for store in STORES if store.kind in kinds for entry in store.entries(reader)]
