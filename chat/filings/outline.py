"""Where the sections of a document begin.

Every place that may open an Item is a candidate with a weight: the target of a contents link weighs most, a heading
less, a heading that looks like a contents entry or a continuation least. The outline is the heaviest chain of
candidates whose Items rise in the form's order. So contents links come first, headings fill in what they miss, and a
mention of an Item in passing loses to the run of real headings around it. Linear in candidates times Items.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from chat.filings.blocks import RawBlock
from chat.filings.items import (
    SIGNATURES_RANK,
    ItemHeading,
    Key,
    is_current_report,
    is_quarterly,
    is_signatures,
    item_heading,
    known_title,
    part_of,
)

_LINK_WEIGHT = 4.0
_BODY_CHARS = 200
_QUARTERLY_MAX = {"I": 4, "II": 6}


@dataclass(frozen=True, slots=True)
class Start:
    """A section begins at block ``index``."""

    index: int
    section: str
    title: str


@dataclass(frozen=True, slots=True)
class Candidate:
    """A place that may open a section."""

    index: int
    rank: int
    section: str
    title: str
    weight: float


@dataclass(frozen=True, slots=True)
class Entry:
    """A contents entry: an Item heading that links to ``target``, the index of the block where its text begins."""

    index: int
    target: int
    heading: ItemHeading | None  # None: the signatures


def outline(blocks: Sequence[RawBlock], form: str) -> list[Start]:
    """Return the starts of the sections in reading order; empty where no Item can be told."""
    entries = contents_entries(blocks, form)
    candidates = [*_linked(blocks, entries, form), *_headed(blocks, entries, form)]
    chain = heaviest_chain(sorted(candidates, key=lambda candidate: candidate.index))
    starts = [Start(_with_part(blocks, one.index), one.section, one.title) for one in chain]
    return starts if any(start.section != "Signatures" for start in starts) else []


def contents_entries(blocks: Sequence[RawBlock], form: str) -> list[Entry]:
    """Return the linked entries of the table of contents whose target exists."""
    places = {name: index for index in range(len(blocks) - 1, -1, -1) for name in blocks[index].ids}
    entries = []
    for index, block in enumerate(blocks):
        if not block.links:
            continue
        heading = _entry_heading(blocks, index, form)
        if heading is None and not is_signatures(block.line):
            continue
        targets = [places[link] for link in block.links if link in places and places[link] != index]
        if targets:
            entries.append(Entry(index, targets[0], heading))
    return _without_back_links(entries)


def heaviest_chain(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Return the heaviest run of candidates in which both place and rank rise. Of equal runs the earliest."""
    best: dict[int, tuple[float, int, Candidate, int | None]] = {}  # rank: weight so far, id, candidate, id before
    steps: list[tuple[Candidate, int | None]] = []
    for _, group in groupby(candidates, key=lambda candidate: candidate.index):
        fresh = []
        for candidate in group:
            before = max((state for rank, state in best.items() if rank < candidate.rank), default=None, key=_weight)
            steps.append((candidate, before[1] if before else None))
            total = candidate.weight + (before[0] if before else 0.0)
            fresh.append((total, len(steps) - 1, candidate, before[1] if before else None))
        for state in fresh:
            rank = state[2].rank
            if rank not in best or state[0] > best[rank][0]:
                best[rank] = state
    last = max(best.values(), default=None, key=_weight)
    return _trace(steps, last[1] if last else None)


def _weight(state: tuple[float, int, Candidate, int | None]) -> float:
    return state[0]


def _trace(steps: list[tuple[Candidate, int | None]], at: int | None) -> list[Candidate]:
    chain = []
    while at is not None:
        candidate, at = steps[at]
        chain.append(candidate)
    return chain[::-1]


def _entry_heading(blocks: Sequence[RawBlock], index: int, form: str) -> ItemHeading | None:
    heading = item_heading(blocks[index].line, form)
    if heading or index == 0 or len(blocks[index].line) > 200:
        return heading
    before = blocks[index - 1].line
    return item_heading(f"{before} {blocks[index].line}", form) if len(before) <= 12 else None


