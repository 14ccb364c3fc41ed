"""Purge old thinking, rotate keys, and read all private payloads for the storage audit."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from chat.eventlog import encryption
from chat.models import Checkpoint, Event, Share, StoredCard, Turn
from reasoning import redact_trace
from reasoning.events import Reasoning


def purge_thinking(before: datetime) -> int:
    """Delete the private payload of thinking recorded before a moment; return how many. Product 3.

    The events stay, so order and counts do; at replay a purged one has nothing to send.
    """
    old = Event.objects.filter(type=Reasoning.type, created_at__lt=before, sealed__isnull=False)
    # Less is sent to the model now: the next request is counted again.
    StoredCard.objects.filter(turn__conversation__in=old.values("conversation")).update(context_key="")
    return old.update(sealed=None)


def redact_traces(turn: Turn) -> int:
    """Redact a turn's stored trace steps by today's rules; return how many changed. Redacting twice changes nothing."""
    changed = 0
    for event in turn.events.filter(public__has_key="trace"):
        step = redact_trace([event.public["trace"]])[0]
        if step != event.public["trace"]:
            changed += Event.objects.filter(pk=event.pk).update(public={**event.public, "trace": step})
    return changed


def decrypted_payloads(turn_id: uuid.UUID) -> Iterator[tuple[str, Any]]:
    """Yield event type and private payload of a turn's events, then of its checkpoint. For the audit only.

    A payload that no key decrypts is None.
    """
    events = Event.objects.filter(turn=turn_id, sealed__isnull=False).order_by("seq").values_list("type", "sealed")
    checkpoint = Checkpoint.objects.filter(turn=turn_id, sealed__isnull=False).values_list("sealed", flat=True)
    for kind, token in (*events, *(("checkpoint", token) for token in checkpoint)):
        yield kind, encryption.decrypt_if_possible(token or b"")


def rotate_keys() -> int:
    """Encrypt everything again under the newest key; return how many payloads. Safe to repeat and to interrupt."""
    count = 0
    for model, column in ((Event, "sealed"), (Checkpoint, "sealed"), (Share, "sealed_token")):
        rows = model._default_manager.filter(**{f"{column}__isnull": False}).values_list("pk", column)
        for key, sealed in rows.iterator():
            # A running turn may have stored a newer checkpoint meanwhile, which must stay.
            unchanged = model._default_manager.filter(**{"pk": key, column: sealed})
            count += unchanged.update(**{column: encryption.rotate(sealed)})
    return count
