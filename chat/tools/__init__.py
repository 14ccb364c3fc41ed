"""Tools that a model may call, by name."""

from __future__ import annotations

from functools import cache

from chat.tools.base import Tool
from chat.tools.calculate import Calculate
from chat.tools.read_passage import ReadPassage
from chat.tools.search_documents import ListDocuments, SearchDocuments
from chat.tools.search_filings import SearchFilings


@cache
def registry() -> dict[str, Tool]:
    """Return the tools by the names that models call them."""
    tools: tuple[Tool, ...] = (SearchFilings(), SearchDocuments(), ListDocuments(), ReadPassage(), Calculate())
    return {tool.name: tool for tool in tools}
