"""Run the tests that store anything once more, on PostgreSQL and Redis: ``python -m tests.services``.

``TEST_DATABASE_URL`` and ``TEST_REDIS_URL`` name them; else the usual ports of this machine are tried. Nothing is
started but what the tests of a restart stop and start for themselves.
"""

from __future__ import annotations

import os
import subprocess
import sys

import psycopg
import redis

from config import engines

USUAL = {
    "TEST_DATABASE_URL": "postgres://postgres@127.0.0.1:5432/postgres",
    "TEST_REDIS_URL": "redis://127.0.0.1:6379/0",
}
CONNECT_TIMEOUT_S = 3


def found() -> dict[str, str]:
    """Return the addresses, by variable, at which a service answers."""
    named = {variable: os.environ.get(variable) or usual for variable, usual in USUAL.items()}
    return {variable: url for variable, url in named.items() if _answers(variable, url)}


def not_run() -> list[str]:
    """Return a line for each service that no test could use, and for what can't be started to be stopped."""
    present = found()
    lines = [f"tests of {variable}: nothing answers there" for variable in USUAL if variable not in present]
    if engines.missing({}):
        lines.append("tests of a restart: PostgreSQL or Redis is not installed, so that none could be started")
    return lines


def _answers(variable: str, url: str) -> bool:
    try:
        if variable == "TEST_REDIS_URL":
            with redis.Redis.from_url(url, socket_connect_timeout=CONNECT_TIMEOUT_S) as client:
                return bool(client.ping())
        with psycopg.connect(url, connect_timeout=CONNECT_TIMEOUT_S):
            return True
    except (psycopg.Error, redis.RedisError):
        return False


def main() -> int:
    """Return pytest's exit code; 1 for a missing service where all are required."""
    present = found()
    for line in not_run():
        sys.stderr.write(f"Not run: {line}\n")
    if len(present) < len(USUAL) and os.environ.get("REQUIRE_ALL") == "1":
        return 1
    if not present:
        return 0
    kept_apart = ["-n", "2", "--dist", "worksteal"]  # each with a database and a prefix of its own
    tests = ["tests/accounts", "tests/chat", "tests/faults/test_kills_postgres.py", "tests/faults/test_restarts.py"]
    command = [sys.executable, "-m", "pytest", *kept_apart, "-m", "stored or postgres or redis", *tests]
    return subprocess.run(command, env=os.environ | present, check=False).returncode  # noqa: S603 - our own command


if __name__ == "__main__":
    sys.exit(main())
