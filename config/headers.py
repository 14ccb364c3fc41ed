"""Middleware for the response headers that Django doesn't set, for request ids, and for the compression of pages.

Pages differ by viewer and session, so no shared cache may store them. A view's own ``Cache-Control`` wins.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Awaitable, Callable
from inspect import iscoroutinefunction
from typing import TypeAlias, cast

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.middleware.gzip import GZipMiddleware
from django.utils.decorators import sync_and_async_middleware

from chat.observability.log_context import request_id

View: TypeAlias = Callable[[HttpRequest], HttpResponseBase]
AsyncView: TypeAlias = Callable[[HttpRequest], Awaitable[HttpResponseBase]]

# Nothing here uses them, and no script that got in shall.
DISABLED_FEATURES = ("camera", "display-capture", "geolocation", "microphone", "payment", "usb")
HEADERS = {
    "Cache-Control": "private, no-cache",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": ", ".join(f"{feature}=()" for feature in DISABLED_FEATURES),
}

# Into logs and a header: nothing that could break a line.
_REQUEST_ID = re.compile(r"[A-Za-z0-9._:-]{1,128}")


@sync_and_async_middleware
def headers_middleware(get_response: View | AsyncView) -> View | AsyncView:
    """Add ``HEADERS`` to every response, and ``X-Request-Id``: as its client or proxy named the request, else anew."""
    if iscoroutinefunction(get_response):

        async def async_middleware(request: HttpRequest) -> HttpResponseBase:
            # Never reset: the lines of a streamed response are logged after this returned, in the request's own task.
            request_id.set(id_for(request.headers.get("X-Request-Id", "")))
            return with_headers(await get_response(request))

        return async_middleware

    def middleware(request: HttpRequest) -> HttpResponseBase:
        request_id.set(id_for(request.headers.get("X-Request-Id", "")))
        return with_headers(cast("View", get_response)(request))

    return middleware


def id_for(named: str) -> str:
    """Return the id that a client or a proxy gave a request where it is well-formed, else a new one."""
    return named if _REQUEST_ID.fullmatch(named) else uuid.uuid4().hex


def with_headers(response: HttpResponseBase) -> HttpResponseBase:
    """Add the headers that the response doesn't have, and the id of its request."""
    for name, value in HEADERS.items():
        response.headers.setdefault(name, value)
    response.headers["X-Request-Id"] = request_id.get()
    return response


class PageGzipMiddleware(GZipMiddleware):
    """Compress HTML: a page of 25 cards shrinks from 300 to 15 KB. Other responses are sent unchanged.

    Server-sent events would wait in the compressor's buffer.
    """

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        # Against BREACH: Django adds random bytes, CSRF tokens are masked anew for each page, and cookies are
        # SameSite=Lax, so another site can't make a browser request pages in the background as their user.
        if response.streaming or not response.headers.get("Content-Type", "").startswith("text/html"):
            return response
        return super().process_response(request, response)
