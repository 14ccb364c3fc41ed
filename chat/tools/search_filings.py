"""``searchFilings``: find passages of the stored filings."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from chat.tools.base import (
    SearchQuery,
    SearchResult,
    ToolArguments,
    ToolContext,
    ToolOutput,
    function_tool,
    read_arguments,
)

# The turn cuts results at 20,000, which would leave half a JSON text.
MAX_CONTENT_CHARS = 18_000
MAX_COMPANIES = 40
SHOWN_TO_MODEL = ("ref", "company", "filing", "date", "period", "section", "url", "text")

Form = Literal["10-K", "10-Q", "8-K"]


# Models send "" where they mean no filter.
def _none_if_blank(value: object) -> object:
    return None if isinstance(value, str) and not value.strip() else value


class SearchFilingsArguments(ToolArguments):
    """Search the SEC filings on this server.

    Returns passages, each with a number "ref" to cite it by, its company, form, filing date, section, address and text.
    """

    query: Annotated[str, Field(min_length=1, max_length=500, description="What to look for, in a few words.")]
    form: Annotated[
        Form | None, BeforeValidator(_none_if_blank), Field(description="Only filings of this form type.")
    ] = None
    company: Annotated[
        Annotated[str, Field(max_length=200)] | None,
        BeforeValidator(_none_if_blank),
        Field(description="Only filings of this company. Leave out to search all."),
    ] = None
    limit: Annotated[int, Field(ge=1, le=20, description="How many passages at most; 8 is plenty.")] = 5


class SearchFilings:
    """The tool."""

    name = "searchFilings"
    running_label = "Searching filings…"
    shown_args = frozenset({"query", "form", "company", "limit"})
    requires_approval = False
    schema = function_tool(name, SearchFilingsArguments)

    async def run(self, arguments: str, context: ToolContext) -> ToolOutput:
        """Search, and number the passages from ``context.first_ref``. Raises ToolArgumentsError."""
        wanted = read_arguments(SearchFilingsArguments, arguments)
        result = await context.search(SearchQuery(wanted.query, wanted.form, wanted.company, wanted.limit))
        return passages_output(result, wanted.model_dump(exclude={"limit"}), first_ref=context.first_ref)


def passages_output(result: SearchResult, searched: Mapping[str, Any], *, first_ref: int) -> ToolOutput:
    """Return passages as JSON under the numbers by which a model cites them, with what was searched.

    Passages that don't fit into MAX_CONTENT_CHARS are left out from the end.
    """
    scope = {key: value for key, value in searched.items() if value is not None}
    scope |= {"filings": result.filings, "companies": list(result.companies[:MAX_COMPANIES])}
    sources = tuple(replace(found, ref=ref) for ref, found in enumerate(result.passages, start=first_ref))
    while True:
        passages = [{name: getattr(source, name) for name in SHOWN_TO_MODEL} for source in sources]
        content = json.dumps({"passages": passages, "searched": scope}, ensure_ascii=False, separators=(",", ":"))
        if len(content) <= MAX_CONTENT_CHARS or len(sources) <= 1:
            return ToolOutput(content=content, results=len(sources), sources=sources)
        sources = sources[:-1]
