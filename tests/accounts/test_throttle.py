from __future__ import annotations

import pytest
from django.core.cache import cache
from django.core.cache.backends.redis import RedisCache

from accounts import throttle

COUNTER = throttle.key("alice", "192.0.2.1")


def _fail(times: int, counter: str = COUNTER) -> None:
    for _ in range(times):
        throttle.count_failure(counter)


def test_tenth_failure_closes() -> None:
    _fail(9)
    assert not throttle.is_closed(COUNTER)

    _fail(1)

    assert throttle.is_closed(COUNTER)


def test_other_address_stays_open() -> None:
    _fail(10)

    assert not throttle.is_closed(throttle.key("alice", "192.0.2.2"))
    assert not throttle.is_closed(throttle.key("bob", "192.0.2.1"))


def test_name_counts_in_any_spelling() -> None:
    assert throttle.key(" ALICE ", "192.0.2.1") == COUNTER


def test_success_starts_again() -> None:
    _fail(10)

    throttle.forget(COUNTER)

    assert not throttle.is_closed(COUNTER)


def test_window_that_ends_between_two_calls_starts_a_new_one(monkeypatch: pytest.MonkeyPatch) -> None:
    cache.set(COUNTER, 5)

    def run_out(key: str) -> int:
        cache.delete(key)
        raise ValueError(key)

    monkeypatch.setattr(cache, "incr", run_out, raising=False)
    throttle.count_failure(COUNTER)

    assert cache.get(COUNTER) == 1


def test_failures_count_while_redis_is_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(throttle, "cache", RedisCache("redis://127.0.0.1:1/0", {}))
    counter = throttle.key("alice", "192.0.2.3")

    _fail(10, counter)
    closed = throttle.is_closed(counter)
    throttle.forget(counter)

    assert closed
    assert not throttle.is_closed(counter)


def test_odd_text_makes_a_key() -> None:
    assert throttle.key("\ud800" * 10_000, "").startswith("sign-in:")
