"""Talk to one MCP server: a connection for each call, bounded in time and bytes.

Revision 2026-07-28 has no sessions, so nothing is gained by keeping a connection; older peers are greeted again. The
SDK takes 18 MB, so this module is imported when the first server is called.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import httpx2
from django.conf import settings
from mcp import Client, MCPError, StdioServerParameters, types
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client

from chat.mcp.authorization import SignIn, provider_for
from chat.mcp.errors import McpError, ToolChangedError
from chat.mcp.pinning import Definition, UnfitToolError, definition
from chat.models import McpServer
from chat.tools.base import Ask

CONNECT_TIMEOUT_S = 10.0
LIST_TIMEOUT_S = 20.0
LINKS_TIMEOUT_S = 5.0  # for all that a result links to
MAX_RESPONSE_BYTES = 4_000_000
MAX_TOOLS = 200
MAX_PAGES = 20
MAX_LINKS = 5
MAX_EMBEDDED = 50
MAX_RESOURCE_CHARS = 20_000
MAX_ROUNDS = 5  # of questions to the user in one call


@dataclass(frozen=True, slots=True)
class ListedTool:
    """A tool as its server lists it: its definition, or why it can't be offered."""

    name: str
    definition: Definition | None
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Resource:
    """A text that a result links to, or contains."""

    uri: str
    title: str
    text: str


@dataclass(frozen=True, slots=True)
class CallResult:
    """What a call returned. ``structured``: None where there is none."""

    text: str
    is_error: bool
    structured: Any
    resources: tuple[Resource, ...]


class ResponseTooLargeError(httpx2.TransportError):
    """A response has more than MAX_RESPONSE_BYTES."""


async def list_tools(server: McpServer, sign_in: SignIn | None = None) -> list[ListedTool]:
    """Return the tools of a server in its order, at most MAX_TOOLS. Raises McpError.

    ``sign_in``: how a person in front of a browser signs in, where the server asks for it.
    """
    async with connect(server, None if sign_in else LIST_TIMEOUT_S, sign_in=sign_in) as client:
        return [_listed(tool) async for tool in _tools(client)]


async def call_tool(
    server: McpServer,
    name: str,
    pinned: Definition,
    arguments: Mapping[str, Any],
    ask: Ask | None = None,
    sign_in: SignIn | None = None,
) -> CallResult:
    """Call a tool that its server still describes as ``pinned``. Raises McpError, ToolChangedError."""
    result, linked = None, []
    try:
        async with connect(server, None, ask, sign_in) as client:
            async for tool in _tools(client):
                if tool.name == name and _listed(tool).definition == pinned:
                    break
            else:
                raise ToolChangedError(name)
            result = await client.call_tool(name, dict(arguments))
            links = [block for block in result.content if isinstance(block, types.ResourceLink)]
            async with asyncio.timeout(LINKS_TIMEOUT_S):
                for link in links[:MAX_LINKS]:
                    linked += await _read(client, link)
    except McpError:
        if result is None:  # else a link was too large or slow, which takes nothing from the result
            raise
    texts = [_text_of(block) for block in result.content]
    resources = [resource for block in result.content if (resource := _embedded(block))]
    if (more := len(resources) - MAX_EMBEDDED) > 0:
        texts.append(f"[{more} more files, not shown]")
    resources = [*resources[:MAX_EMBEDDED], *linked]
    structured = result.structured_content if "structured_content" in result.model_fields_set else None
    return CallResult("\n\n".join(filter(None, texts)), bool(result.is_error), structured, tuple(resources))


@asynccontextmanager
async def connect(
    server: McpServer, timeout_s: float | None, ask: Ask | None = None, sign_in: SignIn | None = None
) -> AsyncIterator[Client]:
    """Yield a client of a server; its messages may take ``timeout_s``. Raises McpError, also inside the block."""
    try:
        async with AsyncExitStack() as stack:
            async with asyncio.timeout(None if sign_in else CONNECT_TIMEOUT_S):
                client = Client(
                    await _transport(server, stack, sign_in, may_ask=ask is not None),
                    read_timeout_seconds=timeout_s,
                    elicitation_callback=_elicitation(ask) if ask else None,
                    input_required_max_rounds=MAX_ROUNDS,
                    client_info=types.Implementation(name="legible-chat", version=settings.VERSION),
                    cache=None,
                )
                await stack.enter_async_context(client)
                # The turn checks results against the schema that staff have allowed; the SDK would take the server's
                # newest one, whose patterns may take for ever.
                client.session.validate_tool_result = _accept  # type: ignore[method-assign]
            yield client
    except Exception as raised:  # noqa: BLE001 - of the SDK, its libraries, the network
        error: BaseException = raised
        while isinstance(error, BaseExceptionGroup):  # of the SDK's task groups
            error = error.exceptions[0]
        if isinstance(error, McpError):
            raise error from None
        raise McpError(f"{type(error).__name__}: {error}"[:300], type(error).__name__) from error


