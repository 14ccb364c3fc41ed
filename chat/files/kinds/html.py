"""HTML: its visible text, as of a filing."""

from __future__ import annotations

from collections.abc import Iterator

from chat.files.blocks import MINOR_HEADING, Block, Details
from chat.filings.parse import parse


def read(content: str, details: Details) -> Iterator[Block]:
    blocks, root = parse(content, is_filing=False)
    if root is not None:
        details.title = " ".join((root.findtext(".//title") or "").split())
    for block in blocks:
        is_heading = block.kind == "heading"
        yield Block(block.text, block.kind, (block.level or MINOR_HEADING) if is_heading else 0)
