"""How many times a sign-in may fail: ten for one name from one address in five minutes.

Counted in Django's cache, so every process of a deployment with Redis counts together.
"""

from __future__ import annotations

import hashlib

from django.core.cache import cache

FAILURES_ALLOWED = 10
WINDOW_S = 300


def key(username: str, address: str) -> str:
    """Name the counter. Hashed: neither a name nor an address is kept, and any text makes a valid key."""
    text = f"{username.strip().casefold()[:254]}\n{address}"
    return "sign-in:" + hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()


def is_closed(counter: str) -> bool:
    """Return whether the allowed failures are used up."""
    return int(cache.get(counter, 0)) >= FAILURES_ALLOWED


def count_failure(counter: str) -> None:
    """Count one failure; the window starts with the first."""
    if not cache.add(counter, 1, WINDOW_S):
        try:
            cache.incr(counter)
        except ValueError:  # the window ended between the two calls
            cache.add(counter, 1, WINDOW_S)


def forget(counter: str) -> None:
    """Start again after a success."""
    cache.delete(counter)
