"""How many times a sign-in may fail: ten for one name from one address in five minutes.

Counted in Django's cache, so every process of a deployment with Redis counts together; while Redis is away each
counts for itself, for people must be able to sign in.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable
from typing import TypeVar

import redis
from django.core.cache import cache
from django.core.cache.backends.base import BaseCache
from django.core.cache.backends.locmem import LocMemCache

FAILURES_ALLOWED = 10
WINDOW_S = 300
T = TypeVar("T")
logger = logging.getLogger(__name__)
_here = LocMemCache("sign-in", {})


def key(username: str, address: str) -> str:
    """Name the counter. Hashed: neither a name nor an address is kept, and any text makes a valid key."""
    text = f"{username.strip().casefold()[:254]}\n{address}"
    return "sign-in:" + hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()


def is_closed(counter: str) -> bool:
    """Return whether the allowed failures are used up."""
    return _asked(lambda counts: int(counts.get(counter, 0)) >= FAILURES_ALLOWED)


def count_failure(counter: str) -> None:
    """Count one failure; the window starts with the first."""
    _asked(lambda counts: _count(counts, counter))


def forget(counter: str) -> None:
    """Start again after a success."""
    _asked(lambda counts: counts.delete(counter))


def _asked(question: Callable[[BaseCache], T]) -> T:
    try:
        return question(cache)
    except redis.RedisError as error:
        logger.warning("failed sign-ins counted here alone", extra={"error": type(error).__name__})
        return question(_here)


def _count(counts: BaseCache, counter: str) -> None:
    if not counts.add(counter, 1, WINDOW_S):
        try:
            counts.incr(counter)
        except ValueError:  # the window ended between the two calls
            counts.add(counter, 1, WINDOW_S)
