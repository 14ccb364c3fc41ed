# ruff: noqa: PLC0415, T201 - a script: Django is set up before its models are imported, and it prints
"""What rendering an answer costs: 4 and 40 KB, prose and dense, at once and as it arrives. Ratios of one run.

``whole`` renders the text so far at each flush, ``blocks`` only what is frozen, and the whole once at the end.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import django
from django.test.utils import override_settings

FLUSH_CHARS = 64  # some 20 flushes a second of a fast model

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


def main() -> None:
    """Print one table."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    django.setup()
    from chat.html import render_markdown

    render_markdown(DENSE)  # the first call loads the lexers
    print(f"{'answer':<14}{'bleach':>12}{'nh3':>12}{'again':>12}{'streamed':>12}{'whole':>12}{'ratio':>8}")
    for size in (4_096, 40_960):
        for name, unit in (("prose", PROSE), ("dense", DENSE)):
            text = "".join(f"Part {at}. {unit}" for at in range(size // len(unit) + 1))[:size]
            with fresh("bleach"):
                first, again = cost(lambda t=text: render_markdown(t)), cost(lambda t=text: render_markdown(t))
            with fresh("nh3"):
                other = cost(lambda t=text: render_markdown(t))
            with fresh("bleach"):
                streamed = cost(lambda t=text: in_blocks(t))
            whole = estimated_whole(text)
            row = "".join(f"{1000 * seconds:>9.1f} ms" for seconds in (first, other, again, streamed, whole))
            print(f"{size // 1024:>2} KB {name:<8}{row}{whole / streamed:>8.0f}")


def in_blocks(text: str) -> None:
    """Render an answer as it arrives, then once more for the page."""
    from chat.html import BlockSplitter, render_markdown

    splitter = BlockSplitter()
    for at in range(0, len(text), FLUSH_CHARS):
        for block in splitter.feed(text[at : at + FLUSH_CHARS]):
            render_markdown(block)
    render_markdown(text)


def estimated_whole(text: str) -> float:
    """Return what rendering all of the text at every flush would cost, from sixteen of the flushes."""
    from chat.html.markdown import to_html
    from chat.html.sanitize import sanitize_html

    flushes = range(FLUSH_CHARS, len(text) + 1, FLUSH_CHARS)
    sample = flushes[:: max(1, len(flushes) // 16)]
    return sum(cost(lambda end=end: sanitize_html(to_html(text[:end]))) for end in sample) * len(flushes) / len(sample)


def cost(work: Callable[[], object]) -> float:
    """Return the seconds that one call takes."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


@contextmanager
def fresh(engine: str) -> Iterator[None]:
    """Use this sanitizer, with nothing remembered."""
    from chat.html import render

    render.forget()
    with override_settings(HTML_SANITIZER=engine):
        yield


if __name__ == "__main__":
    main()
