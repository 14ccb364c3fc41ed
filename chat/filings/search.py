"""Passages for a question, and passages by address: what the tools read.

A company that the question names narrows the search to its filings. A company that is asked for and not in the corpus
gives nothing, rather than another company's text.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import chain, zip_longest
from urllib.parse import unquote

from django.db.models import Q

from chat.filings.companies import matching, named_in
from chat.filings.snippets import snippet
from chat.models import Filing, Passage
from chat.models.search import PassageQuerySet, search_terms
from chat.retrieval import Found, FoundPassage, SearchQuery

MAX_RESULTS = 20
MAX_NEIGHBOURS = 5


def search_passages(query: SearchQuery) -> Found:
    """Return the passages that answer best, best first, and how much was searched. Never raises on odd words."""
    filings = Filing.objects.all()
    if query.form:
        filings = filings.filter(_of_form(query.form))
    companies = _companies(query)
    if companies is not None:
        filings = filings.filter(company__in=companies)
    limit = max(1, min(query.limit, MAX_RESULTS))
    passages = (
        Passage.objects.filter(filing__in=filings) if query.form or companies is not None else Passage.objects.all()
    )
    found = _best(passages, query.text, companies or [], limit)
    terms = search_terms(query.text)
    return Found(
        passages=tuple(_found(passage, terms) for passage in found),
        filings=filings.count(),
        companies=tuple(filings.order_by("company").values_list("company", flat=True).distinct()),
    )


def read_passages(url: str, neighbours: int = 0) -> Found:
    """Return the passage at a reader page's address, with as many neighbours on each side; empty if there is none."""
    path, _sep, fragment = unquote(url.replace("\x00", "")).strip().partition("#")
    slug, anchor = path.partition("?")[0].rstrip("/").rsplit("/", 1)[-1], f"#{fragment}"
    passage = Passage.objects.filter(filing__slug=slug, anchor=anchor).first()
    if passage is None:
        return Found(passages=(), filings=0, companies=())
    reach = max(0, min(neighbours, MAX_NEIGHBOURS))
    around = (
        Passage.objects.filter(filing_id=passage.filing_id)
        .filter(ordinal__gte=passage.ordinal - reach, ordinal__lte=passage.ordinal + reach)
        .select_related("filing")
        .order_by("ordinal")
    )
    return Found(passages=tuple(_found(one, []) for one in around), filings=1, companies=(passage.filing.company,))


def _companies(query: SearchQuery) -> list[str] | None:
    """Return the companies to search, or None for all of them."""
    known = list(Filing.objects.order_by().values_list("company", flat=True).distinct())
    if query.company and query.company.strip():
        return matching(query.company, known)
    return named_in(query.text, known) or None


def _of_form(form: str) -> Q:
    """A form with its amendments and exhibits: ``8-K`` also finds ``8-K/A`` and ``8-K EX-99.1``."""
    form = form.replace("\x00", "").strip().upper()
    variants = Q(form__iexact=form) | Q(form__istartswith=f"{form}/") | Q(form__istartswith=f"{form} ")
    return variants | Q(form__istartswith=form, form__iregex=rf"^{re.escape(form)}(405|SB|T)\d*(/A)?$")


def _best(passages: PassageQuerySet, text: str, companies: Sequence[str], limit: int) -> list[Passage]:
    """Return the best passages; where a question names several companies, the best of each in turn."""
    found = passages.search(text).select_related("filing")
    if len(companies) < 2:
        return list(found[:limit])
    by_company: dict[str, list[Passage]] = defaultdict(list)
    for company in companies:
        by_company[company] = list(found.filter(filing__company=company)[:limit])
    return [one for one in chain.from_iterable(zip_longest(*by_company.values())) if one is not None][:limit]


def _found(passage: Passage, terms: Iterable[str]) -> FoundPassage:
    filing = passage.filing
    return FoundPassage(
        filing=filing.form,
        company=filing.company,
        date=filing.filed_on.isoformat() if filing.filed_on else None,
        period=filing.period_on.isoformat() if filing.period_on else None,
        section=passage.section,
        anchor=passage.anchor,
        url=f"{filing.get_absolute_url()}{passage.anchor}",
        text=passage.text,
        snippet=snippet(passage.text, terms),
    )
