"""What every endpoint of the JSON API shares: authentication, the error form, and reading a body.

A request carries a session cookie and a CSRF token, or a personal access token, which has no session and so never opens
a scratchpad (product 14). Errors are ``{"error": {"code", "message", "field"?, "retryable"?, "retryAfter"?}}``.
"""

from __future__ import annotations

import codecs
import json
import logging
import uuid
from collections import Counter
from collections.abc import Awaitable, Callable, Collection
from functools import wraps
from math import ceil
from typing import Any, Concatenate, ParamSpec

from asgiref.sync import sync_to_async
from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.core.exceptions import PermissionDenied, RequestDataTooBig, SuspiciousOperation
from django.http import HttpRequest, HttpResponse, HttpResponseBase, JsonResponse
from django.http.multipartparser import MultiPartParserError
from django.http.request import RawPostDataException, UnreadablePostError
from django.middleware.csrf import CsrfViewMiddleware
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt

from accounts.access import tokens
from accounts.access.visibility import Session
from accounts.models import User
from chat.conversations.access import find_conversation
from chat.models import Conversation
from chat.observability import metrics
from chat.providers.base import ProviderError
from chat.texts.db_errors import is_outage, lacks_key, user_message
from chat.texts.error_texts import failure_text
from chat.validation import MAX_FIELD_CHARS, InvalidInputError, check_characters

P = ParamSpec("P")
logger = logging.getLogger(__name__)
RETRY_AFTER_S = 5  # where nobody says how long to wait
# The codes of InvalidInputError by status; all others have 400.
CODES = {
    404: "not_found unknown_collection",
    409: "changed_call not_compared not_waiting quota too_many too_many_collections turn_running",
    413: "too_large",
    415: "unsupported_type",
    429: "too_many_chats too_many_turns too_many_uploads",
    503: "restarting",
}
STATUS_OF = {code: status for status, codes in CODES.items() for code in codes.split()}
# The same request may succeed later.
RETRYABLE = frozenset(
    {"restarting", "too_many_chats", "too_many_turns", "too_many_uploads", "turn_running", "unavailable"}
)
CURL_DEFAULT = "application/x-www-form-urlencoded"
MULTIPART = "multipart/form-data"


