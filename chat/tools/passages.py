"""What the filing tools tell a model: the passages, numbered, as JSON text that fits under the turn's cap."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from chat.retrieval import Found, FoundPassage
from chat.tools.base import ToolOutput
from reasoning.citations import Source

MAX_CONTENT_CHARS = 18_000  # the turn cuts results at 20,000, which would leave half a JSON text


def passages_output(found: Sequence[FoundPassage], *, first_ref: int, asked: Mapping[str, Any]) -> ToolOutput:
    """Return passages under the numbers by which a model cites them, and what was searched.

    ``asked`` is the search as it was understood. Passages that would not fit are left out from the end.
    """
    searched = {key: value for key, value in asked.items() if value is not None}
    if isinstance(found, Found):
        searched |= {"filings": found.filings, "companies": list(found.companies[:40])}
    sources = tuple(_source(passage, ref) for ref, passage in enumerate(found, start=first_ref))
    while len(content := _content(sources, searched)) > MAX_CONTENT_CHARS and len(sources) > 1:
        sources = sources[:-1]
    return ToolOutput(content=content, results=len(sources), sources=sources)


def _content(sources: Sequence[Source], searched: Mapping[str, Any]) -> str:
    passages = [_form(source) for source in sources]
    return json.dumps({"passages": passages, "searched": searched}, ensure_ascii=False, separators=(",", ":"))


def _form(source: Source) -> dict[str, Any]:
    return {
        "ref": source.ref,
        "company": source.company,
        "filing": source.filing,
        "date": source.date,
        "period": source.period,
        "section": source.section,
        "url": source.url,
        "text": source.text,
    }


def _source(passage: FoundPassage, ref: int) -> Source:
    return Source(
        ref=ref,
        filing=passage.filing,
        company=passage.company,
        date=passage.date,
        period=passage.period,
        section=passage.section,
        anchor=passage.anchor,
        url=passage.url,
        text=passage.text,
        snippet=passage.snippet,
    )
