"""Where the sections of a document begin, and its blocks with the section that each is in.

Every place that may open an Item is a candidate with a weight: the target of a contents link weighs most, a heading
less, a heading that looks like a contents entry or a continuation least. The outline is the heaviest chain of
candidates whose Items rise in the form's order. Reports without Item headings are read by their cross-reference index.
Where neither finds Items, the whole document is one section, ``Document``, rather than a guess.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, islice

from chat.filings.blocks import Kind, RawBlock
from chat.filings.items import (
    SIGNATURES_RANK,
    ItemHeading,
    ItemKey,
    is_current_report,
    is_quarterly,
    is_signatures,
    item_heading,
    known_title,
    part_of,
)

SIGNATURES = "Signatures"

_EXHIBIT = re.compile(r"\bEX-(?P<number>\d+(?:\.\d+)*)", re.IGNORECASE)
_STATEMENTS = re.compile(
    r"(?:index to )?(?:the )?(?:audited |consolidated )*(?:financial statements|balance sheets)"
    r"|reports? of independent",
    re.IGNORECASE,
)
_STATEMENTS_MIN_CHARS = 4000
_TITLE_CHARS = 120  # of a title that isn't set in bold, as in plain text
_FEWEST_ITEMS = 3
# The filer made the link on purpose, so it outweighs any heading.
_LINK_WEIGHT = 4.0
_BODY_CHARS = 200
_CONTINUED = re.compile(r"\bcont(?:inued|\.|’d|'d)", re.IGNORECASE)
# Items 1 to 4 are in both parts of a 10-Q, 5 and 6 only in the second.
_LAST_QUARTERLY_ITEM = {"I": 4, "II": 6}

_FEWEST_INDEXED = 4
_FEWEST_MISSED = 2
_MISSED_SHARE = 0.2
_BUNCH_SHARE = 0.08
_REFERENCE = re.compile(r"[\s|]*(?:pages?\s*[\d,\s–-]+|not applicable|none)?[\s,]*(?:\([a-z]\))*$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class SectionBlock:
    """One paragraph, heading or table row with its section. ``heading`` is the last one above it.

    Rows of one table share its number; 0 is no table. A row has a field for every column up to its last one with text;
    a label inside a table has one field.
    """

    section: str
    section_title: str
    heading: str
    kind: Kind
    text: str
    table: int = 0


@dataclass(frozen=True, slots=True)
class Start:
    """A section begins, or may begin, at block ``index``. A candidate has its Item's rank, and a weight."""

    index: int
    section: str
    title: str
    rank: int = 0
    weight: float = 0.0


@dataclass(frozen=True, slots=True)
class ContentsEntry:
    """An Item heading that links to ``target``, the index of the block where its text begins."""

    index: int
    target: int
    heading: ItemHeading | None  # None: the signatures

    @property
    def start(self) -> Start:
        if self.heading is None:
            return Start(self.target, SIGNATURES, "")
        return Start(self.target, self.heading.key.section, _REFERENCE.sub("", self.heading.title))


def in_sections(blocks: Sequence[RawBlock], form: str) -> list[SectionBlock]:
    """Return raw blocks with the section and heading that each is under. Text before the first Item is ``Cover``."""
    starts = [Start(0, exhibit, "")] if (exhibit := exhibit_section(form)) else section_starts(blocks, form)
    if starts and starts[0].index > 0:
        starts = [Start(0, "Cover", ""), *starts]
    out: list[SectionBlock] = []
    for start, end in zip(starts, [*(start.index for start in starts[1:]), len(blocks)], strict=True):
        heading = ""
        for block in blocks[start.index : end]:
            if block.kind == "heading":
                heading = block.text
            out.append(SectionBlock(start.section, start.title, heading, block.kind, block.text, block.table))
    return out


def exhibit_section(form: str) -> str:
    """Return ``Exhibit 99.1`` for ``EX-99.1`` and for ``8-K EX-99.1``; empty for a main document."""
    found = _EXHIBIT.search(form)
    return f"Exhibit {found['number']}" if found else ""


