"""The page between an answer and another site: it shows the whole address, and leads there only by a click."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse, HttpResponseBadRequest
from django.shortcuts import render
from django.utils.translation import gettext
from django.views.decorators.http import require_safe

from chat.html import check_url


@require_safe
def external_link(request: HttpRequest) -> HttpResponse:
    """Show the address in ``to``; 400 for what is no web address or is refused as a link."""
    address = check_url(request.GET.get("to", ""))
    if address is None or not address.is_web:
        return HttpResponseBadRequest(gettext("This is not an address that can be opened from here."))
    return render(request, "chat/external_link.html", {"address": address})
