"""The response to a request that failed: 503 while the database or the disk has no room or is away, else 500."""

from __future__ import annotations

import sys

from django.http import HttpRequest, HttpResponseBase, JsonResponse
from django.shortcuts import render
from django.views import defaults

from chat.db_errors import is_disk_full, is_outage, user_message

RETRY_AFTER_S = 5


def server_error(request: HttpRequest) -> HttpResponseBase:
    """Answer according to the exception that Django is handling. Reads nothing from the database."""
    error = sys.exc_info()[1]
    if error is None or not (is_outage(error) or is_disk_full(error)):
        return defaults.server_error(request)
    answer: HttpResponseBase
    if request.path.startswith("/api/"):
        answer = JsonResponse({"error": {"code": "unavailable", "message": user_message(error)}}, status=503)
    else:
        # without a request: context processors would read the session, so the database
        answer = render(None, "503.html", {"is_disk_full": is_disk_full(error)}, status=503)
    answer.headers["Retry-After"] = str(RETRY_AFTER_S)
    return answer
