"""``searchFilings``: find passages of the stored filings."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from chat.tools.base import SearchQuery, ToolContext, ToolOutput, gettext_noop, ngettext_lazy, tool

MAX_COMPANIES = 40
Form = Literal["10-K", "10-Q", "8-K"]


# Models send "" where they mean no filter.
def _none_if_blank(value: object) -> object:
    return None if isinstance(value, str) and not value.strip() else value


@tool(
    running=gettext_noop("Searching filings…"),
    done=gettext_noop("Searched the filings"),
    calls=ngettext_lazy("%(count)s search", "%(count)s searches"),
    query="query",
    shows={"query", "form", "company", "limit"},
    is_concurrent=True,
)
async def search_filings(
    query: Annotated[str, Field(min_length=1, max_length=500, description="What to look for, in a few words.")],
    context: ToolContext,
    form: Annotated[
        Form | None, BeforeValidator(_none_if_blank), Field(description="Only filings of this form type.")
    ] = None,
    company: Annotated[
        Annotated[str, Field(max_length=200)] | None,
        BeforeValidator(_none_if_blank),
        Field(description="Only filings of this company. Leave out to search all."),
    ] = None,
    limit: Annotated[int, Field(ge=1, le=20, description="How many passages at most; 8 is plenty.")] = 5,
) -> ToolOutput:
    """Search the SEC filings on this server.

    Returns passages, each with a number "ref" to cite it by, its company, form, filing date, section, address and text.
    """
    found = await context.search(SearchQuery(query, form, company, limit))
    searched = {"query": query, "form": form, "company": company, "filings": found.documents}
    return ToolOutput(
        sources=found.passages, searched={**searched, "companies": list(found.publishers[:MAX_COMPANIES])}
    )
