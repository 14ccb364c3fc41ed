"""``listDocuments``: what ``searchDocuments`` can search."""

from __future__ import annotations

from chat.tools.base import ToolContext, ToolOutput, gettext_noop, json_text, ngettext_lazy, tool

MAX_LISTED = 200  # about 4,000 tokens


@tool(
    running=gettext_noop("Listing documents…"),
    done=gettext_noop("Listed the documents"),
    calls=ngettext_lazy("%(count)s list", "%(count)s lists"),
    is_concurrent=True,
)
async def list_documents(context: ToolContext) -> ToolOutput:
    """List the documents that searchDocuments can search."""
    entries = await context.entries(("attachment", "document"))
    listed = [{"title": one.title, "collection": one.group, "url": one.url} for one in entries[:MAX_LISTED]]
    return ToolOutput(
        json_text({"documents": listed, "more": len(entries) - len(listed)}),
        results=len(entries),
    )
