"""Who runs a turn: a lease on its row, kept alive by a heartbeat.

A process that dies stops renewing, and any process may then take the turn over, once, to end it as interrupted. A
process that was only slow finds that its lease is gone and writes nothing more: each write asks for it. On one machine
a dead process is known at once. After the database was away leases have run out that nobody could renew: who lives gets
the time to do so. The one clock is the database's: machines differ. All functions are synchronous. Replay 2.11.
"""

from __future__ import annotations

import os
import secrets
import socket
import time
import uuid
from collections.abc import Collection
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.db import InterfaceError, OperationalError
from django.db.models import Q
from django.db.models.expressions import CombinedExpression
from django.db.models.functions import Now

from chat.models import Turn

_HOST = socket.gethostname()[:60]
_LIFE = secrets.token_hex(4)  # tells apart two processes that were given the same number


class LeaseLost(Exception):
    """Another process has taken this turn over."""


@dataclass(slots=True)
class Outage:
    """When the database was last found away by this process."""

    _at: float | None = None

    def note(self) -> None:
        self._at = time.monotonic()

    @property
    def is_fresh(self) -> bool:
        """Say whether a living process may not have come to renew its leases since."""
        return self._at is not None and time.monotonic() - self._at < 2 * settings.LEASE_HEARTBEAT_S


outage = Outage()


def worker() -> str:
    """Return the name of this process."""
    return f"{_HOST}:{os.getpid()}:{_LIFE}"


def fresh() -> dict[str, Any]:
    """Return the fields of a lease that begins now."""
    return {"worker": worker(), "lease_until": _end()}


def require(turn: Turn) -> None:
    """Raise LeaseLost unless ``turn`` is running and still leased as it was when it was read."""
    if not held(turn).exists():
        raise LeaseLost(turn.public_id)


def held(turn: Turn) -> Any:
    """Return the queryset of this turn as long as it is running and leased as it was when it was read."""
    return Turn.objects.filter(pk=turn.pk, status=Turn.Status.RUNNING, worker=turn.worker)


def renew(turn_ids: Collection[uuid.UUID]) -> set[uuid.UUID]:
    """Keep the leases of these turns of this process; return those that are gone."""
    ours = Turn.objects.filter(pk__in=turn_ids, status=Turn.Status.RUNNING, worker=worker())
    if ours.update(lease_until=_end()) == len(turn_ids):
        return set()
    return set(turn_ids) - set(ours.values_list("pk", flat=True))


def take_over(at_work_in: Collection[uuid.UUID] = ()) -> list[Turn]:
    """Take the turns whose process is dead; each is taken by one process only, however many ask.

    Our own are among them where we are not at work: we were never told that such a one had begun.
    """
    try:
        return _take_over(at_work_in)
    except (OperationalError, InterfaceError):
        outage.note()
        raise


def _take_over(at_work_in: Collection[uuid.UUID]) -> list[Turn]:
    ours = Q(worker=worker(), conversation__in=at_work_in)
    running = Turn.objects.filter(status=Turn.Status.RUNNING).exclude(ours)
    expired = Q(lease_until__lt=Now()) | Q(lease_until__isnull=True)
    dead = [name for name in running.values_list("worker", flat=True).distinct() if _is_dead(name)]
    taken = []
    known = Q(worker__in=dead)
    for turn in running.filter(known if outage.is_fresh else known | expired):
        if held(turn).filter(lease_until=turn.lease_until).update(**fresh()):
            turn.refresh_from_db()
            taken.append(turn)
    return taken


def _end() -> CombinedExpression:
    return Now() + timedelta(seconds=settings.LEASE_EXPIRY_S)


def _is_dead(name: str) -> bool:
    """Say whether a worker of this machine is known to be gone; of another machine nothing is known."""
    host, _colon, rest = name.rpartition(":")[0].rpartition(":")
    if host != _HOST or not rest.isdigit():
        return False
    if int(rest) == os.getpid():
        return name != worker()
    try:
        os.kill(int(rest), 0)
    except ProcessLookupError:
        return True
    except OSError:
        return False
    return False