async def _transport(server: McpServer, stack: AsyncExitStack, sign_in: SignIn | None, *, may_ask: bool) -> Any:
    if server.command:
        words = settings.MCP_COMMANDS.get(server.command)
        if words is None:
            raise McpError(f"MCP_COMMANDS has no command {server.command}")
        if not shutil.which(words[0]):
            raise McpError(f"there is no program {words[0]}")
        # Its standard error may repeat what it was given, which no log of ours may have.
        unread = stack.enter_context(Path(os.devnull).open("w"))  # noqa: ASYNC230, SIM115 - it opens at once
        bounded = ["-I", str(Path(__file__).with_name("bounded_output.py")), str(MAX_RESPONSE_BYTES), *words]
        return stdio_client(StdioServerParameters(command=sys.executable, args=bounded), errlog=unread)
    has_token = bool(server.api_key_env) and not server.client_id
    key = settings.MODEL_KEYS.get(server.api_key_env, server.url) if has_token else ""
    if has_token and not key:
        raise McpError(f"{server.api_key_env} is empty, or is not for this host")
    # A server that asks the user is silent until they answer; the turn bounds a call where nobody is asked.
    silence_s = max(settings.TOOL_TIMEOUT_S, settings.APPROVAL_TIMEOUT_S + 30) if may_ask else settings.TOOL_TIMEOUT_S
    # Nothing of the environment: a proxy would see the token. The SDK follows redirects inside the endpoint's origin.
    http = httpx2.AsyncClient(
        transport=BoundedTransport(),
        headers={"Authorization": f"Bearer {key}"} if key else {},
        auth=None if key else provider_for(server, sign_in),
        timeout=httpx2.Timeout(CONNECT_TIMEOUT_S, read=silence_s),
        trust_env=False,
    )
    return streamable_http_client(server.url, http_client=await stack.enter_async_context(http))


class BoundedTransport(httpx2.AsyncHTTPTransport):
    """Ends a response behind MAX_RESPONSE_BYTES."""

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        response = await super().handle_async_request(request)
        response.stream = BoundedStream(cast("httpx2.AsyncByteStream", response.stream))
        return response


class BoundedStream(httpx2.AsyncByteStream):
    """The bytes of a response."""

    def __init__(self, stream: httpx2.AsyncByteStream) -> None:
        self._stream = stream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        left = MAX_RESPONSE_BYTES
        async for chunk in self._stream:
            left -= len(chunk)
            if left < 0:
                raise ResponseTooLargeError(f"a response has more than {MAX_RESPONSE_BYTES} bytes")
            yield chunk

    async def aclose(self) -> None:
        await self._stream.aclose()


async def _accept(name: str, result: types.CallToolResult) -> None:
    """Check nothing."""


async def _tools(client: Client) -> AsyncIterator[types.Tool]:
    count, cursor = 0, None
    for _page in range(MAX_PAGES):
        page = await client.list_tools(cursor=cursor)
        for tool in page.tools:
            count += 1
            if count > MAX_TOOLS:
                return
            yield tool
        cursor = page.next_cursor
        if not cursor:
            return


def _listed(tool: types.Tool) -> ListedTool:
    try:
        return ListedTool(tool.name, definition(tool.description, tool.input_schema, tool.output_schema))
    except UnfitToolError as error:
        return ListedTool(tool.name, None, str(error))


def _elicitation(ask: Ask) -> Any:
    async def elicit(_context: Any, params: types.ElicitRequestParams) -> types.ElicitResult | types.ErrorData:
        if not isinstance(params, types.ElicitRequestFormParams):  # an address of the server's choice
            return types.ElicitResult(action="decline")
        answers = await ask(params.message, params.requested_schema)
        if answers is None:
            return types.ElicitResult(action="decline")
        return types.ElicitResult(action="accept", content=dict(answers))

    return elicit


def _text_of(block: types.ContentBlock) -> str:
    match block:
        case types.TextContent():
            return block.text
        case types.ImageContent() | types.AudioContent():
            return f"[{block.mime_type}, not shown]"
        case types.ResourceLink():
            return f"[{block.title or block.name}]({block.uri})"
        case types.EmbeddedResource():
            return "" if _embedded(block) else "[a file, not shown]"


def _embedded(block: types.ContentBlock) -> Resource | None:
    if isinstance(block, types.EmbeddedResource) and isinstance(block.resource, types.TextResourceContents):
        uri = str(block.resource.uri)
        return Resource(uri, uri, block.resource.text[:MAX_RESOURCE_CHARS])
    return None


async def _read(client: Client, link: types.ResourceLink) -> list[Resource]:
    """Read what a result links to; a link that can't be read stays a link in the text."""
    try:
        found = await client.read_resource(str(link.uri))
    except MCPError:
        return []
    texts = [each.text for each in found.contents if isinstance(each, types.TextResourceContents)]
    text = "\n\n".join(texts)[:MAX_RESOURCE_CHARS]
    return [Resource(str(link.uri), link.title or link.name, text)] if text else []
