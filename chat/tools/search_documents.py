"""``searchDocuments`` and ``listDocuments``: the documents that people have loaded, and the files of a conversation."""

from __future__ import annotations

import json
from typing import Annotated

from pydantic import Field

from chat.tools.base import SearchQuery, ToolArguments, ToolContext, ToolOutput, function_tool, read_arguments
from chat.tools.passages import passages_output
from reasoning.citations import SourceKind

KINDS: tuple[SourceKind, ...] = ("attachment", "document")
MAX_LISTED = 200  # about 4,000 tokens


class SearchDocumentsArguments(ToolArguments):
    """Search the documents that the user and this site have loaded, and the files attached to this conversation.

    Returns passages, each with a number "ref" to cite it by, its document, section, page, address and text.
    """

    query: Annotated[str, Field(min_length=1, max_length=500, description="What to look for, in a few words.")]
    limit: Annotated[int, Field(ge=1, le=20, description="How many passages at most; 8 is plenty.")] = 5


class SearchDocuments:
    """The search."""

    name = "searchDocuments"
    running_label = "Searching documents…"
    shown_args = frozenset({"query", "limit"})
    requires_approval = False
    schema = function_tool(name, SearchDocumentsArguments)

    async def run(self, arguments: str, context: ToolContext) -> ToolOutput:
        """Search, and number the passages from ``context.first_ref``. Raises ToolArgumentsError."""
        wanted = read_arguments(SearchDocumentsArguments, arguments)
        result = await context.search(SearchQuery(wanted.query, limit=wanted.limit, kinds=KINDS))
        searched = {"query": wanted.query, "documents": result.documents}
        return passages_output(result, searched, first_ref=context.first_ref)


class ListDocumentsArguments(ToolArguments):
    """List the documents that searchDocuments can search."""


class ListDocuments:
    """The list."""

    name = "listDocuments"
    running_label = "Listing documents…"
    shown_args: frozenset[str] = frozenset()
    requires_approval = False
    schema = function_tool(name, ListDocumentsArguments)

    async def run(self, arguments: str, context: ToolContext) -> ToolOutput:
        """List titles, collections and addresses, at most ``MAX_LISTED``. Raises ToolArgumentsError."""
        read_arguments(ListDocumentsArguments, arguments)
        entries = await context.entries(KINDS)
        listed = [{"title": one.title, "collection": one.group, "url": one.url} for one in entries[:MAX_LISTED]]
        content = {"documents": listed, "more": len(entries) - len(listed)}
        return ToolOutput(json.dumps(content, ensure_ascii=False, separators=(",", ":")), results=len(entries))
