"""Whether this process can work: its database, Redis where one is configured, and the heartbeat of the turns it runs.

A heartbeat needs an event loop that runs and a database that can be written to: where it was silent for as long as a
lease lasts, other processes take over the turns.
"""

from __future__ import annotations

import logging
import time

import redis
from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.db import DatabaseError, connection
from django.http import HttpRequest, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from chat.turns.heartbeat import monitor

logger = logging.getLogger(__name__)
REDIS_TIMEOUT_S = 2
WRITE_EVERY_S = 1.0  # anybody may ask
# Changes nothing, and is a write all the same: it fails on a full disk, and where the database is read-only.
WRITE = "UPDATE django_migrations SET name = name WHERE id = (SELECT MIN(id) FROM django_migrations)"
_written_at = -WRITE_EVERY_S


@login_not_required
@never_cache
@require_safe
def healthz(request: HttpRequest) -> JsonResponse:
    """Answer 200 where everything answers, else 503; names what does not, never why."""
    probes = {"database": ask_database, "turns": check_heartbeat} | ({"redis": ask_redis} if settings.REDIS_URL else {})
    checks = {}
    for name, probe in probes.items():
        try:
            probe()
            checks[name] = "ok"
        except (DatabaseError, redis.RedisError, OSError) as error:
            # anybody may read the response, so the reason is only logged, and there without the error's text
            logger.warning("Health check failed", extra={"check": name, "error": type(error).__name__})
            checks[name] = "error"
    is_well = set(checks.values()) == {"ok"}
    body = {"status": "ok" if is_well else "error", "checks": checks}
    return JsonResponse(body, status=200 if is_well else 503)


def ask_database() -> None:
    global _written_at
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
        cursor.fetchone()
        now = time.monotonic()
        if now - _written_at >= WRITE_EVERY_S:
            cursor.execute(WRITE)
            _written_at = now


def check_heartbeat() -> None:
    if monitor.seconds_since > settings.LEASE_EXPIRY_S:
        raise TimeoutError("running turns are not kept alive")


def ask_redis() -> None:
    # a client of its own: the cache's and the channel layer's may wait for a pool
    client = redis.Redis.from_url(
        str(settings.REDIS_URL), socket_timeout=REDIS_TIMEOUT_S, socket_connect_timeout=REDIS_TIMEOUT_S
    )
    try:
        client.ping()
    finally:
        client.close()
