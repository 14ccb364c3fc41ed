# ruff: noqa: PLC0415 - a script: Django is set up before its models are imported
"""Recall and time of filing search over the sample questions: ``python -m tests.benchmarks.filings``.

Loads SHARED_DIR/filings into a database of its own and asks every answerable question once for the figures and a few
times more for the clock. quote@5: one of the five best passages of the right document holds the fact.
"""

from __future__ import annotations

import json
import statistics
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.benchmarks import samples
from tests.benchmarks.figures import Figure, load, show, skip
from tests.benchmarks.samples import folded

TITLE = "Filing search"
_ROUNDS = 5
_LIMIT = 5


@dataclass(frozen=True, slots=True)
class Figures:
    """Shares of the answerable questions, and times of one search in milliseconds."""

    questions: int
    doc_at_5: float
    section_at_5: float
    quote_at_5: float
    p50_ms: float
    p95_ms: float
    missed: tuple[str, ...]


def measure(folder: Path) -> Figures:
    """Search for every answerable question of ``folder``/questions.json in the filings that are loaded."""
    asked = [one for one in json.loads((folder / "questions.json").read_text()) if one["kind"] != "none"]
    outcomes = [(one["id"], *_outcome(one)) for one in asked]
    times = sorted(_time_ms(one["question"]) for _ in range(_ROUNDS) for one in asked)
    shares = [statistics.fmean(outcome[column] for outcome in outcomes) for column in (1, 2, 3)]
    return Figures(
        questions=len(asked),
        doc_at_5=shares[0],
        section_at_5=shares[1],
        quote_at_5=shares[2],
        p50_ms=statistics.median(times),
        p95_ms=times[int(len(times) * 0.95)],
        missed=tuple(outcome[0] for outcome in outcomes if not outcome[3]),
    )


def _outcome(asked: dict[str, Any]) -> tuple[bool, bool, bool]:
    from chat.filings.search import search_passages
    from chat.models import Filing
    from chat.tools.base import SearchQuery

    slug = Filing.objects.values_list("slug", flat=True).get(source_name=asked["document"])
    found = search_passages(SearchQuery(asked["question"], limit=_LIMIT))
    right = [passage for passage in found.passages if f"/{slug}/" in passage.url]
    in_section = any(passage.section in asked["accept_sections"] for passage in right)
    return bool(right), in_section, any(folded(asked["must_quote"]) in folded(passage.text) for passage in right)


def _time_ms(question: str) -> float:
    from chat.filings.search import search_passages
    from chat.tools.base import SearchQuery

    started = time.perf_counter()
    search_passages(SearchQuery(question, limit=_LIMIT))
    return (time.perf_counter() - started) * 1000


def rows(figures: Figures, *, load_s: float, vendor: str) -> list[Figure]:
    """Return the lines of the table. The aims are set for the sample questions."""
    slowest = 50 if vendor == "sqlite" else 150
    return [
        Figure("questions", figures.questions, ""),
        Figure("right document in the first five", figures.doc_at_5, "of 1"),
        Figure("right section in the first five", figures.section_at_5, "of 1"),
        Figure("the fact in the first five", figures.quote_at_5, "of 1", aim=0.85, at_least=True),
        Figure("a search, median", figures.p50_ms, "ms"),
        Figure(
            "a search, p95", figures.p95_ms, "ms", aim=slowest, ratio=figures.p95_ms / figures.p50_ms, beside="median"
        ),
        Figure("loading the filings", load_s, "s"),
    ]


def main(folder: Path | None) -> None:
    """Print the table, or why there is none."""
    if folder is None:
        skip(TITLE, samples.MISSING)
        return
    with samples.database() as vendor:
        started = time.perf_counter()
        count = samples.load(folder)
        load_s = time.perf_counter() - started
        figures = measure(folder)
        missed = f"{count} filings on {vendor}; missed: {' '.join(figures.missed) or 'none'}"
        show(TITLE, rows(figures, load_s=load_s, vendor=vendor), missed, load())


if __name__ == "__main__":
    main(samples.folder())
