"""Passages for a question, and passages by address: what the tools read.

A company that the question names narrows the search to its filings. A company that is asked for and not in the corpus
gives nothing, rather than another company's text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import chain, zip_longest
from urllib.parse import unquote

from django.conf import settings
from django.db.models import Q

from chat.filings.models import Filing, Passage
from chat.models.passages import search_terms
from chat.search.search_text import marking_pattern, query_terms, stem
from chat.tools.base import SearchQuery, SearchResult
from reasoning.citations import Source

MAX_RESULTS = 20
MAX_NEIGHBOURS = 5
SNIPPET_MAX_CHARS = 240
_LEAD_CHARS = 60

# A registrant is known by the distinctive words of its name, not by legal forms and words that many companies share.
_LEGAL = frozenset(
    "inc incorporated corp corporation co company companies ltd limited llc lp llp plc nv sa ag se the and of & holding"
    " holdings group trust bancorp de com international technologies technology pharmaceutical pharmaceuticals".split()
)
_COMMON = frozenset(
    "home general first american america united national new bank global standard best capital energy power water gas"
    " electric health public great western eastern northern southern north south east west central pacific atlantic"
    " digital advanced applied international us world real royal old state city community federal financial insurance"
    " life motor motors data micro software systems solutions services service industries resources partners gold"
    " silver blue red green black white big super universal commercial consolidated allied associated".split()
)
_ADDRESS = re.compile(
    rf"(?:https?://[^/\s]+)?(?:{re.escape(settings.URL_PREFIX)})?"
    r"/?filings/(?P<slug>[\w-]+)/?(?P<anchor>#[\w-]+)"
)
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")


def search_passages(query: SearchQuery) -> SearchResult:
    """Return the passages that answer best, best first, and how much was searched. Never raises on odd words."""
    filings = Filing.objects.all()
    if query.form:
        filings = filings.filter(form_filter(query.form))
    # A company that the model names narrows the search, else those that the question names; None searches all.
    known = list(Filing.objects.order_by().values_list("company", flat=True).distinct())
    if query.company and query.company.strip():
        companies: list[str] | None = match_company(query.company, known)
    else:
        companies = find_companies(query.text, known) or None
    if companies is not None:
        filings = filings.filter(company__in=companies)
    limit = max(1, min(query.limit, MAX_RESULTS))
    passages = (
        Passage.objects.filter(filing__in=filings) if query.form or companies is not None else Passage.objects.all()
    )
    passages = passages.select_related("filing")
    # Else one company could fill the list.
    if companies and len(companies) > 1:  # the best of each in turn
        by_company = [passages.filter(filing__company=one).best(query.text, limit) for one in companies]
        found = [one for one in chain.from_iterable(zip_longest(*by_company)) if one is not None][:limit]
    else:
        found = passages.best(query.text, limit)
    terms = search_terms(query.text)
    return SearchResult(
        passages=tuple(found_passage(passage, terms) for passage in found),
        documents=filings.count(),
        publishers=tuple(filings.order_by("company").values_list("company", flat=True).distinct()),
    )


def read_passages(url: str, neighbours: int = 0) -> SearchResult:
    """Return the passage at a reader page's address, with as many neighbours on each side; empty if there is none."""
    # Models return addresses with a host or with escapes.
    address = _ADDRESS.fullmatch(unquote(url.replace("\x00", "")).strip())
    if address is None:
        return SearchResult()
    passage = Passage.objects.filter(filing__slug=address["slug"], anchor=address["anchor"]).first()
    if passage is None:
        return SearchResult()
    reach = max(0, min(neighbours, MAX_NEIGHBOURS))
    around = (
        Passage.objects.filter(filing_id=passage.filing_id)
        .filter(ordinal__range=(passage.ordinal - reach, passage.ordinal + reach))
        .select_related("filing")
        .order_by("ordinal")
    )
    return SearchResult(
        passages=tuple(found_passage(one, []) for one in around), documents=1, publishers=(passage.filing.company,)
    )


def list_filings() -> list[Filing]:
    """Return all filings, by company, the newest first."""
    return list(Filing.objects.all())


def form_filter(form: str) -> Q:
    """A form with its amendments and exhibits: ``8-K`` also finds ``8-K/A`` and ``8-K EX-99.1``."""
    form = form.replace("\x00", "").strip().upper()
    variants = Q(form__iexact=form) | Q(form__istartswith=f"{form}/") | Q(form__istartswith=f"{form} ")
    return variants | Q(form__istartswith=form, form__iregex=rf"^{re.escape(form)}(405|SB|T)\d*(/A)?$")


