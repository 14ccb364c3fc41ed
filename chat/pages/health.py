"""Whether this process can work: its database, Redis where one is configured, and the life of the turns that it runs.

Turns live by their heartbeat, which needs an event loop that runs and a database that can be written to: where it was
silent for as long as a lease lasts, other processes take the turns over.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

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


@login_not_required
@never_cache
@require_safe
def healthz(request: HttpRequest) -> JsonResponse:
    """Answer 200 where everything answers, else 503; names what does not, never why. Contracts, HTTP."""
    probes: dict[str, Callable[[], None]] = {"database": _ask_database, "turns": _check_heartbeat}
    if settings.REDIS_URL:
        probes["redis"] = _ask_redis
    checks = {name: _result(name, probe) for name, probe in probes.items()}
    is_well = all(result == "ok" for result in checks.values())
    return JsonResponse(
        {"status": "ok" if is_well else "error", "checks": checks},
        status=200 if is_well else 503,
    )


def _result(name: str, probe: Callable[[], None]) -> str:
    try:
        probe()
    except (DatabaseError, redis.RedisError, OSError) as error:
        logger.warning("Health check failed", extra={"check": name, "error": type(error).__name__})
        return "error"
    return "ok"


def _ask_database() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
        cursor.fetchone()


def _check_heartbeat() -> None:
    if monitor.seconds_since > settings.LEASE_EXPIRY_S:
        raise TimeoutError("running turns are not kept alive")


def _ask_redis() -> None:
    client = redis.Redis.from_url(
        str(settings.REDIS_URL), socket_timeout=REDIS_TIMEOUT_S, socket_connect_timeout=REDIS_TIMEOUT_S
    )
    try:
        client.ping()
    finally:
        client.close()
