"""The server process: daphne with a startup message, background tasks and a graceful shutdown."""

from __future__ import annotations

import asyncio
import gc
import logging
import signal
import sys
from collections.abc import Callable, Sequence
from typing import Any
from weakref import WeakKeyDictionary

from channels.db import database_sync_to_async
from daphne.endpoints import build_endpoint_description_strings
from daphne.server import Server
from daphne.ws_protocol import WebSocketProtocol
from django.conf import settings
from django.core.signals import request_finished
from django.db import connections
from twisted.internet import reactor
from twisted.web.http import Request

from config import tracing
from config.asgi import application  # calls django.setup(), so it comes before imports that need models
from config.connections import LimitedConnection, LimitedConnections

from accounts import demo  # isort: skip
from chat.conversations import actions  # isort: skip
from chat.documents import worker as documents  # isort: skip
from chat.eventlog import leases  # isort: skip
from chat.sharing.imports.run import end_abandoned as end_abandoned_imports  # isort: skip
from chat.socket.consumer import open_pages  # isort: skip
from chat.turns.manager import turn_manager  # isort: skip
from chat.turns.finish import recover_abandoned_turns  # isort: skip

CLOSE_SERVICE_RESTART = 1012
PAGES_TIMEOUT_S = 5.0
REQUESTS_TIMEOUT_S = 3.0
CLOSE_TIMEOUT_S = 1.0
STALLED_CLIENT_S = 60.0  # for a client to read what is in the buffer, 64 KB
MAX_UNREAD_CHARS = 4_000_000  # that a WebSocket is sent, behind the frame that filled its buffer
PURGE_EVERY_S = 5.0
HANDSHAKE_TIMEOUT_S = 30  # after a restart all pages come back at once; the last of a thousand waits longer than 5 s
logger = logging.getLogger(__name__)


class Pace:
    """Called by Twisted when a client reads more slowly than its response is written (``IPushProducer``)."""

    def __init__(self) -> None:
        self._may_write = asyncio.Event()
        self._may_write.set()
        self._unread_chars = 0  # sent since the buffer was full

    def pauseProducing(self) -> None:  # noqa: N802 - Twisted's name
        self._may_write.clear()

    def resumeProducing(self) -> None:  # noqa: N802 - Twisted's name
        self._may_write.set()
        self._unread_chars = 0

    def stopProducing(self) -> None:  # noqa: N802 - Twisted's name
        """The connection was lost."""
        self._may_write.set()

    def accepts(self, chars: int) -> bool:
        """Count a frame that is to be sent; False where too much waits already for a client that doesn't read."""
        if not self._may_write.is_set():
            self._unread_chars += chars
        return self._unread_chars <= MAX_UNREAD_CHARS

    async def wait(self) -> bool:
        """Wait until more may be written; False where the client has stopped to read."""
        try:
            async with asyncio.timeout(STALLED_CLIENT_S):
                await self._may_write.wait()
        except TimeoutError:
            return False
        return True


