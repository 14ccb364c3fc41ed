# ruff: noqa: PLC0415 - a script: Django is set up before its models are imported
"""How well the offline analyst answers: ``python -m tests.benchmarks.analyst [questions.json]``.

Loads SHARED_DIR/filings into a database of its own and asks every question through the provider, the search tool and
the citation check, as a turn does.
"""

import asyncio
import json
import statistics
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.benchmarks.helpers import MISSING, Figure, database, folded, load_filings, sample_filings, show

TITLE = "Offline analyst"
_MAX_STEPS = 4


@dataclass(frozen=True, slots=True)
class Outcome:
    """One question: the answer, the passages that it cites, and its quotations that they don't contain."""

    asked: dict[str, Any]
    answer: str
    cited: tuple[str, ...]
    unverified: tuple[str, ...]
    ms: float

    @property
    def is_right(self) -> bool:
        """True for a cited passage that holds the fact, or for a refusal where there is no answer."""
        fact = folded(self.asked["must_quote"] or "")
        return any(fact in folded(text) for text in self.cited) if fact else not self.cited


async def ask(asked: dict[str, Any]) -> Outcome:
    """Ask one question, running the tool as often as the analyst calls it."""
    from asgiref.sync import sync_to_async

    from chat.filings.search import read_passages, search_passages
    from chat.providers.base import ProviderRequest
    from chat.providers.offline import OfflineAnalyst
    from chat.tools.base import SearchResult, ToolContext
    from chat.tools.passages import number_passages
    from chat.tools.search_filings import search_filings
    from reasoning.citations import Source, check_citations
    from reasoning.deltas import RawFields

    tool, analyst, started = search_filings, OfflineAnalyst(delay_ms=0), time.perf_counter()
    messages: list[dict[str, Any]] = [{"role": "user", "content": asked["question"]}]
    sources: list[Source] = []
    for _step in range(_MAX_STEPS):
        text = arguments = ""
        async for delta in analyst.stream(ProviderRequest({"messages": list(messages)}, "", [tool.schema], "")):
            if isinstance(delta, RawFields):
                text += delta.fields.get("content", "")
                arguments += "".join(call["function"]["arguments"] for call in delta.fields.get("tool_calls", ()))
        if not arguments:
            break
        entries = sync_to_async(tuple)  # the analyst lists nothing
        context = ToolContext(
            sync_to_async(search_passages), sync_to_async(read_passages), entries, sync_to_async(SearchResult)
        )
        output = number_passages(await tool.call(arguments, context), first_ref=len(sources) + 1)
        sources += output.sources
        messages += [{"role": "assistant", "content": None}, {"role": "tool", "content": output.content}]
    citations = check_citations(text, sources)
    by_ref = {source.ref: source.text for source in sources}
    cited = tuple(by_ref[ref] for ref in dict.fromkeys(citation.ref for citation in citations))
    unverified = tuple(citation.quote or "" for citation in citations if citation.verified is False)
    return Outcome(asked, text, cited, unverified, (time.perf_counter() - started) * 1000)


async def ask_all(questions: Sequence[dict[str, Any]]) -> list[Outcome]:
    """Ask one question after the other."""
    return [await ask(one) for one in questions]


def rows(outcomes: Sequence[Outcome]) -> list[Figure]:
    """Return the lines of the table."""
    answerable = [one for one in outcomes if one.asked["must_quote"]]
    others = [one for one in outcomes if not one.asked["must_quote"]]
    right, refused = (sum(one.is_right for one in part) / max(len(part), 1) for part in (answerable, others))
    return [
        Figure("answerable questions", len(answerable), ""),
        Figure("a cited passage holds the fact", right, "of 1", aim=0.8, at_least=True),
        Figure("refused though answerable", sum(not one.cited for one in answerable), ""),
        Figure("unanswerable, refused", refused, "of 1", aim=1, at_least=True),
        Figure("quotations that are not verbatim", sum(len(one.unverified) for one in outcomes), "", aim=0),
        Figure("an answer, median", statistics.median(one.ms for one in outcomes), "ms"),
    ]


def main(folder: Path | None, questions: Path | None = None) -> None:
    """Print the table, of the sample questions or of those in the file that is named, or why there is none."""
    if folder is None:
        show(TITLE, (), f"skipped: {MISSING}")
        return
    with database():
        load_filings(folder)
        outcomes = asyncio.run(ask_all(json.loads((questions or folder / "questions.json").read_text())))
    wrong = [
        f"{one.asked['id']}  {one.asked['question']}  …{' '.join(one.answer.split())[-200:]}"
        for one in outcomes
        if not one.is_right
    ]
    show(TITLE, rows(outcomes), *wrong)


if __name__ == "__main__":
    main(sample_filings(), Path(sys.argv[1]) if len(sys.argv) > 1 else None)
