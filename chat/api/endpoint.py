"""What every endpoint of the JSON API shares: authentication, the error form, and reading a body.

A request carries a session cookie and a CSRF token, or a personal access token, which has no session and so never opens
a scratchpad (product 14). Errors are ``{"error": {"code", "message", "field"?}}``.
"""

from __future__ import annotations

import json
import logging
import uuid
from collections.abc import Awaitable, Callable
from functools import wraps
from typing import Any, Concatenate, ParamSpec

from asgiref.sync import sync_to_async
from django.contrib.auth.decorators import login_not_required
from django.core.exceptions import RequestDataTooBig, SuspiciousOperation
from django.http import HttpRequest, HttpResponse, HttpResponseBase, JsonResponse
from django.http.request import RawPostDataException, UnreadablePostError
from django.middleware.csrf import CsrfViewMiddleware
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt

from accounts import tokens
from accounts.models import User
from accounts.visibility import Session
from chat.conversations.access import find_conversation
from chat.db_errors import is_outage, user_message
from chat.models import Conversation
from chat.providers.base import ProviderError
from chat.validation import InvalidInputError

P = ParamSpec("P")
logger = logging.getLogger(__name__)
_STATUS_OF = {"turn_running": 409, "queue_full": 409, "too_many_turns": 429, "restarting": 503}  # else 400


class ApiError(Exception):
    """Becomes the error form with this HTTP status."""

    def __init__(self, status: int, code: str, message: str, *, field: str | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.form = {"code": code, "message": message} | ({"field": field} if field else {})


def endpoint(*methods: str) -> Callable[..., Any]:
    """Authenticate by token, or by session with CSRF, pass the user to the view, and turn errors into the form."""

    def decorate(
        view: Callable[Concatenate[HttpRequest, User, P], Awaitable[HttpResponseBase]],
    ) -> Callable[..., Any]:
        @wraps(view)
        async def wrapped(request: HttpRequest, *args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
            try:
                if request.method not in methods:
                    message = _("Allowed here: %(methods)s.") % {"methods": ", ".join(methods)}
                    raise ApiError(405, "method_not_allowed", message)
                return await view(request, await authenticate(request), *args, **kwargs)
            except Exception as error:  # noqa: BLE001 - each becomes the error form; unexpected ones are logged
                # not Django's error pages: a script gets the form of the API whatever happens
                return error_response(error, methods)

        # all of this happens above: Django's own would redirect a script to a form
        return csrf_exempt(login_not_required(never_cache(wrapped)))

    return decorate


async def get_conversation(person: User, conversation_id: uuid.UUID) -> Conversation:
    """Return this person's conversation. Raises ApiError for any other."""
    found = await sync_to_async(find_conversation)(person, conversation_id)
    if found is None:
        raise ApiError(404, "not_found", _("There is no such conversation."))
    return found


def read_body(request: HttpRequest) -> dict[str, Any]:
    """Return the JSON object of a request's body. Raises ApiError."""
    try:
        form = json.loads(request.body)
    except (ValueError, RecursionError) as error:
        raise ApiError(400, "invalid_json", _("The body is not JSON.")) from error
    if not isinstance(form, dict):
        raise ApiError(400, "invalid_json", _("The body is not a JSON object."))
    return form


def session_of(request: HttpRequest) -> Session | None:
    """Return the session's values; None for a request with a token."""
    return dict(request.session.items()) if hasattr(request, "session") else None


async def authenticate(request: HttpRequest) -> User:
    header = request.headers.get("Authorization", "")
    if header:
        person = await sync_to_async(tokens.authenticate)(header)
        if person is None:
            raise ApiError(401, "invalid_token", _("This access token is not valid."))
        del request.session  # a token has no session, whatever cookie was sent with it (product 14)
        return person
    user = await request.auser()
    if not isinstance(user, User):
        raise ApiError(401, "not_authenticated", _("Sign in, or send a personal access token."))

    # The views are csrf_exempt for the sake of tokens; sessions are checked here.
    def no_response(request: HttpRequest) -> HttpResponse:
        return HttpResponse()

    if CsrfViewMiddleware(no_response).process_view(request, no_response, (), {}) is not None:
        raise ApiError(403, "csrf", _("The CSRF token is missing or wrong."))
    return user


def error_response(error: Exception, methods: tuple[str, ...]) -> JsonResponse:
    status, form = 500, {"code": "internal", "message": _("Something went wrong on this server.")}
    match error:
        case ApiError():
            status, form = error.status, error.form
        case InvalidInputError():
            status, form = _STATUS_OF.get(error.code, 400), {"code": error.code, "message": error.message}
            form |= {"field": error.field} if error.field else {}
        case ProviderError():  # an endpoint that didn't report the name of its model
            status, form = 503, {"code": error.code, "message": error.message}
        case RequestDataTooBig():
            status, form = 413, {"code": "too_large", "message": _("The body is too large.")}
        case SuspiciousOperation() | RawPostDataException() | UnreadablePostError():
            status, form = 400, {"code": "invalid_json", "message": _("The body is not JSON.")}
        case _:
            logger.error("request failed", exc_info=error)
            if is_outage(error):
                status, form = 503, {"code": "unavailable", "message": user_message(error)}
    return JsonResponse({"error": form}, status=status, headers={"Allow": ", ".join(methods)} if status == 405 else {})
