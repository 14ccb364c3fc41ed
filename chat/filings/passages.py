"""Blocks to passages, which search returns and citations open, and their anchors.

A passage is a run of consecutive blocks of one section, about 1,100 characters. It begins at a heading where it can,
never ends with one or with the heads of a table's columns, and has a table's rows on lines of their own.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from itertools import pairwise

from django.utils.text import slugify

from chat.filings.blocks import CELL_SEPARATOR
from chat.filings.outline import Block
from chat.filings.tables import is_figure

# About 275 tokens, so that the results of a search fit into a small context.
TARGET_CHARS = 1100
_LONGEST_CHARS = 1600
_FEWEST_CHARS = 250  # below this a heading does not begin a new passage
_SENTENCE_END = re.compile(r"(?<=[a-z0-9)%”\"][.;?!])\s+(?=[A-Z“\"(•$])")
_YEAR = re.compile(r"(?:19|20)\d\d")


@dataclass(frozen=True, slots=True)
class PassageText:
    """One passage before it has an anchor.

    Blocks are separated by blank lines, rows of a table by line ends. A heading is right above what it heads, so a line
    that another follows, and that is no row, is a heading.
    """

    section: str
    section_title: str
    heading: str
    kind: str
    text: str


def cut_passages(blocks: Sequence[Block]) -> list[PassageText]:
    """Return the passages of a document in reading order."""
    passages = []
    for run in split_runs([piece for block in blocks for piece in shortened(block)]):
        text = run[0].text
        for before, block in pairwise(run):
            is_same_table = before.kind == block.kind == "table" and before.table == block.table
            text += ("\n" if before.kind == "heading" or is_same_table else "\n\n") + block.text
        kind = "table" if 2 * sum(block.kind == "table" for block in run) >= len(run) else "text"
        passages.append(PassageText(run[0].section, run[0].section_title, run[0].heading, kind, text))
    return passages


def split_runs(blocks: Sequence[Block]) -> Iterator[list[Block]]:
    """Yield the blocks of each passage."""
    # How much follows from each block to the end of its table.
    rest_chars = [len(block.text) for block in blocks]
    for place in range(len(blocks) - 2, -1, -1):
        if blocks[place].table and blocks[place].table == blocks[place + 1].table:
            rest_chars[place] += rest_chars[place + 1]
    run: list[Block] = []
    chars = 0
    for block, rest in zip(blocks, rest_chars, strict=True):
        if run and ends_before(run, chars, block, rest):
            end = carried_from(run, block)
            if run[:end]:
                yield run[:end]
            run = run[end:]
            chars = sum(len(one.text) for one in run)
        run.append(block)
        chars += len(block.text)
    if run:
        yield run


def ends_before(run: list[Block], chars: int, block: Block, rest: int) -> bool:
    """Say whether a passage ends before this block, of whose table ``rest`` characters follow."""
    before = run[-1]
    if block.section != before.section or block.section_title != before.section_title:
        return True
    if block.kind == "heading":
        return chars >= _FEWEST_CHARS and before.kind != "heading"
    if block.table and block.table == before.table and chars + rest <= _LONGEST_CHARS:
        return False
    return chars + len(block.text) > TARGET_CHARS and any(one.kind != "heading" for one in run)


def carried_from(run: list[Block], block: Block) -> int:
    """Return where the headings and heads of columns at the end of a run begin, which belong to the next passage."""
    if block.section != run[-1].section:
        return len(run)
    end = len(run)
    while end > 0 and block.table and run[end - 1].table == block.table:
        fields = run[end - 1].text.split(CELL_SEPARATOR)
        # Years are the names of columns.
        if any(is_figure(field) and not _YEAR.fullmatch(field) for field in fields):
            break
        end -= 1
    while end > 0 and run[end - 1].kind == "heading":
        end -= 1
    return end or len(run)


def shortened(block: Block) -> Iterator[Block]:
    """Cut a block that is much too long at sentence ends, or between words."""
    if len(block.text) <= _LONGEST_CHARS:
        yield block
        return
    piece = ""
    for sentence in _SENTENCE_END.split(block.text):
        if piece and len(piece) + len(sentence) > TARGET_CHARS:
            yield replace(block, text=piece)
            piece = ""
        piece = f"{piece} {sentence}" if piece else sentence
        while len(piece) > _LONGEST_CHARS:
            space = piece.rfind(" ", TARGET_CHARS // 2, TARGET_CHARS)
            end = space if space > 0 else TARGET_CHARS
            yield replace(block, text=piece[:end])
            piece = piece[end:].lstrip()
    if piece:
        yield replace(block, text=piece)


KnownPassage = tuple[str, str, str]  # section, anchor and text of a stored passage


def anchors(passages: Sequence[tuple[str, str]], known: Sequence[KnownPassage] = ()) -> list[str]:
    """Return a unique anchor for each ``(section, text)``: ``#item-1a-p12``, section and ordinal in the section.

    EDGAR's own ids are too sparse to cite. When a filing is ingested again, a passage that is unchanged or edited in
    place has the same anchor as before, and a new one gets an ordinal that was never used.
    """
    before = [(section, text) for section, _anchor, text in known]
    # A diff, not a comparison by text alone: the same sentence may occur twice in a section.
    given: dict[int, str] = {}
    for tag, a1, a2, b1, b2 in SequenceMatcher(None, before, list(passages)).get_opcodes():
        is_same_place = [section for section, _ in before[a1:a2]] == [section for section, _ in passages[b1:b2]]
        if tag == "equal" or (tag == "replace" and is_same_place):
            given.update({b1 + step: known[a1 + step][1] for step in range(a2 - a1)})
    # An ordinal is never used again, so that an old link can't open a new passage.
    last: dict[str, int] = defaultdict(int)
    for section, anchor, _text in known:
        ordinal = re.search(r"-p(\d+)$", anchor)
        last[section_slug(section)] = max(last[section_slug(section)], int(ordinal[1]) if ordinal else 0)
    out = []
    for index, (section, _text) in enumerate(passages):
        slug = section_slug(section)
        if index not in given:
            last[slug] += 1
        out.append(given.get(index) or f"#{slug}-p{last[slug]}")
    return out


def section_slug(section: str) -> str:
    """Return a section's name as a part of an anchor."""
    return slugify(section.replace(".", "-"))[:60] or "document"
