"""Keep the running turns of a process alive: their leases, and checkpoints of what they released.

One transaction for all of them, every second or two, however many there are.
"""

from __future__ import annotations

import asyncio
import logging
import time
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from channels.db import database_sync_to_async
from django.conf import settings
from django.db import transaction
from django.utils.translation import gettext_lazy as _

from chat.eventlog import leases, write
from chat.models import Turn
from chat.observability import metrics
from chat.observability.log_context import request_id, turn_id
from chat.texts.db_errors import is_outage
from chat.turns.run import TurnRun

logger = logging.getLogger(__name__)
CHECKPOINT_S = 1.5  # with the time that writing takes, what a kill loses is about two seconds old
NOT_SAVED = _("Database unavailable. The answer continues and will be saved when it returns.")


@dataclass(slots=True)
class HeartbeatMonitor:
    """When the turns of this process were last renewed; the health check reads it."""

    _last_at: float | None = None

    @property
    def seconds_since(self) -> float:
        """Seconds since the last heartbeat; 0 while no turn runs."""
        return time.monotonic() - self._last_at if self._last_at is not None else 0.0

    def record(self) -> None:
        self._last_at = time.monotonic()

    def reset(self) -> None:
        self._last_at = None


monitor = HeartbeatMonitor()


async def keep_alive(runs: Mapping[Any, TurnRun]) -> None:
    """Keep the turns of ``runs`` alive until it is empty. Stop those that were taken over, or marked to stop."""
    saved_seqs: dict[uuid.UUID, int] = {}  # by turn
    saved_thinking: dict[uuid.UUID, str] = {}
    for variable in (request_id, turn_id):  # of the request that asked for the first of them
        variable.set("")
    monitor.record()
    try:
        while runs:
            await asyncio.sleep(min(CHECKPOINT_S, settings.LEASE_HEARTBEAT_S))
            running = {run.turn.pk: run for run in runs.values()}
            seqs = {pk: run.live.seq for pk, run in running.items()}
            released: dict[uuid.UUID, write.Released] = {}
            thinking: dict[uuid.UUID, str] = {}
            for pk, run in running.items():
                if run.live.seq > saved_seqs.get(pk, 0):
                    answer, text, state = run.released()
                    # Mostly unchanged, as thinking ends before the answer begins: not encrypted and written again.
                    released[pk] = (answer, None if text == saved_thinking.get(pk) else text, state)
                    thinking[pk] = text or ""
                    run.has_checkpoint = True
            try:
                to_stop = await database_sync_to_async(save_heartbeat)(list(running), released)
            except Exception as error:
                if is_outage(error):
                    metrics.DATABASE_ERRORS.labels("heartbeat").inc()
                logger.warning("checkpoint not saved", exc_info=True)
                for run in running.values():
                    run.live.show_trouble(NOT_SAVED)
                continue
            monitor.record()
            # Only now: what a failed heartbeat held is written with the next one.
            saved_seqs = seqs
            saved_thinking = {pk: text for pk, text in saved_thinking.items() if pk in running} | thinking
            for pk, run in running.items():
                run.live.show_trouble("")
                if pk in to_stop:
                    run.stop()
    finally:
        monitor.reset()


@transaction.atomic
def save_heartbeat(running: list[uuid.UUID], released: Mapping[uuid.UUID, write.Released]) -> set[uuid.UUID]:
    """Renew leases and save checkpoints; return the turns whose lease is lost, and those that are to stop."""
    lost = leases.renew(running)
    write.save_checkpoints({turn_id: each for turn_id, each in released.items() if turn_id not in lost})
    return lost | set(Turn.objects.filter(pk__in=running, stop_requested=True).values_list("pk", flat=True))