def found_passage(passage: Passage, terms: Iterable[str]) -> Source:
    filing = passage.filing
    return Source(
        ref=0,
        kind="filing",
        title=filing.form,
        publisher=filing.company,
        date=filing.filed_on.isoformat() if filing.filed_on else None,
        period=filing.period_on.isoformat() if filing.period_on else None,
        section=passage.section,
        anchor=passage.anchor,
        url=f"{filing.get_absolute_url()}{passage.anchor}",
        text=passage.text,
        snippet=snippet(passage.text, terms),
    )


def find_companies(text: str, companies: Iterable[str]) -> list[str]:
    """Return the companies that a question names, in the order in which it names them.

    Case counts for ordinary words: *apple* in a cased sentence is fruit, *calder ridge* is a name.
    """
    words = _WORD.findall(text)
    folded = [fold_word(word) for word in words]
    is_cased = any(char.isupper() for char in text[1:])
    places: dict[str, int] = {}
    for company in companies:
        core = core_words(company)
        needed = 1 if core and core[0] not in _COMMON else min(2, len(core))
        for place in range(len(folded) - needed + 1) if core else ():
            is_followed = len(core) > 1 and folded[place : place + 2] == core[:2]
            is_name = words[place][0].isupper() or words[place][0].isdigit() or not is_cased or is_followed
            if is_name and folded[place : place + needed] == core[:needed]:
                places[company] = place
                break
    return sorted(places, key=lambda company: (places[company], company))


def match_company(name: str, companies: Iterable[str]) -> list[str]:
    """Return the companies that a given name means; none where no registrant is called so."""
    wanted = core_words(name) or [fold_word(word) for word in _WORD.findall(name)]
    found = []
    for company in companies:
        core = core_words(company)
        shared = min(len(wanted), len(core))
        # One name begins the other, and not only by a common word: *First* is no bank's name.
        is_distinct = shared == len(core) or shared > 1 or core[0] not in _COMMON
        if shared and wanted[:shared] == core[:shared] and is_distinct:
            found.append(company)
    exact = [company for company in found if core_words(company) == wanted]
    return exact or found


def core_words(name: str) -> list[str]:
    """Return the distinctive words of a company's name, folded."""
    words = [fold_word(word) for word in _WORD.findall(re.sub(r"\b([A-Z])\.(?=[A-Z]\b)", r"\1", name))]
    return [word for word in words if word not in _LEGAL]


def fold_word(word: str) -> str:
    """Fold case, possessive and apostrophe: *McDonald’s* and *mcdonalds* are one."""
    bare = re.sub(r"['’]s?$", "", word.lower().replace("’", "'")).replace("'", "")
    return bare[:-1] if len(bare) > 4 and bare.endswith("s") and not bare.endswith("ss") else bare


def snippet(text: str, terms: Iterable[str]) -> str:
    """Return the part of a passage, at most 240 characters, with most of ``terms``; its beginning without any."""
    rows = (re.sub(r"(?:\s*\|(?=\s|$))+\s*", " | ", line).strip(" |") for line in text.splitlines())
    line = " · ".join(filter(None, rows))  # without empty fields
    if len(line) <= SNIPPET_MAX_CHARS:
        return line
    # The window that holds most different words, the first of equals.
    stems = [stem(term) for term in query_terms(terms)]
    pattern = re.compile(marking_pattern(stems), re.IGNORECASE) if stems else None
    places = [(found.start(), found[0].lower()) for found in pattern.finditer(line)] if pattern else []

    def words_behind(start: int) -> int:
        return len({word for place, word in places if start <= place < start + SNIPPET_MAX_CHARS - _LEAD_CHARS})

    start = max((place for place, _word in places), key=words_behind, default=0) - _LEAD_CHARS
    # languages without spaces are cut anywhere
    start = line.find(" ", start, start + _LEAD_CHARS) + 1 or start if start > 0 else 0
    end = start + SNIPPET_MAX_CHARS - 2
    if end >= len(line):
        return ("…" if start else "") + line[start:]
    cut = line.rfind(" ", start, end)
    return ("…" if start else "") + line[start : cut if cut > start else end].rstrip(" ,;·") + "…"
