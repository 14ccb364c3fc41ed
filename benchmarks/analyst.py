# ruff: noqa: PLC0415, T201 - a script: Django is set up before its models are imported, and it prints
"""How well the offline analyst answers: ``python -m benchmarks.analyst [questions.json]``.

Loads SHARED_DIR/filings into a database of its own and asks every question through the provider, the search tool and
the citation check, as a turn does. Prints the share of answers with a cited passage that holds the fact, the share of
unanswerable questions that are refused, refusals that were wrong, and quotations that are not verbatim (always none).
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import django

_MAX_STEPS = 4
_FOLD = str.maketrans({"\u2019": "'", "\u2018": "'", "\u201c": '"', "\u201d": '"', "\u00a0": " "})


@dataclass(frozen=True, slots=True)
class Outcome:
    """One question: the answer, the passages that it cites, and its quotations that do not stand in them."""

    asked: dict[str, Any]
    answer: str
    cited: tuple[str, ...]
    unverified: tuple[str, ...]
    ms: float

    @property
    def is_right(self) -> bool:
        fact = _folded(self.asked["must_quote"] or "")
        return bool(fact) and any(fact in _folded(text) for text in self.cited)


async def ask(asked: dict[str, Any]) -> Outcome:
    """Ask one question, running the tool as often as the analyst calls it."""
    from asgiref.sync import sync_to_async

    from chat.filings.search import read_passages, search_passages
    from chat.providers.offline import OfflineAnalyst
    from chat.tools.base import ToolContext
    from chat.tools.search_filings import SearchFilings
    from reasoning.citations import Source, check_citations

    tool, analyst, started = SearchFilings(), OfflineAnalyst(delay_ms=0), time.perf_counter()
    messages: list[dict[str, Any]] = [{"role": "user", "content": asked["question"]}]
    sources: list[Source] = []
    for _step in range(_MAX_STEPS):
        text, arguments = await _response(analyst, messages, tool.schema)
        if not arguments:
            break
        context = ToolContext(len(sources) + 1, sync_to_async(search_passages), sync_to_async(read_passages))
        output = await tool.run(arguments, context)
        sources += output.sources
        messages += [{"role": "assistant", "content": None}, {"role": "tool", "content": output.content}]
    citations = check_citations(text, sources)
    by_ref = {source.ref: source.text for source in sources}
    cited = tuple(by_ref[ref] for ref in dict.fromkeys(citation.ref for citation in citations))
    false = tuple(citation.quote or "" for citation in citations if citation.verified is False)
    return Outcome(asked, text, cited, false, (time.perf_counter() - started) * 1000)


async def _response(analyst: Any, messages: Sequence[dict[str, Any]], schema: dict[str, Any]) -> tuple[str, str]:
    from chat.providers.base import ProviderRequest
    from reasoning.deltas import RawFields

    text = arguments = ""
    async for delta in analyst.stream(ProviderRequest({"messages": list(messages)}, "", [schema], "")):
        if isinstance(delta, RawFields):
            text += delta.fields.get("content", "")
            arguments += "".join(call["function"]["arguments"] for call in delta.fields.get("tool_calls", ()))
    return text, arguments


def report(outcomes: Sequence[Outcome]) -> None:
    """Print the figures, and each question that went wrong."""
    answerable = [one for one in outcomes if one.asked["must_quote"]]
    others = [one for one in outcomes if not one.asked["must_quote"]]
    right = [one for one in answerable if one.is_right]
    refused = [one for one in others if not one.cited]
    times = sorted(one.ms for one in outcomes)
    print(f"cited passage holds the fact  {len(right)}/{len(answerable)} ({len(right) / max(len(answerable), 1):.0%})")
    print(f"unanswerable, refused         {len(refused)}/{len(others)}")
    print(f"refused though answerable     {sum(not one.cited for one in answerable)}")
    print(f"quotations not verbatim       {sum(len(one.unverified) for one in outcomes)}")
    print(f"time of an answer, median     {times[len(times) // 2]:.0f} ms")
    for one in outcomes:
        if (one in answerable and not one.is_right) or (one in others and one.cited):
            print(f"  {one.asked['id']}  {one.asked['question']}\n      {' '.join(one.answer.split())[-300:]}")


def _folded(text: str) -> str:
    return " ".join(text.translate(_FOLD).lower().split())


def main() -> int:
    """Measure, with the sample questions or with those of the file that is named. Exit 1 without sample filings."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    django.setup()
    from django.conf import settings
    from django.db import connection

    from chat.filings.ingest import ingest

    folder = Path(os.environ.get("SHARED_DIR", Path(settings.BASE_DIR).parent / "shared")) / "filings"
    if not folder.is_dir():
        print("sample filings not found: set SHARED_DIR", file=sys.stderr)
        return 1
    questions = Path(sys.argv[1]) if len(sys.argv) > 1 else folder / "questions.json"
    name = connection.creation.create_test_db(verbosity=0, autoclobber=True)
    try:
        for path in sorted(folder.glob("*.html")):
            ingest(path)
        report(asyncio.run(_ask_all(json.loads(questions.read_text()))))
    finally:
        connection.creation.destroy_test_db(name, verbosity=0)
    return 0


async def _ask_all(questions: Sequence[dict[str, Any]]) -> list[Outcome]:
    return [await ask(one) for one in questions]


if __name__ == "__main__":
    raise SystemExit(main())
