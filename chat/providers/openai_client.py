"""The SDK's clients: built late, one for each endpoint and event loop, and closed together.

The SDK takes about a second to import, so this is the only place that does. Its aiohttp transport costs about half of
what its own does for each token. Retries are off: the turn decides, since only it knows what was already shown.
"""

from __future__ import annotations

import asyncio
import hashlib
import sys
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit, urlunsplit
from weakref import WeakKeyDictionary

if TYPE_CHECKING:
    from openai import AsyncOpenAI

_clients: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[Connection, AsyncOpenAI]] = WeakKeyDictionary()


@dataclass(frozen=True, slots=True)
class Connection:
    """Where a service is, who we are there, and how long we wait."""

    base_url: str
    api_key: str = field(repr=False)
    connect_s: float = 10.0
    idle_s: float = 60.0

    @property
    def host(self) -> str:
        """Host and port, as people may see them."""
        parts = urlsplit(self.base_url)
        port = f":{parts.port}" if parts.port else ""
        return f"{parts.hostname or self.base_url}{port}"

    @property
    def identity(self) -> str:
        """Base URL without user information, and a fingerprint of the credential. Opaque items are guarded by it."""
        parts = urlsplit(self.base_url)
        netloc = self.host.lower()
        url = urlunsplit((parts.scheme.lower(), netloc, parts.path.rstrip("/"), parts.query, ""))
        return f"{url}#{hashlib.sha256(self.api_key.encode()).hexdigest()[:12]}"


async def client_for(connection: Connection) -> AsyncOpenAI:
    """Return this loop's client for an endpoint, building it at first use."""
    if "openai" not in sys.modules:
        # In a thread: a second of importing would hold up every other stream of this process.
        await asyncio.to_thread(import_module, "openai")
    clients = _clients.setdefault(asyncio.get_running_loop(), {})
    if connection not in clients:
        clients[connection] = build_client(connection)
    return clients[connection]


def build_client(connection: Connection, **http_options: Any) -> AsyncOpenAI:
    """Build a client. ``http_options`` go to the HTTP client, such as a ``transport``."""
    from httpx2 import Timeout  # noqa: PLC0415
    from openai import AsyncOpenAI, DefaultAioHttpClient  # noqa: PLC0415

    wait = Timeout(connection.idle_s, connect=connection.connect_s, pool=connection.connect_s)
    return AsyncOpenAI(
        api_key=connection.api_key,
        base_url=connection.base_url,
        max_retries=0,
        timeout=wait,
        http_client=DefaultAioHttpClient(timeout=wait, **http_options),
    )


async def close_clients() -> None:
    """Close this loop's clients and their connections. For the end of a server, and of a test."""
    clients = _clients.pop(asyncio.get_running_loop(), {})
    for client in clients.values():
        await client.close()
