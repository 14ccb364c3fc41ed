"""Find the PostgreSQL and the Redis that tests may use.

``TEST_DATABASE_URL`` and ``TEST_REDIS_URL`` name them; otherwise the usual ports of this machine are tried.
"""

from __future__ import annotations

import os

import psycopg
import redis

DEFAULTS = {
    "TEST_DATABASE_URL": "postgres://postgres@127.0.0.1:5432/postgres",
    "TEST_REDIS_URL": "redis://127.0.0.1:6379/0",
}
VARIABLES = tuple(DEFAULTS)
CONNECT_TIMEOUT_S = 3


def find() -> tuple[dict[str, str], list[str]]:
    """Return the addresses that answer, by variable, and a line for each service that doesn't."""
    found, missing = {}, []
    for variable, default in DEFAULTS.items():
        url = os.environ.get(variable) or default
        if answers(variable, url):
            found[variable] = url
        else:
            missing.append(f"tests that need {variable}: nothing answers at its address")
    return found, missing


def answers(variable: str, url: str) -> bool:
    try:
        if variable == "TEST_REDIS_URL":
            with redis.Redis.from_url(url, socket_connect_timeout=CONNECT_TIMEOUT_S) as client:
                return bool(client.ping())
        with psycopg.connect(url, connect_timeout=CONNECT_TIMEOUT_S):
            return True
    except (psycopg.Error, redis.RedisError):
        return False
