# ruff: noqa: PLC0415, T201 - a script: Django is set up before its models are imported, and it prints
"""Recall and time of filing search over the sample questions: ``python -m benchmarks.filings``.

Loads SHARED_DIR/filings into a database of its own and asks every answerable question once for the figures and a few
times more for the clock. quote@5: one of the five best passages of the right document holds the fact.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import django

_ROUNDS = 5
_LIMIT = 5
_FOLD = str.maketrans({"\u2019": "'", "\u2018": "'", "\u201c": '"', "\u201d": '"', "\u00a0": " "})


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
    from chat.retrieval import SearchQuery

    slug = Filing.objects.values_list("slug", flat=True).get(source_name=asked["document"])
    found = search_passages(SearchQuery(asked["question"], limit=_LIMIT))
    right = [passage for passage in found if f"/{slug}/" in passage.url]
    in_section = any(passage.section in asked["accept_sections"] for passage in right)
    return bool(right), in_section, any(_folded(asked["must_quote"]) in _folded(passage.text) for passage in right)


def _folded(text: str) -> str:
    return " ".join(text.translate(_FOLD).casefold().split())


def _time_ms(question: str) -> float:
    from chat.filings.search import search_passages
    from chat.retrieval import SearchQuery

    started = time.perf_counter()
    search_passages(SearchQuery(question, limit=_LIMIT))
    return (time.perf_counter() - started) * 1000


def main() -> int:
    """Print the figures. Exit 1 where the sample filings are missing."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    django.setup()
    from django.conf import settings
    from django.db import connection

    from chat.filings.ingest import ingest

    folder = Path(os.environ.get("SHARED_DIR", Path(settings.BASE_DIR).parent / "shared")) / "filings"
    if not folder.is_dir():
        print("sample filings not found: set SHARED_DIR", file=sys.stderr)
        return 1
    name = connection.creation.create_test_db(verbosity=0, autoclobber=True)
    try:
        started = time.perf_counter()
        loaded = [ingest(path) for path in sorted(folder.glob("*.html"))]
        seconds = time.perf_counter() - started
        passages = sum(filing.passages.count() for filing in loaded)
        print(f"{connection.vendor}: {len(loaded)} filings, {passages} passages, loaded in {seconds:.1f} s")
        _print(measure(folder))
    finally:
        connection.creation.destroy_test_db(name, verbosity=0)
    return 0


def _print(figures: Figures) -> None:
    print(f"questions   {figures.questions}")
    print(f"doc@5       {figures.doc_at_5:.2f}")
    print(f"section@5   {figures.section_at_5:.2f}")
    print(f"quote@5     {figures.quote_at_5:.2f}")
    print(f"p50         {figures.p50_ms:.1f} ms")
    print(f"p95         {figures.p95_ms:.1f} ms")
    print(f"missed      {' '.join(figures.missed) or 'none'}")


if __name__ == "__main__":
    raise SystemExit(main())
