"""Send events to everyone who follows a conversation.

Only ``chat.turns``, ``chat.conversations`` and ``LiveTurn`` may import this module; import-linter checks it.
"""

from __future__ import annotations

import asyncio
import logging
import time
import uuid
from functools import partial
from typing import Any

from asgiref.sync import async_to_sync
from channels.layers import get_channel_layer
from django.db import transaction

from chat.live.groups import PROCESSES_GROUP, group_of, viewer_group
from chat.live.state import Event

logger = logging.getLogger(__name__)
SEND_TIMEOUT_S = 2.0
RETRY_AFTER_S = 1.0


async def publish(conversation_id: uuid.UUID, event: Event) -> None:
    """Publish an event of a turn or of its conversation. Never raises: pages find a turn's lost events by ``seq``."""
    await _sender.send(group_of(conversation_id), {"type": "live.event", "event": event})


def publish_changes(conversation_id: uuid.UUID, *kinds: str) -> None:
    """Publish changes of a conversation after the present transaction. For synchronous code."""
    for kind in kinds:
        transaction.on_commit(partial(async_to_sync(publish), conversation_id, {"kind": kind}))


def publish_viewer_change(user_id: int) -> None:
    """Ask the open pages of a user to read what they may see, after the present transaction."""
    send = partial(async_to_sync(_sender.send), viewer_group(user_id), {"type": "viewer.changed"})
    transaction.on_commit(send)


async def publish_stop(turn_id: uuid.UUID) -> None:
    """Ask the process that runs this turn to stop it."""
    await _sender.send(PROCESSES_GROUP, {"type": "turn.stop", "turn": turn_id.hex})


async def publish_decision(turn_id: uuid.UUID) -> None:
    """Inform the process that runs this turn that its owner has decided on a tool call."""
    await _sender.send(PROCESSES_GROUP, {"type": "turn.decided", "turn": turn_id.hex})


class _Sender:
    """Sends to the channel layer; while that fails, drops messages for a second at a time instead of waiting."""

    def __init__(self) -> None:
        self._retry_at = 0.0
        self._is_failing = False

    async def send(self, group: str, message: dict[str, Any]) -> None:
        layer = get_channel_layer()
        if layer is None or time.monotonic() < self._retry_at:
            return
        try:
            async with asyncio.timeout(SEND_TIMEOUT_S):
                await layer.group_send(group, message)
        except Exception:  # whatever a layer raises must not end a turn
            self._retry_at = time.monotonic() + RETRY_AFTER_S
            if not self._is_failing:
                logger.warning("channel layer unavailable: live updates are late", exc_info=True)
            self._is_failing = True
        else:
            self._is_failing = False


_sender = _Sender()
