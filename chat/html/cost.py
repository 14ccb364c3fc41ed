"""What markdown would cost to render, counted before it is parsed, and how much of an answer is rendered.

Parser, sanitizer and our additions take time for markup, hardly for words, so the characters that make markup are
counted. Blockquotes alone cost more than in proportion: each one is followed to the end of its paragraph, and where a
line leaves it the parser starts again.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

MAX_BLOCK_BYTES = 65_536
MAX_BLOCK_MARKS = 20_000
MAX_QUOTE_STEPS = 25_000
# A block beyond either is rendered in a process of its own: more than a tenth of a second.
HEAVY_CHARS, HEAVY_MARKS = 16_384, 1_500
MAX_ANSWER_CHARS, MAX_ANSWER_MARKS = 262_144, 40_000
TIMEOUT_MARKS = MAX_ANSWER_MARKS // 4  # what a block that ran out of time counts as

_MARKS = str.maketrans(dict.fromkeys("*_~`[]()<>&\\|$\n"))
_FORMULA_MARKS = 3  # more for each dollar sign: converting a formula costs as much as several elements
_ADDRESS_MARKS = 3  # an address is a link without marks around it
_QUOTE = re.compile(r"^[ \t]*(?:(?:[-+*]|[0-9]{1,9}[.)])[ \t]+)*((?:>[ \t]*)+)", re.MULTILINE)


def count_marks(text: str) -> int:
    """Return how many characters of a text make markup."""
    marks = len(text) - len(text.translate(_MARKS))
    addresses = text.count("://") + text.count("www.")
    return marks + _FORMULA_MARKS * text.count("$") + _ADDRESS_MARKS * addresses


def is_heavy(text: str) -> bool:
    """Say whether rendering takes long enough to be done in a process that can be ended."""
    return len(text) > HEAVY_CHARS or (len(text) > HEAVY_MARKS and count_marks(text) > HEAVY_MARKS)


def is_too_dense(block: str) -> bool:
    """Say whether a block is shown as plain text without being parsed."""
    return len(block) > MAX_BLOCK_BYTES or count_marks(block) > MAX_BLOCK_MARKS or quote_steps(block) > MAX_QUOTE_STEPS


def quote_steps(block: str) -> int:
    """Return how many quote marks there are, times the lines that may continue a quotation without one."""
    quotes = [match[1].count(">") for match in _QUOTE.finditer(block)]
    return sum(quotes) * (block.count("\n") - len(quotes)) if quotes else 0


@dataclass(slots=True)
class RenderBudget:
    """What may still be rendered of one answer. The blocks after it are shown as plain text."""

    chars: int = MAX_ANSWER_CHARS
    marks: int = MAX_ANSWER_MARKS

    def admits(self, block: str) -> bool:
        """Count a block; say whether it is rendered."""
        self.chars -= len(block)
        self.marks -= count_marks(block)
        return self.chars >= 0 and self.marks >= 0

    def add_timeout(self) -> None:
        """Count a block that ran out of time."""
        self.marks -= TIMEOUT_MARKS


def any_heavy(texts: Iterable[str]) -> bool:
    """Say whether texts that are rendered in one go are heavy together."""
    return is_heavy("".join(texts))
