"""The pages of the filings on this server: their list, and the reader page that citations lead to.

A long filing is shown in parts. A citation's address names its passage, so that the part with it is shown, and words
quoted from it, which are marked.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET
from django.views.decorators.vary import vary_on_headers

from accounts.views import HtmxHttpRequest
from chat.filings import reader
from chat.filings.models import Filing
from chat.html import MAX_QUOTE_CHARS
from chat.url_converters import parse_number

PANEL_REACH = 8  # passages before and after the cited one, beside an answer
MAX_QUOTES = 3


@require_GET
def filing_list(request: HttpRequest) -> HttpResponse:
    """List the filings on this server."""
    return render(request, "chat/reader/filings.html", {"filings": Filing.objects.all()})


@require_GET
@vary_on_headers("HX-Request")
def filing(request: HtmxHttpRequest, slug: str) -> HttpResponse:
    """Show a part of a filing: ``?part=2``, or the one that holds ``?passage=item-7-p31``, with each ``quote`` marked.

    For htmx only what is around the passage. 404 explains itself: answers may cite a filing that staff have deleted.
    """
    found = Filing.objects.filter(slug=slug).first()
    if found is None:
        return source_missing(request, "filing")
    anchors = list(found.passages.order_by("ordinal").values_list("anchor", flat=True))
    part = shown_part(request, anchors)
    sections = reader.reader_sections(found, part.passages, cited=part.cited, quotes=cited_quotes(request))
    context = {"filing": found, **part_context(part, sections)}
    return render(request, "chat/reader/_reader.html" if request.htmx else "chat/reader/filing.html", context)


def source_missing(request: HtmxHttpRequest, kind: str) -> HttpResponse:
    """Say that a cited source doesn't exist any more: on a page, or beside the answer."""
    if request.htmx:  # not 404, which browsers log as a fault
        return render(request, "chat/reader/_missing.html", {"text_template": f"chat/reader/_{kind}_missing.html"})
    return render(request, f"chat/reader/{kind}_missing.html", status=404)


class ShownPart(NamedTuple):
    """What is shown of a long document: a part of it, or beside an answer what is around the cited passage."""

    cited: str  # its anchor; "#" where none is
    number: int
    parts: int
    passages: slice
    page_url: str


def shown_part(request: HtmxHttpRequest, anchors: Sequence[str]) -> ShownPart:
    """Return the part that an address names by ``?part=2`` or by a ``passage`` in it. ``anchors``: of all passages."""
    cited = f"#{request.GET.get('passage', '')}"
    at = anchors.index(cited) if cited in anchors else None
    # rounded up; a document without passages has one empty part
    parts = max(1, -(-len(anchors) // reader.PART_PASSAGES))
    number = min(parse_number(request.GET.get("part")) or 1, parts)
    number = number if at is None else at // reader.PART_PASSAGES + 1
    passages = slice((number - 1) * reader.PART_PASSAGES, number * reader.PART_PASSAGES)
    if request.htmx:
        passages = slice(max(0, (at or 0) - PANEL_REACH), (at or 0) + PANEL_REACH + 1)
    page_url = request.get_full_path() + (cited if at is not None else "")
    return ShownPart(cited, number, parts, passages, page_url)


def part_context(part: ShownPart, sections: Sequence[reader.ReaderSection]) -> dict[str, object]:
    """Return what the templates of readers need of a part."""
    return {
        "contents": sections,
        "sections": [section for section in sections if section.passages],
        "part": part.number,
        "parts": part.parts,
        "page_url": part.page_url,
    }


def cited_quotes(request: HttpRequest) -> list[str]:
    """Return the words that are to be marked in the cited passage."""
    return [quote[:MAX_QUOTE_CHARS] for quote in request.GET.getlist("quote")[:MAX_QUOTES]]
