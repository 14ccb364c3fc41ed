"""What a filing says about itself: company, form, period, CIK, accession number, and the dates that it states.

The SGML header comes first, inline-XBRL ``dei`` facts second, the words of the cover third. Only the header states the
filing date; without it the date stays unknown. The date of a signature is a field of its own.
"""

from __future__ import annotations

import datetime as dt
import re
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from string import capwords

from lxml import etree

from chat.filings.blocks import RawBlock, clean
from chat.filings.submission import EdgarSubmission

_COVER_BLOCKS = 60
_NAME_BLOCKS = 3000
_BETWEEN = r"[\W_]{1,3}"
_DASH = r"\s?[-‐‑–—]?\s?"
_FORM = re.compile(
    rf"\bform\s+(?P<form>10{_DASH}K(?:SB|T|405)?|10{_DASH}Q(?:SB|T)?|8{_DASH}K|20{_DASH}F|40{_DASH}F|6{_DASH}K|S-\d|DEF\s?14A|11-K)"
    r"\s?(?P<amended>/\s?A)?(?![\w-])",
    re.IGNORECASE,
)
# Covers print the name above its explanation: "(Exact name of registrant as specified in its charter)".
_NAME_BELOW = re.compile(
    r"\(?\s*(?:exact name of (?:the )?(?:registrant|company|small business issuer)"
    r"|translation of (?:the )?(?:registrant|company).?s name)",
    re.IGNORECASE,
)
_PERIOD = re.compile(
    r"(?:fiscal\s+years?|years?|quarter(?:ly)?(?:\s+period)?|period|weeks|months)\s+ended:?"
    r"|date of (?:the )?(?:report|earliest event)|transition period ended",
    re.IGNORECASE,
)
_SIGNATURE_PAGE = re.compile(r"\s*signatures?\s*$|pursuant to the requirements of", re.IGNORECASE)
_SIGNED = re.compile(r"\b(?:date[d:]?|as of|on this|this)\b", re.IGNORECASE)
_COMPANY = re.compile(
    r"(?P<name>[A-Z][\w&.,'’() -]{1,70}?,?\s(?:Inc|Incorporated|Corp|Corporation|Company|Co|Ltd|Limited|LLC|L\.?P"
    r"|plc|PLC|N\.V|S\.A|Bancorp|Trust|Group)\b\.?)",
)
_ACCESSION = re.compile(r"(?<!\d)(\d{10}-\d{2}-\d{6})(?!\d)")
_EXHIBIT_LINE = re.compile(r"exhibit\s+(?P<number>\d{2}(?:\.\d+)?)", re.IGNORECASE)
_CURRENT_REPORT_NAME = re.compile(r"(?<![0-9a-z])8-?k", re.IGNORECASE)

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH = r"(?P<month>jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?"
_WRITTEN = (
    re.compile(_MONTH + r"\s*(?P<day>\d{1,2})(?:st|nd|rd|th)?\s*,?\s*(?P<year>(?:19|20)\d\d)", re.IGNORECASE),
    re.compile(r"(?P<day>\d{1,2})(?:st|nd|rd|th)?\s+(?:day of\s+)?" + _MONTH + r",?\s+(?P<year>(?:19|20)\d\d)", re.I),
    re.compile(r"(?<!\d)(?P<year>(?:19|20)\d\d)-(?P<month>\d\d)-(?P<day>\d\d)(?!\d)"),
    re.compile(r"(?<!\d)(?P<month>\d{1,2})/(?P<day>\d{1,2})/(?P<year>(?:19|20)?\d\d)(?!\d)"),
)


@dataclass(frozen=True, slots=True)
class FilingMetadata:
    """Metadata of one filing. Empty or None where the document doesn't say."""

    company: str = ""
    form: str = ""
    cik: str = ""
    accession: str = ""
    period_on: dt.date | None = None
    signed_on: dt.date | None = None
    filed_on: dt.date | None = None


def read_metadata(
    submission: EdgarSubmission, root: etree._Element | None, blocks: Sequence[RawBlock], *, name: str
) -> FilingMetadata:
    """Return what header, inline XBRL and cover say of the main document. ``name`` is the file's name."""
    facts, cover = read_facts(root), read_cover(blocks, submission, name)
    accession = _ACCESSION.search(name)
    # The form type as EDGAR writes it: 10-K, 10-K/A, 8-K EX-99.1.
    form = (submission.form or facts.form or cover.form).upper()
    form = re.sub(r"^(10|8|20|40|6)[‐‑–—]?(?=[KQF])", r"\1-", form if "EX-" in form else re.sub(r"\s+", "", form))
    return FilingMetadata(
        company=restore_case(submission.company or facts.company or cover.company, blocks),
        form=form[:30],
        cik=(submission.cik or facts.cik).lstrip("0"),
        accession=submission.accession or (accession[1] if accession else ""),
        period_on=submission.period_on or facts.period_on or cover.period_on,
        signed_on=signature_date(blocks),
        filed_on=submission.filed_on,
    )


