"""The tools that a conversation's requests offer: those of this site and those that staff have allowed its owner."""

from __future__ import annotations

from collections.abc import Mapping

from chat.mcp.servers import offered
from chat.models import Conversation, SiteSettings
from chat.tools import registry
from chat.tools.base import Tool


def offered_tools(conversation: Conversation, site: SiteSettings) -> Mapping[str, Tool]:
    """Return tools by name, in the same order for every request."""
    return {**registry(), **offered.of(conversation.owner)}
