"""Middleware for the response headers that Django doesn't set, and for the compression of pages.

Pages differ by viewer and session, so no shared cache may store them. A view's own ``Cache-Control`` wins.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from inspect import iscoroutinefunction
from typing import TypeAlias, cast

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.middleware.gzip import GZipMiddleware
from django.utils.decorators import sync_and_async_middleware

View: TypeAlias = Callable[[HttpRequest], HttpResponseBase]
AsyncView: TypeAlias = Callable[[HttpRequest], Awaitable[HttpResponseBase]]

DISABLED_FEATURES = ("camera", "display-capture", "geolocation", "microphone", "payment", "usb")
HEADERS = {
    "Cache-Control": "private, no-cache",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": ", ".join(f"{feature}=()" for feature in DISABLED_FEATURES),
}


@sync_and_async_middleware
def headers_middleware(get_response: View | AsyncView) -> View | AsyncView:
    """Add ``HEADERS`` to every response, under WSGI and ASGI."""
    if iscoroutinefunction(get_response):

        async def async_middleware(request: HttpRequest) -> HttpResponseBase:
            return with_headers(await get_response(request))

        return async_middleware

    def middleware(request: HttpRequest) -> HttpResponseBase:
        return with_headers(cast("View", get_response)(request))

    return middleware


def with_headers(response: HttpResponseBase) -> HttpResponseBase:
    """Add the headers that the response doesn't have."""
    for name, value in HEADERS.items():
        response.headers.setdefault(name, value)
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
