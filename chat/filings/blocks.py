"""Raw blocks: the paragraphs, headings and table rows of a document, without its markup and its page numbers."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Literal

Kind = Literal["heading", "text", "table"]

HEADING_MAX_CHARS = 250
CELL_SEPARATOR = " | "

_SPACE = re.compile(r"[\s\u00a0\u2000-\u200b\u202f\u3000\ufeff]+")
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\u00ad\u200b\ufeff\ud800-\udfff]")  # and soft hyphens
# Old filings declare Latin-1 and mean Windows-1252: \x92 is an apostrophe.
_WINDOWS = {code: bytes([code]).decode("cp1252", "ignore") for code in range(0x80, 0xA0)}

# Also F-12, (iv) and <PAGE> 12, as printed in annual reports.
_PAGE_NUMBER = re.compile(
    r"(?:page\s+)?[-–—\s(]*(?:(?:[a-z]-?)?\d{1,3}|[ivxl]{1,6})[-–—\s)]*(?:of \d+)?|<page>\s*\d*", re.IGNORECASE
)
_FORM_FOOTER = re.compile(r".{0,80}\bform\s+(?:10-?[kq]|20-?f)\b\W*(?:\d{1,3}|[ivxl]{1,5})", re.IGNORECASE)
_FOOTER = re.compile(r"(?P<words>.{10,90}?)\s+(?P<number>\d{1,3})")
_FOOTER_WORDS = re.compile(r"report|form|corporation|company|\binc\b|10-[kq]", re.IGNORECASE)
# A line that repeats fewer times may be a row of a list with a page number.
_FEWEST_FOOTERS = 5
_FOOTER_MAX_CHARS = 120


@dataclass(frozen=True, slots=True)
class RawBlock:
    """One paragraph, heading or table row. Fields of a row are joined by `` | ``, empty ones too."""

    text: str
    kind: Kind
    ids: tuple[str, ...] = ()
    links: tuple[str, ...] = ()
    table: int = 0  # which table of the document a row belongs to, from 1
    level: int = 0  # of a heading that is marked as one, from 1

    @property
    def line(self) -> str:
        """The text as one line of prose: a heading that was laid out as a table reads as one."""
        return " ".join(field for field in self.text.split(CELL_SEPARATOR) if field)


def clean(text: str) -> str:
    """Return ``text`` in one line: white space folded, control characters dropped, Windows' code points corrected."""
    return _SPACE.sub(" ", _CONTROL.sub("", text.translate(_WINDOWS))).strip()


def is_heading(text: str, *, is_strong: bool) -> bool:
    """Say whether a paragraph is a heading: short and set in bold, or short and in capitals."""
    if not any(char.isalpha() for char in text):
        return False
    if is_strong:
        return len(text) <= HEADING_MAX_CHARS
    return text.isupper() and 4 <= len(text) <= 100 and not text.endswith((".", ";", ","))


def without_page_numbers(blocks: Sequence[RawBlock]) -> list[RawBlock]:
    """Drop page numbers and running footers."""
    footers = running_footers(blocks)
    out: list[RawBlock] = []
    # The ids of dropped blocks move to the next one, where links to them lead.
    ids: tuple[str, ...] = ()
    for block in blocks:
        if is_page_foot(block, footers):
            ids += block.ids
        else:
            out.append(replace(block, ids=(*ids, *block.ids)) if ids else block)
            ids = ()
    return out


def is_page_foot(block: RawBlock, footers: set[str]) -> bool:
    """Say whether a block is a page number or a footer."""
    line = block.line.strip()
    # A label or a sum inside a table; a footer that is laid out as a table has no rows around it.
    is_row = block.kind == "table" and (CELL_SEPARATOR not in block.text or block.text.startswith(CELL_SEPARATOR))
    if len(line) > _FOOTER_MAX_CHARS or is_row:
        return False
    if _PAGE_NUMBER.fullmatch(line) or _FORM_FOOTER.fullmatch(line):
        return True
    found = _FOOTER.fullmatch(line)
    return found is not None and found["words"] in footers


def running_footers(blocks: Sequence[RawBlock]) -> set[str]:
    """Return the words of lines that repeat with a number that rises by one to four."""
    numbers: dict[str, list[int]] = defaultdict(list)
    for block in blocks:
        if len(block.text) > _FOOTER_MAX_CHARS or not _FOOTER_WORDS.search(block.line):
            continue
        if found := _FOOTER.fullmatch(block.line):
            numbers[found["words"]].append(int(found["number"]))
    return {
        words
        for words, seen in numbers.items()
        if len(seen) >= _FEWEST_FOOTERS and all(1 <= after - before <= 4 for before, after in pairwise(seen))
    }
