"""Limits of connections: bodies that are too long and requests that come too slowly end before the application runs."""

import json
import re

import pytest
from twisted.internet.protocol import Factory, Protocol
from twisted.internet.task import Clock
from twisted.internet.testing import StringTransportWithDisconnection

from config import connections
from config.connections import LimitedConnection, LimitedConnections

SESSION, TOKEN = b"Cookie: sessionid=abc\r\n", b"authorization: Bearer lgb_x\r\n"
MB = 1024**2


class Transport(StringTransportWithDisconnection):
    def loseWriteConnection(self) -> None:
        """Half a close, which the class doesn't have."""


class Received(Protocol):
    """What stands for daphne's connection: it stores what gets through."""

    def __init__(self) -> None:
        self.data = bytearray()

    def dataReceived(self, data: bytes) -> None:
        self.data += data


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(connections.time, "monotonic", clock.seconds)
    monkeypatch.setattr(LimitedConnection, "callLater", lambda _self, *args: clock.callLater(*args))
    return clock


@pytest.fixture
def connection(clock):
    made = LimitedConnections(Factory.forProtocol(Received)).buildProtocol(None)
    transport = Transport()
    transport.protocol = made
    made.makeConnection(transport)
    yield made
    if transport.connected:
        transport.loseConnection()
    assert not clock.getDelayedCalls(), "a closed connection leaves no timer"


def head(path: str = "/healthz", *headers: bytes, length: int | None = None) -> bytes:
    size = b"transfer-encoding: chunked\r\n" if length is None else b"Content-Length: %d\r\n" % length
    return b"POST %s HTTP/1.1\r\nHost: localhost\r\n%s%s\r\n" % (path.encode(), b"".join(headers), size)


@pytest.mark.parametrize(
    ("path", "headers", "allowed"),
    [
        ("/healthz", (), 64 * 1024),
        ("/accounts/login/", (b"Cookie: csrftoken=abc\r\n",), 64 * 1024),
        ("/admin/filings/filing/add/", (), 64 * 1024),
        ("/accounts/settings/", (SESSION,), 2_621_440),
        ("/api/chats/?x=/admin/filings/filing/add/", (TOKEN,), 2_621_440),
        ("/mcp", (TOKEN,), 2_621_440),
        ("/admin/filings/filing/add/?x=1", (SESSION,), 32 * MB),
        ("/data/import/", (SESSION,), 51 * MB),
        (f"/chats/{'0' * 32}/attachments/", (SESSION,), MB + 10_000_000),
        (f"/chats/{'0' * 32}/messages/", (SESSION,), MB + 50_000_000),
        (f"/chats/{'0' * 32}/messages/", (), 64 * 1024),
        (f"/documents/collections/{'0' * 32}/", (SESSION,), MB + 50_000_000),
        (f"/api/documents/collections/{'0' * 32}/documents", (TOKEN,), MB + 50_000_000),
        (f"/api/documents/collections/{'0' * 32}/documents/", (SESSION,), MB + 50_000_000),
    ],
)
def test_long_body_is_refused_before_it_comes(connection, path, headers, allowed):
    connection.dataReceived(head(path, *headers, length=allowed))
    connection.request_complete(is_socket=False)
    assert connection.transport.value() == b""

    for byte in head(path, *headers, length=allowed + 1):
        connection.dataReceived(bytes([byte]))

    answer = connection.transport.value().decode()
    assert answer.startswith("HTTP/1.1 413 ")
    assert re.search("\r\nX-Request-Id: [0-9a-f]{32}\r\n", answer)
    assert str(allowed) in answer
    if path.startswith(("/api/", "/mcp")):
        error = json.loads(answer.partition("\r\n\r\n")[2])["error"]
        assert error["code"] == "too_large"
        assert set(error) == {"code", "message"}, "the form of all errors of the API"


def test_chunked_body_is_cut_while_it_comes(connection):
    chunk = b"4000\r\n" + b"x" * 0x4000 + b"\r\n"
    connection.dataReceived(head())
    for _each in range(1000):
        connection.dataReceived(chunk)

    assert connection.transport.value().startswith(b"HTTP/1.1 413 ")
    assert len(connection.wrappedProtocol.data) < 128 * 1024


# Slow-loris
@pytest.mark.parametrize("part", [b"", b"POST /", head(length=1000), head("/", SESSION, length=100_000)])
def test_trickling_request_ends(connection, clock, part):
    connection.dataReceived(part)
    for _second in range(61):
        clock.advance(1)
        if connection.transport.connected:
            connection.dataReceived(b"x")

    assert not connection.transport.connected


def test_long_upload_that_comes_steadily_is_not_cut(connection, clock):
    connection.dataReceived(head("/admin/filings/filing/add/", SESSION, length=30 * MB))
    for _second in range(300):
        clock.advance(1)
        connection.dataReceived(b"x" * 100_000)

    assert connection.transport.connected
    assert connection.transport.value() == b""


@pytest.mark.parametrize("is_socket", [False, True])
def test_application_and_socket_take_the_time_they_need(connection, clock, is_socket):
    connection.dataReceived(head(length=0))
    connection.request_complete(is_socket=is_socket)
    clock.advance(10_000)
    assert connection.transport.connected

    for _each in range(100):
        connection.dataReceived(b"x" * MB if is_socket else head(length=0))
        if not is_socket:
            connection.request_complete(is_socket=False)

    assert connection.transport.value() == b""
    assert connection.transport.connected
