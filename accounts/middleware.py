"""The language of a request, and the way to the sign-in page."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from django.contrib.auth.middleware import LoginRequiredMiddleware
from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponseRedirect
from django.middleware.locale import LocaleMiddleware
from django.utils.translation import activate
from django_htmx.http import HttpResponseClientRedirect

from accounts.views import HtmxHttpRequest


class LanguageMiddleware(LocaleMiddleware):
    """Django's choice of a language, after the one that the user chose for all their devices."""

    def process_request(self, request: HttpRequest) -> None:
        super().process_request(request)
        if request.user.is_authenticated and request.user.language:
            activate(request.user.language)
            request.LANGUAGE_CODE = request.user.language


class SignInMiddleware(LoginRequiredMiddleware):
    """Django's redirect to the sign-in page, of the whole page for htmx, which would put the form into a part of it."""

    def handle_no_permission(self, request: HttpRequest, view_func: Callable[..., Any]) -> HttpResponseRedirect:
        htmx = cast("HtmxHttpRequest", request).htmx
        if not htmx and request.method in ("GET", "HEAD"):
            return super().handle_no_permission(request, view_func)
        # The address of a form may have no page: who signs in returns to the page that has the form.
        page = htmx.current_url_abs_path if htmx else request.headers.get("Referer")
        response = redirect_to_login(page or "/", self.get_login_url(view_func))
        return HttpResponseClientRedirect(response.url) if htmx else response  # type: ignore[return-value]  # Django's stubs name one class
