"""The language of a request."""

from __future__ import annotations

from django.http import HttpRequest
from django.middleware.locale import LocaleMiddleware
from django.utils.translation import activate


class LanguageMiddleware(LocaleMiddleware):
    """Django's choice of a language, after the one that the user chose for all their devices."""

    def process_request(self, request: HttpRequest) -> None:
        super().process_request(request)
        if request.user.is_authenticated and request.user.language:
            activate(request.user.language)
            request.LANGUAGE_CODE = request.user.language
