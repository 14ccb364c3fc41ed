"""The connection of an answer serves the next request, as long as its body ends soon after its end mark."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from chat.providers.base import ProviderRequest
from chat.providers.openai_chat import OpenAIChatProvider
from chat.providers.openai_client import close_clients
from reasoning.deltas import RawDelta, RawFields

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
SAID = b'data: {"choices": [{"index": 0, "delta": {"content": "Here."}, "finish_reason": "stop"}]}\n\n'
ASKED = ProviderRequest({"messages": [{"role": "user", "content": "Where?"}]}, "", (), "")


class Upstream:
    """Answers every request alike; the body ends some time after its end mark, or never."""

    def __init__(self, ends_after_s: float) -> None:
        self.connections = 0
        self._ends_after_s = ends_after_s

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                await reader.readexactly(int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0]))
                writer.write(HEAD + _chunk(SAID) + _chunk(b"data: [DONE]\n\n"))
                await writer.drain()
                await asyncio.sleep(self._ends_after_s)
                writer.write(b"0\r\n\r\n")
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


def _chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


@asynccontextmanager
async def asking(upstream: Upstream) -> AsyncIterator[OpenAIChatProvider]:
    server = await asyncio.start_server(upstream.serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    try:
        yield OpenAIChatProvider(f"http://127.0.0.1:{port}/v1", "k", "m")
    finally:
        await close_clients()
        server.close()


async def answer(asked: OpenAIChatProvider) -> str:
    deltas: list[RawDelta] = [delta async for delta in asked.stream(ASKED)]
    return "".join(delta.fields.get("content", "") for delta in deltas if isinstance(delta, RawFields))


@pytest.mark.parametrize(("ends_after_s", "connections"), [(0.01, 1), (30.0, 2)])
async def test_connection_is_used_again_where_the_body_ends(ends_after_s: float, connections: int) -> None:
    upstream = Upstream(ends_after_s)

    async with asking(upstream) as asked, asyncio.timeout(10):
        assert [await answer(asked), await answer(asked)] == ["Here.", "Here."]

    assert upstream.connections == connections
