"""Blocks of a file to passages, each of one section and one page, which search returns and citations open."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain, pairwise
from typing import NamedTuple

from chat.files.blocks import Block
from chat.files.extraction import FileText, read_blocks
from chat.search.passage_text import FEWEST_CHARS, LONGEST_CHARS, TARGET_CHARS, pieces_of

SECTION_SEPARATOR = " › "
MAX_SECTION_CHARS = 300
MAX_HEAD_CHARS = TARGET_CHARS // 2


class PassageText(NamedTuple):
    """A passage before it has an anchor. Blocks are separated by blank lines, rows of a table by line ends."""

    section: str  # its headings, the highest first
    page: int
    text: str


def read_passages(media_type: str, content: bytes, max_chars: int, encoding: str) -> tuple[FileText, list[PassageText]]:
    """Return what a file says of itself, and its passages. Runs in a process for documents."""
    found = read_blocks(media_type, content, max_chars, encoding)
    return found._replace(blocks=()), list(passages_of(found.blocks))


def passages_of(blocks: Iterable[Block]) -> Iterator[PassageText]:
    """Yield the passages of a document in reading order.

    One that begins inside a table repeats the table's first row, without which its figures say nothing.
    """
    path: list[Block] = []  # the headings above
    run: list[Block] = []
    head: Block | None = None  # the first row of the table that is being read
    section = ""
    for block in chain.from_iterable(map(shortened, blocks)):
        if head and (block.kind, block.page) != (head.kind, head.page):
            head = None
        if run and ends_before(run, block):
            yield passage_of(run, section)
            run = [head] if head and len(head.text) <= MAX_HEAD_CHARS else []
        if block.kind == "table" and not head:
            head = block
        if block.kind == "heading":
            path = [*(heading for heading in path if heading.level < block.level), block]
        # A passage has the section of its first text.
        if all(one.kind == "heading" for one in run):
            section = section_name(path)
        run.append(block)
    if run:
        yield passage_of(run, section)


def shortened(block: Block) -> Iterator[Block]:
    """Cut a block that is much too long."""
    return (block._replace(text=piece) for piece in pieces_of(block.text))


def ends_before(run: list[Block], block: Block) -> bool:
    """Say whether a passage ends before this block."""
    if block.page != run[-1].page:
        return True
    if all(one.kind == "heading" for one in run):
        return False
    chars = sum(len(one.text) for one in run)
    if block.kind == "heading":
        return chars >= FEWEST_CHARS
    return chars + len(block.text) > (LONGEST_CHARS if run[-1].kind == "heading" else TARGET_CHARS)


def section_name(path: Iterable[Block]) -> str:
    return SECTION_SEPARATOR.join(heading.text for heading in path)[-MAX_SECTION_CHARS:]


def passage_of(run: list[Block], section: str) -> PassageText:
    text = run[0].text
    for before, block in pairwise(run):
        is_close = before.kind == "heading" or before.kind == block.kind == "table"
        text += ("\n" if is_close else "\n\n") + block.text
    return PassageText(section, run[0].page, text)
