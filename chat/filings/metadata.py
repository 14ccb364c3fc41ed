"""What a filing says about itself: company, form, period, CIK, accession number, and the dates that it states.

The SGML header comes first, inline-XBRL ``dei`` facts second, the words of the cover third. Only the header states the
filing date; without it the date stays unknown. The date of a signature is a field of its own.
"""

from __future__ import annotations

import datetime as dt
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from lxml import etree

from chat.filings.blocks import RawBlock, clean
from chat.filings.submission import Submission

_COVER_BLOCKS = 60
_NAME_BLOCKS = 3000
_BETWEEN = r"[\W_]{1,3}"
_FORM = re.compile(
    r"\bform\s+(?P<form>10-?\s?K(?:SB|T|405)?|10-?\s?Q(?:SB|T)?|8-?\s?K|20-?F|40-?F|6-?K|S-\d|DEF\s?14A|11-K)"
    r"\s?(?P<amended>/\s?A)?(?![\w-])",
    re.IGNORECASE,
)
_NAME_BELOW = re.compile(r"\(?\s*exact name of (?:the )?(?:registrant|company|small business issuer)", re.IGNORECASE)
_PERIOD = re.compile(
    r"(?:fiscal\s+years?|years?|quarter(?:ly)?(?:\s+period)?|period)\s+ended:?"
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
    submission: Submission, root: etree._Element | None, blocks: Sequence[RawBlock], *, name: str
) -> FilingMetadata:
    """Return what header, inline XBRL and cover say of the main document. ``name`` is the file's name."""
    ordered = (submission, _from_xbrl(root), _from_cover(blocks, submission, name))
    accession = _ACCESSION.search(name)
    return FilingMetadata(
        company=_as_written(_first(ordered, "company", ""), blocks),
        form=_tidy_form(_first(ordered, "form", "")),
        cik=_first(ordered, "cik", "").lstrip("0"),
        accession=submission.accession or (accession[1] if accession else ""),
        period_on=_first(ordered, "period_on", None),
        signed_on=_signature_date(blocks),
        filed_on=submission.filed_on,
    )


def _first(ordered: Sequence[object], field: str, default: Any) -> Any:
    return next((value for one in ordered if (value := getattr(one, field))), default)


def _from_xbrl(root: etree._Element | None) -> FilingMetadata:
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


def _from_cover(blocks: Sequence[RawBlock], submission: Submission, name: str) -> FilingMetadata:
    cover = blocks[:_COVER_BLOCKS]
    part = submission.documents[0]
    if exhibit := _exhibit(part.type, cover):
        is_current = _CURRENT_REPORT_NAME.search(f"{name} {part.filename}")
        form = f"8-K EX-{exhibit}" if is_current else f"EX-{exhibit}"
        return FilingMetadata(company=_company_in(cover), form=form, period_on=_first_date(cover))
    found = next((found for block in cover if (found := _FORM.search(block.line))), None)
    form = f"{found['form']}{found['amended'] or ''}" if found else ""
    return FilingMetadata(
        company=_registrant(cover) or _company_in(cover), form=part.type or form, period_on=_period(cover)
    )


def _exhibit(document_type: str, cover: Sequence[RawBlock]) -> str:
    if document_type:
        return document_type[3:] if document_type.startswith("EX-") else ""
    found = next((found for block in cover[:4] if (found := _EXHIBIT_LINE.fullmatch(block.line))), None)
    return found["number"] if found else ""


def _registrant(cover: Sequence[RawBlock]) -> str:
    for above, block in pairwise(cover):
        if _NAME_BELOW.match(block.line):
            return re.sub(r"\s*\(.*", "", above.line)
        if (found := _NAME_BELOW.search(block.line)) and found.start() > 3:
            return block.line[: found.start()].strip(" (|")
    return ""


def _company_in(cover: Sequence[RawBlock]) -> str:
    found = next((found for block in cover[:20] if (found := _COMPANY.search(block.line))), None)
    return found["name"].strip() if found else ""


