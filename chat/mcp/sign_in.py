"""Staff sign in to an MCP server: the page of its authorization server, and what that sends back.

The SDK's flow is one task, in the process that began it; the browser may come back to another one, so the answer is
passed through Django's cache, which processes share.
"""

from __future__ import annotations

import asyncio
import contextvars
import logging
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qs, urlsplit

from channels.db import database_sync_to_async
from django.core.cache import cache
from mcp.client.auth import AuthorizationCodeResult

from chat.mcp import session
from chat.mcp.authorization import SignIn
from chat.mcp.errors import McpError
from chat.mcp.servers import record_listing
from chat.models import McpServer

logger = logging.getLogger(__name__)
ADDRESS_WITHIN_S = 30.0
ANSWER_WITHIN_S = 600
LOOK_EVERY_S = 0.5
_tasks: set[asyncio.Task[None]] = set()


async def begin(server: McpServer, *, redirect_url: str, metadata_url: str) -> str:
    """Return the address where a person signs in; empty where the server asks for nothing. Raises McpError.

    When they have, the server's tools are listed.
    """
    address: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    async def open_page(url: str) -> None:
        address.set_result(url)

    async def result() -> AuthorizationCodeResult:
        key = _key(state_of(await address))
        for _look in range(int(ANSWER_WITHIN_S / LOOK_EVERY_S)):
            if found := await cache.aget(key):
                await cache.adelete(key)
                return AuthorizationCodeResult(**found)
            await asyncio.sleep(LOOK_EVERY_S)
        raise McpError("nobody signed in")

    async def run() -> None:
        listing = await session.list_tools(server, SignIn(redirect_url, open_page, result, metadata_url))
        await database_sync_to_async(record_listing)(server, listing)

    # Outside the context of the request, whose threads end with it.
    task = asyncio.get_running_loop().create_task(run(), context=contextvars.Context())
    _tasks.add(task)
    task.add_done_callback(_ended)
    waited: set[asyncio.Future[Any]] = {task, address}
    await asyncio.wait(waited, timeout=ADDRESS_WITHIN_S, return_when=asyncio.FIRST_COMPLETED)
    if address.done():
        return address.result()
    if not task.done():
        task.cancel()
        raise McpError("the server did not answer in time")
    task.result()
    return ""


def answer(state: str, code: str, issuer: str | None) -> None:
    """Hand on what the authorization server has sent back with the browser."""
    found: Mapping[str, str | None] = {"code": code, "state": state, "iss": issuer}
    cache.set(_key(state), dict(found), ANSWER_WITHIN_S)


def state_of(url: str) -> str:
    """Return the state in the address of an authorization server; empty where it has none."""
    return next(iter(parse_qs(urlsplit(url).query).get("state", ())), "")


def _key(state: str) -> str:
    return f"mcp-sign-in:{state}"


def _ended(task: asyncio.Task[None]) -> None:
    _tasks.discard(task)
    # ``begin`` has raised it, if it still waited.
    if not task.cancelled() and (error := task.exception()):
        logger.warning("not signed in to an MCP server", extra={"error": type(error).__name__})
