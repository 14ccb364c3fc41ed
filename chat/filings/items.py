"""The Items of SEC forms: how their headings read, their titles, and their order."""

from __future__ import annotations

import re
from dataclasses import dataclass

# Beginnings of titles, as filers word them. A heading that has one is more likely than one that has not.
_TITLES_10K = {
    "1": "business|description of business",
    "1A": "risk factors",
    "1B": "unresolved staff",
    "1C": "cybersecurity",
    "2": "propert|description of propert",
    "3": "legal proceedings",
    "4": "mine safety|submission of matters|reserved|removed",
    "5": "market for",
    "6": "selected|reserved|consolidated financial data|removed",
    "7": "management.?s discussion",
    "7A": "quantitative and qualitative|qualitative and quantitative",
    "8": "financial statements|consolidated financial statements",
    "9": "changes in and disagreements|changes in accountants|disagreements",
    "9A": "controls and procedures",
    "9B": "other information",
    "9C": "disclosures? regarding foreign",
    "10": "directors",
    "11": "executive compensation|compensation",
    "12": "security ownership",
    "13": "certain relationships",
    "14": "principal account|exhibits|controls and procedures",
    "15": "exhibit",
    "16": "form 10-k summary|principal account|none",
}
_TITLES_10Q = {
    ("I", "1"): "(?:unaudited |condensed |consolidated |interim )*financial statements|financial information",
    ("I", "2"): "management.?s discussion",
    ("I", "3"): "quantitative and qualitative|qualitative and quantitative",
    ("I", "4"): "controls and procedures",
    ("II", "1"): "legal proceedings",
    ("II", "1A"): "risk factors",
    ("II", "2"): "unregistered sales|changes in securities|issuer purchases|purchases of equity|recent sales",
    ("II", "3"): "defaults? ",
    ("II", "4"): "mine safety|submission of matters|reserved|removed",
    ("II", "5"): "other information",
    ("II", "6"): "exhibits",
}

# "Item 1.Business" without a space, "Item 7(a)", "Item No. 3", "Items 1 and 2", "Part II, Item 1A".
_ITEM = re.compile(
    r"\W{0,3}(?:part\s+(?P<part>i{1,3}|iv)\b[\s.,:–—-]*(?:(?:financial|other)\s+information[\s.,:–—-]*)?)?"
    r"items?\s*(?:no\.?\s*|#\s*)?(?P<number>\d{1,2})(?!\d)"
    r"(?:(?P<letter>[a-k])(?![a-z])|\((?P<bracketed>[a-c])\)|\s(?P<apart>[a-c])(?=\s?[.:)]))?(?:\(t\))?",
    re.IGNORECASE,
)
# Markup splits the number of some 8-Ks: "Item 2 .0 2".
_ITEM_8K = re.compile(r"\W{0,3}items?\s*(?P<number>\d)\s*\.\s*(?P<point>\d\s*\d)(?!\d)", re.IGNORECASE)
_ALSO = re.compile(r"\s*(?:,|and|&|through|-|–|to)\s*(?:items?\s*)?\d{1,2}[a-c]?(?=[\s.:,–—-])", re.IGNORECASE)
_PART = re.compile(r"\W{0,3}part\s+(?P<part>i{1,3}|iv)\b", re.IGNORECASE)
_SIGNATURES = re.compile(r"\W{0,3}signatures?\W*(?:\d{1,3})?", re.IGNORECASE)
_LEAD = re.compile(r"^[\s.,:;|)\]–—-]+")
_TRAILING_PAGE = re.compile(r"[\s.|]+(?:pages?\s*)?(?P<page>\d{1,3})(?:\s*[-–—]\s*\d{1,3})?$", re.IGNORECASE)
_LETTERED = frozenset([1, 7, 9])  # elsewhere a bracketed letter is a paragraph: Item 14(a)
_ROMAN = {"I": 1, "II": 2, "III": 3, "IV": 4}

SIGNATURES_RANK = 10**6
TITLE_MAX_CHARS = 300


