"""Reports without Item headings, whose Items stand only in a cross-reference index.

Such an index says on which page, or behind which link, the text of each Item begins. The report keeps its own order, so
places are taken as they come: no rank is asked of them. A page is narrowed down to the heading on it that carries the
Item's title, where there is one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from chat.filings.blocks import CELL_SEPARATOR, RawBlock
from chat.filings.items import ItemHeading, is_signatures, item_heading, titled_key
from chat.filings.outline import Start, contents_entries

_FEWEST = 4
_FEWEST_MISSED = 2
_MISSED_SHARE = 0.2
_BUNCH_SHARE = 0.08
_REFERENCE = re.compile(r"[\s|]*(?:pages?\s*[\d,\s–-]+|not applicable|none)?[\s,]*(?:\([a-z]\))*$", re.IGNORECASE)
_PAGES = re.compile(r"(?:pages?\s*)?(?:[a-z]-)?(?P<page>\d{1,3})\b(?!\s*[%$])", re.IGNORECASE)


def cross_reference_outline(blocks: Sequence[RawBlock], form: str) -> list[Start]:
    """Return the starts that the index gives, in reading order; empty where there is no such index."""
    entries = contents_entries(blocks, form)
    starts = [Start(entry.target, _section(entry.heading), _title(entry.heading)) for entry in entries]
    if len(starts) < _FEWEST:
        starts = list(_by_page(blocks, form))
    if len(starts) < _FEWEST:
        return []
    first: dict[int, Start] = {}
    for start in sorted(starts, key=lambda one: one.index):
        first.setdefault(start.index, start)
    return list(_with_resumed_discussion(blocks, list(first.values())))


def _with_resumed_discussion(blocks: Sequence[RawBlock], starts: Sequence[Start]) -> Iterator[Start]:
    """Yield the starts; market risk (Item 7A) inside the discussion ends where the report's contents go on."""
    linked = {link for block in blocks[: starts[0].index] for link in block.links}
    discussion = next((start for start in starts if start.section == "Item 7"), None)
    for place, start in enumerate(starts):
        yield start
        end = starts[place + 1].index if place + 1 < len(starts) else len(blocks)
        if start.section != "Item 7A" or place == 0 or starts[place - 1] != discussion:
            continue
        resumed = (index for index in range(start.index + 1, end) if linked.intersection(blocks[index].ids))
        if (index := next(resumed, None)) is not None:
            yield Start(index, discussion.section, discussion.title)


def is_out_of_order(blocks: Sequence[RawBlock], starts: Sequence[Start], form: str) -> bool:
    """Say whether rising Items miss what links say: the mark of an index into a report with an order of its own."""
    told = {start.section for start in starts}
    places = {start.index for start in starts}
    entries = contents_entries(blocks, form)
    named = {entry.heading.key.section for entry in entries if entry.heading}
    missed = {entry.heading.key.section for entry in entries if entry.heading and entry.target not in places} - told
    return len(missed) >= max(_FEWEST_MISSED, len(named) * _MISSED_SHARE)


def is_bunched(blocks: Sequence[RawBlock], starts: Sequence[Start]) -> bool:
    """Say whether all Items stand together in a small part of the document, as in a table that only lists them."""
    items = [start for start in starts if start.section != "Signatures"]
    return len(items) >= _FEWEST and items[-1].index - items[0].index < len(blocks) * _BUNCH_SHARE


def _section(heading: ItemHeading | None) -> str:
    return heading.key.section if heading else "Signatures"


def _title(heading: ItemHeading | None) -> str:
    if heading is None:
        return ""
    return _REFERENCE.sub("", heading.title)


def _by_page(blocks: Sequence[RawBlock], form: str) -> Iterator[Start]:
    first = _first_blocks(blocks)
    for block in blocks:
        heading = item_heading(block.line, form) if CELL_SEPARATOR in block.text else None
        found = _PAGES.search(block.text.rsplit(CELL_SEPARATOR, 1)[-1]) if heading else None
        page = int(found["page"]) if found else None
        if heading and page in first:
            yield Start(_on_page(blocks, first[page], heading), heading.key.section, _title(heading))
    signed = [index for index, block in enumerate(blocks) if block.kind != "table" and is_signatures(block.text)]
    yield from (Start(index, "Signatures", "") for index in signed[-1:])


def _first_blocks(blocks: Sequence[RawBlock]) -> dict[int | None, int]:
    first: dict[int | None, int] = {}
    for index, block in enumerate(blocks):
        if block.page is not None:
            first.setdefault(block.page, index)
    return first


def _on_page(blocks: Sequence[RawBlock], first: int, heading: ItemHeading) -> int:
    page = blocks[first].page
    for index in range(first, len(blocks)):
        if blocks[index].page != page:
            break
        if blocks[index].kind == "heading" and titled_key(blocks[index].text) == heading.key:
            return index
    return first
