"""Leases: which process runs a turn, renewed by its heartbeat.

A process that dies stops renewing, and any other may then take the turn over, once, to end it as interrupted. A slow
process finds its lease lost and writes nothing more, because every write requires it. A dead PID on this host is
detected immediately. After a database outage expired leases get one grace period, because live workers couldn't renew
them; so do they where the database's clock has jumped. Only that clock counts: clocks of machines differ. All functions
are synchronous.
"""

from __future__ import annotations

import os
import secrets
import socket
import time
import uuid
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db.models import Q
from django.db.models.expressions import CombinedExpression
from django.db.models.functions import Now

from chat.models import Turn
from chat.observability import metrics

_HOST = socket.gethostname()[:60]
JUMP_S = 5.0  # less may be a slow statement
_START = secrets.token_hex(4)  # differs between two processes with the same PID


class LeaseLostError(Exception):
    """Another process runs this turn now."""


@dataclass(slots=True)
class Outage:
    """When this process last found the database unavailable."""

    _at: float | None = None

    def record(self) -> None:
        self._at = time.monotonic()

    @property
    def is_fresh(self) -> bool:
        """Whether live processes may not have renewed their leases since."""
        return self._at is not None and time.monotonic() - self._at < 2 * settings.LEASE_HEARTBEAT_S


@dataclass(slots=True)
class DatabaseClock:
    """The database's clock as it was last read, beside one that nobody can set."""

    _last: tuple[datetime, float] | None = None

    def has_jumped(self, now: datetime) -> bool:
        """Whether the clock went on by far more than the time that has passed since the last call."""
        last, self._last = self._last, (now, time.monotonic())
        if last is None:
            return False
        passed_s = self._last[1] - last[1]
        return (now - last[0]).total_seconds() - passed_s > JUMP_S


outage = Outage()
clock = DatabaseClock()


def worker() -> str:
    """Return the name of this process."""
    return f"{_HOST}:{os.getpid()}:{_START}"


def new_lease() -> dict[str, Any]:
    """Return the fields of a lease of this process that begins now."""
    return {"worker": worker(), "lease_until": _end()}


def require(turn: Turn) -> None:
    """Lock a turn. Raises LeaseLostError unless it is running and still leased as it was when it was read."""
    if not held(turn).select_for_update().values_list("pk").first():
        raise LeaseLostError(turn.public_id)


def held(turn: Turn) -> Any:
    """Return the queryset of this turn, empty unless it is running and leased as it was when it was read."""
    return Turn.objects.filter(pk=turn.pk, status=Turn.Status.RUNNING, worker=turn.worker)


def renew(turn_ids: Collection[uuid.UUID]) -> set[uuid.UUID]:
    """Renew the leases of these turns of this process; return the turns whose lease is lost."""
    ours = Turn.objects.filter(pk__in=turn_ids, status=Turn.Status.RUNNING, worker=worker())
    if ours.update(lease_until=_end()) == len(turn_ids):
        return set()
    return set(turn_ids) - set(ours.values_list("pk", flat=True))


def take_over(at_work_in: Collection[uuid.UUID] = ()) -> list[Turn]:
    """Lease the turns whose process is dead to this one; each is given to one process only, however many call this.

    ``at_work_in``: conversations in which this process runs a turn. Other turns of this process are taken over too: one
    may have been committed although the database reported a failure.
    """
    ours = Q(worker=worker(), conversation__in=at_work_in)
    running = Turn.objects.filter(status=Turn.Status.RUNNING).exclude(ours)
    expired = Q(lease_until__lt=Now()) | Q(lease_until__isnull=True)
    workers = list(running.values_list("worker", Now()).distinct())
    if workers and clock.has_jumped(workers[0][1]):
        outage.record()
    dead = [name for name, _now in workers if is_dead(name)]
    taken_over = []
    known = Q(worker__in=dead)
    for turn in running.filter(known if outage.is_fresh else known | expired):
        # Atomic: whoever updates first changes worker and lease, so that nobody else finds this row.
        if held(turn).filter(lease_until=turn.lease_until).update(**new_lease()):
            turn.refresh_from_db()
            taken_over.append(turn)
            metrics.LEASES_TAKEN_OVER.inc()
    return taken_over


def release(turn: Turn) -> None:
    """End the lease of a running turn, so that the next process that looks takes the turn over."""
    held(turn).update(lease_until=None)


def _end() -> CombinedExpression:
    return Now() + timedelta(seconds=settings.LEASE_EXPIRY_S)


def is_dead(name: str) -> bool:
    """Whether a worker of this host is known to be dead; of other hosts nothing is known."""
    host, _colon, rest = name.rpartition(":")[0].rpartition(":")
    if host != _HOST or not rest.isdigit():
        return False
    if int(rest) == os.getpid():
        # An earlier process had the same PID, as the first one of a container always has.
        return name != worker()
    try:
        # Signal 0 is not sent: it only tests whether the process exists.
        os.kill(int(rest), 0)
    except ProcessLookupError:
        return True
    except OSError:  # it exists, and belongs to another user
        return False
    return False
