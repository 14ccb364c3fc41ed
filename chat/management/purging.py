"""The end of conversations that are gone: stop what still runs there, then forget them for good, again and again."""

from __future__ import annotations

import asyncio
import logging

from channels.db import database_sync_to_async

from chat.conversations import actions
from chat.turns.manager import runner

logger = logging.getLogger(__name__)
PURGE_EVERY_S = 5.0


async def keep_purging() -> None:
    """Purge until the server drains. Several processes may do so at once."""
    while not runner.is_draining():
        try:
            await purge_once()
        except Exception:
            logger.warning("conversations not purged", exc_info=True)
        await asyncio.sleep(PURGE_EVERY_S)


async def purge_once() -> None:
    """Stop turns of conversations that are gone; forget those where nothing runs and nothing can be taken back."""
    for conversation_id in await database_sync_to_async(actions.still_running)():
        await runner.stop(conversation_id)
    count = await database_sync_to_async(actions.purge)()
    if count:
        logger.info("conversations purged", extra={"count": count})
