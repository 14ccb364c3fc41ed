"""Endpoints, and one HTTP client for each on an event loop. Redirects elsewhere are refused."""

from __future__ import annotations

import asyncio
import hashlib
import sys
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any
from urllib.parse import urlunsplit
from weakref import WeakKeyDictionary

from chat.providers.address import host_of, split
from chat.providers.errors import redirect_error

if TYPE_CHECKING:
    from httpx2 import Response
    from openai import AsyncOpenAI

_clients: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[Connection, AsyncOpenAI]] = WeakKeyDictionary()


NO_KEY = "none"  # a local service needs no key, but the SDK insists on one


@dataclass(frozen=True, slots=True)
class Connection:
    """Where a service is, whose key is used there, and how long to wait: to connect, for the first word, for the next.

    A slow service queues a request or reads a long prompt before its first word; between words it has no such reason.
    """

    base_url: str
    api_key: str = field(repr=False)
    connect_s: float = 10.0
    first_s: float = 180.0
    idle_s: float = 60.0

    @property
    def host(self) -> str:
        """Host and port, as people may see them."""
        return host_of(self.base_url)

    @property
    def identity(self) -> str:
        """Base URL without user information, and a fingerprint of the credential. Guards opaque items."""
        parts = split(self.base_url)
        url = urlunsplit((parts.scheme.lower(), self.host.lower(), parts.path.rstrip("/"), parts.query, ""))
        return f"{url}#{hashlib.sha256(self.api_key.encode()).hexdigest()[:12]}"


async def client_for(connection: Connection) -> AsyncOpenAI:
    """Return the client of an endpoint on this event loop, building it at first use."""
    if "openai" not in sys.modules:
        # In a thread: importing takes about a second, which would hold up every other stream of this process.
        await asyncio.to_thread(import_module, "openai")
    clients = _clients.setdefault(asyncio.get_running_loop(), {})
    if connection not in clients:
        clients[connection] = build_client(connection)
    return clients[connection]


def build_client(connection: Connection, **http_options: Any) -> AsyncOpenAI:
    """Build a client. ``http_options`` go to the HTTP client, such as a ``transport``."""
    from httpx2 import Timeout
    from openai import AsyncOpenAI, DefaultAsyncHttpxClient

    from chat.providers.transport import AiohttpTransport

    # None for reading: ``SilenceLimit`` limits the silence of a stream, and listing has a limit of its own.
    timeout = Timeout(None, connect=connection.connect_s, pool=connection.connect_s)
    return AsyncOpenAI(
        api_key=connection.api_key,
        base_url=connection.base_url,
        # The turn retries: only it knows what the reader has seen.
        max_retries=0,
        timeout=timeout,
        # A stream that is compressed comes late, and may be a thousand times as long as what was received.
        default_headers={"Accept-Encoding": "identity"},
        http_client=DefaultAsyncHttpxClient(
            timeout=timeout,
            event_hooks={"response": [refuse_redirect_elsewhere]},
            **{"transport": AiohttpTransport(), **http_options},
        ),
    )


async def refuse_redirect_elsewhere(response: Response) -> None:
    """Raise ProviderError for a redirect that would take the conversation, or the key, somewhere else.

    Redirects within the same scheme, host and port are followed, of a posted body only those that keep it.
    """
    from httpx2 import InvalidURL

    if not response.has_redirect_location:
        return
    request, location = response.request, response.headers["location"]
    try:
        target = request.url.join(location)
    except (InvalidURL, ValueError):
        target = None
    here = (request.url.scheme, request.url.netloc)
    keeps_body = request.method == "GET" or response.status_code in (307, 308)
    if target is None or (target.scheme, target.netloc) != here or not keeps_body:
        raise redirect_error(host_of(str(request.url)), host_of(str(target or "")), response.status_code)


async def close_clients() -> None:
    """Close the clients of this event loop and their connections. For the end of a server, and of a test."""
    clients = _clients.pop(asyncio.get_running_loop(), {})
    for client in clients.values():
        await client.close()
