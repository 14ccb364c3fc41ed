"""Passages of documents for a question, and by address."""

from __future__ import annotations

import re
import uuid
from urllib.parse import unquote

from django.conf import settings

from chat.documents.access import Reader
from chat.filings.search import MAX_NEIGHBOURS, MAX_RESULTS
from chat.models import Document, DocumentPassage
from chat.tools.base import SearchQuery, SearchResult
from reasoning.citations import Source

_ADDRESS = re.compile(
    rf"(?:https?://[^/\s]+)?(?:{re.escape(settings.URL_PREFIX)})?/?documents/(?P<id>[0-9a-f-]{{32,36}})/?(?P<anchor>#[\w-]+)"
)


def search_passages(query: SearchQuery, reader: Reader) -> SearchResult:
    """Return the passages that answer best, best first, and how many documents were searched."""
    documents = Document.objects.filter(collection__in=reader.collections, status=Document.Status.READY)
    readable = DocumentPassage.objects.filter(document__in=documents)
    limit = max(1, min(query.limit, MAX_RESULTS))
    passages = (
        readable.select_related("document")
        .defer("document__sealed_content")
        .best(query.text, limit, reader.collections)
    )
    return SearchResult(passages=tuple(source_of(passage) for passage in passages), documents=documents.count())


def read_passages(url: str, reader: Reader, neighbours: int = 0) -> SearchResult:
    """Return the passage at an address, with as many neighbours on each side; empty if this reader has none there."""
    # Models return addresses with a host or with escapes.
    address = _ADDRESS.fullmatch(unquote(url.replace("\x00", "")).strip())
    if address is None:
        return SearchResult()
    try:
        document_id = uuid.UUID(address["id"])
    except ValueError:
        return SearchResult()
    readable = DocumentPassage.objects.filter(document__collection__in=reader.collections)
    passage = readable.filter(document=document_id, anchor=address["anchor"]).first()
    if passage is None:
        return SearchResult()
    reach = max(0, min(neighbours, MAX_NEIGHBOURS))
    around = (
        readable.filter(document=document_id)
        .filter(ordinal__range=(passage.ordinal - reach, passage.ordinal + reach))
        .select_related("document")
        .defer("document__sealed_content")
        .order_by("ordinal")
    )
    return SearchResult(passages=tuple(source_of(one) for one in around), documents=1)


def list_documents(reader: Reader) -> list[Document]:
    """Return the documents that can be searched, by name, without their contents."""
    found = Document.objects.filter(collection__in=reader.collections, status=Document.Status.READY)
    return list(found.select_related("collection").defer("sealed_content").order_by("collection__name", "name"))


def source_of(passage: DocumentPassage) -> Source:
    document = passage.document
    return Source(
        ref=0,
        kind="document",
        title=str(document),
        publisher="",
        date=None,
        period=None,
        section=passage.section,
        page=passage.page or None,
        anchor=passage.anchor,
        url=f"{document.get_absolute_url()}{passage.anchor}",
        text=passage.text,
        snippet="",  # the trace is stored readable, outlives the document, and may be shared
    )