class LegibleServer(Server):
    """Daphne with paced responses, a startup message, a reason when it can't listen, and a graceful shutdown."""

    listen_failure: str | None = None
    demo_logins: Sequence[str] = ()
    _ports: tuple[Any, ...] = ()
    _shutdown: asyncio.Task[None] | None = None

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._paces: WeakKeyDictionary[WebSocketProtocol, Pace] = WeakKeyDictionary()

    def listen_success(self, port: Any) -> None:
        self._ports = (*self._ports, port)
        port.factory = LimitedConnections(port.factory)  # before the first connection is accepted
        super().listen_success(port)

    def create_application(self, protocol: Any, scope: dict[str, Any]) -> Any:
        """Start the application for a request that has come completely, or for a WebSocket."""
        # None where the connection was lost meanwhile
        if isinstance(protocol.transport, LimitedConnection):
            protocol.transport.request_complete(is_socket=scope["type"] == "websocket")
        return super().create_application(protocol, scope)

    async def handle_reply(self, protocol: Any, message: dict[str, Any]) -> None:
        """Send a message of the application. A response waits where its client reads slowly: buffers are endless."""
        if isinstance(protocol, WebSocketProtocol):
            await self.handle_socket_reply(protocol, message)
            return
        is_part = message["type"] == "http.response.body" and message.get("more_body", False)
        is_connected = isinstance(protocol, Request) and protocol.channel is not None
        if is_connected and is_part and protocol.producer is None:
            protocol.registerProducer(Pace(), True)
        if is_connected and not is_part and protocol.producer is not None:
            protocol.unregisterProducer()
        pace = protocol.producer if is_connected else None
        await super().handle_reply(protocol, message)
        if pace is not None and not await pace.wait():
            protocol.transport.abortConnection()

    async def handle_socket_reply(self, socket: WebSocketProtocol, message: dict[str, Any]) -> None:
        """Send a frame. A socket whose client reads too slowly is closed: its page reconnects and synchronizes.

        To wait instead would hold up the checks of all pages.
        """
        pace = self._paces.get(socket)
        if pace is not None and not pace.accepts(len(message.get("text") or "")):
            logger.info("socket closed: its client reads too slowly")
            # no close frame: it would wait behind all that was not read
            socket.transport.abortConnection()
            return
        await super().handle_reply(socket, message)
        if message["type"] == "websocket.accept":
            self._paces[socket] = Pace()
            socket.unregisterProducer()  # the HTTP connection that it was
            socket.registerProducer(self._paces[socket], True)

    def listen_error(self, failure: Any) -> None:
        cause = getattr(failure.value, "socketError", None)
        self.listen_failure = getattr(cause, "strerror", None) or failure.getErrorMessage()
        self.stop()

    async def started(self) -> None:
        """Print the startup message and run the background tasks."""
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, self.on_signal)
        for host, port in self.listening_addresses:
            sys.stdout.write(startup_message(host, port, self.demo_logins))
        sys.stdout.flush()
        background = (
            turn_manager.recover_abandoned(),
            turn_manager.listen_to_other_processes(),
            purge_conversations_regularly(),
        )
        await asyncio.gather(*background)

    def on_signal(self) -> None:
        """Shut down gracefully; a second signal stops at once."""
        if self._shutdown:
            self.stop()
        else:
            self._shutdown = asyncio.ensure_future(self.shut_down())

    async def shut_down(self) -> None:
        """End turns, requests and sockets, in this order."""
        # no new connections; the ones that exist are ended below
        for port in self._ports:
            port.stopListening()
        try:
            # turns first: their ends go out over the requests and sockets that are open
            await turn_manager.drain()
            await wait_until(has_sent_ends, PAGES_TIMEOUT_S)
            await wait_until(self.has_answered_requests, REQUESTS_TIMEOUT_S)
            # Daphne's own stop would drop sockets without a close frame
            sockets = [each for each in self.connections if isinstance(each, WebSocketProtocol)]
            for each in sockets:
                if each.state == each.STATE_OPEN:
                    # Pages reconnect by themselves after 1012, never after 1000 or 1001.
                    each.sendCloseFrame(code=CLOSE_SERVICE_RESTART, isReply=False)
            await wait_until(lambda: all(each.state == each.STATE_CLOSED for each in sockets), CLOSE_TIMEOUT_S)
        finally:
            self.stop()

    def has_answered_requests(self) -> bool:
        """Return whether all HTTP requests are done; one may have waited for its turn to end."""
        applications = (
            details.get("application_instance")
            for protocol, details in self.connections.items()
            if not isinstance(protocol, WebSocketProtocol)
        )
        return all(each is None or each.done() for each in applications)


