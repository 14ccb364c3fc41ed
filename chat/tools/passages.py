"""Passages as a model gets them: JSON, numbered for citing. The log has that, so it is read back here too."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from chat.tools.base import ToolOutput, json_text
from reasoning.citations import Source, SourceKind

# The turn cuts results at 20,000, which would leave half a JSON text.
MAX_CONTENT_CHARS = 18_000
# What a model reads of a passage, under the names that say most: a filing's title is its form, its publisher a company.
_OF_FILING: Final = {
    **{name: name for name in ("ref", "date", "period", "section", "url", "text")},
    **{"company": "publisher", "filing": "title"},
}
_OF_WEB: Final = {
    **{name: name for name in ("ref", "kind", "title", "section", "url", "text")},
    "host": "publisher",
}
_OF_OTHERS: Final = {name: name for name in ("ref", "kind", "title", "date", "page", "section", "url", "text")}
_NAMES: Final[Mapping[SourceKind, Mapping[str, str]]] = {"filing": _OF_FILING, "web": _OF_WEB}


def fit_passages(output: ToolOutput) -> ToolOutput:
    """Return an output without the last of its sources, where not all fit into MAX_CONTENT_CHARS."""
    while len(number_passages(output, first_ref=1000).content) > MAX_CONTENT_CHARS and len(output.sources) > 1:
        output = replace(output, sources=output.sources[:-1])
    return replace(output, results=len(output.sources))


def number_passages(output: ToolOutput, *, first_ref: int) -> ToolOutput:
    """Return an output whose sources have the numbers by which a model cites them, and are its content, as JSON."""
    searched = {key: value for key, value in (output.searched or {}).items() if value is not None}
    sources = tuple(replace(found, ref=ref) for ref, found in enumerate(output.sources, start=first_ref))
    text = {"text": output.content} if output.content else {}
    content = json_text({**text, "passages": [passage_to_json(source) for source in sources], "searched": searched})
    return replace(output, content=content, sources=sources)


def passage_to_json(source: Source) -> dict[str, Any]:
    """Return a passage as a model reads it."""
    names = _NAMES.get(source.kind, _OF_OTHERS)
    form = {name: getattr(source, field) for name, field in names.items()}
    return {name: value for name, value in form.items() if name != "page" or value}


def passages_from_json(content: str) -> tuple[Source, ...]:
    """Return the passages of a tool's output; none for a tool that returns other text, or for one that was cut."""
    try:
        return tuple(_passage_from_json(form) for form in json.loads(content)["passages"])
    except (ValueError, TypeError, KeyError, AttributeError):
        return ()


def _passage_from_json(form: Mapping[str, Any]) -> Source:
    publisher = form.get("company") or form.get("host", "")
    url = form["url"]
    return Source(
        ref=form["ref"],
        kind=form.get("kind") or ("filing" if publisher else "attachment"),  # older results don't say it
        title=form.get("title") or form.get("filing", ""),
        publisher=publisher,
        date=form.get("date"),
        period=form.get("period"),
        section=form.get("section", ""),
        page=form.get("page"),
        anchor=f"#{url.partition('#')[2]}",
        url=url,
        text=form["text"],
        snippet="",
    )
