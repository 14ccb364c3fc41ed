"""HTTP/1.1 on one connection, under the caller's full control.

Nothing is added that the caller did not ask for: no date, no server name, no chunk border. Each ``part`` is one write
and one transfer chunk. ``gone`` is set as soon as the client has closed its side, whatever the server is doing.
"""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, cast

HEAD_LIMIT = 64 * 1024
REASONS = {524: "A timeout occurred", 529: "Site is overloaded"}


class ClientGoneError(Exception):
    """The client closed the connection before it had the whole answer."""


class BadRequestError(Exception):
    """What came in is not HTTP/1.1 as this server reads it."""


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """One request as received; header names are lower case, ``body`` is the exact bytes."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes


class Connection(asyncio.Protocol):
    """A client's connection; ``serve`` runs as its one task and owns both directions."""

    def __init__(self, serve: Callable[[Connection], Coroutine[Any, Any, None]]) -> None:
        self._serve = serve
        self._reader = asyncio.StreamReader(limit=HEAD_LIMIT)
        self._writable = asyncio.Event()
        self._chunked = False
        self.gone = asyncio.Event()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._writable.set()
        self.task = asyncio.get_running_loop().create_task(self._serve(self))

    def data_received(self, data: bytes) -> None:
        self._reader.feed_data(data)

    def eof_received(self) -> bool:
        self._hang_up()
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        self._hang_up()

    def pause_writing(self) -> None:
        self._writable.clear()

    def resume_writing(self) -> None:
        self._writable.set()

    def _hang_up(self) -> None:
        if not self.gone.is_set():
            self._reader.feed_eof()
        self.gone.set()
        self._writable.set()

    async def read_request(self) -> HttpRequest | None:
        """Read the next request; None if the client closed between two. Raises BadRequestError, ClientGoneError."""
        try:
            head = await self._reader.readuntil(b"\r\n\r\n")
        except asyncio.IncompleteReadError as error:
            if error.partial:
                raise BadRequestError("the head ends too early") from error
            return None
        except asyncio.LimitOverrunError as error:
            raise BadRequestError("the head is too long") from error
        method, path, headers = _parse_head(head)
        return HttpRequest(method, path, headers, await self._read_body(headers))

    async def _read_body(self, headers: Mapping[str, str]) -> bytes:
        try:
            if headers.get("transfer-encoding", "").lower() == "chunked":
                return await self._read_chunks()
            return await self._reader.readexactly(int(headers.get("content-length", "0")))
        except asyncio.IncompleteReadError as error:
            raise ClientGoneError from error
        except ValueError as error:
            raise BadRequestError("the length of the body is not a number") from error

    async def _read_chunks(self) -> bytes:
        parts = []
        while size := int((await self._reader.readuntil(b"\r\n")).split(b";")[0], 16):
            parts.append(await self._reader.readexactly(size))
            await self._reader.readexactly(2)
        while await self._reader.readuntil(b"\r\n") != b"\r\n":
            pass  # trailers mean nothing here
        return b"".join(parts)

    async def write(self, data: bytes) -> None:
        """Write bytes as they are. Raises ClientGoneError if the client had left before."""
        self.require_client()
        self._transport.write(data)
        await self._writable.wait()
        await asyncio.sleep(0)  # lets the loop see a client that has just left

    def require_client(self) -> None:
        """Raise ClientGoneError if the client has left."""
        if self.gone.is_set():
            raise ClientGoneError

    async def part(self, data: bytes) -> None:
        """Write a piece of the body: one write, and one chunk if the answer is chunked. Nothing for no bytes."""
        if data:
            await self.write(b"%x\r\n%b\r\n" % (len(data), data) if self._chunked else data)

    async def end(self) -> None:
        """End the body in the way that its framing asks for."""
        if self._chunked:
            await self.write(b"0\r\n\r\n")

    def frame_as_chunks(self, *, chunked: bool) -> None:
        """Say how the body that now begins is framed."""
        self._chunked = chunked

    @property
    def closing(self) -> bool:
        return self._transport.is_closing()

    async def wait(self, gate: asyncio.Event, seconds: float | None = None) -> bool:
        """Wait until ``gate`` opens, at most ``seconds``; say whether it did. Raises ClientGoneError."""
        waits = [asyncio.ensure_future(event.wait()) for event in (gate, self.gone)]
        try:
            await asyncio.wait(waits, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()
        if self.gone.is_set():
            raise ClientGoneError
        return gate.is_set()

    def close(self) -> None:
        """Close after what was written has gone out."""
        self._transport.close()

    def reset(self) -> None:
        """Close with a TCP reset."""
        if not self.closing:
            raw: socket.socket = self._transport.get_extra_info("socket")
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._transport.abort()


def head_bytes(status: int, headers: Mapping[str, str]) -> bytes:
    """Return status line and header block."""
    reason = REASONS.get(status) or HTTPStatus(status).phrase
    lines = [f"HTTP/1.1 {status} {reason}", *(f"{name}: {value}" for name, value in headers.items())]
    return "\r\n".join([*lines, "", ""]).encode("latin-1")


def _parse_head(head: bytes) -> tuple[str, str, dict[str, str]]:
    first, *lines = head[:-4].decode("latin-1").split("\r\n")
    try:
        method, target, _version = first.split(" ")
        pairs = [line.split(":", 1) for line in lines]
        headers = {name.strip().lower(): value.strip() for name, value in pairs}
    except ValueError as error:
        raise BadRequestError("the head is not HTTP/1.1") from error
    return method, target.split("?")[0], headers