def read_facts(root: etree._Element | None) -> FilingMetadata:
    """Return what the inline-XBRL facts say of the document."""
    facts: dict[str, str] = {}
    for element in root.iter("ix:nonnumeric", "ix:nonfraction") if root is not None else ():
        name = element.get("name", "")
        if name.startswith("dei:"):
            facts.setdefault(name[4:], clean("".join(str(text) for text in element.itertext())))
    return FilingMetadata(
        company=facts.get("EntityRegistrantName", ""),
        form=facts.get("DocumentType", ""),
        cik=re.sub(r"\D", "", facts.get("EntityCentralIndexKey", "")),
        period_on=find_date(facts.get("DocumentPeriodEndDate", "")),
    )


def read_cover(blocks: Sequence[RawBlock], submission: EdgarSubmission, name: str) -> FilingMetadata:
    """Return what the words of the cover say. An exhibit has no cover, only a company and a date."""
    cover = blocks[:_COVER_BLOCKS]
    part = submission.documents[0]
    exhibit = part.type.removeprefix("EX-") if part.type.startswith("EX-") else ""
    if not part.type:
        headed = next((found for block in cover[:4] if (found := _EXHIBIT_LINE.fullmatch(block.line))), None)
        exhibit = headed["number"] if headed else ""
    if exhibit:
        is_current = _CURRENT_REPORT_NAME.search(f"{name} {part.filename}")
        date = next((date for block in cover if (date := find_date(block.line[:300]))), None)
        form = f"8-K EX-{exhibit}" if is_current else f"EX-{exhibit}"
        return FilingMetadata(company=company_in(cover), form=form, period_on=date)
    found = next((found for block in cover if (found := _FORM.search(block.line))), None)
    form = f"{found['form']}{found['amended'] or ''}" if found else ""
    return FilingMetadata(
        company=registrant(cover) or company_in(cover), form=part.type or form, period_on=period(cover)
    )


def registrant(cover: Sequence[RawBlock]) -> str:
    """Return the name above or before *exact name of registrant*."""
    for above, block in pairwise(cover):
        if _NAME_BELOW.match(block.line):
            return re.sub(r"\s*\(.*", "", above.line)
        if (found := _NAME_BELOW.search(block.line)) and found.start() > 3:
            return block.line[: found.start()].strip(" (|")
    return ""


def company_in(cover: Sequence[RawBlock]) -> str:
    """Return the first words that read as a company's name."""
    found = next((found for block in cover[:20] if (found := _COMPANY.search(block.line))), None)
    return found["name"].strip() if found else ""


def period(cover: Sequence[RawBlock]) -> dt.date | None:
    """Return the date beside *fiscal year ended* and the like."""
    for index, block in enumerate(cover):
        for found in _PERIOD.finditer(block.line):
            near = block.line[found.end() : found.end() + 80]
            following = cover[index + 1].line[:80] if index + 1 < len(cover) else ""
            before = cover[index - 1].line[-80:] if index else ""
            if date := find_date(near) or find_date(following) or find_date(before):
                return date
    return None


def signature_date(blocks: Sequence[RawBlock]) -> dt.date | None:
    """Return the date beside the first signature: the first date after the words of the signature page."""
    lines = [block.line for block in blocks]
    pages = (at for at in range(len(lines) - 1, -1, -1) if _SIGNATURE_PAGE.match(lines[at]) and len(lines[at]) < 400)
    if (page := next(pages, None)) is not None:
        for line in lines[page : page + 40]:
            if (_SIGNED.search(line) or len(line) < 80) and (date := find_date(line)):
                return date
    return None


def restore_case(name: str, blocks: Sequence[RawBlock]) -> str:
    """Return a name that is all in capitals as the document's running text writes it, else in ordinary capitals."""
    name = clean(name).strip(" ,;")[:200]
    if sum(char.isupper() for char in name) < 0.7 * sum(char.isalpha() for char in name):
        return name
    words = [re.escape(word) for word in re.findall(r"\w+", name)]
    pattern = re.compile(rf"(?:\bthe )?\b{_BETWEEN.join(words)}\w*\.?", re.IGNORECASE) if words else None
    texts = (block.text for block in blocks[:_NAME_BLOCKS])
    seen = Counter(found[0] for text in texts if pattern for found in pattern.finditer(text))
    # Capitalised as a name: some word is, and the first one is not in small letters.
    names = [one for one in seen if one[0].isupper() and re.search(r"\b[A-Z][a-z]{2}", one)]
    return max(names, key=lambda one: seen[one], default=capwords(name))


def find_date(text: str) -> dt.date | None:
    """Return the first date in ``text`` that exists in the calendar: written out, ISO, or month/day/year."""
    found = [match for pattern in _WRITTEN for match in pattern.finditer(text)]
    for match in sorted(found, key=lambda one: one.start()):
        month, year = match["month"], int(match["year"])
        if len(match["year"]) == 2:
            year += 2000 if year < 70 else 1900
        number = int(month) if month.isdecimal() else _MONTHS.index(month[:3].lower()) + 1
        with suppress(ValueError):
            return dt.date(year, number, int(match["day"]))
    return None