@dataclass(frozen=True, slots=True)
class ItemKey:
    """An Item: its part (10-Q only, where numbers repeat), its number, and its letter or, on an 8-K, two digits.

    ``rank`` orders the Items of one form; ``section`` is the name that citations show.
    """

    number: int
    suffix: str = ""
    part: str = ""

    @property
    def rank(self) -> int:
        suffix = int(self.suffix) if self.suffix.isdigit() else sum(ord(letter) - 64 for letter in self.suffix)
        return _ROMAN.get(self.part, 0) * 10_000 + self.number * 100 + suffix

    @property
    def section(self) -> str:
        item = f"Item {self.number}{'.' if self.suffix.isdigit() else ''}{self.suffix}"
        return f"Part {self.part}, {item}" if self.part else item

    @property
    def code(self) -> str:
        return f"{self.number}{self.suffix}"


@dataclass(frozen=True, slots=True)
class ItemHeading:
    """An Item heading: which Item, its title, and the page number that a contents entry ends with."""

    key: ItemKey
    title: str
    page: int | None = None
    is_run_in: bool = False  # the section's text follows in the same paragraph


def starts_section(text: str) -> bool:
    """Say whether a line begins as an Item or Part heading does."""
    return bool(_ITEM.match(text) or _PART.match(text)) and not continues_sentence(text)


def part_of(text: str) -> str | None:
    """Return the part that a line such as ``PART II - OTHER INFORMATION`` opens."""
    found = _PART.match(text)
    return found["part"].upper() if found and len(text) <= 120 and not continues_sentence(text) else None


def is_signatures(text: str) -> bool:
    """Say whether a line is the heading of the signatures."""
    return bool(_SIGNATURES.fullmatch(text))


def item_heading(line: str, form: str) -> ItemHeading | None:
    """Parse a line as an Item heading of ``form``; None where it is none, or mentions an Item in a sentence."""
    if is_current_report(form) and (found := _ITEM_8K.match(line)):
        key = ItemKey(int(found["number"]), found["point"].replace(" ", ""))
        rest = line[found.end() :]
    elif found := _ITEM.match(line):
        number = int(found["number"])
        bracketed = found["bracketed"] if number in _LETTERED else None
        letter = found["letter"] or found["apart"] or bracketed or ""
        key = ItemKey(number, letter.upper(), (found["part"] or "").upper() if is_quarterly(form) else "")
        rest = without_more_items(line[found.end() :])
    else:
        return None
    if continues_sentence(line):
        return None

    rest = _LEAD.sub("", rest)
    numbered = _TRAILING_PAGE.search(rest)
    title = rest[: numbered.start()].rstrip(" .|") if numbered else rest.strip()
    page = int(numbered["page"]) if numbered else None
    if len(title) <= TITLE_MAX_CHARS and not title[:1].islower():
        return ItemHeading(key, title, page)
    # A long title is the section itself, where the form calls it so; else a sentence that mentions the Item.
    known = known_title(key, title, form)
    return ItemHeading(key, known, None, is_run_in=True) if known else None


def known_title(key: ItemKey, title: str, form: str) -> str:
    """Return the beginning of ``title`` that is what the form calls this Item; empty where it isn't."""
    pattern = _TITLES_10Q.get((key.part, key.code)) if is_quarterly(form) else _TITLES_10K.get(key.code)
    found = re.match(pattern, title.lstrip("([ "), re.IGNORECASE) if pattern else None
    return found[0] if found else ""


def is_quarterly(form: str) -> bool:
    """Say whether a form is a 10-Q, whose Items repeat in its two parts."""
    return form.upper().startswith("10-Q")


def is_current_report(form: str) -> bool:
    """Say whether a form is an 8-K, whose Items have two numbers."""
    return form.upper().startswith("8-K")


def without_more_items(text: str) -> str:
    """Return what follows a list of Items: *, 11 and 12*."""
    while also := _ALSO.match(text):
        text = text[also.end() :]
    return text


def continues_sentence(line: str) -> bool:
    """Say whether a sentence continues after the Item's number and so mentions it: *Item 7 of this report*."""
    found = _ITEM_8K.match(line) or _ITEM.match(line) or _PART.match(line)
    rest = without_more_items(line[found.end() :]) if found else ""
    is_mention = re.match(r"\s*[,;]|\s+[a-z(\"“]|\s*\)\s*[a-z]", rest)
    # "Item 9.01 (d) Exhibits" is a heading.
    return is_mention is not None and not re.match(r"\s*\(\s?(?:[A-Z]|[a-d]\s?\)\.?\s*[A-Z])", rest)
