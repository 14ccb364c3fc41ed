"""HTTP for the SDK by aiohttp: its parser costs a token half of what the SDK's own does, and reading can be paused."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager, suppress
from urllib.request import getproxies, proxy_bypass

from aiohttp import ClientResponse, ClientSession, ClientTimeout, DummyCookieJar, TCPConnector
from httpx2 import AsyncBaseTransport, AsyncByteStream, Request, Response, create_ssl_context

MAX_CONNECTIONS = 1_000  # to one service: as many as the SDK allows
KEEPALIVE_S = 5.0


class Body(AsyncByteStream):
    """The body of a response, in pieces as they were received."""

    def __init__(self, response: ClientResponse) -> None:
        self._response = response

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for piece in self._response.content.iter_any():
            yield piece

    async def aclose(self) -> None:
        self._response.release()

    @contextmanager
    def reading_paused(self) -> Iterator[None]:
        """Stop reading the connection while this block runs: what arrives meanwhile is received as one piece.

        A service sends a piece for each token, and each costs a wake-up, a system call and a run of the parser. Call it
        only after all that was received was read: aiohttp pauses the same connection when its buffer is full, and
        resuming it here would overfill that buffer.
        """
        connection = self._response.connection  # None once the body has ended
        transport = connection.transport if connection else None
        if transport is None or transport.is_closing():
            yield
            return
        transport.pause_reading()
        try:
            yield
        finally:
            with suppress(RuntimeError):  # it was closed meanwhile
                transport.resume_reading()


class AiohttpTransport(AsyncBaseTransport):
    """Requests over aiohttp. Proxies are those of the environment.

    Exceptions are aiohttp's own: ``errors.failure_from_transport`` knows them. ``extensions["reading_paused"]`` of a
    response is that method of its body, which the SDK hides.
    """

    def __init__(self) -> None:
        self._session: ClientSession | None = None  # made at first use, on its event loop

    async def handle_async_request(self, request: Request) -> Response:
        session = self._session = self._session or ClientSession(
            connector=TCPConnector(ssl=create_ssl_context(), limit=MAX_CONNECTIONS, keepalive_timeout=KEEPALIVE_S),
            cookie_jar=DummyCookieJar(),
            auto_decompress=False,
        )
        timeout = request.extensions["timeout"]
        # aiohttp's ``connect`` is the wait for a free connection, with the one that is made then.
        response = await session.request(
            request.method,
            str(request.url),
            headers=request.headers,
            data=await request.aread() or None,
            allow_redirects=False,
            proxy=proxy_of(request),
            timeout=ClientTimeout(connect=timeout["pool"], sock_connect=timeout["connect"], sock_read=timeout["read"]),
        )
        body = Body(response)
        return Response(
            response.status,
            headers=response.raw_headers,
            stream=body,
            extensions={"reason_phrase": (response.reason or "").encode(), "reading_paused": body.reading_paused},
        )

    async def aclose(self) -> None:
        if self._session is not None:
            await self._session.close()


def proxy_of(request: Request) -> str | None:
    """Return the proxy that the environment names for a request; None where it is made directly."""
    proxies = getproxies()
    if not proxies or proxy_bypass(request.url.netloc.decode()):  # with its port, which an exception may have
        return None
    return proxies.get(request.url.scheme) or proxies.get("all")
