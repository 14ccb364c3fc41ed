"""Printed page numbers: told from text, left out of it, and kept as what they say about where a block stands."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from chat.filings.blocks import CELL_SEPARATOR, RawBlock

_NUMBER = re.compile(
    r"(?:page\s+)?[-–—\s(]*(?P<number>(?:[a-z]-?)?\d{1,3}|[ivxl]{1,6})[-–—\s)]*(?:of \d+)?|<page>\s*\d*", re.IGNORECASE
)
_FORM_FOOTER = re.compile(r".{0,80}\bform\s+(?:10-?[kq]|20-?f)\b\W*(?P<number>\d{1,3}|[ivxl]{1,5})", re.IGNORECASE)
_RUNNING = re.compile(r"(?P<footer>.{10,90}?)\s+(?P<number>\d{1,3})")
_RUNNING_WORDS = re.compile(r"report|form|corporation|company|\binc\b|10-[kq]", re.IGNORECASE)
_RUNNING_FEWEST = 5


def numbered(blocks: Sequence[RawBlock]) -> list[RawBlock]:
    """Return the blocks without page numbers and running footers, each with the number of the page that it ends on."""
    running = _running_footers(blocks)
    kept: list[RawBlock] = []
    page_start = 0
    ids: tuple[str, ...] = ()
    for block in blocks:
        is_page, number = _page(block, running)
        if not is_page:
            kept.append(replace(block, ids=(*ids, *block.ids)) if ids else block)
            ids = ()
            continue
        ids += block.ids
        if number is not None:
            kept[page_start:] = [replace(one, page=number) for one in kept[page_start:]]
            page_start = len(kept)
    return kept


def _page(block: RawBlock, running: set[str]) -> tuple[bool, int | None]:
    line = block.line.strip()
    if len(line) > 120 or _is_inside_table(block):
        return False, None
    if found := _NUMBER.fullmatch(line) or _FORM_FOOTER.fullmatch(line):
        digits = found["number"] or ""
        return True, int(digits) if digits.isdecimal() else None
    found = _RUNNING.fullmatch(line)
    return (True, int(found["number"])) if found and found["footer"] in running else (False, None)


def _is_inside_table(block: RawBlock) -> bool:
    """A label, or a sum without one: a footer that is laid out as a table has no rows around it."""
    return block.kind == "table" and (CELL_SEPARATOR not in block.text or block.text.startswith(CELL_SEPARATOR))


def _running_footers(blocks: Sequence[RawBlock]) -> set[str]:
    """Lines that come again and again with a number that rises by one or two: the foot of each page."""
    numbers: dict[str, list[int]] = defaultdict(list)
    for block in blocks:
        if len(block.text) <= 120 and (found := _RUNNING.fullmatch(block.line)) and _RUNNING_WORDS.search(block.line):
            numbers[found["footer"]].append(int(found["number"]))
    return {footer for footer, seen in numbers.items() if _rises(seen)}


def _rises(seen: list[int]) -> bool:
    steps = [after - before for before, after in pairwise(seen)]
    return len(seen) >= _RUNNING_FEWEST and all(1 <= step <= 4 for step in steps)
