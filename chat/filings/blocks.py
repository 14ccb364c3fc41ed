"""What a document is once its markup is gone: raw blocks in reading order.

A raw block is one paragraph, one heading or one table row. It keeps what sectioning needs (its ids, the ids that it
links to, whether it is set in bold) and nothing of the source's markup. ``chat.filings.html`` and
``chat.filings.plaintext`` make them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

Kind = Literal["heading", "text", "table"]

HEADING_MAX_CHARS = 250
CELL_SEPARATOR = " | "

_SPACE = re.compile(r"[\s\u00a0\u2000-\u200b\u202f\u3000\ufeff]+")
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\u200b\ufeff\ud800-\udfff]")
_WINDOWS = {code: bytes([code]).decode("cp1252", "ignore") for code in range(0x80, 0xA0)}


@dataclass(frozen=True, slots=True)
class RawBlock:
    """One paragraph, heading or table row. Fields of a row are joined by `` | ``, empty ones too."""

    text: str
    kind: Kind
    ids: tuple[str, ...] = ()
    links: tuple[str, ...] = ()
    page: int | None = None  # the printed number of the page that it stands on, where pages are numbered
    table: int = 0  # which table of the document a row belongs to, from 1

    @property
    def line(self) -> str:
        """The text as one line of prose: what a heading reads like when it was laid out as a table."""
        return " ".join(field for field in self.text.split(CELL_SEPARATOR) if field)


def clean(text: str) -> str:
    """Return ``text`` in one line: white space folded, control characters gone, Windows' own code points mended."""
    return _SPACE.sub(" ", _CONTROL.sub("", text.translate(_WINDOWS))).strip()


def is_heading(text: str, *, is_strong: bool) -> bool:
    """Say whether a paragraph is a heading: short and set in bold, or short and in capitals."""
    if not any(char.isalpha() for char in text):
        return False
    if is_strong:
        return len(text) <= HEADING_MAX_CHARS
    return text.isupper() and 4 <= len(text) <= 100 and not text.endswith((".", ";", ","))
