"""A client that reads slowly is waited for, or disconnected: what is written for it would else pile up in memory."""

import asyncio

import pytest
from daphne.http_protocol import HTTPFactory
from daphne.ws_protocol import WebSocketFactory
from twisted.internet.testing import StringTransportWithDisconnection

from config import server
from config.server import LegibleServer

PARTS = 5
HANDSHAKE = (
    b"GET / HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"
)


class Transport(StringTransportWithDisconnection):
    """Its buffer is full with the first bytes."""

    is_full = True

    def write(self, data):
        super().write(data)
        if self.is_full:
            self.producer.pauseProducing()

    def writeSequence(self, data):  # noqa: N802 - Twisted's name
        self.write(b"".join(data))

    def abortConnection(self):  # noqa: N802 - Twisted's name
        self.loseConnection()


@pytest.fixture
def sent():
    return []


@pytest.fixture
def transport(sent):
    """Return the transport of a client that has asked for a streamed response, and does not read it."""

    async def application(scope, receive, send):
        await send({"type": "http.response.start", "status": 200})
        for number in range(PARTS):
            sent.append(number)
            await send({"type": "http.response.body", "body": b"part", "more_body": number < PARTS - 1})

    return connected_to(application)


def connected_to(application):
    """Return the transport of a new connection to a server of this application."""
    serving = LegibleServer(application, endpoints=["tcp:0"], signal_handlers=False)
    serving.connections = {}
    serving.ws_factory = WebSocketFactory(serving)
    made = Transport()
    made.protocol = HTTPFactory(serving).buildProtocol(None)
    made.protocol.makeConnection(made)
    return made


async def until(holds):
    while not holds():  # noqa: ASYNC110 - Twisted has no event for it
        await asyncio.sleep(0)


async def begin(transport, sent):
    transport.protocol.dataReceived(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
    await until(lambda: sent)


async def test_response_waits_for_a_client_that_reads_slowly(transport, sent):
    await begin(transport, sent)
    for _turn in range(100):
        await asyncio.sleep(0)
    assert sent == [0]

    transport.is_full = False
    transport.producer.resumeProducing()
    await until(lambda: transport.value().endswith(b"\r\n0\r\n\r\n"))

    assert sent == [*range(PARTS)]


async def test_client_that_has_stopped_to_read_is_disconnected(transport, sent, monkeypatch):
    monkeypatch.setattr(server, "STALLED_CLIENT_S", 0)
    await begin(transport, sent)
    await until(lambda: not transport.connected)

    assert not transport.value().endswith(b"\r\n0\r\n\r\n")


@pytest.mark.parametrize(("reads", "arrived"), [(False, 3), (True, PARTS)])
async def test_socket_of_a_client_that_does_not_read_is_closed(monkeypatch, reads, arrived):
    monkeypatch.setattr(server, "MAX_UNREAD_CHARS", 8)
    done = asyncio.Event()

    async def application(scope, receive, send):
        await send({"type": "websocket.accept"})
        for _number in range(PARTS):
            await send({"type": "websocket.send", "text": "part"})
        done.set()

    transport = connected_to(application)
    transport.is_full = not reads
    transport.protocol.dataReceived(HANDSHAKE)
    await done.wait()

    assert (transport.value().count(b"part"), transport.connected) == (arrived, reads)
