"""The MCP client as a program for the conformance suite: ``python -m tests.conformance.mcp_client URL``.

The suite names its scenario and its secrets in the environment. What it does is what the site does: list the tools, and
call each; where a server asks for OAuth, a browser that agrees to everything follows the redirects. docs/mcp.md tells
how to run it.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qs, urljoin, urlsplit

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.settings")

import django
import httpx2

django.setup()

from django.conf import settings
from mcp.client.auth import AuthorizationCodeResult

from chat.mcp import session
from chat.mcp.authorization import SignIn
from chat.models import McpServer

REDIRECT_URL = "http://localhost:3000/callback"
DOCUMENT_URL = "https://conformance-test.local/client-metadata.json"
ARGUMENTS = {"integer": 5, "number": 5, "string": "value", "boolean": True, "array": [], "object": {}}


class Browser:
    """Somebody who agrees to everything."""

    def __init__(self) -> None:
        self.location = ""

    async def open_page(self, url: str) -> None:
        async with httpx2.AsyncClient() as http:
            response = await http.get(url)
        self.location = urljoin(url, response.headers["location"])

    async def result(self) -> AuthorizationCodeResult:
        query = parse_qs(urlsplit(self.location).query)
        given = {name: query[name][0] for name in ("code", "state", "iss") if name in query}
        return AuthorizationCodeResult(**given)


class Keys:
    """The secrets of the suite instead of those of MODEL_KEYS."""

    def __init__(self, secret: str) -> None:
        self._secret = secret

    def get(self, variable: str, address: str) -> str:
        return self._secret


async def agree(_message: str, schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """Answer a question with the defaults of its form."""
    properties = schema.get("properties", {})
    return {
        name: each["default"] if "default" in each else ARGUMENTS[each["type"]] for name, each in properties.items()
    }


async def main(url: str) -> None:
    context = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT") or "{}")
    server = McpServer(name="suite", url=url, client_id=context.get("client_id", ""))
    settings.MODEL_KEYS = Keys(context.get("client_secret", ""))
    browser = Browser()
    sign_in = SignIn(REDIRECT_URL, browser.open_page, browser.result, DOCUMENT_URL)
    for tool in await session.list_tools(server, sign_in):
        if tool.definition is None:
            continue
        properties = tool.definition["inputSchema"].get("properties", {})
        calls = [each["arguments"] for each in context.get("toolCalls", ()) if each["name"] == tool.name]
        for arguments in calls or [{name: ARGUMENTS[each.get("type", "string")] for name, each in properties.items()}]:
            result = await session.call_tool(server, tool.name, tool.definition, arguments, agree, sign_in)
            print(tool.name, result.text, file=sys.stderr)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
