"""The language of a request, and the way to the sign-in page."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast
from urllib.parse import quote_plus

from django.conf import settings
from django.contrib.auth.middleware import LoginRequiredMiddleware
from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponse
from django.middleware.locale import LocaleMiddleware
from django.shortcuts import render
from django.utils.translation import activate
from django_htmx.http import HttpResponseClientRedirect

from accounts.forms import SignInForm
from accounts.views import HtmxHttpRequest

LONG_TEXTS = ("text", "system_prompt", "instructions", "note")  # fields of plain forms that take long to write again
MAX_UNSENT_BYTES = 48 * 1024  # of a text as a form has it: without a session config.connections accepts 64 KB


def long_text(request: HttpRequest) -> str:
    """Return what somebody wrote into a plain form; nothing where it has no long text."""
    return next(filter(None, map(request.POST.get, LONG_TEXTS)), "")


class LanguageMiddleware(LocaleMiddleware):
    """Django's choice of a language, after the one that the user chose for all their devices."""

    def process_request(self, request: HttpRequest) -> None:
        super().process_request(request)
        if request.user.is_authenticated and request.user.language:
            activate(request.user.language)
            request.LANGUAGE_CODE = request.user.language


class SignInMiddleware(LoginRequiredMiddleware):
    """Django's redirect to the sign-in page, of the whole page for htmx, which would put the form into a part of it."""

    def handle_no_permission(  # type: ignore[override]  # Django's stubs name a redirect
        self, request: HttpRequest, view_func: Callable[..., Any]
    ) -> HttpResponse:
        htmx = cast("HtmxHttpRequest", request).htmx
        if not htmx and request.method in ("GET", "HEAD"):
            return super().handle_no_permission(request, view_func)
        # The address of a form may have no page: who signs in returns to the page that has the form.
        page = (htmx.current_url_abs_path if htmx else request.headers.get("Referer")) or "/"
        # Nothing may store the text of a person who isn't signed in: it passes through the sign-in form.
        if not htmx and (unsent := long_text(request)):
            shown = {
                "form": SignInForm(request),
                "next": page,
                "unsent": unsent,
                "unsent_is_too_long": len(quote_plus(unsent)) > MAX_UNSENT_BYTES,
                "signup_enabled": settings.SIGNUP_ENABLED,
            }
            return render(request, "accounts/login.html", shown, status=401)
        response = redirect_to_login(page, self.get_login_url(view_func))
        return HttpResponseClientRedirect(response.url) if htmx else response