class ApiError(Exception):
    """Becomes the error form with this HTTP status."""

    def __init__(self, status: int, code: str, message: str, *, field: str | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.form: dict[str, Any] = {"code": code, "message": message} | ({"field": field} if field else {})


def endpoint(*methods: str) -> Callable[..., Any]:
    """Authenticate by token, or by session with CSRF, pass the user to the view, and turn errors into the form.

    Where GET is allowed, HEAD is; the server leaves out the body.
    """
    allowed = sorted({*methods, "OPTIONS", *(("HEAD",) if "GET" in methods else ())})

    def decorate(
        view: Callable[Concatenate[HttpRequest, User, P], Awaitable[HttpResponseBase]],
    ) -> Callable[..., Any]:
        @wraps(view)
        async def wrapped(request: HttpRequest, *args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
            for_staff = False
            try:
                if request.method == "OPTIONS":
                    return HttpResponse(status=204, headers={"Allow": ", ".join(allowed)})
                if request.method not in allowed:
                    message = _("Allowed here: %(methods)s.") % {"methods": ", ".join(allowed)}
                    raise ApiError(405, "method_not_allowed", message)
                person = await authenticate(request)
                for_staff = person.is_staff
                return await view(request, person, *args, **kwargs)
            except Exception as error:  # noqa: BLE001 - each becomes the error form; unexpected ones are logged
                # not Django's error pages: a script gets the form of the API whatever happens
                return error_response(error, allowed, for_staff=for_staff)

        # all of this happens above: Django's own would redirect a script to a form
        return csrf_exempt(login_not_required(never_cache(wrapped)))

    return decorate


async def get_conversation(person: User, conversation_id: uuid.UUID) -> Conversation:
    """Return this person's conversation. Raises ApiError for any other."""
    return await sync_to_async(require_conversation)(person, conversation_id)


def require_conversation(person: User, conversation_id: uuid.UUID) -> Conversation:
    """Return this person's conversation. Raises ApiError for any other."""
    found = find_conversation(person, conversation_id)
    if found is None:
        raise ApiError(404, "not_found", _("There is no such conversation."))
    return found


def read_body(request: HttpRequest, fields: Collection[str] | None, *, is_optional: bool = False) -> dict[str, Any]:
    """Return the JSON object of a request's body. Raises ApiError.

    ``fields``: all that it may have; None where the caller checks them. ``is_optional``: no body is an empty object.
    """
    if request.content_type == MULTIPART:
        # Nothing may read the body here: the check of the CSRF token may have done so.
        if is_optional and not (request.POST or request.FILES):
            return {}  # a client that sends an empty form where it has nothing to send
        raise unsupported(MULTIPART)
    if not request.body:  # of whatever type: clients name one where they send nothing
        if is_optional:
            return {}
        raise ApiError(400, "invalid_json", _("The body is empty; a JSON object is needed."))
    check_media_type(request)
    try:
        form = json.loads(
            request.body.decode("utf-8-sig"), parse_constant=refuse_constant, object_pairs_hook=without_duplicates
        )
    except (ValueError, RecursionError) as error:
        if request.content_type == CURL_DEFAULT and not request.body.lstrip().startswith((b"{", b"[")):
            raise unsupported(request.content_type) from error  # a form
        raise ApiError(
            400, "invalid_json", _("The body is not JSON: %(why)s.") % {"why": json_error_text(error)}
        ) from error
    if not isinstance(form, dict):
        raise ApiError(400, "invalid_json", _("The body is not a JSON object."))
    if fields is not None:
        refuse_unknown(form, fields)
    check_characters(form)
    return form


def check_media_type(request: HttpRequest) -> None:
    """Raise ApiError for a body that doesn't claim to be JSON in UTF-8. curl's default type is accepted for JSON."""
    kind = request.content_type or ""
    if kind not in ("", "application/json", CURL_DEFAULT) and not kind.endswith("+json"):
        raise unsupported(kind)
    charset = (request.content_params or {}).get("charset", "utf-8")
    try:
        is_utf8 = codecs.lookup(charset).name in ("utf-8", "ascii")
    except LookupError:
        is_utf8 = False
    if not is_utf8 or request.headers.get("Content-Encoding", "identity") != "identity":
        raise ApiError(415, "unsupported_media_type", _("The body must be uncompressed JSON in UTF-8."))


def unsupported(kind: str) -> ApiError:
    words = _("%(kind)s is not accepted; send JSON with Content-Type: application/json.")
    return ApiError(415, "unsupported_media_type", words % {"kind": kind[:MAX_FIELD_CHARS]})


def refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON value")


def without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return a JSON object. Raises ValueError for one that has a key twice, of which one would be lost."""
    form = dict(pairs)
    if len(form) < len(pairs):
        counts = Counter(key for key, _value in pairs)
        twice = next(key for key, count in counts.items() if count > 1)
        raise ValueError(f"{json.dumps(twice[:MAX_FIELD_CHARS])} occurs twice in an object")
    return form


def json_error_text(error: Exception) -> str:
    """Describe a JSON syntax error without quoting the body."""
    match error:
        case json.JSONDecodeError():
            return f"{error.msg} (line {error.lineno}, column {error.colno})"
        case UnicodeDecodeError():
            return "it is not UTF-8"
        case RecursionError():
            return "it is nested too deeply"
    return str(error)[:200]


def refuse_unknown(form: Collection[str], fields: Collection[str]) -> None:
    """Raise ApiError naming the first unknown field: a mistyped one would silently do nothing."""
    for name in sorted(form):
        if name not in fields:
            names = {"field": name[:MAX_FIELD_CHARS], "fields": ", ".join(fields)}
            message = (
                _("%(field)s: there is no such field; allowed are %(fields)s.")
                if fields
                else _("%(field)s: there is no such field; none is allowed here.")
            )
            raise ApiError(400, "unknown_field", message % names, field=names["field"])


def session_of(request: HttpRequest) -> Session | None:
    """Return the session's values; None for a request with a token."""
    return dict(request.session.items()) if hasattr(request, "session") else None


def not_authenticated(*, has_token: bool) -> ApiError:
    if has_token:
        return ApiError(401, "invalid_token", _("This access token is not valid."))
    return ApiError(401, "not_authenticated", _("Sign in, or send a personal access token."))


async def authenticate(request: HttpRequest) -> User:
    header = request.headers.get("Authorization", "")
    if header:
        person = await sync_to_async(tokens.authenticate)(header)
        if person is None:
            raise not_authenticated(has_token=True)
        del request.session  # a token has no session, whatever cookie was sent with it (product 14)
        return person
    user = await request.auser()
    if not isinstance(user, User):
        raise not_authenticated(has_token=False)

    # The views are csrf_exempt for the sake of tokens; sessions are checked here.
    def no_response(request: HttpRequest) -> HttpResponse:
        return HttpResponse()

    # In a thread: a refusal renders a page, which reads the site's name.
    check = sync_to_async(CsrfViewMiddleware(no_response).process_view)
    if await check(request, no_response, (), {}) is not None:
        raise ApiError(403, "csrf", _("The CSRF token is missing or wrong."))
    return user


def error_response(error: Exception, allowed: Collection[str], *, for_staff: bool) -> JsonResponse:
    """Return the error form, with the headers that its status asks for. ``allowed``: the methods of the address."""
    status, form = error_form(error, for_staff=for_staff)
    headers = {}
    if status == 401:
        problem = ', error="invalid_token"' if form["code"] == "invalid_token" else ""
        headers["WWW-Authenticate"] = f'Bearer realm="Legible"{problem}'
    if status == 405:
        headers["Allow"] = ", ".join(allowed)
    if "retryAfter" in form:
        headers["Retry-After"] = str(form["retryAfter"])
    return JsonResponse({"error": form}, status=status, headers=headers)


def error_form(error: Exception, *, for_staff: bool) -> tuple[int, dict[str, Any]]:
    """Return the HTTP status and the form of an error; an unexpected one is logged."""
    wait_s: float | None = None
    status = 500
    form: dict[str, Any] = {"code": "internal", "message": _("Something went wrong on this server.")}
    match error:
        case ApiError():
            status, form = error.status, dict(error.form)
        case InvalidInputError():
            status, form = STATUS_OF.get(error.code, 400), {"code": error.code, "message": error.message}
            form |= {"field": error.field} if error.field else {}
        case ProviderError():  # an endpoint that didn't report the name of its model
            message = failure_text(error, for_staff=for_staff)
            status, form = 503, {"code": error.code, "message": message, "retryable": error.retryable}
            wait_s = error.retry_after_s
        case PermissionDenied():
            status, form = 403, {"code": "read_only", "message": str(error)}
        case RequestDataTooBig():
            message = _("The body is too large; at most %(most)s bytes are allowed.")
            message %= {"most": settings.DATA_UPLOAD_MAX_MEMORY_SIZE}
            status, form = 413, {"code": "too_large", "message": message}
        case MultiPartParserError():
            return error_form(unsupported(MULTIPART), for_staff=for_staff)
        case SuspiciousOperation() | RawPostDataException() | UnreadablePostError():
            status, form = 400, {"code": "invalid_json", "message": _("The body is not a JSON object.")}
        case _:
            logger.error("request failed", exc_info=error)
            if is_outage(error):
                metrics.DATABASE_ERRORS.labels("api").inc()
                status, form = 503, {"code": "unavailable", "message": user_message(error)}
            elif lacks_key(error):
                status, form = 503, {"code": "missing_key", "message": user_message(error)}
    if form["code"] in RETRYABLE:
        form["retryable"] = True
    if status in (429, 503) and form["code"] != "missing_key":  # waiting doesn't bring it back
        form["retryAfter"] = ceil(wait_s or RETRY_AFTER_S)
    return status, form
