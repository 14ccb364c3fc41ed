# ruff: noqa: PLC0415 - a script: Django is set up before its models are imported
"""What rendering costs: answers of 4 and 40 KB, at once and as they arrive: ``python -m tests.benchmarks.rendering``.

Streamed, each block is rendered when it is complete, and the whole once more at the end; the ratio is to rendering all
of the text so far at every flush.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import partial

import django

from tests.benchmarks.figures import Figure, best_seconds, load, show

FLUSH_CHARS = 64  # some 20 flushes a second of a fast model
SIZES = (4_096, 40_960)
_SAMPLE = 16  # flushes of which the cost of all is estimated
_MS = 1e3

PROSE = "The ratio fell to **1.24** in the third quarter, against a floor of 1.20 [1]. It then rose to 1.31 again.\n\n"
DENSE = """

## Covenants

| Test | Limit | Reported |
|---|---|---|
| Debt service | ≥ 1.20 | 1.31 [1] |
| Net leverage | ≤ 5.50 | 5.12 [2] |

- **Liquidity** of at least `$15.0 million`
  - *nested*, with a [link](https://www.sec.gov/)

```python
def headroom(reported, limit):
    return round(100 * (reported - limit) / limit, 1)
```

"""


def measure(sizes: Sequence[int] = SIZES, *, rounds: int = 3) -> list[Figure]:
    """Return the figures for answers of ``sizes`` characters. Django is set up."""
    from chat.html import render_markdown

    render_markdown(DENSE)  # the first call loads the lexers
    kinds = {"prose": PROSE, "dense": DENSE}
    return [one for size in sizes for kind, unit in kinds.items() for one in _answer(kind, _text(unit, size), rounds)]


def in_blocks(text: str) -> None:
    """Render an answer as it arrives, then once more for the page."""
    from chat.html import BlockSplitter, render_markdown

    splitter = BlockSplitter()
    for at in range(0, len(text), FLUSH_CHARS):
        for block in splitter.feed(text[at : at + FLUSH_CHARS]):
            render_markdown(block)
    render_markdown(text)


def _answer(kind: str, text: str, rounds: int) -> list[Figure]:
    from chat.html import render_markdown

    whole = _seconds(partial(render_markdown, text), rounds)
    streamed = _seconds(partial(in_blocks, text), rounds)
    at_each_flush = _estimated_whole(text)
    return [
        Figure(f"{len(text) // 1024} KB of {kind}, whole", whole * _MS, "ms"),
        Figure("  streamed", streamed * _MS, "ms", ratio=streamed / at_each_flush, beside="all at each flush"),
    ]


def _text(unit: str, size: int) -> str:
    return "".join(f"Part {at}. {unit}" for at in range(size // len(unit) + 1))[:size]


def _seconds(work: Callable[[], object], rounds: int) -> float:
    """Return the seconds that the work takes with an empty cache."""
    from chat.html.render import render_block

    best = float("inf")
    for _round in range(rounds):
        render_block.cache_clear()
        best = min(best, *best_seconds(work, rounds=1))
    return best


def _estimated_whole(text: str) -> float:
    """Return what rendering all of the text at every flush would cost, from a sample of the flushes."""
    from chat.html.markdown import to_html
    from chat.html.sanitize import sanitize_html

    flushes = range(FLUSH_CHARS, len(text) + 1, FLUSH_CHARS)
    sample = flushes[:: max(1, len(flushes) // _SAMPLE)]
    costs = best_seconds(*(lambda end=end: sanitize_html(to_html(text[:end])) for end in sample), rounds=1)
    return sum(costs) * len(flushes) / len(sample)


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    django.setup()
    show("Rendering", measure(), load())
