"""What the benchmarks share: the table that each prints, the texts that they run on, the sample filings.

Times are CPU seconds of this process, the best of several rounds; what is compared takes turns in the same rounds, so
that a busy machine slows both.
"""

import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import django
from cryptography.fernet import Fernet

MS, US, KB = 1e3, 1e6, 1024
MISSING = "no sample filings: SHARED_DIR names no folder that holds filings/"


@dataclass(frozen=True, slots=True)
class Figure:
    """One line of a table. ``aim`` is the most that is wanted, or the least (``at_least``).

    ``ratio`` is this figure divided by another of the same run, which ``beside`` names.
    """

    name: str
    value: float
    unit: str
    aim: float | None = None
    at_least: bool = False
    ratio: float | None = None
    beside: str = ""

    def cells(self) -> tuple[str, str, str, str, str]:
        value = (
            f"{self.value:,.0f}" if abs(self.value) >= 1000 or self.value == int(self.value) else f"{self.value:.3g}"
        )
        aim = ratio = ""
        if self.aim is not None:
            is_met = self.value >= self.aim if self.at_least else self.value <= self.aim
            aim = f"{'≥' if self.at_least else '≤'} {self.aim:g}" + ("" if is_met else ", missed")
        if self.ratio is not None:
            ratio = f"{self.ratio:.2g} × {self.beside}"
        return self.name, value, self.unit, aim, ratio


def best_seconds(*works: Callable[[], object], rounds: int = 5) -> list[float]:
    """Return the CPU seconds of the fastest of ``rounds`` calls, for each of ``works``, which take turns."""
    best = [float("inf")] * len(works)
    for _round in range(rounds):
        for at, work in enumerate(works):
            start = time.process_time()
            work()
            best[at] = min(best[at], time.process_time() - start)
    return best


def show(title: str, figures: Sequence[Figure], *notes: str) -> None:
    """Print one table, the notes, and how busy the machine is."""
    rows = [(title, "figure", "unit", "aim", "ratio"), *(figure.cells() for figure in figures)]
    widths = [max(len(row[at]) for row in rows) for at in range(5)]
    for name, value, *rest in rows:
        cells = [name.ljust(widths[0]), value.rjust(widths[1])]
        print("  ".join([*cells, *(cell.ljust(width) for cell, width in zip(rest, widths[2:], strict=True))]).rstrip())
    machine = f"load of the last minute: {os.getloadavg()[0]:.1f}; Python {sys.version.split()[0]}"
    print(*(f"  {note}" for note in (*notes, machine)), "", sep="\n")


# Texts

_PARAGRAPHS = (
    "The debt service coverage ratio was **1.31** at year end [1], against a minimum of 1.20 that the credit agreement"
    " of March 14, 2023 sets. It had been 1.24 two quarters earlier, so the headroom has more than doubled.\n\n",
    "> Failure to comply with any of these covenants could result in an event of default.\n\n",
    "Three risks are new in this report:\n\n- a single customer brought 38% of net sales, up from 31% [3];\n"
    "- the fixed price of power ends in fiscal year 2027, if 5 < x holds for the spread;\n"
    "- two of seven warehouses are leased month to month.\n\n",
    "| Test | Limit | Reported |\n|---|---|---|\n"
    "| Debt service | ≥ 1.20 | 1.31 [1] |\n| Net leverage | ≤ 5.50 | 5.12 |\n\n",
    "```python\nheadroom = round(100 * (1.31 - 1.20) / 1.20, 1)  # in percent\n```\n\n",
)
OPENING = (
    "Reasoning Summary:\n- Searched the two latest filings for the covenants\n"
    "- Compared the reported ratios with their limits\n\nFinal Answer:\n"
)


def answer(chars: int) -> str:
    """Return an answer of that many characters with prose, lists, tables and code, no two paragraphs alike."""
    text, number = "", 0
    while len(text) < chars:
        text += _PARAGRAPHS[number % len(_PARAGRAPHS)].replace(" the ", f" the {number}th ", 1)
        number += 1
    return text[:chars]


def pieces(text: str, size: int) -> list[str]:
    """Cut a text as a model streams it, ``size`` characters at a time."""
    return [text[at : at + size] for at in range(0, len(text), size)]


def trace(steps: int) -> list[Mapping[str, Any]]:
    """Return the steps of a trace, each with ten arguments, one of them a secret and one a person's address."""
    snippets = pieces(answer(steps * 720), 240)
    return [
        {
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
                {"ref": ref, "filing": "10-K", "section": "Item 7", "snippet": snippets[3 * number + ref - 1]}
                for ref in range(1, 4)
            ],
        }
        for number in range(steps)
    ]


# Sample filings


def sample_filings() -> Path | None:
    """Return the folder of the samples, None where it is missing."""
    shared = os.environ.get("SHARED_DIR") or Path(__file__).resolve().parents[3] / "shared"
    found = Path(shared) / "filings"
    return found if found.is_dir() else None


def set_up_django() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    os.environ.setdefault("CONTENT_KEYS", Fernet.generate_key().decode())
    django.setup()


@contextmanager
def database() -> Iterator[str]:
    """Create an empty database for as long as a benchmark runs; yield its kind."""
    set_up_django()
    from django.db import connection  # noqa: PLC0415 - Django is set up first

    name = connection.creation.create_test_db(verbosity=0, autoclobber=True)
    try:
        yield connection.vendor
    finally:
        connection.creation.destroy_test_db(name, verbosity=0)


def load_filings(folder: Path) -> int:
    """Ingest every document of a folder; return how many there were."""
    from chat.filings.ingest import ingest  # noqa: PLC0415 - Django is set up first

    return len([ingest(path) for path in sorted(folder.glob("*.html"))])


def folded(text: str) -> str:
    """Return text as two copies of one fact share it: case, quotation marks and white space don't count."""
    return " ".join(text.translate(_FOLD).casefold().split())


_FOLD = str.maketrans({"\u2019": "'", "\u2018": "'", "\u201c": '"', "\u201d": '"', "\u00a0": " "})
