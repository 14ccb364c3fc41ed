"""Passages as a model gets them: JSON, numbered for citing. The log keeps that, so it is read back here too."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from chat.tools.base import SearchResult, ToolOutput
from reasoning.citations import Source

# The turn cuts results at 20,000, which would leave half a JSON text.
MAX_CONTENT_CHARS = 18_000
MAX_COMPANIES = 40
# What a model reads of a passage, under the names that say most: a filing's title is its form, its publisher a company.
_OF_FILING: Final = {
    **{name: name for name in ("ref", "date", "period", "section", "url", "text")},
    **{"company": "publisher", "filing": "title"},
}
_OF_OTHERS: Final = {name: name for name in ("ref", "kind", "title", "date", "section", "url", "text")}


def passages_output(result: SearchResult, searched: Mapping[str, Any], *, first_ref: int) -> ToolOutput:
    """Return passages as JSON under the numbers by which a model cites them, with what was searched.

    Passages that don't fit into MAX_CONTENT_CHARS are left out from the end.
    """
    scope = {key: value for key, value in searched.items() if value is not None}
    scope |= {"filings": result.documents, "companies": list(result.publishers[:MAX_COMPANIES])}
    sources = tuple(replace(found, ref=ref) for ref, found in enumerate(result.passages, start=first_ref))
    while True:
        content = json.dumps(
            {"passages": [passage_to_json(source) for source in sources], "searched": scope},
            ensure_ascii=False,
            separators=(",", ":"),
        )
        if len(content) <= MAX_CONTENT_CHARS or len(sources) <= 1:
            return ToolOutput(content=content, results=len(sources), sources=sources)
        sources = sources[:-1]


def passage_to_json(source: Source) -> dict[str, Any]:
    """Return a passage as a model reads it."""
    names = _OF_FILING if source.kind == "filing" else _OF_OTHERS
    return {name: getattr(source, field) for name, field in names.items()}


def passages_from_json(content: str) -> tuple[Source, ...]:
    """Return the passages of a tool's output; none for a tool that returns other text, or for one that was cut."""
    try:
        return tuple(_passage_from_json(form) for form in json.loads(content)["passages"])
    except (ValueError, TypeError, KeyError, AttributeError):
        return ()


def _passage_from_json(form: Mapping[str, Any]) -> Source:
    publisher = form.get("company", "")
    url = form["url"]
    return Source(
        ref=form["ref"],
        kind=form.get("kind") or ("filing" if publisher else "attachment"),  # older results don't say it
        title=form.get("title") or form.get("filing", ""),
        publisher=publisher,
        date=form.get("date"),
        period=form.get("period"),
        section=form.get("section", ""),
        anchor=f"#{url.partition('#')[2]}",
        url=url,
        text=form["text"],
        snippet="",
    )
