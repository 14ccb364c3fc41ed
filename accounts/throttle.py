"""Limit failed sign-ins: ten per user name and address in five minutes.

Counted in Django's cache, which all processes share where Redis is configured.
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
fallback_cache = LocMemCache("sign-in", {})


def key(username: str, address: str) -> str:
    """Return the cache key of a counter; a hash, so that neither name nor address is stored."""
    text = f"{username.strip().casefold()[:254]}\n{address}"
    return "sign-in:" + hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()


def is_blocked(counter: str) -> bool:
    """Return whether the allowed failures are used up."""
    return _with_cache(lambda counts: int(counts.get(counter, 0)) >= FAILURES_ALLOWED)


def count_failure(counter: str) -> None:
    """Count one failure; the window starts with the first."""

    def count(counts: BaseCache) -> None:
        if not counts.add(counter, 1, WINDOW_S):
            try:
                counts.incr(counter)
            except ValueError:  # the window ended between the two calls
                counts.add(counter, 1, WINDOW_S)

    _with_cache(count)


def reset(counter: str) -> None:
    """Delete the counter after a successful sign-in."""
    _with_cache(lambda counts: counts.delete(counter))


def _with_cache(operation: Callable[[BaseCache], T]) -> T:
    # Users must be able to sign in during a Redis outage: each process then counts for itself.
    try:
        return operation(cache)
    except redis.RedisError as error:
        logger.warning("Redis is unavailable, failed sign-ins counted locally", extra={"error": type(error).__name__})
        return operation(fallback_cache)
