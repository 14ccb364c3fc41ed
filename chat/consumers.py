"""The page's socket: connect, receive, send. What is said is decided by ``chat.page``."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Coroutine
from contextlib import ExitStack
from typing import Any, cast

from channels.generic.websocket import AsyncWebsocketConsumer
from django.http import QueryDict
from django.utils.translation import activate
from django.utils.translation import gettext as _

from accounts.models import User
from chat.frames import error_frame
from chat.language import language_of
from chat.live import LiveTurn
from chat.outage import words_for
from chat.page import Page, client_id_of
from chat.runner import runner
from chat.standing import open_pages
from chat.viewers import SignedOut
from chat.watchers import Watcher
from reasoning.scratchpad import Scratchpad

logger = logging.getLogger(__name__)
SIGNED_OUT = 4401
NOT_FOUND = 4404
BROKEN = 1011  # the page comes back by itself


class ConversationConsumer(AsyncWebsocketConsumer):
    """One socket of one page. It is accepted before it is refused, so that the page learns the close code."""

    async def connect(self) -> None:
        await self.accept()
        activate(language_of(self.scope))
        self._stack = ExitStack()
        self._tasks: set[asyncio.Task[Any]] = set()
        self._page: Page | None = None
        person = cast("User", self.scope["user"])
        if not person.is_authenticated:
            await self.close(SIGNED_OUT)
            return
        self._watcher = Watcher(self.scope["url_route"]["kwargs"]["conversation_id"], self._take_scratchpad)
        try:
            self._page = await Page.of(self._watcher, person, self.scope["session"].session_key)
        except SignedOut as ended:
            await self.close(ended.code)
            return
        if self._page is None:
            await self.close(NOT_FOUND)
            return
        self._stack.enter_context(runner.watching(self._watcher))
        await runner.ready(self._watcher.conversation_id)
        await self._send_all(self._page.opened(QueryDict(self.scope["query_string"]).get("shows")))
        self._spawn(self._until_it_ends(self._follow(self._page)))
        self._spawn(self._until_it_ends(self._look_again(self._page)))

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        if self._page is None:
            return
        try:
            form = json.loads(text_data or "")
        except (ValueError, RecursionError):
            await self.send(error_frame(_("That was not JSON.")))
            return
        try:
            await self._send_all(await self._page.receive(form))
        except SignedOut as ended:
            await self.close(ended.code)
        except Exception as error:
            logger.exception("message not taken")
            await self.send(error_frame(words_for(error), client_id_of(form)))

    async def disconnect(self, code: int) -> None:
        self._stack.close()
        for task in self._tasks:
            task.cancel()

    async def _until_it_ends(self, work: Coroutine[Any, Any, None]) -> None:
        try:
            await work
        except SignedOut as ended:
            await self.close(ended.code)
        except Exception:
            logger.exception("socket broke")
            await self.close(BROKEN)

    async def _follow(self, page: Page) -> None:
        while True:
            await self._send_all(await page.draw(await self._watcher.next()))

    async def _look_again(self, page: Page) -> None:
        with open_pages.holding(page.standing) as changed:
            while True:
                await changed.wait()
                changed.clear()
                await page.read_again()

    def _take_scratchpad(self, turn: LiveTurn, scratchpad: Scratchpad) -> None:
        if self._page is not None:
            self._spawn(self._until_it_ends(self._reveal(self._page, turn, scratchpad)))

    async def _reveal(self, page: Page, turn: LiveTurn, scratchpad: Scratchpad) -> None:
        await self._send_all(await page.reveal(turn, scratchpad))

    async def _send_all(self, frames: list[str]) -> None:
        for frame in frames:
            await self.send(frame)

    def _spawn(self, work: Any) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
