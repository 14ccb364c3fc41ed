"""What a failing Redis raises."""

from __future__ import annotations


def redis_errors(*others: type[Exception]) -> tuple[type[Exception], ...]:
    """Return what to catch, ``others`` included.

    Python evaluates ``except`` once something was raised, so the library isn't loaded before. It takes 6 MB, and a
    server of one process uses no Redis.
    """
    from redis import RedisError  # noqa: PLC0415 - see above

    return (RedisError, OSError, *others)
