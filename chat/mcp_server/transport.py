"""One message of a peer: the SDK's Streamable HTTP transport, which is an ASGI application, as a Django response.

Django has checked host, size and token by then, and cancels the request of a peer that leaves. There are no sessions,
in either revision of the protocol: any process of the site can answer any message.
"""

from __future__ import annotations

import asyncio
import json
import weakref
from collections.abc import AsyncIterator, MutableMapping
from contextlib import suppress
from typing import Any

from django.conf import settings
from django.core.handlers.asgi import ASGIRequest
from django.http import HttpResponse, HttpResponseBase, JsonResponse, StreamingHttpResponse
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.types import INVALID_REQUEST, CancelledNotification
from pydantic import ValidationError

from accounts.models import User
from chat.api.messages import waiting_request
from chat.mcp_server.peer import Peer
from chat.mcp_server.server import build_server

Message = MutableMapping[str, Any]
TYPES = ((b"content-type", b"application/json"), (b"accept", b"application/json, text/event-stream"))
HOP_BY_HOP = "connection"  # a header that is the server's, not the application's


async def respond(request: ASGIRequest, person: User) -> HttpResponseBase:
    """Return the SDK's response, as events where it sends some before its result. Raises ApiError."""
    # Without sessions the SDK can't know the request that is cancelled: it answered another message.
    with suppress(ValidationError):
        cancelled = CancelledNotification.model_validate_json(request.body).params.request_id
        if cancelled is not None:
            await Peer(request, person).cancel(cancelled)
    # The SDK takes a request whose id is of another type for a notification: its peer would wait for a response.
    with suppress(ValueError, RecursionError):
        message = json.loads(request.body)
        if isinstance(message, dict) and {"id", "method"} <= message.keys() and type(message["id"]) not in (str, int):
            error = {"code": INVALID_REQUEST, "message": "The id of a message is a string or an integer."}
            return JsonResponse({"jsonrpc": "2.0", "id": None, "error": error}, status=400)
    # The view has checked the types, in any spelling; the SDK has rules of its own about them.
    other_headers = [header for header in request.scope["headers"] if header[0] not in dict(TYPES)]
    scope = dict(request.scope, headers=[*other_headers, *TYPES])
    body = [request.body]
    sent: asyncio.Queue[Message | None] = asyncio.Queue()

    async def receive() -> Message:
        if not body:
            await asyncio.Event().wait()  # for the end of the connection, which Django watches
        return {"type": "http.request", "body": body.pop(), "more_body": False}

    async def exchange() -> None:
        most = settings.DATA_UPLOAD_MAX_MEMORY_SIZE
        manager = StreamableHTTPSessionManager(
            build_server(request, person), stateless=True, max_request_body_size=most
        )
        with waiting_request(person):
            async with manager.run():
                await manager.handle_request(scope, receive, sent.put)

    task = asyncio.create_task(exchange())
    task.add_done_callback(lambda _task: sent.put_nowait(None))

    async def next_message() -> Message:
        message = await sent.get()
        if message is None:
            await task
            raise RuntimeError("the response has no end")
        return message

    async def parts(message: Message) -> AsyncIterator[bytes]:
        try:
            yield message["body"]
            while message.get("more_body"):
                message = await next_message()
                yield message["body"]
            await task
        finally:
            task.cancel()

    try:
        start, first = await next_message(), await next_message()
    except BaseException:
        task.cancel()
        raise
    headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in start["headers"]}
    headers.pop(HOP_BY_HOP, None)
    if not first.get("more_body"):
        await task
        return HttpResponse(first["body"], status=start["status"], headers=headers)
    response = StreamingHttpResponse(parts(first), status=start["status"], headers=headers)
    # A peer may leave before the first event: then the generator never starts and can't end the exchange.
    weakref.finalize(response, task.cancel)
    return response
