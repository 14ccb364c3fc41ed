"""One server process from its start to its last socket's close.

Turns that a dead process left behind are ended before requests come in. On SIGTERM and SIGINT no more connections are
taken, running turns get time to end, pages are told how they ended and requests answered, and sockets are closed with
1012, so that pages come back by themselves; daphne alone would drop them. A second signal does not wait.
"""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Callable
from typing import Any

from daphne.endpoints import build_endpoint_description_strings  # type: ignore[import-untyped]  # daphne ships no types
from daphne.server import Server  # type: ignore[import-untyped]
from daphne.ws_protocol import WebSocketFactory, WebSocketProtocol  # type: ignore[import-untyped]
from django.conf import settings
from twisted.internet import reactor

from config.asgi import application  # sets Django up, so it stands before what needs models
from config.greeting import demo_logins, greeting

from chat.purging import keep_purging  # isort: skip
from chat.recovery import recover  # isort: skip
from chat.runner import runner  # isort: skip

CLOSE_SERVICE_RESTART = 1012
ANSWERED_WITHIN_S = 3.0
CLOSING_GRACE_S = 1.0
HANDSHAKE_S = 30  # after a restart all pages come back at once, and the last of a thousand waits longer than 5 s


class QuietWebSocket(WebSocketProtocol):  # type: ignore[misc]  # untyped, see the import
    """Daphne's, without the coloured line that autobahn composes for each frame, whether or not its log is read."""

    def sendData(self, data: bytes, sync: bool = False, chopsize: int | None = None) -> None:  # noqa: N802
        """Write at once what is whole, and leave to autobahn what waits, or is to be cut."""
        if sync or chopsize or self.send_queue or self.state != self.STATE_OPEN:
            super().sendData(data, sync, chopsize)
        else:
            self.transport.write(data)


WebSocketFactory.protocol = QuietWebSocket


class LegibleServer(Server):  # type: ignore[misc]  # untyped, see the import
    """Daphne, with a word when it listens, a reason when it cannot, and a considerate end."""

    listen_failure: str | None = None
    demo_logins: tuple[str, ...] = ()
    _ports: tuple[Any, ...] = ()
    _stopping: asyncio.Task[None] | None = None

    def listen_success(self, port: Any) -> None:
        self._ports = (*self._ports, port)
        super().listen_success(port)

    def listen_error(self, failure: Any) -> None:
        cause = getattr(failure.value, "socketError", None)
        self.listen_failure = getattr(cause, "strerror", None) or failure.getErrorMessage()
        self.stop()

    async def started(self) -> None:
        """Say where, and from then on look after what other processes left behind and what people deleted."""
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, self.ask_to_end)
        for host, port in self.listening_addresses:
            sys.stdout.write(greeting(host, port, self.demo_logins))
        sys.stdout.flush()
        await asyncio.gather(runner.look_after_others(), keep_purging())

    def ask_to_end(self) -> None:
        """End considerately; at once when asked twice."""
        if self._stopping:
            self.stop()
        else:
            self._stopping = asyncio.ensure_future(self._end())

    async def _end(self) -> None:
        for port in self._ports:
            port.stopListening()
        try:
            await runner.drain()
            await _until(self._are_requests_answered, ANSWERED_WITHIN_S)
            await self._close_sockets()
        finally:
            self.stop()

    def _are_requests_answered(self) -> bool:
        """Say whether no request is at work, such as one that waited for its turn to end."""
        applications = (
            details.get("application_instance")
            for protocol, details in self.connections.items()
            if not isinstance(protocol, WebSocketProtocol)
        )
        return all(application is None or application.done() for application in applications)

    async def _close_sockets(self) -> None:
        open_sockets = [each for each in self.connections if isinstance(each, WebSocketProtocol)]
        for each in open_sockets:
            if each.state == each.STATE_OPEN:
                each.sendCloseFrame(code=CLOSE_SERVICE_RESTART, isReply=False)
        if open_sockets:
            await _until(lambda: all(each.state == each.STATE_CLOSED for each in open_sockets), CLOSING_GRACE_S)


def serve(host: str, port: int) -> str | None:
    """Serve until a signal comes. Return None then, or why the port could not be had."""
    recover()
    server = LegibleServer(
        application,
        endpoints=build_endpoint_description_strings(host=host, port=port),
        signal_handlers=False,
        server_name="legible",
        websocket_handshake_timeout=HANDSHAKE_S,
        websocket_timeout=-1,  # a day by default, ended with 1000, which pages take for a farewell
        # What is too large is refused by this and the socket closed; a page would connect and send it again for ever.
        websocket_max_message_size=settings.DATA_UPLOAD_MAX_MEMORY_SIZE,
        websocket_max_frame_size=settings.DATA_UPLOAD_MAX_MEMORY_SIZE,
    )
    server.demo_logins = demo_logins()  # read here: no database in the event loop
    reactor.callWhenRunning(lambda: asyncio.ensure_future(server.started()))
    server.run()
    return server.listen_failure


async def _until(holds: Callable[[], bool], within_s: float) -> None:
    deadline = asyncio.get_running_loop().time() + within_s
    while not holds() and asyncio.get_running_loop().time() < deadline:  # noqa: ASYNC110 - daphne has no event for it
        await asyncio.sleep(0.02)
