"""Plain text: paragraphs, pages where it has any, and lines in capitals as headings."""

from __future__ import annotations

from collections.abc import Iterator

from chat.files.blocks import MINOR_HEADING, PAGE_BREAK, Block, Details, paragraphs
from chat.filings.blocks import is_heading


def read(content: str, details: Details) -> Iterator[Block]:
    pages = content.split(PAGE_BREAK)
    details.pages = len(pages) if len(pages) > 1 else 0
    for number, page in enumerate(pages, start=1):
        for block in paragraphs(page, number if details.pages else 0):
            if "\n" not in block.text and is_heading(block.text, is_strong=False):
                yield block._replace(kind="heading", level=MINOR_HEADING)
            else:
                yield block
