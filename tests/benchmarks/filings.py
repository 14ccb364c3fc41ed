# ruff: noqa: PLC0415 - a script: Django is set up before its models are imported
"""Recall and time of filing search over the sample questions: ``python -m tests.benchmarks.filings``.

Loads SHARED_DIR/filings into a database of its own and asks every answerable question once for the figures and a few
times more for the clock. quote@5: one of the five best passages of the right document holds the fact.
"""

import json
import statistics
import time
from dataclasses import dataclass
from pathlib import Path

from tests.benchmarks.helpers import MISSING, Figure, database, folded, load_filings, sample_filings, show

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
    from chat.filings.models import Filing
    from chat.filings.search import search_passages
    from chat.tools.base import SearchQuery

    asked = [one for one in json.loads((folder / "questions.json").read_text()) if one["kind"] != "none"]
    slugs = dict(Filing.objects.values_list("source_name", "slug"))
    outcomes: list[tuple[bool, bool, bool]] = []
    times: list[float] = []
    for one in asked:
        query = SearchQuery(one["question"], limit=_LIMIT)
        for _round in range(_ROUNDS):
            started = time.perf_counter()
            found = search_passages(query)
            times.append((time.perf_counter() - started) * 1000)
        right = [passage for passage in found.passages if f"/{slugs[one['document']]}/" in passage.url]
        in_section = any(passage.section in one["accept_sections"] for passage in right)
        has_fact = any(folded(one["must_quote"]) in folded(passage.text) for passage in right)
        outcomes.append((bool(right), in_section, has_fact))
    shares = [statistics.fmean(column) for column in zip(*outcomes, strict=True)]
    times.sort()
    return Figures(
        questions=len(asked),
        doc_at_5=shares[0],
        section_at_5=shares[1],
        quote_at_5=shares[2],
        p50_ms=statistics.median(times),
        p95_ms=times[int(len(times) * 0.95)],
        missed=tuple(one["id"] for one, outcome in zip(asked, outcomes, strict=True) if not outcome[2]),
    )


def main(folder: Path | None) -> None:
    """Print the table, or why there is none. The aims are set for the sample questions."""
    if folder is None:
        show(TITLE, (), f"skipped: {MISSING}")
        return
    with database() as vendor:
        started = time.perf_counter()
        count = load_filings(folder)
        load_s = time.perf_counter() - started
        found = measure(folder)
    slowest, ratio = 50 if vendor == "sqlite" else 150, found.p95_ms / found.p50_ms
    rows = [
        Figure("questions", found.questions, ""),
        Figure("right document in the first five", found.doc_at_5, "of 1"),
        Figure("right section in the first five", found.section_at_5, "of 1"),
        Figure("the fact in the first five", found.quote_at_5, "of 1", aim=0.85, at_least=True),
        Figure("a search, median", found.p50_ms, "ms"),
        Figure("a search, p95", found.p95_ms, "ms", aim=slowest, ratio=ratio, beside="median"),
        Figure("loading the filings", load_s, "s"),
    ]
    show(TITLE, rows, f"{count} filings on {vendor}; missed: {' '.join(found.missed) or 'none'}")


if __name__ == "__main__":
    main(sample_filings())
