"""Whether a browser sent a request from a page of this site."""

from __future__ import annotations

from urllib.parse import urlsplit

from django.conf import settings
from django.core.exceptions import DisallowedHost
from django.http import HttpRequest
from django.utils.http import is_same_domain


def is_own_origin(request: HttpRequest) -> bool:
    """Compare scheme, host and port of the Origin as Django's CSRF check does. A request without one is not own."""
    origin = request.META.get("HTTP_ORIGIN", "")
    try:
        if not request.META.get("HTTP_HOST") or not (parts := urlsplit(origin)).netloc:
            return False
        own = f"{request.scheme}://{request.get_host()}"
    except (DisallowedHost, ValueError):
        return False
    # A host name that begins with a dot allows all of its subdomains.
    trusted = [urlsplit(each) for each in settings.CSRF_TRUSTED_ORIGINS]
    return origin == own or any(
        parts.scheme == each.scheme and is_same_domain(parts.netloc, each.netloc.removeprefix("*")) for each in trusted
    )
