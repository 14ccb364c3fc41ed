"""The ASGI application: HTTP, static files and WebSockets.

A WebSocket must come from a page of this site (its Origin is checked) and carries the session of its user.
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
from config.static_files import with_static_files  # noqa: E402

_sockets: Any = URLRouter(websocket_urlpatterns)  # type: ignore[arg-type]  # the stubs know only path() of channels

application = ProtocolTypeRouter(
    {
        "http": with_static_files(_http),
        "websocket": AllowedHostsOriginValidator(AuthMiddlewareStack(_sockets)),
    }
)
