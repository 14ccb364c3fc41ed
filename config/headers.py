"""The response headers that Django does not set by itself.

Pages differ by viewer and session, so no shared cache may keep one. A view that sets its own ``Cache-Control`` is
left alone.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from inspect import iscoroutinefunction
from typing import TypeAlias, cast

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils.decorators import sync_and_async_middleware

View: TypeAlias = Callable[[HttpRequest], HttpResponseBase]
AsyncView: TypeAlias = Callable[[HttpRequest], Awaitable[HttpResponseBase]]

_REFUSED = ("camera", "display-capture", "geolocation", "microphone", "payment", "usb")
HEADERS = {
    "Cache-Control": "private, no-cache",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": ", ".join(f"{feature}=()" for feature in _REFUSED),
}


@sync_and_async_middleware
def headers_middleware(get_response: View | AsyncView) -> View | AsyncView:
    """Add ``HEADERS`` to every response, in a synchronous and in an asynchronous stack."""
    if iscoroutinefunction(get_response):

        async def add_later(request: HttpRequest) -> HttpResponseBase:
            return _with_headers(await get_response(request))

        return add_later

    def add(request: HttpRequest) -> HttpResponseBase:
        return _with_headers(cast("View", get_response)(request))

    return add


def _with_headers(response: HttpResponseBase) -> HttpResponseBase:
    for name, value in HEADERS.items():
        response.headers.setdefault(name, value)
    return response
