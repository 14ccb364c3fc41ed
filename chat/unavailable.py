"""What is answered to a request that broke: 503 while the database takes nothing, and when to come back; else 500."""

from __future__ import annotations

import sys

from django.http import HttpRequest, HttpResponseBase, JsonResponse
from django.shortcuts import render
from django.views.defaults import server_error

from chat.outage import is_outage, words_for

AGAIN_AFTER_S = 5


def broken(request: HttpRequest) -> HttpResponseBase:
    """Answer by what went wrong, which Django is just handling. Reads nothing from the database."""
    error = sys.exc_info()[1]
    if error is None or not is_outage(error):
        return server_error(request)
    answer: HttpResponseBase
    if request.path.startswith("/api/"):
        answer = JsonResponse({"error": {"code": "unavailable", "message": words_for(error)}}, status=503)
    else:
        answer = render(None, "503.html", status=503)
    answer.headers["Retry-After"] = str(AGAIN_AFTER_S)
    return answer
