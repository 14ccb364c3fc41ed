"""Fetch a page: only from allowed hosts at public addresses, where robots.txt allows it, in bounded time and memory.

Each request, also one after a redirect, checks its host against the list, resolves the name once and connects to the
very addresses that were checked. Nothing but the address is sent: no cookie, no referrer, no credential. No proxy of
the environment is used.
"""

from __future__ import annotations

import asyncio
import zlib
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Collection
from contextlib import asynccontextmanager
from dataclasses import dataclass
from time import monotonic
from typing import NamedTuple

from aiohttp import (
    ClientError,
    ClientResponse,
    ClientSession,
    ClientTimeout,
    DummyCookieJar,
    TCPConnector,
    ThreadedResolver,
)
from aiohttp.abc import AbstractResolver, ResolveResult
from yarl import URL

from chat.web import robots
from chat.web.addresses import InvalidPageAddressError, PageAddress, is_allowed, is_public, read_address
from chat.web.problems import refusal

MAX_BYTES = 2_000_000  # of a page, as it is received and as it is expanded
MAX_REDIRECTS = 3
TIME_LIMIT_S = 20.0  # of everything: names, robots.txt, redirects and the page
ROBOTS_MAX_BYTES = 512_000  # RFC 9309: at least 500 KiB; the rest is not read
ROBOTS_TIME_LIMIT_S = 5.0
ROBOTS_KEPT_S, ROBOTS_KEPT = 3600.0, 64
CHUNK_BYTES = 65_536
ACCEPT = "text/html, application/xhtml+xml, text/plain, text/markdown, application/pdf"
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_AS_THEY_ARE, _GZIP = frozenset({"", "identity"}), frozenset({"gzip", "x-gzip"})
_UNSAID = range(400, 500)  # RFC 9309: a host that has no robots.txt allows everything
_TOO_MANY_REQUESTS = 429

_robots: OrderedDict[str, tuple[float, robots.Rules]] = OrderedDict()  # by origin: when they were read, and the rules


class Network(NamedTuple):
    """How names are resolved, and how connections are made with what a resolver returns."""

    resolver: Callable[[], AbstractResolver] = ThreadedResolver
    connector: Callable[[AbstractResolver], TCPConnector] = lambda resolver: TCPConnector(
        resolver=resolver, use_dns_cache=False
    )


NETWORK = Network()


class Received(NamedTuple):
    """What a host sent. ``location``: where it redirects to, if it does."""

    address: PageAddress
    status: int
    media_type: str = ""
    charset: str = ""
    content: bytes = b""
    location: str = ""


class PublicResolver(AbstractResolver):
    """Resolves names of hosts that have nothing but public addresses. The connection is made to these."""

    def __init__(self, inner: AbstractResolver) -> None:
        self._inner = inner

    async def resolve(self, host: str, port: int = 0, family: int = 0) -> list[ResolveResult]:
        found = await self._inner.resolve(host, port, family)  # type: ignore[arg-type]  # any, as the connector asks
        if not found or not all(is_public(each["host"]) for each in found):
            raise refusal("private", host)
        return found

    async def close(self) -> None:
        await self._inner.close()


async def fetch(address: PageAddress, *, hosts: Collection[str], agent: str) -> Received:
    """Return the page at an address, or at the one that it redirects to. Raises ToolRefusedError."""
    try:
        async with asyncio.timeout(TIME_LIMIT_S), _opened(agent) as session:
            return await Fetch(session, hosts).page(address)
    except TimeoutError:
        raise refusal("slow", address.host) from None


@asynccontextmanager
async def _opened(agent: str) -> AsyncIterator[ClientSession]:
    async with ClientSession(
        connector=NETWORK.connector(PublicResolver(NETWORK.resolver())),
        cookie_jar=DummyCookieJar(),
        headers={"User-Agent": agent, "Accept": ACCEPT, "Accept-Encoding": "gzip"},
        auto_decompress=False,  # it is expanded within the limit of size
        timeout=ClientTimeout(total=None),  # ``fetch`` has one for everything
        trust_env=False,
    ) as session:
        yield session