def serve(host: str, port: int) -> str | None:
    """Serve until a signal comes and return None, or return why the port can't be bound."""
    # Before requests come in. What waits for a user is for the event loop, which does not run yet.
    for started in recover_abandoned_turns().taken_up:
        leases.release(started.turn)
    end_abandoned_imports()
    request_finished.connect(close_connections)
    tracing.start()
    server = LegibleServer(
        application,
        endpoints=build_endpoint_description_strings(host=host, port=port),
        signal_handlers=False,
        server_name="legible",
        websocket_handshake_timeout=HANDSHAKE_TIMEOUT_S,
        websocket_timeout=-1,  # daphne's default closes after a day with 1000, after which pages don't reconnect
        # autobahn closes the socket on a larger message; a page would reconnect and send it again forever.
        websocket_max_message_size=settings.DATA_UPLOAD_MAX_MEMORY_SIZE,
        websocket_max_frame_size=settings.DATA_UPLOAD_MAX_MEMORY_SIZE,
    )
    if settings.DEMO_PASSWORD:
        # Read here: the event loop must not wait for the database.
        server.demo_logins = demo.logins()
    # What is loaded now stays: going through all of it again would hold up every stream for a tenth of a second.
    gc.collect()
    gc.freeze()
    # By default after 700 new objects, which a token or two make; few of them are part of a cycle.
    gc.set_threshold(10_000)
    documents.start(turn_manager.is_draining)
    reactor.callWhenRunning(lambda: asyncio.ensure_future(server.started()))
    server.run()
    return server.listen_failure


def close_connections(**_signal: Any) -> None:
    """Close the database connections of a request that has ended. Receiver of ``request_finished``."""
    # Its thread ends with it, whatever CONN_MAX_AGE says: a connection would stay open until it is garbage-collected.
    connections.close_all()


async def purge_conversations_regularly() -> None:
    """Purge until the server drains. Several processes may do so at once."""
    while not turn_manager.is_draining():
        try:
            await purge_conversations()
        except Exception:
            logger.warning("conversations not purged", exc_info=True)
        await asyncio.sleep(PURGE_EVERY_S)


async def purge_conversations() -> None:
    """Stop turns of deleted and expired conversations; delete those where nothing runs and nothing can be undone."""
    for conversation_id in await database_sync_to_async(actions.still_running)():
        await turn_manager.stop(conversation_id)
    count = await database_sync_to_async(actions.purge)()
    if count:
        logger.info("conversations purged", extra={"count": count})


def startup_message(host: str, port: int, demo_logins: Sequence[str]) -> str:
    """Return what the terminal shows: URL, demo logins, and which model answers."""
    is_wildcard = host in ("0.0.0.0", "::")  # noqa: S104 - compared with, not bound to
    shown_host = "127.0.0.1" if is_wildcard else f"[{host}]" if ":" in host else host
    lines = [f"Legible is at http://{shown_host}:{port}{settings.URL_PREFIX}/"]
    if demo_logins:
        lines.append(f"Sign in as {', '.join(demo_logins)} with the password {settings.DEMO_PASSWORD}")
    if settings.SESSION_COOKIE_SECURE:
        lines.append("Other machines sign in over https:// only: put a proxy that ends TLS in front")
    if settings.OPENAI_BASE_URL:
        lines.append(f"Answers come from {settings.OPENAI_MODEL or 'the first model'} at {settings.OPENAI_BASE_URL}")
    else:
        lines.append(
            f"The offline analyst answers. For a real model put one line into {settings.ENV_FILE} and start again: "
            "OPENAI_BASE_URL=http://127.0.0.1:11434/v1"
        )
    return "\n".join(lines) + "\n"


def has_sent_ends() -> bool:
    """Return whether every open page was sent the end of its turn."""
    return all(page.has_sent_end() for page in open_pages)


async def wait_until(condition: Callable[[], bool], timeout_s: float) -> None:
    """Wait for a condition; give up after ``timeout_s``."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + timeout_s
    while not condition() and loop.time() < deadline:  # noqa: ASYNC110 - daphne has no event for it
        await asyncio.sleep(0.02)
