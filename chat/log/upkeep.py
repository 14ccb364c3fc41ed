"""Upkeep: forgetting thinking, new keys, and the audit of what lies sealed."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from chat import sealing
from chat.models import Checkpoint, Event
from reasoning.events import Reasoning


def purge_thinking(before: datetime) -> int:
    """Forget the sealed half of thinking recorded before a moment; return how many events. Product 3.

    The events stay, so order and counts do; at replay a purged one has nothing to send.
    """
    old = Event.objects.filter(type=Reasoning.type, created_at__lt=before, sealed__isnull=False)
    return old.update(sealed=None)


def opened_halves(turn_id: uuid.UUID) -> Iterator[tuple[str, Any]]:
    """Yield a turn's sealed halves, opened, each with its event's type, the checkpoint's last. For the audit alone.

    A half that no key opens is None.
    """
    events = Event.objects.filter(turn=turn_id, sealed__isnull=False).order_by("seq").values_list("type", "sealed")
    kept = Checkpoint.objects.filter(turn=turn_id, sealed__isnull=False).values_list("sealed", flat=True)
    for kind, token in (*events, *(("checkpoint", token) for token in kept)):
        yield kind, sealing.unseal_if_possible(token or b"")


def rotate_keys() -> int:
    """Seal everything again under the newest key; return how many halves. Safe to run twice and to interrupt."""
    count = 0
    for model in (Event, Checkpoint):
        for row in model.objects.filter(sealed__isnull=False).only("pk", "sealed").iterator():
            model.objects.filter(pk=row.pk).update(sealed=sealing.reseal(row.sealed or b""))
            count += 1
    return count
