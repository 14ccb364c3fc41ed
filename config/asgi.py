"""The ASGI application: HTTP, static files and WebSockets.

A WebSocket must come from a page of this site (its Host and Origin are checked) and carries the session of its user.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, cast

from channels.auth import AuthMiddlewareStack
from channels.routing import ProtocolTypeRouter, URLRouter
from channels.security.websocket import WebsocketDenier
from django.conf import settings
from django.contrib.staticfiles.finders import get_finders
from django.core.asgi import get_asgi_application
from django.http import HttpRequest
from whitenoise import WhiteNoise

from config.static_files import HASHED_NAME

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
django_application = get_asgi_application()

from chat.observability.log_context import request_id  # noqa: E402 - the same block
from chat.origins import is_own_origin  # noqa: E402 - the same block
from chat.routing import websocket_urlpatterns  # noqa: E402 - consumers need the app registry
from config.headers import id_for  # noqa: E402 - the same block

AsgiApplication = Callable[[Any, Any, Any], Awaitable[None]]


def with_static_files(application: AsgiApplication) -> AsgiApplication:
    """Return an application that answers GET and HEAD below ``STATIC_URL`` and passes on everything else.

    With ``STATIC_ROOT`` the files that ``collectstatic`` put there are served, compressed; without it the source files.
    """
    # WhiteNoise's own middleware is synchronous: every request would change threads for it.
    whitenoise = WhiteNoise(
        None,
        autorefresh=settings.DEBUG,
        allow_all_origins=False,
        add_headers_function=add_headers,
        immutable_file_test=HASHED_NAME,
    )
    if settings.STATIC_ROOT:
        whitenoise.add_files(settings.STATIC_ROOT, settings.STATIC_URL)
    else:
        for root in {storage.path("") for finder in get_finders() for _path, storage in finder.list([])}:
            whitenoise.add_files(root, settings.STATIC_URL)

    def read(path: str, method: str, headers: dict[str, str]) -> tuple[int, list[tuple[bytes, bytes]], bytes]:
        file = whitenoise.find_file(path) if whitenoise.autorefresh else whitenoise.files.get(path)
        if file is None:
            return 404, [(b"Content-Type", b"text/plain")], b"Not found"
        response = file.get_response(method, headers)
        encoded = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in response.headers]
        if response.file is None:
            return int(response.status), encoded, b""
        with response.file as content:
            return int(response.status), encoded, content.read()

    async def serve(scope: Any, receive: Any, send: Any) -> None:
        is_static = scope["type"] == "http" and scope["path"].startswith(settings.STATIC_URL)
        if not is_static or scope["method"] not in ("GET", "HEAD"):
            await application(scope, receive, send)
            return
        # WhiteNoise takes headers as WSGI does.
        headers = {
            f"HTTP_{name.decode('latin-1').upper().replace('-', '_')}": value.decode("latin-1")
            for name, value in scope["headers"]
        }
        status, sent_headers, body = await asyncio.to_thread(read, scope["path"], scope["method"], headers)
        await send({"type": "http.response.start", "status": status, "headers": sent_headers})
        await send({"type": "http.response.body", "body": body})

    return serve


def add_headers(headers: Any, _path: str, _url: str) -> None:
    headers["X-Content-Type-Options"] = "nosniff"
    headers["Cross-Origin-Resource-Policy"] = "same-origin"


def with_origin_check(application: AsgiApplication) -> AsgiApplication:
    """Return an application that refuses WebSockets of other sites' pages with 403. Log lines of others have an id."""

    async def check(scope: Any, receive: Any, send: Any) -> None:
        headers: dict[bytes, bytes] = {}
        for name, value in scope["headers"]:
            # Repeated headers are joined, as HTTP does: two origins then match no site.
            headers[name] = headers[name] + b"," + value if name in headers else value
        request_id.set(id_for(headers.get(b"x-request-id", b"").decode("latin-1")))
        await (application if is_own_origin(handshake_request(headers)) else WebsocketDenier())(scope, receive, send)

    return check


def handshake_request(headers: Mapping[bytes, bytes]) -> HttpRequest:
    """Return the request that opens a WebSocket, with its headers alone. Channels' own check compares no schemes."""
    request = HttpRequest()
    request.META = {
        f"HTTP_{name.decode('latin-1').upper().replace('-', '_')}": value.decode("latin-1")
        for name, value in headers.items()
    }
    return request


sockets: Any = URLRouter(websocket_urlpatterns)  # type: ignore[arg-type]  # the stubs know only path() of channels

application = ProtocolTypeRouter(
    {
        "http": with_static_files(django_application),
        "websocket": with_origin_check(cast("AsgiApplication", AuthMiddlewareStack(sockets))),
    }
)