def section_starts(blocks: Sequence[RawBlock], form: str) -> list[Start]:
    """Return where the sections of a main document begin; one section ``Document`` where no Items are found."""
    starts = outline(blocks, form)
    if is_current_report(form):
        return starts or [Start(0, "Document", "")]
    # Items all in a small part of the document are a table that only lists them.
    items = [start for start in starts if start.section != SIGNATURES]
    is_list = len(items) >= _FEWEST_INDEXED and items[-1].index - items[0].index < len(blocks) * _BUNCH_SHARE
    # Such a report has an order of its own, so its index is followed instead.
    if is_list or len(starts) < _FEWEST_ITEMS or misses_links(blocks, starts, form):
        starts = cross_reference_outline(blocks, form) or ([] if is_list else starts)
    if starts and starts[-1].section == SIGNATURES and form.upper().startswith("10-K"):
        # The financial statements of an annual report may be on F-pages behind the signatures.
        for index in range(starts[-1].index + 1, len(blocks)):
            block = blocks[index]
            is_title = block.kind == "heading" or (block.kind == "text" and len(block.text) <= _TITLE_CHARS)
            if is_title and _STATEMENTS.match(block.text) and not block.text.endswith("."):
                if sum(len(following.text) for following in blocks[index:]) > _STATEMENTS_MIN_CHARS:
                    starts = [*starts, Start(index, "Item 8", "Financial Statements")]
                break
    return starts or [Start(0, "Document", "")]


def outline(blocks: Sequence[RawBlock], form: str) -> list[Start]:
    """Return the starts of the sections in reading order, from contents links and headings; empty without an Item."""
    # McDonald's, GE and Intel print no Item headings; others print them without links. So both are candidates.
    entries = contents_entries(blocks, form)
    linked = ((entry.target, entry.index, entry.heading, _LINK_WEIGHT) for entry in entries)
    candidates = [
        *read_candidates(blocks, linked, form),
        *read_candidates(blocks, weigh_headings(blocks, {entry.index for entry in entries}, form), form),
    ]
    starts = []
    for found in heaviest_chain(sorted(candidates, key=lambda candidate: candidate.index)):
        index = found.index
        while index > 0 and len(blocks[index - 1].line) <= 80 and part_of(blocks[index - 1].line):
            # A PART heading right before an Item belongs to it.
            index -= 1
        starts.append(replace(found, index=index))
    return starts if any(start.section != SIGNATURES for start in starts) else []


def contents_entries(blocks: Sequence[RawBlock], form: str) -> list[ContentsEntry]:
    """Return the linked entries of the table of contents whose target exists."""
    places = {name: index for index in range(len(blocks) - 1, -1, -1) for name in blocks[index].ids}
    entries = []
    for index, block in enumerate(blocks):
        if not block.links:
            continue
        heading = item_heading(block.line, form)
        if heading is None and index and len(block.line) <= 200 and len(before := blocks[index - 1].line) <= 12:
            # "Item 1." in a line of its own.
            heading = item_heading(f"{before} {block.line}", form)
        if heading is None and not is_signatures(block.line):
            continue
        targets = [places[link] for link in block.links if link in places and places[link] != index]
        if targets:
            entries.append(ContentsEntry(index, targets[0], heading))
    # A place that three Items link to, or that is before its entry, is the contents themselves.
    linking = defaultdict(set)
    for entry in entries:
        linking[entry.target].add(entry.heading.key if entry.heading else None)
    return [entry for entry in entries if len(linking[entry.target]) < 3 or entry.target > entry.index + 60]


def heaviest_chain(candidates: Sequence[Start]) -> list[Start]:
    """Return the heaviest run of candidates in which both index and rank rise. Of equal runs the earliest.

    Starts come by index. The cost is candidates times ranks.
    """
    best: dict[int, tuple[float, int]] = {}  # the heaviest chain that ends with a rank: its weight, its last step
    steps: list[tuple[Start, int | None]] = []  # a candidate and the step before it
    for _, group in groupby(candidates, key=lambda candidate: candidate.index):
        fresh = []
        for candidate in group:
            lower = (chain for rank, chain in best.items() if rank < candidate.rank)
            weight, before = max(lower, default=(0.0, None), key=lambda chain: chain[0])
            steps.append((candidate, before))
            fresh.append((candidate.rank, weight + candidate.weight, len(steps) - 1))
        for rank, weight, step in fresh:
            if rank not in best or weight > best[rank][0]:
                best[rank] = weight, step
    at = max(best.values(), key=lambda chain: chain[0])[1] if best else None
    chain = []
    while at is not None:
        candidate, at = steps[at]
        chain.append(candidate)
    return chain[::-1]


