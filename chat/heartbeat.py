"""What keeps the running turns of a process alive: their leases, and checkpoints of what they released.

One transaction for all of them, every second or two, however many there are (performance page).
"""

from __future__ import annotations

import asyncio
import logging
import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

from channels.db import database_sync_to_async
from django.conf import settings
from django.db import transaction
from django.utils.translation import gettext_lazy as _

from chat import leases, log, recovery
from chat.closing import AtEnd
from chat.live import LiveTurn
from chat.models import Turn
from chat.turns import BROKEN, RunningTurn

logger = logging.getLogger(__name__)
CHECKPOINT_S = 2.0
NOT_KEPT = _("The server’s database is away; the answer goes on, and is saved when it is back…")
Released = tuple[str, str]  # answer and thinking


@dataclass(slots=True)
class Entry:
    """A turn that runs in this process."""

    live: LiveTurn
    turn: Turn
    running: RunningTurn
    task: asyncio.Task[None] | None = None
    _kept_chars: int = 0

    async def at_end(self, *, unless: Callable[[], bool]) -> AtEnd:
        """Return the rows of a turn that is over, and what waits; one that could not end itself ends here."""
        end = partial(recovery.rows_at_end, self.turn, answer=self.live.answer_so_far, message=BROKEN)
        return await recovery.insist(end, unless=unless) if self.running.at_end is None else self.running.at_end

    def released(self) -> Released | None:
        """Return answer and thinking so far, if there is more of them than was kept."""
        text = (self.live.answer_so_far, self.live.thinking_so_far)
        return text if sum(map(len, text)) > self._kept_chars else None

    def kept(self, text: Released | None) -> None:
        """Take note that this much is kept."""
        if text:
            self._kept_chars = sum(map(len, text))


@dataclass(slots=True)
class Pulse:
    """When the turns of this process were last kept alive; a health check feels it."""

    _beat_at: float | None = None

    @property
    def silent_s(self) -> float:
        """How long nothing was kept, while something ran."""
        return time.monotonic() - self._beat_at if self._beat_at is not None else 0.0

    def beat(self) -> None:
        self._beat_at = time.monotonic()

    def rest(self) -> None:
        self._beat_at = None


pulse = Pulse()


async def keep_alive(entries: Mapping[uuid.UUID, Entry]) -> None:
    """Keep what runs alive until nothing runs any more. A turn that was taken over meanwhile is stopped."""
    pulse.beat()
    try:
        await _keep_alive(entries)
    finally:
        pulse.rest()


async def _keep_alive(entries: Mapping[uuid.UUID, Entry]) -> None:
    while entries:
        await asyncio.sleep(min(CHECKPOINT_S, settings.LEASE_HEARTBEAT_S))
        running = list(entries.values())
        released = {entry.turn.pk: text for entry in running if (text := entry.released())}
        try:
            lost = await database_sync_to_async(_keep)([entry.turn.pk for entry in running], released)
        except Exception:  # a database that is away comes back; what was released is kept with the next beat
            logger.warning("checkpoint not kept", exc_info=True)
            for entry in running:
                entry.live.show_trouble(NOT_KEPT)
            continue
        pulse.beat()
        for entry in running:
            entry.kept(released.get(entry.turn.pk))
            entry.live.show_trouble("")
            if entry.turn.pk in lost:
                entry.running.stop()


@transaction.atomic
def _keep(running: list[uuid.UUID], released: Mapping[uuid.UUID, Released]) -> set[uuid.UUID]:
    lost = leases.renew(running)
    log.save_checkpoints({turn_id: text for turn_id, text in released.items() if turn_id not in lost})
    return lost
