"""Plain text, as EDGAR had it before HTML, to raw blocks.

Paragraphs are separated by blank lines. Lines whose columns are held apart by runs of spaces become table rows. Page
marks are dropped.
"""

from __future__ import annotations

import re

from chat.filings.blocks import CELL_SEPARATOR, RawBlock, clean, is_heading, join_cells
from chat.filings.items import starts_section
from chat.filings.pages import numbered

_COLUMNS = re.compile(r"\s{3,}|\.{4,}|\t+")
_CENTRED_INDENT = 8
_CENTRED_MAX_CHARS = 60
_RULE = re.compile(r"[-=_*.\s|+]+")
_MARK = re.compile(r"</?(?:PAGE|TABLE|CAPTION|S|C|FN|TEXT|DOCUMENT|PDF|XBRL)>", re.IGNORECASE)


def text_blocks(text: str) -> list[RawBlock]:
    """Return the raw blocks of a plain text document in reading order."""
    blocks: list[RawBlock] = []
    paragraph: list[str] = []
    for line in text.splitlines():
        bare = _MARK.sub("", line).rstrip()
        cells = _cells(bare)
        if _RULE.fullmatch(bare) or not bare or len(cells) > 1 or _stands_alone(bare, paragraph):
            _end(paragraph, blocks)
        if len(cells) > 1 and not _is_centred(bare, cells):
            blocks.append(RawBlock(CELL_SEPARATOR.join(cells), "table"))
        elif bare and not _RULE.fullmatch(bare):
            paragraph.append(bare)
    _end(paragraph, blocks)
    return numbered(blocks)


def _end(paragraph: list[str], blocks: list[RawBlock]) -> None:
    text = clean(" ".join(paragraph))
    paragraph.clear()
    if text:
        blocks.append(RawBlock(text, "heading" if is_heading(text, is_strong=False) else "text"))


def _stands_alone(line: str, paragraph: list[str]) -> bool:
    """A line that opens a section, or one that is centred: well indented, short, and not where the last one began."""
    if starts_section(clean(line)):
        return True
    before = _indent(paragraph[-1]) if paragraph else None
    is_centred = _indent(line) >= _CENTRED_INDENT and len(line.strip()) < _CENTRED_MAX_CHARS
    was_centred = before is not None and before >= _CENTRED_INDENT and len(paragraph) == 1
    return before != _indent(line) and (is_centred or was_centred)


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _cells(line: str) -> list[str]:
    return join_cells([clean(cell) for cell in _COLUMNS.split(line.strip())])


def _is_centred(line: str, cells: list[str]) -> bool:
    """An Item and its title, tabbed apart, are a heading rather than a row."""
    return len(cells) == 2 and starts_section(cells[0]) and not cells[1][-1:].isdigit()
