"""Blocks to passages: what search returns and citations open.

A passage is a run of consecutive blocks of one section, about 1,100 characters. It begins at a heading where it can,
never ends with one or with the heads of a table's columns, and keeps a table's rows on lines of their own. A paragraph
that is much too long is cut at sentence ends.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from chat.filings.blocks import CELL_SEPARATOR
from chat.filings.grid import is_figure
from chat.filings.sections import Block

TARGET_CHARS = 1100
_LONGEST_CHARS = 1600
_FEWEST_CHARS = 250  # below this a heading does not begin a new passage
_SENTENCE_END = re.compile(r"(?<=[a-z0-9)%”\"][.;?!])\s+(?=[A-Z“\"(•$])")
_YEAR = re.compile(r"(?:19|20)\d\d")


@dataclass(frozen=True, slots=True)
class PassageText:
    """One passage before it has an anchor.

    Blocks are parted by blank lines, rows of a table by line ends. A heading stands right above what it heads, so that
    a line which another follows, and which is no row, is one.
    """

    section: str
    section_title: str
    heading: str
    kind: str
    text: str


def cut_passages(blocks: Sequence[Block]) -> list[PassageText]:
    """Return the passages of a document in reading order."""
    return [_passage(run) for run in _runs(blocks)]


def _runs(blocks: Sequence[Block]) -> Iterator[list[Block]]:
    run: list[Block] = []
    size = 0
    short = list(_short(blocks))
    for block, rest in zip(short, _rest_chars(short), strict=True):
        if run and _ends_before(run, size, block, rest):
            kept, carried = _carry_headings(run, block)
            if kept:
                yield kept
            run, size = carried, sum(len(one.text) for one in carried)
        run.append(block)
        size += len(block.text)
    if run:
        yield run


def _rest_chars(blocks: Sequence[Block]) -> list[int]:
    """Return how many characters there are from each block to the end of its table."""
    rest = [len(block.text) for block in blocks]
    for place in range(len(blocks) - 2, -1, -1):
        if blocks[place].table and blocks[place].table == blocks[place + 1].table:
            rest[place] += rest[place + 1]
    return rest


def _ends_before(run: list[Block], size: int, block: Block, rest: int) -> bool:
    """Say whether a passage ends before this block, of whose table ``rest`` characters are still to come."""
    before = run[-1]
    if block.section != before.section or block.section_title != before.section_title:
        return True
    if block.kind == "heading":
        return size >= _FEWEST_CHARS and before.kind != "heading"
    if block.table and block.table == before.table and size + rest <= _LONGEST_CHARS:
        return False
    return size + len(block.text) > TARGET_CHARS and any(one.kind != "heading" for one in run)


def _carry_headings(run: list[Block], block: Block) -> tuple[list[Block], list[Block]]:
    """Headings at the end of a run, and heads of columns, belong to what follows in the same section."""
    if block.section != run[-1].section:
        return run, []
    end = len(run)
    while end > 0 and block.table and run[end - 1].table == block.table and not _has_figures(run[end - 1]):
        end -= 1
    while end > 0 and run[end - 1].kind == "heading":
        end -= 1
    return (run[:end], run[end:]) if end else (run, [])


def _has_figures(row: Block) -> bool:
    """Say whether a row says more than what its columns are called: the years of a report are such names."""
    return any(is_figure(field) and not _YEAR.fullmatch(field) for field in row.text.split(CELL_SEPARATOR))


def _short(blocks: Sequence[Block]) -> Iterator[Block]:
    for block in blocks:
        if len(block.text) <= _LONGEST_CHARS:
            yield block
        else:
            yield from (replace(block, text=piece) for piece in _pieces(block.text))


def _pieces(text: str) -> Iterator[str]:
    piece = ""
    for sentence in _SENTENCE_END.split(text):
        if piece and len(piece) + len(sentence) > TARGET_CHARS:
            yield piece
            piece = ""
        piece = f"{piece} {sentence}" if piece else sentence
        while len(piece) > _LONGEST_CHARS:
            at = piece.rfind(" ", TARGET_CHARS // 2, TARGET_CHARS)
            at = at if at > 0 else TARGET_CHARS
            yield piece[:at]
            piece = piece[at:].lstrip()
    if piece:
        yield piece


def _passage(run: list[Block]) -> PassageText:
    rows = sum(block.kind == "table" for block in run)
    text = run[0].text
    for before, block in pairwise(run):
        text += ("\n" if _is_close(before, block) else "\n\n") + block.text
    kind = "table" if rows * 2 >= len(run) else "text"
    return PassageText(run[0].section, run[0].section_title, run[0].heading, kind, text)


def _is_close(before: Block, block: Block) -> bool:
    is_same_table = before.kind == block.kind == "table" and before.table == block.table
    return is_same_table or before.kind == "heading"
