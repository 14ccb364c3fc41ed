"""The application that a server runs: pages and static files over HTTP, and the page's socket.

A socket must come from a page of ours (its Origin is checked) and carries the session of its person.
"""

from __future__ import annotations

import os
from typing import Any

from channels.auth import AuthMiddlewareStack
from channels.routing import ProtocolTypeRouter, URLRouter
from channels.security.websocket import AllowedHostsOriginValidator
from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
_http = get_asgi_application()

from chat.routing import websocket_urlpatterns  # noqa: E402 - consumers need the app registry
from config.assets import Assets  # noqa: E402

_sockets: Any = URLRouter(websocket_urlpatterns)  # type: ignore[arg-type]  # the stubs know only path() of channels


async def _past_the_session(scope: Any, receive: Any, send: Any) -> None:
    """Send frames to the socket itself: the session's wrapper looks in each for a cookie to set, and there is none."""
    await _sockets(scope, receive, scope["to_socket"])


_signed_in: Any = AuthMiddlewareStack(_past_the_session)


async def _with_session(scope: Any, receive: Any, send: Any) -> None:
    await _signed_in({**scope, "to_socket": send}, receive, send)


application = ProtocolTypeRouter(
    {
        # Static files come from here with DEBUG=false too; a proxy in front may serve them instead.
        "http": Assets(_http),
        "websocket": AllowedHostsOriginValidator(_with_session),
    }
)
