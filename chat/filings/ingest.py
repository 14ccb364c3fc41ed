"""Files to filings and passages.

The same bytes are one filing however often they are loaded, and changed bytes of the same filing keep its slug and
anchors, so that stored citations go on opening where they did. One transaction a document.
"""

from __future__ import annotations

import datetime as dt
import hashlib
from collections.abc import Sequence
from pathlib import Path

from django.db import transaction
from django.utils.text import slugify

from chat.filings.anchors import anchors
from chat.filings.facts import Facts
from chat.filings.passages import PassageText, cut_passages
from chat.filings.reading import Document, read_bounded, read_document
from chat.models import Filing, Passage

_SLUG_CHARS = 110
_BATCH = 500
_PERIODIC = ("10-K", "10-Q", "20-F", "40-F", "11-K")
_MONTHS = "January February March April May June July August September October November December".split()  # noqa: SIM905


def ingest(source: Path | bytes, *, name: str = "", filed_on: dt.date | None = None, is_demo: bool = False) -> Filing:
    """Store one document and return its filing. Loading it again changes nothing.

    ``name`` is the file's name. ``filed_on`` is used where the document's own header states no filing date. Raises
    DocumentError for what cannot be read as a filing, OSError for a file that cannot be opened.
    """
    content = read_bounded(source) if isinstance(source, Path) else source
    name = name or (source.name if isinstance(source, Path) else "")
    digest = hashlib.sha256(content).hexdigest()
    same = Filing.objects.filter(digest=digest).first()
    if same and same.passages.exists():
        return _restated(same, filed_on, is_demo=is_demo)
    document = read_document(content, name=name)
    with transaction.atomic():
        filing = same or _known(document.facts, name) or Filing()
        _state(filing, document.facts, name=name, filed_on=filed_on)
        filing.digest, filing.is_demo = digest, is_demo
        filing.save()
        _store_passages(filing, document)
    return filing


def _restated(filing: Filing, filed_on: dt.date | None, *, is_demo: bool) -> Filing:
    """Take what the person who loads a known document says anew: a filing date that it lacked, the demo mark."""
    if (filed_on and filing.filed_on is None) or is_demo != filing.is_demo:
        filing.filed_on = filing.filed_on or filed_on
        filing.is_demo = is_demo
        filing.save(update_fields=["filed_on", "is_demo", "loaded_at"])
    return filing


def _known(facts: Facts, name: str) -> Filing | None:
    """Return the stored filing of which this is another copy. Reports of a period are one for each period."""
    if facts.accession and (found := Filing.objects.filter(accession=facts.accession, form=facts.form).first()):
        return found
    alike = Filing.objects.filter(company__iexact=facts.company, form=facts.form, period_on=facts.period_on)
    if facts.accession:
        alike = alike.filter(accession="")
    is_periodic = facts.form.startswith(_PERIODIC) and facts.period_on and facts.company
    return alike.first() if is_periodic else alike.filter(source_name=name).exclude(source_name="").first()


def _state(filing: Filing, facts: Facts, *, name: str, filed_on: dt.date | None) -> None:
    filing.company = (facts.company or Path(name).stem)[:200]
    filing.form = facts.form or filing.form
    filing.cik, filing.accession = facts.cik[:10], facts.accession[:30] or filing.accession
    filing.period_on, filing.signed_on = facts.period_on, facts.signed_on
    filing.filed_on = facts.filed_on or filed_on or filing.filed_on
    filing.source_name = name[:255]
    filing.slug = filing.slug or _free_slug(filing)


def _free_slug(filing: Filing) -> str:
    date = filing.period_on or filing.filed_on
    wanted = slugify(f"{filing.company} {filing.form.replace('.', '-')} {date or ''}")[:_SLUG_CHARS] or "filing"
    slug, number = wanted, 1
    while Filing.objects.filter(slug=slug).exists():
        number += 1
        slug = f"{wanted}-{number}"
    return slug


def _store_passages(filing: Filing, document: Document) -> None:
    texts = cut_passages(document.blocks)
    known = list(filing.passages.order_by("ordinal").values_list("section", "anchor", "text"))
    names = anchors([(one.section, one.text) for one in texts], known)
    filing.passages.all().delete()
    Passage.objects.bulk_create(_passages(filing, texts, names), batch_size=_BATCH)


def _passages(filing: Filing, texts: Sequence[PassageText], names: Sequence[str]) -> list[Passage]:
    return [
        Passage(
            filing=filing,
            ordinal=ordinal,
            section=one.section[:80],
            section_title=one.section_title[:300],
            heading=one.heading[:300],
            anchor=anchor,
            kind=one.kind,
            text=one.text,
            context=search_context(filing, one),
        )
        for ordinal, (one, anchor) in enumerate(zip(texts, names, strict=True), start=1)
    ]


def search_context(filing: Filing, passage: PassageText) -> str:
    """Return the second indexed column: company, form, period, section and heading, in words that questions use."""
    period = filing.period_on
    dated = f"{_MONTHS[period.month - 1]} {period.day}, {period.year}" if period else ""
    section = f"{passage.section} {passage.section_title}".strip()
    return " · ".join(part for part in (filing.company, filing.form, dated, section, passage.heading) if part)[:1000]
