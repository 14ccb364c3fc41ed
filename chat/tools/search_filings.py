"""``searchFilings``: find passages of the stored filings."""

from __future__ import annotations

from chat.tools.arguments import Company, FormType, Limit, Query
from chat.tools.base import SearchQuery, ToolContext, ToolOutput, gettext_noop, ngettext_lazy, tool

MAX_COMPANIES = 40


@tool(
    running=gettext_noop("Searching filings…"),
    done=gettext_noop("Searched the filings"),
    calls=ngettext_lazy("%(count)s search", "%(count)s searches"),
    query="query",
    shows={"query", "form", "company", "limit"},
    is_concurrent=True,
)
async def search_filings(
    query: Query, context: ToolContext, form: FormType = None, company: Company = None, limit: Limit = 5
) -> ToolOutput:
    """Search the SEC filings on this server.

    Returns passages, each with a number "ref" to cite it by, its company, form, filing date, section, address and text.
    """
    found = await context.search(SearchQuery(query, form, company, limit))
    searched = {"query": query, "form": form, "company": company, "filings": found.documents}
    return ToolOutput(
        sources=found.passages, searched={**searched, "companies": list(found.publishers[:MAX_COMPANIES])}
    )
