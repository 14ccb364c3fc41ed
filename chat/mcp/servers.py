"""The servers and tools that staff have set up. Every process has a copy, which is read again every few seconds.

So a turn needs no statement to know its tools.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from channels.db import database_sync_to_async
from django.db import transaction
from django.utils import timezone

from accounts.models import User
from chat.mcp.errors import McpError
from chat.mcp.pinning import Definition, offered_name
from chat.mcp.tools import mcp_tool
from chat.models import McpServer, McpTool
from chat.tools.base import Tool

if TYPE_CHECKING:
    from chat.mcp.session import ListedTool

logger = logging.getLogger(__name__)
MAX_SERVERS = 50
MAX_TOOL_NAME_CHARS = 128


@dataclass(slots=True)
class OfferedTools:
    """The copy of this process: tools by server, with the groups whose members may use them."""

    _servers: list[tuple[frozenset[int], list[Tool]]] = field(default_factory=list)

    def of(self, person: User) -> Mapping[str, Tool]:
        """Return the tools that a person may use, by name, in a fixed order."""
        if not self._servers:
            return {}
        needs_groups = any(groups for groups, _tools in self._servers)
        own = set(person.groups.values_list("pk", flat=True)) if needs_groups else set()
        return {tool.name: tool for groups, tools in self._servers if not groups or groups & own for tool in tools}

    def refresh(self) -> None:
        """Read servers and tools."""
        servers = McpServer.objects.filter(is_enabled=True).prefetch_related("tools", "groups")[:MAX_SERVERS]
        self._servers = [
            (
                frozenset(group.pk for group in server.groups.all()),
                [mcp_tool(server, tool, look_again) for tool in server.tools.all() if tool.state == "allowed"],
            )
            for server in servers
        ]


offered = OfferedTools()


@transaction.atomic
def record_listing(server: McpServer, listing: Iterable[ListedTool]) -> None:
    """Store what a server lists now. A tool that changed or is missing isn't offered until staff have checked it."""
    found: dict[str, tuple[Definition | None, str]] = {}
    names: set[str] = set()
    for tool in listing:
        name = offered_name(server.name, tool.name)
        problem = tool.problem or ("another tool has the same name" if name in names else "")
        if len(tool.name) > MAX_TOOL_NAME_CHARS:
            problem = f"the name has more than {MAX_TOOL_NAME_CHARS} characters"
        names.add(name)
        found.setdefault(tool.name[:MAX_TOOL_NAME_CHARS], (None if problem else tool.definition, problem))
    server.tools.exclude(name__in=found).update(listed=None, problem="")
    server.tools.filter(listed=None, pinned=None).exclude(name__in=found).delete()
    for name, (definition, problem) in found.items():
        McpTool.objects.update_or_create(
            server=server, name=name, defaults={"listed": definition, "problem": problem[:200]}
        )
    server.listed_at = timezone.now()
    server.save(update_fields=["listed_at"])
    transaction.on_commit(offered.refresh)


async def look_again(server: McpServer) -> None:
    """List the tools of a server now, since one of them has changed."""
    from chat.mcp import session  # noqa: PLC0415 - 18 MB that servers without MCP save

    try:
        await database_sync_to_async(record_listing)(server, await session.list_tools(server))
    except McpError as error:
        logger.warning("MCP server not listed", extra={"server": server.name, "error": error.kind})
