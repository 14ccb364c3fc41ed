"""Generated titles of conversations: a line of the question or the answer, never of the thinking."""

from __future__ import annotations

import re

from reasoning.redaction import redact_text

TITLE_CHARS = 60
_READ_CHARS = 2000
_HEADING = re.compile(r"^ {0,3}#{1,6}[ \t]+(\S.*?)[ \t#]*$", re.MULTILINE)
_FENCED = re.compile(r"^ {0,3}(```|~~~).*?(?:^ {0,3}\1|\Z)", re.MULTILINE | re.DOTALL)
_SENTENCE_END = re.compile(r"(?<=[.!?…。！？])[\"'”’»)]*\s+(?=[^\W\d_a-z]|[\"“‘«(*])")
_LINK = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")
_MARKER = re.compile(r"\s*\[\d{1,4}(?: ?[,;] ?\d{1,4})*\]")
_MARKS = re.compile(
    r"^\s*(?:[>#]+|[-*+]|\d{1,3}[.)])\s+|\*{1,3}|~~|`+|\\(?=[^\w\s])|(?<!\w)_{1,3}(?=\w)|(?<=\w)_{1,3}(?!\w)"
)
# 'The report says: "…"': the quotation distinguishes one answer from the next, not its introduction
_ATTRIBUTION = re.compile(r"^[^\"“„«]{1,200}:\s+(?=[\"“„«]\w)")
_NO_TITLE = re.compile(r"^\s*(?:\||[-*_=:| \t]+$)")  # a table, a rule


def title_from(text: str) -> str:
    """Return one redacted line of ``text``, cut at a word."""
    line = " ".join(redact_text(text[:_READ_CHARS]).split())
    return line if len(line) <= TITLE_CHARS else line[:TITLE_CHARS].rsplit(" ", 1)[0] + "…"


def title_from_answer(answer: str) -> str:
    """Return an answer's first heading, else its first sentence with content; may be empty."""
    # only the beginning: an answer may have a megabyte
    text = _FENCED.sub("", answer[:_READ_CHARS])
    heading = _HEADING.search(text)
    line = heading[1] if heading else first_sentence(text)
    return title_from(strip_markdown(line)).rstrip('.:;,"”“»«')


def strip_markdown(markdown: str) -> str:
    """Return a line of Markdown without its markup and citation numbers."""
    return _MARKS.sub("", _MARKER.sub("", _LINK.sub(r"\1", markdown))).strip()


def first_sentence(text: str) -> str:
    """Return the first sentence with content, without quotation marks around it."""
    blocks = [" ".join(block.split()) for block in text.split("\n\n") if not _NO_TITLE.match(block)]
    blocks = [block for block in blocks if any(map(str.isalnum, block))]
    # A block that ends in a colon only introduces the next one.
    block = next((block for block in blocks if not block.endswith(":")), blocks[0] if blocks else "")
    return _SENTENCE_END.split(_ATTRIBUTION.sub("", block), maxsplit=1)[0].lstrip("> ").strip('"“”„«» ')
