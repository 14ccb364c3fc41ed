"""A tool of an MCP server as a tool of a turn."""

from __future__ import annotations

import json
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from django.utils.translation import gettext_noop

from chat.mcp import pinning
from chat.mcp.errors import McpError, ToolChangedError
from chat.models import McpServer, McpTool
from chat.tools.base import Tool, ToolArgumentsError, ToolContext, ToolOutput, ToolRefusedError, json_text
from chat.tools.schemas import first_error
from reasoning.citations import Source

if TYPE_CHECKING:
    from chat.mcp.session import CallResult, Resource

logger = logging.getLogger(__name__)
MAX_ERROR_CHARS = 2_000
MAX_TITLE_CHARS = 200
CHANGED_FOR_MODEL = "this tool has changed and is off until somebody has looked at it"
CHANGED = gettext_noop("The server has changed this tool. It is off until staff have looked at it.")
UNREACHABLE = gettext_noop("The MCP server could not be used.")
FAILED = gettext_noop("The MCP server reported an error.")


def mcp_tool(server: McpServer, row: McpTool, has_changed: Callable[[McpServer], Awaitable[None]]) -> Tool:
    """Return an allowed tool of a server as models call it: ``server__tool``.

    ``has_changed`` is called where the server describes it otherwise by now.
    """
    pinned = row.definition

    async def call(arguments: str, context: ToolContext) -> ToolOutput:
        # The SDK is loaded with the first call.
        from chat.mcp import session  # noqa: PLC0415 - 18 MB that servers without MCP save

        wanted = read_arguments(pinned["inputSchema"], arguments)
        try:
            result = await session.call_tool(server, row.name, pinned, wanted, context.ask)
        except ToolChangedError:
            await has_changed(server)
            raise ToolRefusedError(CHANGED_FOR_MODEL, shown=CHANGED) from None
        except McpError as error:
            logger.warning("MCP server not used", extra={"server": server.name, "error": error.kind})
            raise ToolRefusedError("the server of this tool could not be used", shown=UNREACHABLE) from error
        return tool_output(server, result)

    return Tool(
        name=pinning.offered_name(server.name, row.name),
        description=pinned["description"],
        parameters=pinned["inputSchema"],
        call=call,
        shown_args=None,
        requires_approval=row.requires_approval,
        output_schema=pinned["outputSchema"],
    )


def read_arguments(schema: Mapping[str, Any], arguments: str) -> Mapping[str, Any]:
    """Parse the argument string of a call and check it. Raises ToolArgumentsError."""
    try:
        wanted = json.loads(arguments.strip() or "{}")
    except (ValueError, RecursionError):
        raise ToolArgumentsError("the arguments are no JSON") from None
    if not isinstance(wanted, dict):
        raise ToolArgumentsError("the arguments are no object")
    if error := first_error(schema, wanted):
        raise ToolArgumentsError(error)
    return wanted


def tool_output(server: McpServer, result: CallResult) -> ToolOutput:
    """Return a result for the model; its texts with an address are sources. Raises ToolRefusedError for an error."""
    texts, sources = [result.text], []
    for each in result.resources:
        if source := _source(server, each):
            sources.append(source)
        else:  # files of many servers have an address of their own, such as repo:// or file://
            texts.append(f"{each.uri}\n{each.text}")
    text = "\n\n".join(filter(None, texts)) or ("" if result.structured is None else json_text(result.structured))
    if result.is_error:
        raise ToolRefusedError(text[:MAX_ERROR_CHARS] or "the tool failed", shown=FAILED)
    return ToolOutput(text, sources=tuple(sources), searched={} if sources else None, structured=result.structured)


def _source(server: McpServer, resource: Resource) -> Source | None:
    """Return a text that a result links to as a source that can be cited; None where its address is no page."""
    try:
        is_page = urlsplit(resource.uri).scheme in ("http", "https")
    except ValueError:
        is_page = False
    if not is_page:
        return None
    title = resource.title[:MAX_TITLE_CHARS]
    return Source(0, "web", title, server.name, None, None, "", "", resource.uri[:2000], resource.text, "")
