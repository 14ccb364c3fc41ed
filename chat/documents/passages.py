"""Blocks of a file to passages, each of one section and one page, which search returns and citations open."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain, islice, pairwise
from typing import NamedTuple

from chat.files.blocks import Block
from chat.files.extraction import FileText, encoding_of, read_blocks
from chat.search.passage_text import FEWEST_CHARS, LONGEST_CHARS, TARGET_CHARS, pieces_of

SECTION_SEPARATOR = " › "
MAX_SECTION_CHARS = 300
MAX_HEAD_CHARS = TARGET_CHARS // 2


class PassageText(NamedTuple):
    """A passage before it has an anchor. Blocks are separated by blank lines, rows of a table by line ends."""

    section: str  # the headings above all of it, the highest first
    page: int
    text: str


def read_passages(
    media_type: str, content: bytes, max_chars: int, max_passages: int
) -> tuple[FileText, list[PassageText]]:
    """Return what a file says of itself, and its first passages. Runs in a process for documents."""
    found = read_blocks(media_type, content, max_chars, encoding_of(media_type, content))
    passages = passages_of(found.blocks)
    texts = list(islice(passages, max_passages))
    is_cut = found.is_cut or next(passages, None) is not None
    return found._replace(blocks=(), is_cut=is_cut), texts


def passages_of(blocks: Iterable[Block]) -> Iterator[PassageText]:
    """Yield the passages of a document in reading order.

    One that begins inside a table repeats the table's first row, without which its figures say nothing.
    """
    path: list[Block] = []  # the headings above
    run: list[Block] = []
    head: Block | None = None  # the first row of the table that is being read
    shared: list[Block] = []  # the headings that all texts of the run are below
    for block in chain.from_iterable(map(shortened, blocks)):
        if head and (block.kind, block.page) != (head.kind, head.page):
            head = None
        if run and ends_before(run, block, shared):
            yield passage_of(run, shared)
            run = [head] if head and len(head.text) <= MAX_HEAD_CHARS else []
        if block.kind == "table" and not head:
            head = block
        if block.kind == "heading":
            path = [*(heading for heading in path if heading.level < block.level), block]
        if all(one.kind == "heading" for one in run):
            shared = path
        elif block.kind != "heading":
            shared = [one for one, other in zip(shared, path, strict=False) if one is other]
        run.append(block)
    if run:
        yield passage_of(run, shared)


def shortened(block: Block) -> Iterator[Block]:
    """Cut a block that is much too long."""
    return (block._replace(text=piece) for piece in pieces_of(block.text))


def ends_before(run: list[Block], block: Block, headings: list[Block]) -> bool:
    """Say whether a passage below these headings ends before this block: with its chapter in any case."""
    if block.page != run[-1].page:
        return True
    chars = sum(len(one.text) for one in run)
    if all(one.kind == "heading" for one in run):
        # A list in capitals looks like headings, without any text that they head.
        return chars + len(block.text) > LONGEST_CHARS
    if block.kind == "heading":
        return chars >= FEWEST_CHARS or (bool(headings) and block.level <= headings[0].level)
    return chars + len(block.text) > (LONGEST_CHARS if run[-1].kind == "heading" else TARGET_CHARS)


def passage_of(run: list[Block], headings: Iterable[Block]) -> PassageText:
    section = SECTION_SEPARATOR.join(heading.text for heading in headings)[-MAX_SECTION_CHARS:]
    text = run[0].text
    for before, block in pairwise(run):
        is_close = before.kind == "heading" or before.kind == block.kind == "table"
        text += ("\n" if is_close else "\n\n") + block.text
    return PassageText(section, run[0].page, text)
