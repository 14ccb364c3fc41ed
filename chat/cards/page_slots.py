"""How many pages are drawn at once for a user, and for a shared link; further requests wait, and then get 503.

A page takes several times its size of memory while it is read, drawn and compressed. Product 45.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from weakref import WeakValueDictionary

from asgiref.sync import sync_to_async
from django.db import connection
from django.http import HttpResponse
from django.shortcuts import render

from chat.observability import metrics

SLOTS = 2
MAX_WAITING = 50
WAIT_S = 10.0
RETRY_AFTER_S = 5


@dataclass(eq=False)
class Slots:
    """The slots of one user or link in this process."""

    free: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(SLOTS))
    waiting: int = 0


_slots: WeakValueDictionary[str, Slots] = WeakValueDictionary()


@asynccontextmanager
async def page_slot(owner: str) -> AsyncIterator[bool]:
    """Wait for a slot of this user or link and hold it; False where none is free in time: answer ``busy_page``."""
    slots = _slots.setdefault(owner, Slots())
    if slots.free.locked() and slots.waiting >= MAX_WAITING:
        metrics.PAGES.labels("refused").inc()
        yield False
        return
    if slots.free.locked():
        await sync_to_async(close_idle_connection)()
    slots.waiting += 1
    try:
        async with asyncio.timeout(WAIT_S):
            await slots.free.acquire()
    except TimeoutError:
        metrics.PAGES.labels("refused").inc()
        yield False
        return
    finally:
        slots.waiting -= 1
    metrics.PAGES.labels("drawn").inc()
    try:
        yield True
    finally:
        slots.free.release()


def busy_page() -> HttpResponse:
    """Return the answer to a request that had to wait too long."""
    # without a request: context processors would read the database
    answer = render(None, "busy.html", status=503)
    answer.headers["Retry-After"] = str(RETRY_AFTER_S)
    return answer


def close_idle_connection() -> None:
    """Close the database connection of a request that waits: a server has only so many. Later work opens it again."""
    if not connection.in_atomic_block:
        connection.close()
