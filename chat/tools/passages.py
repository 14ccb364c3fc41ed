"""Passages as a model gets them: JSON, numbered for citing. The log has that, so it is read back here too."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import replace
from itertools import accumulate
from typing import Any, Final

from chat.tools.base import ToolOutput, json_text
from reasoning.citations import Source, SourceKind

# The turn cuts results at 20,000, which would leave half a JSON text.
MAX_CONTENT_CHARS = 18_000
CUT = "\n(truncated)"
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
    """Return an output that fits into MAX_CONTENT_CHARS.

    Its text is cut to half of that before any of its last sources are left out; the first one is cut where it is long.
    """
    sources = [replace(source, ref=1000) for source in output.sources]
    sizes = [len(json_text(passage_to_json(source))) + 1 for source in sources]  # and a comma
    if _chars_left(output) < sum(sizes):
        output = replace(output, content=_cut_as_json(output.content, MAX_CONTENT_CHARS // 2))
    left = _chars_left(output)
    fitting = output.sources[: bisect_right(list(accumulate(sizes)), left)]
    if sources and not fitting:
        bare = replace(sources[0], text="")
        text = _cut_as_json(sources[0].text, left - len(json_text(passage_to_json(bare))))
        fitting = (replace(output.sources[0], text=text),)
    return replace(output, sources=fitting, results=len(fitting))


def _chars_left(output: ToolOutput) -> int:
    """Return how many characters an output has left for its sources."""
    return MAX_CONTENT_CHARS - len(number_passages(replace(output, sources=()), first_ref=1).content)


def _cut_as_json(text: str, max_chars: int) -> str:
    """Return the start of a text whose JSON, which escapes some characters, has at most ``max_chars``."""
    if len(json_text(text)) <= max_chars:
        return text
    # No character takes less than one, so that little of a long text is tried.
    tried = text[: max(max_chars, 0)]
    room = max_chars - len(json_text(CUT))
    return tried[: bisect_right(list(accumulate(len(json_text(char)) - 2 for char in tried)), room)] + CUT


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
