"""Limits of connections that hold before a request reaches the application.

Daphne and Twisted take a whole body before anybody asks who sends it, and wait for a slow one as long as a byte comes
each minute. Twisted's ``WrappingFactory`` is the public place between the socket and both.
"""

from __future__ import annotations

import json
import re
import time
import uuid
from functools import partial
from typing import Any

from daphne.http_protocol import WebRequest
from django.conf import settings
from twisted.protocols.policies import ProtocolWrapper, TimeoutMixin, WrappingFactory

UPLOAD_PATH = b"/admin/filings/filing/add/"
IMPORT_PATH = b"/data/import/"
ATTACH_PATH = re.compile(rb"/chats/[0-9a-f-]{32,36}/(attachments|messages)/")
DOCUMENTS_PATH = re.compile(
    rb"(?:/documents/collections/[0-9a-f-]{32,36}/|/api/documents/collections/[^/]+/documents/?)"
)
FORM_BYTES = 1024**2  # beside the files of a form: boundaries, and a text that is escaped
MAX_UPLOAD_BYTES = 32 * 1024**2  # filings, as in deploy/nginx.conf
MAX_ANONYMOUS_BYTES = 64 * 1024  # without a session or a token there is only the sign-in to send
MAX_HEAD_BYTES = 32 * 1024  # Twisted refuses longer ones itself
REQUEST_TIMEOUT_S = 60  # for a request to come completely ...
MIN_BYTES_PER_S = 50_000  # ... and longer for a body that comes at this rate
LINGER_S = 5  # a client that still sends would not read the answer if the connection were closed at once
REQUEST_LINE = re.compile(rb"[A-Z]+ ([^ ?]*)")
LENGTH = re.compile(rb"(?i)\r\ncontent-length:[ \t]*([0-9]{1,18})[ \t]*\r\n")
CREDENTIALS = re.compile(rb"(?i)\r\n(authorization:|cookie:[^\r]*\bsessionid=)")


class LimitedConnection(ProtocolWrapper, TimeoutMixin):
    """One connection. Each request on it must come in time, and its body may not be longer than its path allows."""

    transport: Any
    _is_socket = _is_refused = _is_complete = False
    _limit: int | None = None  # bytes, known with the head of the request

    def makeConnection(self, transport: Any) -> None:
        self._begin()
        super().makeConnection(transport)

    def dataReceived(self, data: bytes) -> None:
        if self._is_refused:
            return
        if self._is_socket:  # autobahn has limits of its own
            super().dataReceived(data)
            return
        # The next request on the same connection.
        if self._is_complete:
            self._begin()
        self._received += len(data)
        if self._limit is None:
            self._head += data
            # The path and the credentials decide how much may follow.
            if b"\r\n\r\n" in self._head or len(self._head) > MAX_HEAD_BYTES:
                self._limit = limit_of(self._head)
                if (length := LENGTH.search(self._head)) and int(length[1]) > self._limit:
                    self._refuse(self._limit)
                    return
        if self._limit is not None and self._received > self._limit + MAX_HEAD_BYTES:  # a chunked body
            self._refuse(self._limit)
            return
        super().dataReceived(data)
        if not self._is_complete:
            self.setTimeout(max(0, self._deadline() - time.monotonic()))

    def request_complete(self, *, is_socket: bool) -> None:
        """Let the application take the time it needs, and a WebSocket send as much as it likes."""
        self._is_complete, self._is_socket = True, is_socket
        self._head = b""
        self.setTimeout(None)

    def timeoutConnection(self) -> None:
        self.transport.abortConnection()

    def connectionLost(self, reason: Any = None) -> None:
        self.setTimeout(None)
        super().connectionLost(reason)

    def _begin(self) -> None:
        self._is_complete = False
        self._head = b""
        self._received = 0
        self._limit = None
        self._began_at = time.monotonic()
        self.setTimeout(REQUEST_TIMEOUT_S)

    def _deadline(self) -> float:
        return self._began_at + REQUEST_TIMEOUT_S + self._received / MIN_BYTES_PER_S

    def _refuse(self, limit: int) -> None:
        self._is_refused = True
        self.transport.write(too_large(self._head, limit))
        self.transport.loseWriteConnection()
        self.setTimeout(LINGER_S)


class LimitedConnections(WrappingFactory[LimitedConnection]):
    """Wraps daphne's factory of HTTP connections."""

    protocol = LimitedConnection

    def buildProtocol(self, addr: Any) -> LimitedConnection:  # noqa: N802 - Twisted's name
        made = super().buildProtocol(addr)
        # Django reads forms. Twisted would read them too, in memory and in the event loop, and refuse a wrong one with
        # an empty answer.
        made.wrappedProtocol.requestFactory = partial(WebRequest, parsePOSTFormSubmission=False)
        return made


def limit_of(head: bytes) -> int:
    """Return how many bytes the body of this request may have."""
    path = path_of(head)
    if not CREDENTIALS.search(head):
        return MAX_ANONYMOUS_BYTES
    if path == UPLOAD_PATH:
        return MAX_UPLOAD_BYTES
    if path == IMPORT_PATH:
        return int(settings.IMPORT_MAX_BYTES) + FORM_BYTES
    if DOCUMENTS_PATH.fullmatch(path):
        return int(settings.DOCUMENT_MAX_BYTES) + FORM_BYTES
    if found := ATTACH_PATH.fullmatch(path):
        files = 1 if found[1] == b"attachments" else settings.ATTACHMENTS_PER_MESSAGE
        return FORM_BYTES + max(files * settings.ATTACHMENT_MAX_BYTES, settings.DATA_UPLOAD_MAX_MEMORY_SIZE)
    return int(settings.DATA_UPLOAD_MAX_MEMORY_SIZE)


def path_of(head: bytes) -> bytes:
    """Return the path of a request within the site."""
    line = REQUEST_LINE.match(head)
    return line[1].removeprefix(settings.URL_PREFIX.encode()) if line else b""


def too_large(head: bytes, limit: int) -> bytes:
    """Return the response to a request with a longer body, as JSON where the API or ``/mcp`` was asked."""
    message = f"The request is too large; at most {limit} bytes are allowed here."
    kind, body = "text/plain", message
    if path_of(head).startswith((b"/api/", b"/mcp")):
        kind, body = "application/json", json.dumps({"error": {"code": "too_large", "message": message}})
    return (
        "HTTP/1.1 413 Content Too Large\r\nConnection: close\r\nCache-Control: no-store\r\n"
        f"X-Request-Id: {uuid.uuid4().hex}\r\n"
        f"Content-Type: {kind}; charset=utf-8\r\nContent-Length: {len(body)}\r\n\r\n{body}"
    ).encode("ascii")