@dataclass(frozen=True, slots=True)
class Fetch:
    """One page, over a session, of these hosts alone."""

    session: ClientSession
    hosts: Collection[str]

    async def page(self, address: PageAddress) -> Received:
        received = await self._follow(address, is_page=True)
        if received.status not in (200, 203):
            raise refusal("status", received.address.host, received.status)
        return received

    async def _follow(self, address: PageAddress, *, is_page: bool) -> Received:
        """Return what is at an address after at most MAX_REDIRECTS, each checked as the first address was."""
        for _hop in range(MAX_REDIRECTS + 1):
            if not is_allowed(address.host, self.hosts):
                raise refusal("host", address.host)
            if is_page and not robots.allows(await self._rules(address), address.path):
                raise refusal("robots", address.host)
            received = await self._get(address, is_page=is_page)
            if not received.location:
                return received
            try:
                address = address.join(received.location)
            except InvalidPageAddressError:
                raise refusal("redirect", address.host) from None
        raise refusal("redirects", address.host)

    async def _rules(self, address: PageAddress) -> robots.Rules:
        """Return the rules of the robots.txt of a host, at most ROBOTS_KEPT_S old."""
        origin = address.origin
        read_at, rules = _robots.get(origin, (0.0, ()))
        if origin in _robots and monotonic() - read_at < ROBOTS_KEPT_S:
            return rules
        try:
            async with asyncio.timeout(ROBOTS_TIME_LIMIT_S):
                received = await self._follow(read_address(f"{origin}/robots.txt"), is_page=False)
        except TimeoutError:
            raise refusal("robots_unread", address.host) from None
        has_none = received.status in _UNSAID and received.status != _TOO_MANY_REQUESTS
        if received.status != 200 and not has_none:
            raise refusal("robots_unread", address.host)
        rules = robots.parse("" if has_none else received.content.decode("utf-8-sig", "replace"))
        _robots[origin] = (monotonic(), rules)
        _robots.move_to_end(origin)
        while len(_robots) > ROBOTS_KEPT:
            _robots.popitem(last=False)
        return rules

    async def _get(self, address: PageAddress, *, is_page: bool) -> Received:
        host = address.host
        try:
            async with self.session.get(URL(address.url, encoded=True), allow_redirects=False) as response:
                location = response.headers.get("Location", "")
                if response.status in _REDIRECTS and location:
                    return Received(address, response.status, location=location)
                if response.status != 200:
                    return Received(address, response.status)
                content = await _body(response, host, is_page=is_page)
                media_type = response.content_type if "Content-Type" in response.headers else ""
                return Received(address, response.status, media_type, response.charset or "", content)
        except (ClientError, OSError, ValueError, zlib.error):
            raise refusal("unreachable", host) from None


async def _body(response: ClientResponse, host: str, *, is_page: bool) -> bytes:
    """Return the expanded body. A page that is too large is refused, of a robots.txt the beginning is read."""
    limit = MAX_BYTES if is_page else ROBOTS_MAX_BYTES
    encoding = response.headers.get("Content-Encoding", "").strip().lower()
    if encoding not in _AS_THEY_ARE | _GZIP:
        raise refusal("type", host)
    expander = zlib.decompressobj(wbits=31) if encoding in _GZIP else None
    content = bytearray()
    received = 0
    async for chunk in response.content.iter_chunked(CHUNK_BYTES):
        received += len(chunk)
        # One byte more than allowed is enough to know.
        content += expander.decompress(chunk, limit + 1 - len(content)) if expander else chunk
        if max(received, len(content)) > limit:
            if is_page:
                raise refusal("large", host)
            return bytes(content[:limit])
    return bytes(content)
