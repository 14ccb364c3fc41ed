"""Whether those who have a page open may still look, and at what: asked for all pages of this process in one go.

What decides it is read as a mark for each page: its session, its person, its conversation, the models. Only a page
whose mark is another one than before is read again as a whole, so that a thousand idle pages cost four queries.
"""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from channels.db import database_sync_to_async

from accounts import preferences
from chat.models import Conversation, ModelProfile

logger = logging.getLogger(__name__)
LOOK_EVERY_S = 10.0
AT_ONCE = 500  # pages in a query
Mark = tuple[Any, ...]


@dataclass(eq=False, slots=True)
class OpenPage:
    """Who looks at what. ``changed`` is set when that may be something else than before."""

    session_key: str | None
    person_id: int
    conversation_id: uuid.UUID
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    may_expire: bool = False  # what it shows ends by itself, at a time
    mark: Mark | None = None  # as it was last; where nothing is known, the page is read again


class OpenPages:
    """The open pages of this process. All of it belongs to the event loop."""

    def __init__(self) -> None:
        self._pages: set[OpenPage] = set()
        self._looking: asyncio.Task[None] | None = None

    @contextmanager
    def holding(self, page: OpenPage) -> Iterator[asyncio.Event]:
        """Look after a page within this block; yields what is set when it has to be read again."""
        self._pages.add(page)
        if self._looking is None or self._looking.done() or self._looking.get_loop() is not asyncio.get_running_loop():
            self._looking = asyncio.get_running_loop().create_task(self._look())
        try:
            yield page.changed
        finally:
            self._pages.discard(page)

    async def _look(self) -> None:
        """Look at all pages, again and again, until none is open."""
        while self._pages:
            await asyncio.sleep(LOOK_EVERY_S)
            pages = tuple(self._pages)
            try:
                for start in range(0, len(pages), AT_ONCE):
                    await self._compare(pages[start : start + AT_ONCE])
            except Exception:  # a database that is away comes back; whoever asks for something is looked at anyway
                logger.warning("open pages not looked at", exc_info=True)

    async def _compare(self, pages: Collection[OpenPage]) -> None:
        for page, mark in zip(pages, await database_sync_to_async(marks)(pages), strict=True):
            if mark != page.mark or page.may_expire:
                page.mark = mark
                page.changed.set()


open_pages = OpenPages()


def is_own(page: OpenPage, mark: Mark) -> bool:
    """Say whether the conversation is there and belongs to who looks at it."""
    _session, _person, conversation, _models = mark
    return conversation is not None and conversation[1] == page.person_id


def marks(pages: Collection[OpenPage]) -> list[Mark]:
    """Return, for each page, all that decides what it may show, as it is in the database now."""
    sessions = preferences.session_marks({page.session_key for page in pages if page.session_key})
    people = preferences.person_marks({page.person_id for page in pages})
    kept = Conversation.objects.filter(pk__in={page.conversation_id for page in pages})
    conversations = {row[0]: row for row in kept.values_list("pk", "owner_id", "profile_id", "reasoning")}
    models = list(ModelProfile.objects.order_by("pk").values_list())
    return [
        (sessions.get(page.session_key), people.get(page.person_id), conversations.get(page.conversation_id), models)
        for page in pages
    ]
