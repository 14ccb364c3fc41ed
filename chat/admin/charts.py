"""Small charts for the staff's pages: bars in whole numbers, drawn as SVG by a template, with nothing to run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

_GAP = 1


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar, by its corner, with the words that name it."""

    x: int
    y: int
    width: int
    height: int
    label: str


@dataclass(frozen=True, slots=True)
class Chart:
    """Bars that stand on one line, and in words what they show."""

    width: int
    height: int
    bars: tuple[Bar, ...]
    label: str


def chart(
    values: Sequence[int], names: Sequence[str], label: str, *, bar: int = 5, height: int = 24, top: int | None = None
) -> Chart:
    """Return bars of these values in order. ``top`` is the value of a full bar; by default the largest.

    A value that is not nothing has a bar of one unit at least.
    """
    full = max(top or max(values, default=0), 1)
    heights = [max(1, value * height // full) if value else 0 for value in values]
    bars = tuple(
        Bar(place * (bar + _GAP), height - tall, bar, tall, f"{name}: {value}")
        for place, (value, name, tall) in enumerate(zip(values, names, heights, strict=True))
    )
    return Chart(max(1, len(values) * (bar + _GAP) - _GAP), height, bars, label)
