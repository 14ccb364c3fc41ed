"""``GET /metrics`` for Prometheus: figures of this process, and of all processes what the database knows."""

from __future__ import annotations

import math

from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.db import DatabaseError
from django.http import Http404, HttpRequest, HttpResponse
from django.utils.crypto import constant_time_compare
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from prometheus_client.openmetrics.exposition import CONTENT_TYPE_LATEST, generate_latest

from chat.observability import metrics
from chat.turns.statistics import Workload, workload


@login_not_required
@never_cache
@require_safe
def figures(request: HttpRequest) -> HttpResponse:
    """Answer with OpenMetrics text whoever sends ``METRICS_TOKEN``; 404 where there is none."""
    if not settings.METRICS_TOKEN:
        raise Http404
    scheme, _space, token = request.headers.get("Authorization", "").partition(" ")
    if scheme.lower() != "bearer" or not constant_time_compare(token.strip(), settings.METRICS_TOKEN):
        return HttpResponse(status=401, headers={"WWW-Authenticate": 'Bearer realm="Legible metrics"'})
    read_database()
    metrics.BUILD.info({"version": settings.VERSION})
    return HttpResponse(generate_latest(metrics.REGISTRY), content_type=CONTENT_TYPE_LATEST)


def read_database() -> None:
    """Set the figures of all processes; without a database they have no value."""
    try:
        found: Workload | None = workload()
    except DatabaseError:
        metrics.DATABASE_ERRORS.labels("metrics").inc()
        found = None
    metrics.DATABASE_UP.set(found is not None)
    metrics.DATABASE_PROCESSES.set(len(found.processes) if found else math.nan)
    metrics.DATABASE_TURNS.set(found.running if found else math.nan)
    metrics.DATABASE_MESSAGES.labels("waiting").set(found.waiting if found else math.nan)
    metrics.DATABASE_MESSAGES.labels("held").set(found.held if found else math.nan)