def _period(cover: Sequence[RawBlock]) -> dt.date | None:
    for index, block in enumerate(cover):
        for found in _PERIOD.finditer(block.line):
            near = block.line[found.end() : found.end() + 80]
            following = cover[index + 1].line[:80] if index + 1 < len(cover) else ""
            before = cover[index - 1].line[-80:] if index else ""
            if date := find_date(near) or find_date(following) or find_date(before):
                return date
    return None


def _first_date(cover: Sequence[RawBlock]) -> dt.date | None:
    return next((date for block in cover if (date := find_date(block.line[:300]))), None)


def _signature_date(blocks: Sequence[RawBlock]) -> dt.date | None:
    """Return the date beside the first signature: the first date after the words of the signature page."""
    lines = [block.line for block in blocks]
    pages = (at for at in range(len(lines) - 1, -1, -1) if _SIGNATURE_PAGE.match(lines[at]) and len(lines[at]) < 400)
    if (page := next(pages, None)) is not None:
        for line in lines[page : page + 40]:
            if (_SIGNED.search(line) or len(line) < 80) and (date := find_date(line)):
                return date
    return None


def _tidy_form(form: str) -> str:
    """Return the form type as EDGAR writes it: ``10-K``, ``10-K/A``, ``8-K EX-99.1``."""
    tidy = re.sub(r"\s+", "", form.upper()) if "EX-" not in form.upper() else form.upper()
    return re.sub(r"^(10|8|20|40|6)(?=[KQF])", r"\1-", tidy)[:30]


def _as_written(name: str, blocks: Sequence[RawBlock]) -> str:
    """Return a name that is all in capitals as the document's running text writes it, else in ordinary capitals."""
    name = clean(name).strip(" ,;")[:200]
    if sum(char.isupper() for char in name) < 0.7 * sum(char.isalpha() for char in name):
        return name
    words = [re.escape(word) for word in re.findall(r"\w+", name)]
    pattern = re.compile(rf"(?:\bthe )?\b{_BETWEEN.join(words)}\w*\.?", re.IGNORECASE) if words else None
    texts = (block.text for block in blocks[:_NAME_BLOCKS])
    seen = Counter(found[0] for text in texts if pattern for found in pattern.finditer(text))
    written = [(variant, count) for variant, count in seen.items() if _is_name(variant)]
    return max(written, key=lambda one: one[1])[0] if written else _capitalised(name)


def _is_name(variant: str) -> bool:
    """Whether words are capitalised as a name: not all in capitals, not all in small letters."""
    words = re.findall(r"\w+", variant)
    return (
        words[0][0].isupper()
        and not all(word.isupper() for word in words)
        and any(len(word) > 2 and word.istitle() for word in words)
    )


def _capitalised(name: str) -> str:
    words = [word.lower() if word.lower() in {"of", "and", "the", "for"} else _cased(word) for word in name.split()]
    return " ".join([words[0][:1].upper() + words[0][1:], *words[1:]]) if words else ""


def _cased(word: str) -> str:
    letters = re.sub(r"\W", "", word)
    is_initials = not re.search(r"[AEIOUY]", letters) or re.fullmatch(r"[IVX]+", letters) or len(letters) <= 2
    return word if is_initials and letters not in {"CO", "INC", "CORP", "LTD"} else word.capitalize()


def find_date(text: str) -> dt.date | None:
    """Return the first date in ``text`` that exists in the calendar: written out, ISO, or month/day/year."""
    found = [match for pattern in _WRITTEN for match in pattern.finditer(text)]
    for match in sorted(found, key=lambda one: one.start()):
        if date := _date(match["year"], match["month"], match["day"]):
            return date
    return None


def _date(year: str, month: str, day: str) -> dt.date | None:
    number = int(month) if month.isdecimal() else _MONTHS.index(month[:3].lower()) + 1
    full_year = int(year) if len(year) == 4 else 2000 + int(year) if int(year) < 70 else 1900 + int(year)
    try:
        return dt.date(full_year, number, int(day))
    except ValueError:
        return None
