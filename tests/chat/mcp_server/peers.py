"""Peers of the MCP server: the SDK's client against the ASGI application, and requests by hand."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
from channels.db import database_sync_to_async
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from accounts.access.tokens import create_token
from accounts.models import User
from config.asgi import application

NEW, OLD = "2026-07-28", "2025-11-25"
BASE = "http://testserver"
URL = f"{BASE}/mcp"


async def token_of(person: User) -> str:
    return (await database_sync_to_async(create_token)(person))[1]


@asynccontextmanager
async def peer_of(person: User, revision: str = NEW) -> AsyncIterator[Client]:
    """Connect as a program that has this person's token."""
    headers = {"Authorization": f"Bearer {await token_of(person)}"}
    async with (
        httpx2.AsyncClient(transport=httpx2.ASGITransport(app=application), headers=headers, timeout=60) as http,
        Client(streamable_http_client(URL, http_client=http), mode="legacy" if revision == OLD else revision) as client,
    ):
        yield client


def call_of(tool: str, arguments: dict[str, Any], **meta: Any) -> dict[str, Any]:
    """Return a call as the new revision has it."""
    of_peer = {"protocolVersion": NEW, "clientInfo": {"name": "test", "version": "1"}, "clientCapabilities": {}}
    named = {f"io.modelcontextprotocol/{name}": value for name, value in of_peer.items()}
    params = {"name": tool, "arguments": arguments, "_meta": named | meta}
    return {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}


def headers_of(message: dict[str, Any], token: str) -> dict[str, str]:
    return {
        "Authorization": f"Bearer {token}",
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": NEW,
        "Mcp-Method": message["method"],
        "Mcp-Name": message["params"]["name"],
    }


class Connection:
    """An HTTP connection that its peer can close while it waits."""

    def __init__(self, message: dict[str, Any], token: str) -> None:
        self.received: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self.incoming: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self.incoming.put_nowait({"type": "http.request", "body": json.dumps(message).encode(), "more_body": False})
        headers = [(b"host", b"testserver")]
        headers += [(name.lower().encode(), value.encode()) for name, value in headers_of(message, token).items()]
        scope = {"type": "http", "http_version": "1.1", "method": "POST", "path": "/mcp", "query_string": b""}
        self.task = asyncio.ensure_future(
            application(scope | {"headers": headers}, self.incoming.get, self.received.put)  # type: ignore[arg-type]
        )

    async def sent(self, words: bytes) -> None:
        """Wait until the server has sent these words."""
        async with asyncio.timeout(10):
            while words not in (await self.received.get()).get("body", b""):
                pass

    async def close(self) -> None:
        self.incoming.put_nowait({"type": "http.disconnect"})
        async with asyncio.timeout(10):
            await self.task
