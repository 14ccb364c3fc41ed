"""What a filing says about itself: company, form, period, CIK, accession, and the dates that it states.

The SGML header is believed first, inline-XBRL ``dei`` facts second, the words of the cover third. The filing date
stands in the header alone; where there is none it stays unknown. A signature's date is kept apart from it.
"""

from __future__ import annotations

import datetime as dt
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from lxml import etree

from chat.filings.blocks import RawBlock, clean
from chat.filings.dates import find_date
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
_SIGNED = re.compile(r"\b(?:date[d:]?|as of|on this|this)\b", re.IGNORECASE)
_COMPANY = re.compile(
    r"(?P<name>[A-Z][\w&.,'’() -]{1,70}?,?\s(?:Inc|Incorporated|Corp|Corporation|Company|Co|Ltd|Limited|LLC|L\.?P"
    r"|plc|PLC|N\.V|S\.A|Bancorp|Trust|Group)\b\.?)",
)
_ACCESSION = re.compile(r"(?<!\d)(\d{10}-\d{2}-\d{6})(?!\d)")
_EXHIBIT_LINE = re.compile(r"exhibit\s+(?P<number>\d{2}(?:\.\d+)?)", re.IGNORECASE)
_CURRENT_REPORT_NAME = re.compile(r"(?<![0-9a-z])8-?k", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Facts:
    """Facts of one filing. Empty or None where the document does not say."""

    company: str = ""
    form: str = ""
    cik: str = ""
    accession: str = ""
    period_on: dt.date | None = None
    signed_on: dt.date | None = None
    filed_on: dt.date | None = None


def filing_facts(
    submission: Submission, root: etree._Element | None, blocks: Sequence[RawBlock], *, name: str
) -> Facts:
    """Return what header, inline XBRL and cover say of the main document. ``name`` is the file's name."""
    from_header = Facts(
        company=submission.company,
        form=submission.form,
        cik=submission.cik,
        accession=submission.accession,
        period_on=submission.period_on,
        filed_on=submission.filed_on,
    )
    accession = _ACCESSION.search(name)
    facts = _merged(from_header, _xbrl_facts(root), _cover_facts(blocks, submission, name))
    return replace(
        facts,
        company=_as_written(facts.company, blocks),
        form=_tidy_form(facts.form),
        cik=facts.cik.lstrip("0"),
        accession=facts.accession or (accession[1] if accession else ""),
        signed_on=_signature_date(blocks),
    )


def _merged(*ordered: Facts) -> Facts:
    def first(field: str) -> object:
        return next((value for facts in ordered if (value := getattr(facts, field))), getattr(ordered[0], field))

    return Facts(**{field: first(field) for field in Facts.__dataclass_fields__})  # type: ignore[arg-type]


def _xbrl_facts(root: etree._Element | None) -> Facts:
    said: dict[str, str] = {}
    for element in root.iter("ix:nonnumeric", "ix:nonfraction") if root is not None else ():
        name = element.get("name", "")
        if name.startswith("dei:"):
            said.setdefault(name[4:], clean("".join(str(text) for text in element.itertext())))
    return Facts(
        company=said.get("EntityRegistrantName", ""),
        form=said.get("DocumentType", ""),
        cik=re.sub(r"\D", "", said.get("EntityCentralIndexKey", "")),
        period_on=find_date(said.get("DocumentPeriodEndDate", "")),
    )


def _cover_facts(blocks: Sequence[RawBlock], submission: Submission, name: str) -> Facts:
    cover = blocks[:_COVER_BLOCKS]
    part = submission.documents[0]
    if exhibit := _exhibit(part.type, cover):
        is_current = _CURRENT_REPORT_NAME.search(f"{name} {part.filename}")
        form = f"8-K EX-{exhibit}" if is_current else f"EX-{exhibit}"
        return Facts(company=_company_in(cover), form=form, period_on=_first_date(cover))
    found = next((found for block in cover if (found := _FORM.search(block.line))), None)
    form = f"{found['form']}{found['amended'] or ''}" if found else ""
    return Facts(company=_registrant(cover) or _company_in(cover), form=part.type or form, period_on=_period(cover))


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
    at = next((i for i in range(len(blocks) - 1, -1, -1) if _is_signature_page(blocks[i])), None)
    for block in blocks[at : at + 40] if at is not None else ():
        if (_SIGNED.search(block.line) or len(block.line) < 80) and (date := find_date(block.line)):
            return date
    return None


def _is_signature_page(block: RawBlock) -> bool:
    return (
        bool(re.match(r"\s*signatures?\s*$|pursuant to the requirements of", block.line, re.IGNORECASE))
        and len(block.line) < 400
    )


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