def read_candidates(
    blocks: Sequence[RawBlock], found: Iterator[tuple[int, int, ItemHeading | None, float]], form: str
) -> Iterator[Start]:
    """Yield what each heading may open. ``found``: where its text begins, where it is itself, heading and weight."""
    part = ""
    seen_until = 0
    for target, index, heading, weight in found:
        for block in blocks[seen_until:index]:
            part = part_of(block.line) or part
        seen_until = max(seen_until, index)
        if heading is None:
            yield Start(target, SIGNATURES, "", SIGNATURES_RANK, weight)
            continue
        key = heading.key
        if is_current_report(form):
            yield Start(target, key.section, heading.title, key.rank, weight)
            continue
        readings = [key]
        if is_quarterly(form):
            # Without a part of its own a 10-Q's Item is tried in both.
            readings = [
                ItemKey(key.number, key.suffix, name)
                for name, last in _LAST_QUARTERLY_ITEM.items()
                if key.number <= last and key.part in {"", name}
            ]
        for read in readings:
            bonus = 1.0 if known_title(read, heading.title, form) else 0.0
            bonus += 0.5 if is_quarterly(form) and read.part == part else 0.0
            yield Start(target, read.section, heading.title, read.rank, weight + bonus)


def weigh_headings(
    blocks: Sequence[RawBlock], contents: set[int], form: str
) -> Iterator[tuple[int, int, ItemHeading | None, float]]:
    """Yield the headings outside of the contents, each with its weight as a candidate."""
    found: list[tuple[int, ItemHeading | None]] = []
    for index, block in enumerate(blocks):
        if index in contents or len(block.text) < 5:
            continue
        heading = item_heading(block.line, form)
        if heading and not heading.title and index + 1 < len(blocks):
            following = blocks[index + 1].line
            title = following if len(following) <= 200 and not item_heading(following, form) else ""
            heading = ItemHeading(heading.key, title, heading.page)
        if heading or is_signatures(block.line):
            found.append((index, heading))
    ends = [*(index for index, _heading in found[1:]), len(blocks)]
    for (index, heading), end in zip(found, ends, strict=False):
        text_chars = sum(len(block.text) for block in blocks[index + 1 : min(end, index + 20)])
        if heading and heading.is_run_in:
            text_chars += len(blocks[index].text)
        weight = 1.0 + min(text_chars / _BODY_CHARS, 1.0)
        weight += 0.3 if blocks[index].kind == "heading" else 0.0
        # With a page number it looks like an entry of the contents.
        weight -= 1.2 if heading and heading.page is not None else 0.0
        weight -= 0.8 if _CONTINUED.search(blocks[index].text[-20:]) else 0.0
        yield index, index, heading, max(weight, 0.1)


def cross_reference_outline(blocks: Sequence[RawBlock], form: str) -> list[Start]:
    """Return the starts that the links of a cross-reference index give, in the report's own order; empty without."""
    starts = [entry.start for entry in contents_entries(blocks, form)]
    if len(starts) < _FEWEST_INDEXED:
        return []
    first: dict[int, Start] = {}
    for start in sorted(starts, key=lambda one: one.index):
        first.setdefault(start.index, start)
    starts = list(first.values())

    # Market risk (Item 7A) inside the discussion ends where the report's contents continue.
    linked = {link for block in blocks[: starts[0].index] for link in block.links}
    discussion = next((start for start in starts if start.section == "Item 7"), None)
    ends = [*(start.index for start in starts[1:]), len(blocks)]
    out = []
    for before, start, end in zip([None, *starts], starts, ends, strict=False):
        out.append(start)
        if start.section == "Item 7A" and before is not None and before == discussion:
            resumed = (index for index in range(start.index + 1, end) if linked.intersection(blocks[index].ids))
            out += [Start(index, before.section, before.title) for index in islice(resumed, 1)]
    return out


def misses_links(blocks: Sequence[RawBlock], starts: Sequence[Start], form: str) -> bool:
    """Whether rising Items miss what contents links say: the report has an order of its own, and an index."""
    sections = {start.section for start in starts}
    places = {start.index for start in starts}
    entries = [entry for entry in contents_entries(blocks, form) if entry.heading]
    named = {entry.start.section for entry in entries}
    missed = {entry.start.section for entry in entries if entry.target not in places} - sections
    return len(missed) >= max(_FEWEST_MISSED, len(named) * _MISSED_SHARE)
