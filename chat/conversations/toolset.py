"""The tools that a conversation's requests offer: those of this site and those that staff have allowed its owner."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from chat.mcp.servers import offered
from chat.models import Conversation, SiteSettings
from chat.tools import registry
from chat.tools.base import Tool
from chat.web.addresses import read_hosts

READ_WEB_PAGE = "readWebPage"


def offered_tools(conversation: Conversation, site: SiteSettings) -> Mapping[str, Tool]:
    """Return tools by name, in the same order for every request."""
    tools = dict(registry())
    page_reader = tools.pop(READ_WEB_PAGE)
    if hosts := read_hosts(site.web_hosts):
        words = f"{page_reader.description} Hosts that this site allows: {', '.join(hosts)}."
        tools[READ_WEB_PAGE] = replace(page_reader, description=words)
    return {**tools, **offered.of(conversation.owner)}
