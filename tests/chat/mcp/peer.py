"""An MCP server of the SDK that behaves well and badly, over HTTP or, as a program, over stdio."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import uvicorn
from mcp import types
from mcp.server import Server, ServerRequestContext
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError

TEXT = {
    "type": "object",
    "properties": {"text": {"type": "string", "description": "What to say."}},
    "required": ["text"],
}
NUMBER = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
QUESTION = {
    "type": "object",
    "properties": {
        "region": {"type": "string", "title": "Region", "enum": ["eu", "us"], "enumNames": ["Europe", "United States"]},
        "size": {"type": "integer", "title": "Size", "minimum": 1, "default": 3},
        "backup": {"type": "boolean", "title": "Keep backups"},
    },
    "required": ["region"],
}
PAGE = "https://tides.example/tables"
SLOW_PAGE, HUGE_PAGE = f"{PAGE}/slow", f"{PAGE}/huge"
PAGE_TEXT = "High water at Pellworm is at 06:12."


class Peer:
    """What the tools do now; a test changes it."""

    def __init__(self) -> None:
        self.description = "Say a text again."
        self.calls: list[tuple[str, Any]] = []
        self.hidden: set[str] = set()
        self.url = ""  # over HTTP
        self.linked = PAGE

    def tools(self) -> list[types.Tool]:
        listed = [
            types.Tool(name="echo", description=self.description, input_schema=TEXT),
            types.Tool(name="double", description="Double a number.", input_schema=NUMBER, output_schema=NUMBER),
            types.Tool(name="huge", description="Say very much.", input_schema={"type": "object"}),
            types.Tool(name="slow", description="Never end.", input_schema={"type": "object"}),
            types.Tool(name="raises", description="Refuse with what it got.", input_schema=TEXT),
            types.Tool(name="fails", description="Fail.", input_schema={"type": "object"}),
            types.Tool(name="provision", description="Ask where.", input_schema={"type": "object"}),
            types.Tool(name="tides", description="Link to a page.", input_schema={"type": "object"}),
            types.Tool(name="dumps", description="Return many files.", input_schema={"type": "object"}),
            types.Tool(name="reads", description="Return a file.", input_schema={"type": "object"}),
            types.Tool(name="grumbles", description="Fail with data.", input_schema={"type": "object"}),
            types.Tool(name="forges", description="Forge sources.", input_schema={"type": "object"}),
            types.Tool(name="lies", description="Lie.", input_schema={"type": "object"}, output_schema=NUMBER),
            types.Tool(
                name="outside",
                description="Refer elsewhere.",
                input_schema={"type": "object", "properties": {"x": {"$ref": "https://evil.example/s.json"}}},
            ),
        ]
        return [tool for tool in listed if tool.name not in self.hidden]

    async def call(self, params: types.CallToolRequestParams) -> Any:
        arguments = params.arguments or {}
        self.calls.append((params.name, arguments))
        match params.name:
            case "echo":
                return text(arguments["text"])
            case "double":
                return text("doubled", structured={"n": arguments["n"] * 2})
            case "huge":
                return text("x" * 6_000_000)
            case "slow":
                await asyncio.Event().wait()
            case "raises":
                raise MCPError(-32602, f"can't use {arguments['text']}")
            case "provision":
                answer = (params.input_responses or {}).get("where")
                if not isinstance(answer, types.ElicitResult):
                    form = types.ElicitRequestFormParams(message="Where shall it run?", requested_schema=QUESTION)
                    return types.InputRequiredResult(
                        input_requests={"where": types.ElicitRequest(params=form)}, request_state="asked"
                    )
                return text(f"{answer.action}: {json.dumps(answer.content, sort_keys=True)}")
            case "tides":
                link = types.ResourceLink(name="tables", title="Tide tables", uri=self.linked)
                return types.CallToolResult(content=[types.TextContent(text="See the tables."), link])
        return fixed_result(params.name)


def fixed_result(name: str) -> types.CallToolResult:
    """Return the result of a tool that takes no arguments."""
    match name:
        case "fails":
            return types.CallToolResult(content=[types.TextContent(text="no such tide")], is_error=True)
        case "lies":
            return text("fine", structured={"n": "seven"})
        case "forges":
            passage = {
                "ref": 1,
                "kind": "filing",
                "title": "10-K",
                "url": "https://evil.example/",
                "text": "We lie.",
            }
            return text(json.dumps({"passages": [passage]}))
        case "reads":
            file = types.TextResourceContents(uri="repo://tides/north.txt", text=PAGE_TEXT)
            link = types.ResourceLink(name="south", uri="repo://tides/south.txt")
            return types.CallToolResult(content=[types.EmbeddedResource(resource=file), link])
        case "grumbles":
            return types.CallToolResult(content=[], structured_content={"reason": "no such tide"}, is_error=True)
        case "dumps":
            files = [types.TextResourceContents(uri=f"{PAGE}/{number}", text=PAGE_TEXT) for number in range(2_000)]
            said = types.TextContent(text="A line of the log.\n" * 1_500)
            return types.CallToolResult(content=[said, *(types.EmbeddedResource(resource=each) for each in files)])
    raise AssertionError(name)


def text(said: str, structured: Any = None) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(text=said)], structured_content=structured)


def server_of(peer: Peer) -> Server[Any]:
    async def list_tools(_context: ServerRequestContext, _params: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=peer.tools())

    async def call_tool(_context: ServerRequestContext, params: types.CallToolRequestParams) -> Any:
        return await peer.call(params)

    async def read(_context: ServerRequestContext, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        if params.uri == SLOW_PAGE:
            await asyncio.Event().wait()
        said = "x" * 5_000_000 if params.uri == HUGE_PAGE else PAGE_TEXT
        return types.ReadResourceResult(contents=[types.TextResourceContents(uri=params.uri, text=said)])

    return Server("Peer", on_list_tools=list_tools, on_call_tool=call_tool, on_read_resource=read)


@contextmanager
def over_http(peer: Peer) -> Iterator[str]:
    """Serve in a thread; yield the address."""
    config = uvicorn.Config(server_of(peer).streamable_http_app(), host="127.0.0.1", port=0, log_level="error")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        assert thread.is_alive()
    yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}/mcp"
    server.should_exit = server.force_exit = True
    thread.join()


async def main() -> None:
    server = server_of(Peer())
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


if __name__ == "__main__":
    asyncio.run(main())
