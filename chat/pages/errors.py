"""The responses to requests that failed.

403 and 404 are pages like the others. 503 with Retry-After while the database is away or the disk is full, 503 without
it where a key is missing, else 500.
"""

from __future__ import annotations

import sys

from django.conf import settings
from django.db import connection
from django.http import HttpRequest, HttpResponseBase, JsonResponse
from django.shortcuts import render
from django.views import defaults

from accounts.middleware import long_text
from chat.observability import metrics
from chat.texts.db_errors import is_outage, lacks_key, user_message

RETRY_AFTER_S = 5


def permission_denied(request: HttpRequest, exception: Exception) -> HttpResponseBase:
    """Show that the user may not see a page."""
    try:
        return defaults.permission_denied(request, exception)
    finally:
        close_connection()


def page_not_found(request: HttpRequest, exception: Exception) -> HttpResponseBase:
    """Show that there is no such page, or not for this user, with the text that was posted to it.

    What it was written for may have been deleted in another tab, and the way back leads to a 404 as well.
    """
    # An address that no view has was given no form of ours: its body, of any size, stays unread.
    unsent = long_text(request) if request.resolver_match else ""
    try:
        return render(request, "404.html", {"unsent": unsent}, status=404)
    finally:
        close_connection()


def close_connection() -> None:
    """Close what the page opened: Django draws it in a thread of its own, whose connection nobody else closes."""
    if not connection.in_atomic_block:
        connection.close()


def server_error(request: HttpRequest) -> HttpResponseBase:
    """Answer according to the exception that Django is handling. Reads nothing from the database."""
    error = sys.exc_info()[1]
    if error is None or not (is_outage(error) or lacks_key(error)):
        return defaults.server_error(request)
    if is_outage(error):
        metrics.DATABASE_ERRORS.labels("page").inc()
    answer: HttpResponseBase
    # scripts of pages show the message, such as beside a file that could not be stored
    if request.path.startswith(f"{settings.URL_PREFIX}/api/") or request.headers.get("HX-Request"):
        code = "missing_key" if lacks_key(error) else "unavailable"
        answer = JsonResponse({"error": {"code": code, "message": user_message(error)}}, status=503)
    else:
        # without a request: context processors would read the session, so the database
        answer = render(None, "503.html", {"reason": user_message(error)}, status=503)
    if is_outage(error):
        answer.headers["Retry-After"] = str(RETRY_AFTER_S)
    return answer
