"""The language of a socket: the one that the page which opened it was drawn in.

Django's middleware chooses a language for requests alone; the frames of a socket are drawn by the same templates.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.http import HttpRequest
from django.utils.translation import get_language_from_request


def language_of(scope: Mapping[str, Any]) -> str:
    """Return the language code by the rule that pages follow: the language cookie, then what the browser prefers."""
    handshake = HttpRequest()
    handshake.COOKIES = dict(scope.get("cookies", {}))
    accepted = [value for name, value in scope.get("headers", ()) if name == b"accept-language"]
    handshake.META["HTTP_ACCEPT_LANGUAGE"] = b",".join(accepted).decode("latin-1")
    return get_language_from_request(handshake)
