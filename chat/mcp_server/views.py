"""The address of the MCP server. What answers there is imported at its first request, with the SDK."""

from __future__ import annotations

import asyncio
import sys
from importlib import import_module
from typing import TYPE_CHECKING, cast

from django.http import HttpRequest, HttpResponseBase
from django.utils.translation import gettext as _

from accounts.models import User
from chat.api.endpoint import ApiError, check_media_type, endpoint, not_authenticated, session_of
from chat.origins import is_own_origin

if TYPE_CHECKING:
    from django.core.handlers.asgi import ASGIRequest

TRANSPORT = "chat.mcp_server.transport"


@endpoint("POST")
async def mcp(request: HttpRequest, person: User) -> HttpResponseBase:
    """Answer one message of a peer, which carries an access token. What fails before has the API's error form."""
    if session_of(request) is not None:
        raise not_authenticated(has_token=False)
    if "Origin" in request.headers and not is_own_origin(request):
        raise ApiError(403, "origin", _("Pages of other sites may not use this address."))
    check_media_type(request)
    if not all(map(request.accepts, ("application/json", "text/event-stream"))):
        raise ApiError(406, "not_acceptable", _("Send Accept: application/json, text/event-stream."), field="Accept")
    if TRANSPORT not in sys.modules:
        # In a thread: importing takes half a second, which would hold up every stream of this process.
        await asyncio.to_thread(import_module, TRANSPORT)
    from chat.mcp_server.transport import respond

    return await respond(cast("ASGIRequest", request), person)
