"""``searchDocuments``: the documents that people have loaded, and the files of a conversation."""

from __future__ import annotations

from chat.tools.arguments import Limit, Query
from chat.tools.base import SearchQuery, ToolContext, ToolOutput, gettext_noop, ngettext_lazy, tool


@tool(
    running=gettext_noop("Searching documents…"),
    done=gettext_noop("Searched the documents"),
    calls=ngettext_lazy("%(count)s search", "%(count)s searches"),
    query="query",
    shows={"query", "limit"},
    is_concurrent=True,
)
async def search_documents(query: Query, context: ToolContext, limit: Limit = 5) -> ToolOutput:
    """Search the documents that the user and this site have loaded, and the files attached to this conversation.

    Returns passages, each with a number "ref" to cite it by, its document, section, page, address and text.
    """
    found = await context.search(SearchQuery(query, limit=limit, kinds=("attachment", "document")))
    return ToolOutput(sources=found.passages, searched={"query": query, "documents": found.documents})
