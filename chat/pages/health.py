"""Whether this process can work: its database, Redis where one is configured, and the heartbeat of the turns it runs.

A heartbeat needs an event loop that runs and a database that can be written to: where it was silent for as long as a
lease lasts, other processes take over the turns.
"""

from __future__ import annotations

import logging
import os
import tempfile
import time
from pathlib import Path

from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.db import DatabaseError, connection, transaction
from django.db.backends.utils import CursorWrapper
from django.http import HttpRequest, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from accounts.redis_errors import redis_errors
from chat.turns.heartbeat import monitor

logger = logging.getLogger(__name__)
REDIS_TIMEOUT_S = 2
WRITE_EVERY_S = 1.0  # anybody may ask
LOCK_TIMEOUT_MS = 2_000  # with the usual one of SQLite, requests and whoever watches would wait for 20 seconds
# Changes nothing, and is a write all the same: it fails where the database is read-only.
WRITE = "UPDATE django_migrations SET name = name WHERE id = (SELECT MIN(id) FROM django_migrations)"
ROOM_BYTES = 1024**2
# Needs about a megabyte of the server's disk for as long as it runs: the rows don't fit into so little memory.
TAKE_ROOM = "SET LOCAL work_mem = '64kB'", "SELECT count(*) FROM generate_series(1, 60000)"
_written_at = -WRITE_EVERY_S


@login_not_required
@never_cache
@require_safe
def healthz(request: HttpRequest) -> JsonResponse:
    """Answer 200 where everything answers, else 503; names what does not, never why."""
    checks = run_checks()
    is_well = set(checks.values()) == {"ok"}
    body = {"status": "ok" if is_well else "error", "checks": checks}
    return JsonResponse(body, status=200 if is_well else 503)


def run_checks() -> dict[str, str]:
    """Return ``ok`` or ``error`` for each part that this process needs."""
    probes = {"database": ask_database, "turns": check_heartbeat} | ({"redis": ask_redis} if settings.REDIS_URL else {})
    checks = {}
    for name, probe in probes.items():
        try:
            probe()
            checks[name] = "ok"
        except redis_errors(DatabaseError) as error:
            # anybody may read the response, so the reason is only logged, and there without the error's text
            logger.warning("Health check failed", extra={"check": name, "error": type(error).__name__})
            checks[name] = "error"
    return checks


def ask_database() -> None:
    global _written_at
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
        cursor.fetchone()
        now = time.monotonic()
        if now - _written_at >= WRITE_EVERY_S:
            write(cursor)
            take_room(cursor)
            _written_at = now


def write(cursor: CursorWrapper) -> None:
    """Write a row. Raises DatabaseError, also where another program holds the lock of an SQLite file."""
    if connection.vendor == "postgresql":
        cursor.execute(WRITE)
        return
    cursor.execute("PRAGMA busy_timeout")
    (usual_ms,) = cursor.fetchone()
    cursor.execute(f"PRAGMA busy_timeout = {LOCK_TIMEOUT_MS:d}")  # takes no parameters
    try:
        cursor.execute(WRITE)
    finally:
        cursor.execute(f"PRAGMA busy_timeout = {usual_ms:d}")


def take_room(cursor: CursorWrapper) -> None:
    """Take room on the database's disk and give it back. Raises DatabaseError or OSError where there is none.

    ``WRITE`` may do without: both engines write again into room that they have freed.
    """
    if connection.vendor == "postgresql":
        with transaction.atomic():
            for statement in TAKE_ROOM:
                cursor.execute(statement)
        return
    with tempfile.TemporaryFile(dir=Path(connection.settings_dict["NAME"]).parent) as file:
        file.write(os.urandom(ROOM_BYTES))  # file systems that compress need no room for zeros
        file.flush()


def check_heartbeat() -> None:
    if monitor.seconds_since > settings.LEASE_EXPIRY_S:
        raise TimeoutError("running turns are not kept alive")


def ask_redis() -> None:
    # a client of its own: the cache's and the channel layer's may wait for a pool
    from redis import Redis  # noqa: PLC0415 - only with REDIS_URL

    client = Redis.from_url(
        str(settings.REDIS_URL), socket_timeout=REDIS_TIMEOUT_S, socket_connect_timeout=REDIS_TIMEOUT_S
    )
    try:
        client.ping()
    finally:
        client.close()
