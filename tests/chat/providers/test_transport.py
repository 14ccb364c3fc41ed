"""The HTTP transport: what is received together, proxies, connections that are kept, against a server on loopback."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx2

from chat.providers.transport import AiohttpTransport

HEAD = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


class Server:
    """A server that answers what it is told to, piece by piece."""

    def __init__(self) -> None:
        self.heads: list[bytes] = []
        self.connections = 0
        self.writers: asyncio.Queue[asyncio.StreamWriter] = asyncio.Queue()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        while head := await reader.read(65_536):
            self.heads.append(head)
            writer.write(HEAD)
            self.writers.put_nowait(writer)
        writer.close()  # the client has closed it


@asynccontextmanager
async def serving() -> AsyncIterator[tuple[Server, str, httpx2.AsyncClient]]:
    scripted = Server()
    server = await asyncio.start_server(scripted.serve, "127.0.0.1", 0)
    async with httpx2.AsyncClient(transport=AiohttpTransport()) as client:
        yield scripted, f"127.0.0.1:{server.sockets[0].getsockname()[1]}", client
    server.close()


def part(content: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(content), content)


async def test_what_comes_while_a_body_is_reading_paused_is_one_piece():
    async with serving() as (server, host, client), client.stream("GET", f"http://{host}/") as response:
        writer = await server.writers.get()
        pieces = response.aiter_bytes()
        writer.write(part(b"first "))
        assert await anext(pieces) == b"first "

        with response.extensions["reading_paused"]():
            for word in (b"one ", b"two ", b"three "):
                writer.write(part(word))
                await writer.drain()
        assert await anext(pieces) == b"one two three "

        writer.write(part(b"last") + part(b""))
        assert await anext(pieces) == b"last"
        assert await anext(pieces, None) is None
        with response.extensions["reading_paused"]():  # the connection serves others by now
            pass


async def test_connection_serves_the_next_request():
    async with serving() as (server, host, client):
        for _ in range(2):
            async with client.stream("POST", f"http://{host}/", content=b"{}") as response:
                (await server.writers.get()).write(part(b"x") + part(b""))
                assert [piece async for piece in response.aiter_bytes()] == [b"x"]

        assert server.connections == 1


async def test_body_that_is_not_read_to_its_end_closes_the_connection():
    async with serving() as (server, host, client):
        async with client.stream("GET", f"http://{host}/") as response:
            writer = await server.writers.get()
            writer.write(part(b"x"))
            assert await anext(response.aiter_bytes()) == b"x"
        await writer.wait_closed()

        assert server.connections == 1


async def test_proxy_of_the_environment_is_used_but_for_its_exceptions(monkeypatch):
    async with serving() as (server, host, client):
        monkeypatch.setenv("http_proxy", f"http://{host}")
        monkeypatch.setenv("no_proxy", host)
        for address in ("http://models.example/v1", f"http://{host}/v1"):
            async with client.stream("GET", address) as response:
                (await server.writers.get()).write(part(b""))
                await response.aread()

        lines = [head.split(b"\r\n")[0] for head in server.heads]
        assert lines == [b"GET http://models.example/v1 HTTP/1.1", b"GET /v1 HTTP/1.1"]
