"""Files to stored filings and passages.

The same bytes are one filing however often they are loaded, and changed bytes of the same filing get the same slug and
anchors, so that stored citations still open. One transaction a document.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import json
from dataclasses import dataclass
from pathlib import Path

from django.db import transaction
from django.utils.text import slugify
from django.utils.translation import gettext as _

from chat.filings.metadata import FilingMetadata, read_metadata
from chat.filings.models import Filing, Passage
from chat.filings.outline import SectionBlock, in_sections
from chat.filings.parse import parse
from chat.filings.passages import FilingPassageText, cut_passages
from chat.filings.submission import DocumentError, check_size, decode, read_submission
from chat.search.passage_text import anchors

DEMO_FOLDER = Path(__file__).parent / "demo"  # short filings of invented companies
MANIFEST = "manifest.json"
# What to ask of them. In English in every language, as they are: the offline analyst searches for these words.
# Each is a title, too, of which a narrow list shows the beginning: its subject comes first.
STARTERS = (
    "Northwind Tidal’s debt: how much is it?",
    "Covenant breach: what would breach Northwind Tidal’s debt covenants?",
    "Gross margin drop: how does Calder Ridge explain the fall?",
    "Ammonia leaks: what did they cost Calder Ridge, and is any of it insured?",
)

_SLUG_CHARS = 110
_BATCH = 500
# Of these a company files one for each period; a second one is a corrected copy.
_PERIODIC = ("10-K", "10-Q", "20-F", "40-F", "11-K")
_MONTHS = "January February March April May June July August September October November December".split()


@dataclass(frozen=True, slots=True)
class FilingDocument:
    """A parsed file: its metadata, and its blocks in reading order."""

    metadata: FilingMetadata
    blocks: tuple[SectionBlock, ...]


def read_document(content: bytes, *, name: str) -> FilingDocument:
    """Parse one file: HTML, inline XBRL, plain text, or a full submission with its SGML header.

    Of a submission the main document and the exhibits with text for readers are parsed. Raises DocumentError where the
    file is too large, no text, plain text of another kind, or empty.
    """
    submission = read_submission(decode(content))
    main, *exhibits = submission.documents
    raw, root = parse(main.text)
    metadata = read_metadata(submission, root, raw, name=name)
    blocks = in_sections(raw, metadata.form)
    if root is None:  # any text file is plain text: something must mark it as a filing
        has_envelope = submission.accession or submission.company or main.type
        if not (has_envelope or metadata.form or any(block.section != "Document" for block in blocks)):
            raise DocumentError(_("not a filing: it has no SEC header, no form type and no Item"))
    for exhibit in exhibits:
        blocks.extend(in_sections(parse(exhibit.text)[0], exhibit.type))
    if not any(char.isalnum() for block in blocks for char in block.text):
        raise DocumentError(_("no text was found in it"))
    return FilingDocument(metadata, tuple(blocks))


def ingest(source: Path | bytes, *, name: str = "", filed_on: dt.date | None = None, is_demo: bool = False) -> Filing:
    """Store one document and return its filing. Loading it again changes nothing.

    ``name`` is the file's name. ``filed_on`` is used where the document's own header states no filing date. Raises
    DocumentError for what can't be parsed as a filing, OSError for a file that can't be opened.
    """
    if isinstance(source, Path):
        check_size(source.stat().st_size)
        name = name or source.name
        source = source.read_bytes()
    # The bytes decide: a file may be loaded again under another name.
    digest = hashlib.sha256(source).hexdigest()
    same = Filing.objects.filter(digest=digest).first()
    if same and same.passages.exists():
        # A later load may state a filing date that was missing, or the demo mark.
        if (filed_on and same.filed_on is None) or is_demo != same.is_demo:
            same.filed_on = same.filed_on or filed_on
            same.is_demo = is_demo
            same.save(update_fields=["filed_on", "is_demo", "loaded_at"])
        return same
    document = read_document(source, name=name)
    metadata = document.metadata
    # Readers see the old passages or the new ones, never a filing without any.
    with transaction.atomic():
        filing = same or find_copy(metadata, name) or Filing()
        filing.company = (metadata.company or Path(name).stem)[:200]
        filing.form = metadata.form or filing.form
        filing.cik, filing.accession = metadata.cik[:10], metadata.accession[:30] or filing.accession
        filing.period_on, filing.signed_on = metadata.period_on, metadata.signed_on
        filing.filed_on = metadata.filed_on or filed_on or filing.filed_on
        filing.source_name = name[:255]
        filing.slug = filing.slug or free_slug(filing)
        filing.digest, filing.is_demo = digest, is_demo
        filing.save()
        store_passages(filing, cut_passages(document.blocks))
    return filing


def load_demo() -> list[Filing]:
    """Load the demo corpus and return its filings. Loading it again changes nothing."""
    dates = stated_dates(DEMO_FOLDER)
    return [ingest(DEMO_FOLDER / name, filed_on=filed_on, is_demo=True) for name, filed_on in dates.items()]


def stated_dates(folder: Path) -> dict[str, dt.date]:
    """Return the filing dates that a folder's manifest states, by file name; empty without a manifest of ours."""
    try:
        entries = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        return {entry["file"]: dt.date.fromisoformat(entry["filed"]) for entry in entries}
    except (OSError, ValueError, TypeError, KeyError):
        return {}


def find_copy(metadata: FilingMetadata, name: str) -> Filing | None:
    """Return the stored filing of which this is another copy. Of a periodic report there is one for each period."""
    form, accession = metadata.form, metadata.accession
    if accession and (found := Filing.objects.filter(accession=accession, form=form).first()):
        return found
    alike = Filing.objects.filter(company__iexact=metadata.company, form=form, period_on=metadata.period_on)
    # Two accession numbers are two filings, however alike.
    if accession:
        alike = alike.filter(accession="")
    is_periodic = form.startswith(_PERIODIC) and metadata.period_on and metadata.company
    return alike.first() if is_periodic else alike.filter(source_name=name).exclude(source_name="").first()


def free_slug(filing: Filing) -> str:
    """Return a slug that no filing has yet."""
    date = filing.period_on or filing.filed_on
    wanted = slugify(f"{filing.company} {filing.form.replace('.', '-')} {date or ''}")[:_SLUG_CHARS] or "filing"
    slug, number = wanted, 1
    while Filing.objects.filter(slug=slug).exists():
        number += 1
        slug = f"{wanted}-{number}"
    return slug


def store_passages(filing: Filing, texts: list[FilingPassageText]) -> None:
    """Replace the passages of a filing; unchanged ones get the anchors that they had."""
    # Anchors of unchanged passages stay, since stored citations point to them.
    known = list(filing.passages.order_by("ordinal").values_list("section", "anchor", "text"))
    names = anchors([(one.section, one.text) for one in texts], known)
    filing.passages.all().delete()
    passages = [
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
    Passage.objects.bulk_create(passages, batch_size=_BATCH)


def search_context(filing: Filing, passage: FilingPassageText) -> str:
    """Return the second indexed column: company, form, period, section and heading, in words that questions use."""
    period = filing.period_on
    dated = f"{_MONTHS[period.month - 1]} {period.day}, {period.year}" if period else ""
    section = f"{passage.section} {passage.section_title}".strip()
    return " · ".join(part for part in (filing.company, filing.form, dated, section, passage.heading) if part)[:1000]
