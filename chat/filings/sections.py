"""A document to blocks, each with its section, its heading, and its text. The one function that ingestion needs.

Sections come from the contents links first, from headings second, from a cross-reference index third; where none of
them tells, the whole document is one section, ``Document``, rather than a guess. Text before the first Item is
``Cover``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from chat.filings.blocks import Kind, RawBlock
from chat.filings.crossindex import cross_reference_outline, is_bunched, is_out_of_order
from chat.filings.html import html_blocks, parse_html
from chat.filings.items import is_current_report
from chat.filings.outline import Start, outline
from chat.filings.plaintext import text_blocks
from chat.filings.submission import decode, read_submission

_MARKUP = re.compile(r"<(?:html|body|div|p|table|font|center|pre|span|h[1-6])\b", re.IGNORECASE)
_EXHIBIT = re.compile(r"\bEX-(?P<number>\d+(?:\.\d+)*)", re.IGNORECASE)
_STATEMENTS = re.compile(
    r"(?:index to )?(?:the )?(?:audited |consolidated )*(?:financial statements|balance sheets)"
    r"|reports? of independent",
    re.IGNORECASE,
)
_STATEMENTS_MIN_CHARS = 4000
_FEWEST_ITEMS = 3


@dataclass(frozen=True, slots=True)
class Block:
    """One paragraph, heading or table row, and where it stands. ``heading`` is the last one above it.

    Rows of one table share its number; 0 is no table. A row has a field for every column up to its last that says
    something; a label inside a table, one field.
    """

    section: str
    section_title: str
    heading: str
    kind: Kind
    text: str
    table: int = 0


def sections(document: bytes | str, form: str) -> list[Block]:
    """Return the blocks of an EDGAR document in reading order.

    ``document`` is HTML, inline XBRL, plain text, or a full submission with its SGML header, of which the main document
    and the exhibits that hold text for readers are read. ``form`` is its form type, "10-K". Raises DocumentError for
    what is too large or no text at all.
    """
    main, *exhibits = read_submission(decode(document)).documents
    blocks = located(raw_blocks(main.text), form)
    for exhibit in exhibits:
        blocks.extend(located(raw_blocks(exhibit.text), exhibit.type))
    return blocks


def raw_blocks(text: str) -> list[RawBlock]:
    """Return the raw blocks of one document, by what it is: HTML or plain text."""
    root = parse_html(text) if is_markup(text) else None
    return text_blocks(text) if root is None else html_blocks(root)


def is_markup(text: str) -> bool:
    return bool(_MARKUP.search(text))


def located(blocks: Sequence[RawBlock], form: str) -> list[Block]:
    """Return raw blocks with the section and heading that each stands under."""
    starts = [Start(0, exhibit, "")] if (exhibit := exhibit_section(form)) else _starts(blocks, form)
    if starts and starts[0].index > 0:
        starts = [Start(0, "Cover", ""), *starts]
    located: list[Block] = []
    for place, start in enumerate(starts):
        end = starts[place + 1].index if place + 1 < len(starts) else len(blocks)
        located.extend(_under(blocks[start.index : end], start))
    return located


def exhibit_section(form: str) -> str:
    """Return ``Exhibit 99.1`` for ``EX-99.1`` and for ``8-K EX-99.1``; empty for a main document."""
    found = _EXHIBIT.search(form)
    return f"Exhibit {found['number']}" if found else ""


def _starts(blocks: Sequence[RawBlock], form: str) -> list[Start]:
    starts = outline(blocks, form)
    if is_current_report(form):
        return starts or [Start(0, "Document", "")]
    is_bunch = is_bunched(blocks, starts)
    if is_bunch or len(starts) < _FEWEST_ITEMS or is_out_of_order(blocks, starts, form):
        indexed = cross_reference_outline(blocks, form)
        starts = indexed or ([] if is_bunch else starts)
    return [*starts, *_statements_at_the_end(blocks, starts, form)] or [Start(0, "Document", "")]


def _statements_at_the_end(blocks: Sequence[RawBlock], starts: Sequence[Start], form: str) -> list[Start]:
    """Financial statements on F-pages behind the signatures belong to the annual report's Item 8."""
    if not starts or starts[-1].section != "Signatures" or not form.upper().startswith("10-K"):
        return []
    for index in range(starts[-1].index + 1, len(blocks)):
        if blocks[index].kind == "heading" and _STATEMENTS.match(blocks[index].text):
            following_chars = sum(len(block.text) for block in blocks[index:])
            return [Start(index, "Item 8", "Financial Statements")] if following_chars > _STATEMENTS_MIN_CHARS else []
    return []


def _under(blocks: Sequence[RawBlock], start: Start) -> list[Block]:
    heading = ""
    under = []
    for block in blocks:
        if block.kind == "heading":
            heading = block.text
        under.append(Block(start.section, start.title, heading, block.kind, block.text, block.table))
    return under
