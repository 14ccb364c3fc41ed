"""The server as the SDK knows it: its tools and resources, and what becomes of errors."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from django.conf import settings
from django.http import HttpRequest
from mcp.server import Server
from mcp.server.caching import CacheHint
from mcp.shared.exceptions import MCPError
from mcp.types import (
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    ListResourcesResult,
    ListResourceTemplatesResult,
    ListToolsResult,
    PaginatedRequestParams,
    ReadResourceRequestParams,
    ReadResourceResult,
    ResourceLink,
    ResourceTemplate,
    TextContent,
    TextResourceContents,
    Tool,
    ToolAnnotations,
)
from pydantic import ValidationError

from accounts.models import User
from chat.api.endpoint import error_form
from chat.mcp_server import forms
from chat.mcp_server.peer import Context, Peer
from chat.tools.base import ToolArguments, argument_errors
from chat.validation import check_characters

INSTRUCTIONS = (
    "Search SEC filings and loaded documents, or ask this server's assistant, whose answers cite passages. "
    "Passages are named by their url: read them with readPassage, or as resources."
)
CACHED = CacheHint(ttl_ms=300_000)  # lists that change with an upgrade only


@dataclass(frozen=True)
class PeerTool:
    """A tool: what it takes and returns, and the method of ``Peer`` that does it."""

    title: str
    arguments: type[ToolArguments]
    result: type[forms.Passages | forms.Answer]
    run: Callable[[Peer, Any, Context], Awaitable[forms.Passages | forms.Answer]]
    reads_only: bool = True

    @cached_property
    def input_schema(self) -> dict[str, Any]:
        schema = self.arguments.model_json_schema(schema_generator=forms.Schema)
        return {name: value for name, value in schema.items() if name not in ("title", "description")}

    def declaration(self, name: str) -> Tool:
        return Tool(
            name=name,
            title=self.title,
            description=" ".join((self.arguments.__doc__ or "").split()),
            input_schema=self.input_schema,
            output_schema=self.result.model_json_schema(schema_generator=forms.Schema, mode="serialization"),
            annotations=ToolAnnotations(
                read_only_hint=self.reads_only,
                destructive_hint=False,
                idempotent_hint=self.reads_only,
                open_world_hint=not self.reads_only,
            ),
        )


TOOLS = {
    "searchFilings": PeerTool("Search SEC filings", forms.SearchFilingsArguments, forms.Passages, Peer.search_filings),
    "searchDocuments": PeerTool(
        "Search documents", forms.SearchDocumentsArguments, forms.Passages, Peer.search_documents
    ),
    "readPassage": PeerTool("Read a passage", forms.ReadPassageArguments, forms.Passages, Peer.read_passage),
    # It stores a question, and has the model service paid for the answer.
    "ask": PeerTool("Ask a question", forms.AskArguments, forms.Answer, Peer.ask, reads_only=False),
}


def build_server(request: HttpRequest, person: User) -> Server[Any]:
    """Return the server for one request of a person."""
    handlers = Handlers(Peer(request, person))
    server: Server[Any] = Server(
        "legible",
        title="Legible",
        version=settings.VERSION,
        instructions=INSTRUCTIONS,
        cache_hints={"server/discover": CACHED, "tools/list": CACHED, "resources/templates/list": CACHED},
        get_tool_input_schema=lambda name: TOOLS[name].input_schema if name in TOOLS else None,
        on_list_tools=handlers.list_tools,
        on_call_tool=handlers.call_tool,
        on_list_resources=handlers.list_resources,
        on_list_resource_templates=handlers.list_resource_templates,
        on_read_resource=handlers.read_resource,
    )
    # Its spans would have the texts of errors; turns have spans of their own.
    server.middleware.clear()
    return server


@dataclass(frozen=True, slots=True)
class Handlers:
    """The methods of the protocol, for one peer."""

    peer: Peer

    async def list_tools(self, _context: Context, _params: PaginatedRequestParams | None) -> ListToolsResult:
        return ListToolsResult(tools=[tool.declaration(name) for name, tool in TOOLS.items()])

    async def call_tool(self, context: Context, params: CallToolRequestParams) -> CallToolResult:
        """Run a tool. What fails is a result that the peer's model can read; only an unknown tool is an error."""
        tool = TOOLS.get(params.name)
        if tool is None:
            raise MCPError(INVALID_PARAMS, f"Unknown tool: {params.name[:60]}")
        given = params.arguments or {}
        try:
            check_characters(given)
            wanted = tool.arguments.model_validate(given)
            result = await tool.run(self.peer, wanted, context)
        except ValidationError as error:
            return failed(f"{argument_errors(error)} (invalid)")
        except Exception as error:  # noqa: BLE001 - each becomes a result, as in the API; unexpected ones are logged
            _status, form = error_form(error, for_staff=self.peer.person.is_staff)
            return failed(f"{form['message']} ({form['code']})")
        cited = {each.url: each for each in result.citations} if isinstance(result, forms.Answer) else {}
        links = [
            ResourceLink(uri=url, name=place.title or url, description=place.section or None, mime_type="text/plain")
            for url, place in cited.items()
        ]
        return CallToolResult(
            content=[TextContent(text=result.as_text()), *links],
            structured_content=result.model_dump(mode="json", by_alias=True),
            is_error=isinstance(result, forms.Answer) and result.error is not None,
        )

    async def list_resources(self, _context: Context, _params: PaginatedRequestParams | None) -> ListResourcesResult:
        """List none: passages are too many; searches and answers name those that matter."""
        return ListResourcesResult(resources=[])

    async def list_resource_templates(
        self, _context: Context, _params: PaginatedRequestParams | None
    ) -> ListResourceTemplatesResult:
        kinds = {"filing": "A passage of a filing", "document": "A passage of a document"}
        templates = [
            ResourceTemplate(
                uri_template=f"{self.peer.address(f'{settings.URL_PREFIX}/{kind}s/')}{{{kind}}}/{{#passage}}",
                name=kind,
                description=description,
                mime_type="text/plain",
            )
            for kind, description in kinds.items()
        ]
        return ListResourceTemplatesResult(resource_templates=templates)

    async def read_resource(self, _context: Context, params: ReadResourceRequestParams) -> ReadResourceResult:
        """Return the text of a passage. Somebody else's is not found, as one that does not exist."""
        found = await self.peer.read(params.uri)
        if not found.passages:
            raise MCPError(INVALID_PARAMS, "Resource not found", {"uri": params.uri})
        text = found.passages[0].text
        return ReadResourceResult(contents=[TextResourceContents(uri=params.uri, mime_type="text/plain", text=text)])


def failed(message: str) -> CallToolResult:
    return CallToolResult(content=[TextContent(text=message)], is_error=True)
