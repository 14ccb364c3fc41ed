"""What is read of a file: its blocks in reading order, and what it says of itself."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

from chat.filings.blocks import CELL_SEPARATOR, Kind

PAGE_BREAK = "\f"  # between pages
MINOR_HEADING = 7  # the level of a heading whose level is unknown; those of HTML end at 6


class Block(NamedTuple):
    """A heading, a paragraph, or a row of a table, its cells joined by CELL_SEPARATOR."""

    text: str
    kind: Kind = "text"
    level: int = 0  # of a heading, from 1
    page: int = 0  # from 1; 0 where the file has none


@dataclass(slots=True)
class Details:
    """What a file says of itself. Its reader fills it in."""

    title: str = ""
    pages: int = 0
    # First page, width and height in pixels of each run of pages whose pictures have one size.
    picture_sizes: list[tuple[int, int, int]] = field(default_factory=list)


class RefusedFileError(Exception):
    """A file that is not read, for the reason that its first argument names, as ``FileText.problem``."""


def row(cells: Iterable[str], page: int = 0) -> Block | None:
    """Return a row of a table, None if all of its cells are empty. Empty cells at its end are left out."""
    text = CELL_SEPARATOR.join(" ".join(cell.split()) for cell in cells)
    text = text.rstrip(f"{CELL_SEPARATOR}")
    return Block(text, "table", page=page) if text.strip(CELL_SEPARATOR) else None


def paragraphs(text: str, page: int = 0) -> Iterable[Block]:
    """Return the paragraphs of a text, which blank lines separate."""
    return (Block(one.strip("\n"), page=page) for one in re.split(r"\n\s*\n", text) if one.strip())


def joined(blocks: Iterable[Block]) -> str:
    """Return the text of blocks: pages are separated by PAGE_BREAK, blocks by blank lines, rows of a table by lines."""
    pieces = [""]
    for before, block in pairwise((Block("", page=1), *blocks)):
        if block.page > before.page:
            pieces.append(PAGE_BREAK * (block.page - max(before.page, 1)))
        elif len(pieces) > 1:
            pieces.append("\n" if before.kind == block.kind == "table" else "\n\n")
        pieces.append(block.text)
    return "".join(pieces)