def _without_back_links(entries: list[Entry]) -> list[Entry]:
    """A place that three Items link to, or that lies before its entry, is the contents themselves."""
    named = defaultdict(set)
    for entry in entries:
        named[entry.target].add(entry.heading.key if entry.heading else None)
    return [entry for entry in entries if len(named[entry.target]) < 3 or entry.target > entry.index + 60]


def _linked(blocks: Sequence[RawBlock], entries: Sequence[Entry], form: str) -> Iterator[Candidate]:
    part = ""
    seen_until = 0
    for entry in entries:
        for block in blocks[seen_until : entry.index]:
            part = part_of(block.line) or part
        seen_until = max(seen_until, entry.index)
        if entry.heading is None:
            yield Candidate(entry.target, SIGNATURES_RANK, "Signatures", "", _LINK_WEIGHT)
            continue
        for key, bonus in _readings(entry.heading, part, form):
            yield Candidate(entry.target, key.rank, key.section, entry.heading.title, _LINK_WEIGHT + bonus)


def _headed(blocks: Sequence[RawBlock], entries: Sequence[Entry], form: str) -> Iterator[Candidate]:
    contents = {entry.index for entry in entries}
    headings = list(_headings(blocks, contents, form))
    part = ""
    seen_until = 0
    for place, (index, heading) in enumerate(headings):
        following = headings[place + 1][0] if place + 1 < len(headings) else len(blocks)
        for block in blocks[seen_until:index]:
            part = part_of(block.line) or part
        seen_until = index
        weight = _heading_weight(blocks, index, following, heading)
        if heading is None:
            yield Candidate(index, SIGNATURES_RANK, "Signatures", "", weight)
            continue
        for key, bonus in _readings(heading, part, form):
            yield Candidate(index, key.rank, key.section, heading.title, weight + bonus)


def _headings(blocks: Sequence[RawBlock], contents: set[int], form: str) -> Iterator[tuple[int, ItemHeading | None]]:
    for index, block in enumerate(blocks):
        if index in contents or len(block.text) < 5:
            continue
        heading = item_heading(block.line, form)
        if heading and not heading.title and index + 1 < len(blocks):
            following = blocks[index + 1].line
            title = following if len(following) <= 200 and not item_heading(following, form) else ""
            heading = ItemHeading(heading.key, title, heading.page)
        if heading or is_signatures(block.line):
            yield index, heading


def _heading_weight(blocks: Sequence[RawBlock], index: int, following: int, heading: ItemHeading | None) -> float:
    text_chars = sum(len(block.text) for block in blocks[index + 1 : min(following, index + 20)])
    if heading and heading.is_run_in:
        text_chars += len(blocks[index].text)
    weight = 1.0 + min(text_chars / _BODY_CHARS, 1.0)
    if blocks[index].kind == "heading":
        weight += 0.3
    if heading and heading.page is not None:
        weight -= 1.2
    if re.search(r"\bcont(?:inued|\.|’d|'d)", blocks[index].text[-20:], re.IGNORECASE):
        weight -= 0.8
    return max(weight, 0.1)


def _readings(heading: ItemHeading, part: str, form: str) -> Iterator[tuple[Key, float]]:
    """Yield what an Item heading may name. Without a part of its own a 10-Q's Item is tried in both."""
    key = heading.key
    if not is_quarterly(form):
        yield key, 0.0 if is_current_report(form) else _title_bonus(key, heading, form)
        return
    for name, most in _QUARTERLY_MAX.items():
        if key.number <= most and key.part in {"", name}:
            read = Key(key.number, key.suffix, name)
            yield read, _title_bonus(read, heading, form) + (0.5 if name == part else 0.0)


def _title_bonus(key: Key, heading: ItemHeading, form: str) -> float:
    return 1.0 if known_title(key, heading.title, form) else 0.0


def _with_part(blocks: Sequence[RawBlock], index: int) -> int:
    """A PART heading right before an Item belongs to it."""
    while index > 0 and len(blocks[index - 1].line) <= 80 and part_of(blocks[index - 1].line):
        index -= 1
    return index
