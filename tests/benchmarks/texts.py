"""The texts that the benchmarks run on: answers as an analyst writes them, and the steps of a trace."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import cycle
from typing import Any

_PARAGRAPHS = (
    "The debt service coverage ratio was **1.31** at year end [1], against a minimum of 1.20 that the credit agreement"
    " of March 14, 2023 sets. It had been 1.24 two quarters earlier, so the headroom has more than doubled.\n\n",
    "Management expects liquidity of at least $15.0 million through June 2026; cash and undrawn commitments stood at"
    " $41.7 million on September 30, 2025 [2].\n\n",
    "> Failure to comply with any of these covenants could result in an event of default.\n\n",
    "Three risks are new in this report:\n\n- a single customer brought 38% of net sales, up from 31% [3];\n"
    "- the fixed price of power ends in fiscal year 2027, if 5 < x holds for the spread;\n"
    "- two of seven warehouses are leased month to month.\n\n",
    "| Test | Limit | Reported |\n|---|---|---|\n"
    "| Debt service | ≥ 1.20 | 1.31 [1] |\n| Net leverage | ≤ 5.50 | 5.12 |\n\n",
    "```python\nheadroom = round(100 * (1.31 - 1.20) / 1.20, 1)  # in percent\n```\n\n",
)
_OPENING = (
    "Reasoning Summary:\n- Searched the two latest filings for the covenants\n"
    "- Compared the reported ratios with their limits\n\nFinal Answer:\n"
)


def answer(chars: int, *, has_sections: bool = False) -> str:
    """Return an answer of that many characters, no two paragraphs alike."""
    return "".join(_paragraphs(chars, _OPENING if has_sections else ""))[:chars]


def pieces(text: str, size: int) -> list[str]:
    """Cut a text as a model streams it, ``size`` characters at a time."""
    return [text[at : at + size] for at in range(0, len(text), size)]


def trace(steps: int) -> list[Mapping[str, Any]]:
    """Return the steps of a trace, each with ten arguments, one of them a secret and one a person's address."""
    return [_step(number) for number in range(steps)]


def _paragraphs(chars: int, opening: str) -> Iterator[str]:
    yield opening
    made = len(opening)
    for number, paragraph in enumerate(cycle(_PARAGRAPHS)):
        if made >= chars:
            return
        text = paragraph.replace(" the ", f" the {number}th ", 1)
        made += len(text)
        yield text


def _step(number: int) -> dict[str, Any]:
    return {
        "tool": "searchFilings",
        "status": "ok",
        "durationMs": 212 + number,
        "results": 5,
        "args": {
            "query": f"debt service coverage ratio covenant, quarter {number}",
            "company": "Northwind Tidal Power",
            "forms": ["10-K", "10-Q"],
            "since": "2024-01-01",
            "until": "2025-12-31",
            "limit": 5,
            "sections": ["Item 1A", "Item 7"],
            "api_key": f"sk-live-{number:04}aB3dE5fG7hJ9kL",
            "requested_by": "alice@example.com",
            "note": "Look at the covenant tables first; the guidance is in the discussion of liquidity. " * 2,
        },
        "topCitations": [
            {"ref": ref, "filing": "10-K", "section": "Item 7", "snippet": "The ratio was 1.31 at year end. " * 4}
            for ref in range(1, 4)
        ],
    }
