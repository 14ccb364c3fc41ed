# ruff: noqa: PLC0415 - a script: Django is set up before its models are imported
"""How well the offline analyst answers: ``python -m tests.benchmarks.analyst [questions.json]``.

Loads SHARED_DIR/filings into a database of its own and asks every question through the provider, the search tool and
the citation check, as a turn does. Prints the share of answers with a cited passage that holds the fact, the share of
unanswerable questions that are refused, refusals that were wrong, and quotations that are not verbatim (always none).
"""

from __future__ import annotations

import asyncio
import json
import statistics
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.benchmarks import samples
from tests.benchmarks.figures import Figure, load, show, skip
from tests.benchmarks.samples import folded

TITLE = "Offline analyst"
_MAX_STEPS = 4


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
        fact = folded(self.asked["must_quote"] or "")
        return bool(fact) and any(fact in folded(text) for text in self.cited)


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


def rows(outcomes: Sequence[Outcome]) -> list[Figure]:
    """Return the lines of the table."""
    answerable = [one for one in outcomes if one.asked["must_quote"]]
    others = [one for one in outcomes if not one.asked["must_quote"]]
    right, refused = sum(one.is_right for one in answerable), sum(not one.cited for one in others)
    false = sum(len(one.unverified) for one in outcomes)
    return [
        Figure("answerable questions", len(answerable), ""),
        Figure("a cited passage holds the fact", _share(right, answerable), "of 1", aim=0.8, at_least=True),
        Figure("refused though answerable", sum(not one.cited for one in answerable), ""),
        Figure("unanswerable, refused", _share(refused, others), "of 1", aim=1, at_least=True),
        Figure("quotations that are not verbatim", false, "", aim=0),
        Figure("an answer, median", statistics.median(one.ms for one in outcomes), "ms"),
    ]


def wrong(outcomes: Sequence[Outcome]) -> list[str]:
    """Return a line for each question that went wrong: its id, the question, the end of the answer."""
    return [
        f"{one.asked['id']}  {one.asked['question']}  …{' '.join(one.answer.split())[-200:]}"
        for one in outcomes
        if not (one.is_right if one.asked["must_quote"] else not one.cited)
    ]


async def ask_all(questions: Sequence[dict[str, Any]]) -> list[Outcome]:
    """Ask one question after the other."""
    return [await ask(one) for one in questions]


def main(folder: Path | None, questions: Path | None = None) -> None:
    """Print the table, of the sample questions or of those in the file that is named, or why there is none."""
    if folder is None:
        skip(TITLE, samples.MISSING)
        return
    with samples.database():
        samples.load(folder)
        asked = json.loads((questions or folder / "questions.json").read_text())
        outcomes = asyncio.run(ask_all(asked))
        show(TITLE, rows(outcomes), *wrong(outcomes), load())


def _share(count: int, of: Sequence[object]) -> float:
    return count / max(len(of), 1)


if __name__ == "__main__":
    main(samples.folder(), Path(sys.argv[1]) if len(sys.argv) > 1 else None)
