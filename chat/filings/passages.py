"""Blocks to passages, which search returns and citations open.

A passage is a run of consecutive blocks of one section, about 1,100 characters. It begins at a heading where it can,
never ends with one or with the heads of a table's columns, and has a table's rows on lines of their own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from chat.filings.blocks import CELL_SEPARATOR
from chat.filings.outline import SectionBlock
from chat.filings.tables import is_figure
from chat.search.passage_text import FEWEST_CHARS, LONGEST_CHARS, TARGET_CHARS, pieces_of

_YEAR = re.compile(r"(?:19|20)\d\d")


@dataclass(frozen=True, slots=True)
class FilingPassageText:
    """One passage before it has an anchor.

    Blocks are separated by blank lines, rows of a table by line ends. A heading is right above what it heads, so a line
    that another follows, and that is no row, is a heading.
    """

    section: str
    section_title: str
    heading: str
    kind: str
    text: str


def cut_passages(blocks: Sequence[SectionBlock]) -> list[FilingPassageText]:
    """Return the passages of a document in reading order."""
    passages = []
    for run in split_runs([piece for block in blocks for piece in shorten(block)]):
        text = run[0].text
        for before, block in pairwise(run):
            is_same_table = before.kind == block.kind == "table" and before.table == block.table
            text += ("\n" if before.kind == "heading" or is_same_table else "\n\n") + block.text
        kind = "table" if 2 * sum(block.kind == "table" for block in run) >= len(run) else "text"
        passages.append(FilingPassageText(run[0].section, run[0].section_title, run[0].heading, kind, text))
    return passages


def split_runs(blocks: Sequence[SectionBlock]) -> Iterator[list[SectionBlock]]:
    """Yield the blocks of each passage."""
    # How much follows from each block to the end of its table.
    rest_chars = [len(block.text) for block in blocks]
    for place in range(len(blocks) - 2, -1, -1):
        if blocks[place].table and blocks[place].table == blocks[place + 1].table:
            rest_chars[place] += rest_chars[place + 1]
    run: list[SectionBlock] = []
    chars = 0
    for block, rest in zip(blocks, rest_chars, strict=True):
        if run and ends_before(run, chars, block, rest):
            end = carry_start(run, block)
            if run[:end]:
                yield run[:end]
            run = run[end:]
            chars = sum(len(one.text) for one in run)
        run.append(block)
        chars += len(block.text)
    if run:
        yield run


def ends_before(run: list[SectionBlock], chars: int, block: SectionBlock, rest: int) -> bool:
    """Say whether a passage ends before this block, of whose table ``rest`` characters follow."""
    before = run[-1]
    if block.section != before.section or block.section_title != before.section_title:
        return True
    if block.kind == "heading":
        # A list in capitals looks like headings, without any text that they head.
        return chars >= FEWEST_CHARS and (before.kind != "heading" or chars + len(block.text) > LONGEST_CHARS)
    if block.table and block.table == before.table and chars + rest <= LONGEST_CHARS:
        return False
    return chars + len(block.text) > TARGET_CHARS and any(one.kind != "heading" for one in run)


def carry_start(run: list[SectionBlock], block: SectionBlock) -> int:
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


def shorten(block: SectionBlock) -> Iterator[SectionBlock]:
    """Cut a block that is much too long at sentence ends, or between words."""
    return (replace(block, text=piece) for piece in pieces_of(block.text))
