"""Limits on attempts: sign-ins, sign-ups, passwords, and what costs the server much, such as an import."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TypeVar

from django import forms
from django.core.cache import cache
from django.core.cache.backends.base import BaseCache
from django.core.cache.backends.locmem import LocMemCache
from django.core.exceptions import ValidationError
from django.dispatch import Signal
from django.utils.crypto import salted_hmac
from django.utils.translation import gettext

from accounts.redis_errors import redis_errors

WINDOW_S = 300
ATTEMPTS_ALLOWED = 10  # in one window
# How long an address is spared, see SignInForm.
KNOWN_ADDRESS_S = 30 * 24 * 3600
T = TypeVar("T")
logger = logging.getLogger(__name__)
refused = Signal()  # an attempt at a ``door``
fallback_cache = LocMemCache("attempts", {"OPTIONS": {"MAX_ENTRIES": 100_000}})  # as settings.CACHES


class AttemptLimit:
    """Count attempts at one door in Django's cache: Redis, where all processes share one.

    ``parts`` say whose attempts are counted together. The window of ``WINDOW_S`` starts with the first attempt.
    """

    def __init__(self, door: str, *parts: str | bytes, allowed: int = ATTEMPTS_ALLOWED) -> None:
        # With SECRET_KEY: names and addresses can be guessed from their bare hashes, and keys be computed.
        text = repr(parts).encode("ascii", "backslashreplace")
        digest = salted_hmac("accounts.attempts", text, algorithm="sha256").hexdigest()
        self.door = door
        self.key = f"{door}:{digest}"
        self.allowed = allowed

    def take(self) -> bool:
        """Count one attempt, before it is tried, so that parallel ones count too; return whether it is allowed."""

        def count(counts: BaseCache) -> int:
            if counts.add(self.key, 1, WINDOW_S):
                return 1
            try:
                return int(counts.incr(self.key))
            except ValueError:  # the window ended between the two calls
                counts.add(self.key, 1, WINDOW_S)
                return 1

        return self._report(self.with_cache(count) <= self.allowed)

    def is_used_up(self) -> bool:
        """Return whether no further attempt is allowed, without counting one."""
        return not self._report(self.with_cache(lambda counts: int(counts.get(self.key) or 0)) < self.allowed)

    def reset(self) -> None:
        self.with_cache(lambda counts: counts.delete(self.key))

    def remember(self) -> None:
        """Set a mark in place of a count, for ``is_remembered``."""
        self.with_cache(lambda counts: counts.set(self.key, 1, KNOWN_ADDRESS_S))

    def is_remembered(self) -> bool:
        return self.with_cache(lambda counts: self.key in counts)

    def _report(self, is_allowed: bool) -> bool:
        if not is_allowed:
            refused.send(AttemptLimit, door=self.door)
        return is_allowed

    def with_cache(self, operation: Callable[[BaseCache], T]) -> T:
        # Users must be able to sign in during a Redis outage: each process then counts for itself.
        try:
            return operation(cache)
        except redis_errors() as error:
            logger.warning("Redis is unavailable, attempts counted locally", extra={"error": type(error).__name__})
            return operation(fallback_cache)


def throttle_error(message: str) -> ValidationError:
    """Return the error of a form that was sent too often; ``is_throttled`` finds it."""
    return ValidationError(message, code="throttled", params={"minutes": WINDOW_S // 60})


def require_attempt(limit: AttemptLimit) -> None:
    """Count an attempt of a form. Raises ValidationError where there were too many."""
    if not limit.take():
        raise throttle_error(gettext("Too many attempts. Try again in %(minutes)d minutes."))


def is_throttled(form: forms.BaseForm) -> bool:
    return any(form.has_error(field, "throttled") for field in form.errors)
