"""The one form in which every benchmark reports: a name, a figure, its unit, what is aimed at, a ratio of the same run.

Times are CPU seconds of this process, the best of several rounds; what is compared takes turns in the same rounds, so
that a busy machine slows both.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from os import getloadavg

ROUNDS = 5
_HEADS = ("figure", "unit", "aim", "ratio")


@dataclass(frozen=True, slots=True)
class Figure:
    """One line of a table. ``aim`` is the most that is wanted, or the least (``at_least``); ``beside`` names the ratio.

    A ratio is this figure divided by another of the same run, which ``beside`` says.
    """

    name: str
    value: float
    unit: str
    aim: float | None = None
    at_least: bool = False
    ratio: float | None = None
    beside: str = ""

    @property
    def is_met(self) -> bool:
        """Whether the aim is reached; a figure without one always is."""
        if self.aim is None:
            return True
        return self.value >= self.aim if self.at_least else self.value <= self.aim


def best_seconds(*works: Callable[[], object], rounds: int = ROUNDS) -> list[float]:
    """Return the CPU seconds of the fastest of ``rounds`` calls, for each of ``works``, which take turns."""
    best = [float("inf")] * len(works)
    for _round in range(rounds):
        for at, work in enumerate(works):
            best[at] = min(best[at], _seconds(work))
    return best


def show(title: str, figures: Sequence[Figure], *notes: str) -> None:
    """Print one table, and below it what else there is to say."""
    rows = [(one.name, *_cells(one)) for one in figures]
    table = [(title, *_HEADS), *rows]
    widths = [max(len(row[at]) for row in table) for at in range(len(table[0]))]
    lines = [_line(row, widths) for row in table]
    lines.insert(1, "-" * max(map(len, lines)))
    print(*lines, *(f"  {note}" for note in notes), "", sep="\n")


def skip(title: str, reason: str) -> None:
    """Say that a benchmark did not run, and why."""
    show(title, (), f"skipped: {reason}")


def load() -> str:
    """Say how busy the machine is, for a reader who wonders about a figure."""
    return f"load of the last minute: {getloadavg()[0]:.1f}; Python {sys.version.split()[0]}"


def _seconds(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def _cells(figure: Figure) -> tuple[str, str, str, str]:
    aim = "" if figure.aim is None else f"{'≥' if figure.at_least else '≤'} {figure.aim:g}"
    aim += "" if figure.is_met else ", missed"
    ratio = "" if figure.ratio is None else f"{figure.ratio:.2g} × {figure.beside}"
    return _number(figure.value), figure.unit, aim, ratio


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 or value == int(value) else f"{value:.3g}"


def _line(row: Sequence[str], widths: Sequence[int]) -> str:
    name, figure, *rest = row
    cells = [name.ljust(widths[0]), figure.rjust(widths[1])]
    return "  ".join([*cells, *(cell.ljust(width) for cell, width in zip(rest, widths[2:], strict=True))]).rstrip()
