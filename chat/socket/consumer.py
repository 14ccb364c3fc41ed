"""The page's socket: connect, receive, send. What is sent is decided by ``chat.socket.page``."""

from __future__ import annotations

import asyncio
import contextvars
import json
import logging
import time
import uuid
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from contextlib import AsyncExitStack
from functools import partial
from typing import Any, cast

from channels.consumer import get_handler_name
from channels.db import database_sync_to_async
from channels.exceptions import StopConsumer
from channels.generic.websocket import AsyncWebsocketConsumer
from django.conf import settings
from django.http import HttpRequest, QueryDict
from django.utils.translation import activate, get_language_from_request
from django.utils.translation import gettext as _

from accounts.models import User
from chat.live.groups import Subscription, group_of, viewer_group
from chat.live.turn import LiveTurn
from chat.observability import metrics
from chat.socket.frames import LiveFrame, error_frame
from chat.socket.page import PageSession, client_id_of
from chat.socket.reauthorize import PageKey, PageViewer, SignedOutError, Viewers, authorize, read_viewers
from chat.texts.db_errors import user_message
from chat.turns.manager import TurnManager, turn_manager
from reasoning.scratchpad import Scratchpad

logger = logging.getLogger(__name__)
SIGNED_OUT = 4401
TOO_MANY = 4429  # the page reconnects after a while
BROKEN = 4500  # the page reconnects; Daphne sends none of the codes below 3000 but 1000
FRAMES_AT_ONCE = 50  # of one page, and then so many a second; a page in use sends far fewer
FRAMES_PER_S = 10
MAX_REFUSED_FRAMES = 200  # since the last pause of five seconds; then the socket is closed
CATCH_UP_EVERY_S = 2.0
REAUTHORIZE_EVERY_S = 10.0
REVEAL_EVERY_S = 0.25
open_pages: dict[ConversationConsumer, PageSession] = {}  # of this process
metrics.SOCKETS_OPEN.set_function(lambda: len(open_pages))
_checks: asyncio.Task[None] | None = None


class FrameBudget:
    """A token bucket: how many frames one socket may send now. A long frame counts as up to ten."""

    def __init__(self) -> None:
        self._tokens = float(FRAMES_AT_ONCE)
        self._counted_at = time.monotonic()
        self.refused = 0  # since the bucket was full

    def accepts(self, chars: int) -> bool:
        now = time.monotonic()
        self._tokens = min(FRAMES_AT_ONCE, self._tokens + FRAMES_PER_S * (now - self._counted_at))
        self._counted_at = now
        # Not with each accepted frame: a steady flood gets one through every tenth of a second.
        if self._tokens == FRAMES_AT_ONCE:
            self.refused = 0
        cost = 1 + 9 * chars // settings.DATA_UPLOAD_MAX_MEMORY_SIZE
        if self._tokens < cost:
            self.refused += 1
            return False
        self._tokens -= cost
        return True


class ConversationConsumer(AsyncWebsocketConsumer):
    """One socket of one page. It is accepted before it is refused, so that the page learns the close code."""

    manager: TurnManager = turn_manager
    channel_layer_alias = ""  # none: by itself Channels refuses the connection while its layer is unavailable

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._page: PageSession | None = None
        self._messages: Subscription | None = None
        self._was_live = True  # as the page knows
        self._lock = asyncio.Lock()
        self._stack = AsyncExitStack()
        self._tasks: set[asyncio.Task[None]] = set()
        self._budget = FrameBudget()
        self._reveal_open: Callable[[], Awaitable[list[str]]] | None = None  # what came last of an open scratchpad

    async def __call__(self, *connection: Any) -> None:
        """Serve the socket, then leave everything: also where daphne cancels this, since the database is slow."""
        try:
            await super().__call__(*connection)
        finally:
            for task in self._tasks:
                task.cancel()
            await self._stack.aclose()

    async def connect(self) -> None:
        await self.accept()
        user = cast("User", self.scope["user"])
        self._conversation_id: uuid.UUID = self.scope["url_route"]["kwargs"]["conversation_id"]
        if not user.is_authenticated:
            await self.close(SIGNED_OUT)
            return
        activate(user.language or language_of(self.scope))
        key = PageKey(user.pk, self.scope["session"].session_key, self._conversation_id)
        if has_too_many_pages(user):  # before the database is read
            await self.close(TOO_MANY)
            return
        try:
            viewer = await authorize(key)
        except SignedOutError as ended:
            await self.close(ended.code)
            return
        if has_too_many_pages(user):  # others were opened meanwhile
            await self.close(TOO_MANY)
            return
        self._page = page = PageSession(self.manager, key, viewer)
        # Tasks that others start for this page draw in its language.
        self._context = contextvars.copy_context()
        open_pages[self] = page
        self._stack.callback(open_pages.pop, self)
        self._stack.enter_context(self.manager.reading_scratchpads(self._conversation_id, self._take_scratchpad))
        # Before the state is read, so that no event is missed between the two.
        messages = Subscription(group_of(self._conversation_id), viewer_group(key.user_id))
        self._messages = await self._stack.enter_async_context(messages)
        await self._send(page.opened(QueryDict(self.scope["query_string"]).get("shows")))
        for frame in self._liveness():
            await self.send(frame)
        self._spawn(self._follow(page, messages))
        start_checks()

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        if self._page is None:
            return
        if not self._budget.accepts(len(text_data or bytes_data or "")):
            await self._refuse(text_data)
            return
        try:
            form = json.loads(text_data or "")
        except (ValueError, RecursionError):
            await self.send(error_frame(_("That was not JSON.")))
            return
        try:
            await self._send(self._page.receive(form))
        except Exception as error:
            logger.exception("message not accepted")
            await self.send(error_frame(user_message(error), client_id_of(form)))

    async def _refuse(self, text_data: str | None) -> None:
        """Say once that frames come too fast, drop the ones that follow, and close the socket if they don't end."""
        if self._budget.refused == 1:
            try:
                form = json.loads(text_data or "")
            except (ValueError, RecursionError):
                form = None
            message = _("Too many messages at once. Wait a few seconds and try again.")
            await self.send(error_frame(message, client_id_of(form)))
        elif self._budget.refused > MAX_REFUSED_FRAMES:
            logger.warning(
                "socket closed: too many frames", extra={"user": self._page.key.user_id if self._page else 0}
            )
            metrics.REFUSALS.labels("frames").inc()
            self._page = None  # what is still in its queue is ignored
            await self.close(TOO_MANY)

    def has_sent_end(self) -> bool:
        """Return whether the page was sent the end of its turn, if its turn has ended."""
        turn = self._page.turn if self._page else None
        is_behind = isinstance(turn, LiveTurn) and turn.finished.is_set()
        return not (is_behind or self._lock.locked())

    @property
    def is_live(self) -> bool:
        """Whether events reach this page; otherwise it is updated by ``check_pages``."""
        return self._messages is not None and self._messages.is_open

    async def check(self, page: PageSession, viewer: PageViewer | SignedOutError | None, read_at: float) -> list[str]:
        """Return what brings the page up to date."""
        return [*await page.check(viewer, read_at), *self._liveness()]

    def _liveness(self) -> list[str]:
        """Return a frame where it has changed whether events reach the page."""
        if self._was_live == self.is_live:
            return []
        self._was_live = self.is_live
        return [LiveFrame(live=self.is_live).encode()]

    async def dispatch(self, message: dict[str, Any]) -> None:
        """Handle one message at a time, in order; what goes wrong closes the socket, and the page reconnects."""
        try:
            async with self._lock:
                # Not by super(): it closes old database connections in a thread first, as each use of one here does.
                await getattr(self, get_handler_name(message))(message)
        except StopConsumer:
            raise
        except Exception:
            logger.exception("socket handler failed; closing the socket")
            await self.close(BROKEN)

    def send_soon(self, draw: Callable[[], Awaitable[list[str]]]) -> asyncio.Task[None]:
        """Send what ``draw`` returns, after the message that is being handled."""
        return self._spawn(self._locked(draw))

    def _take_scratchpad(self, turn: LiveTurn, scratchpad: Scratchpad, is_open: bool) -> None:
        page = self._page
        if page is None or (is_open and not page.sees_scratchpads):
            return
        if not is_open:
            self._reveal_open = None
            self.send_soon(partial(page.reveal, turn, scratchpad))
            return
        if self._reveal_open is None:
            self._spawn(self._reveal_soon())
        self._reveal_open = partial(page.reveal, turn, scratchpad, is_open=True)

    async def _reveal_soon(self) -> None:
        # Each time the gate reads the database: not for every token.
        await asyncio.sleep(REVEAL_EVERY_S)
        reveal, self._reveal_open = self._reveal_open, None
        if reveal is not None:
            await self._locked(reveal)

    async def _follow(self, page: PageSession, messages: Subscription) -> None:
        """Draw what happens in the conversation, and what the viewer may see where that has changed elsewhere."""
        try:
            while self._page is not None:
                if message := await messages.next():
                    async with self._lock:
                        await self._send(page.on_event(message["event"]) if "event" in message else page.reauthorize())
        except Exception:  # else the page would stay open and get no more events
            logger.exception("events can't be received or drawn; closing the socket")
            await self.close(BROKEN)

    async def _locked(self, draw: Callable[[], Awaitable[list[str]]]) -> None:
        async with self._lock:
            try:
                await self._send(draw())
            except Exception:  # such as a database that is unavailable for a moment
                logger.warning("page not brought up to date", exc_info=True)

    async def _send(self, drawing: Awaitable[list[str]]) -> None:
        try:
            for frame in await drawing:
                await self.send(frame)
        except SignedOutError as ended:
            await self.close(ended.code)

    def _spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(work, context=self._context)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task


def has_too_many_pages(user: User) -> bool:
    """Return whether this process serves as many pages of a user as they may have open."""
    own = sum(page.key.user_id == user.pk for page in open_pages.values())
    if own >= settings.MAX_OPEN_PAGES:
        metrics.REFUSALS.labels("open_pages").inc()
        return True
    return False


def language_of(scope: Mapping[str, Any]) -> str:
    """Return the language of the page that opened a socket: that of its cookie, then what the browser prefers."""
    # Django's middleware chooses a language for requests alone.
    handshake = HttpRequest()
    handshake.COOKIES = dict(scope.get("cookies", {}))
    accepted = [value for name, value in scope.get("headers", ()) if name == b"accept-language"]
    handshake.META["HTTP_ACCEPT_LANGUAGE"] = b",".join(accepted).decode("latin-1")
    return get_language_from_request(handshake)


def start_checks() -> None:
    """Run ``check_pages`` while pages are open."""
    global _checks
    if _checks is None or _checks.done():
        _checks = asyncio.get_running_loop().create_task(check_pages())


async def check_pages() -> None:
    """Bring the open pages of this process up to date, and authorize all of them again in one batch every 10 s.

    That finds new turns, too, so it is done each time while a page gets no events.
    """
    loop = asyncio.get_running_loop()
    read_at = loop.time()
    checks: dict[ConversationConsumer, asyncio.Task[None]] = {}
    while open_pages:
        await asyncio.sleep(CATCH_UP_EVERY_S)
        viewers: Viewers = {}
        is_live = all(consumer.is_live for consumer in open_pages)
        if not is_live or loop.time() - read_at >= REAUTHORIZE_EVERY_S:
            read_at = loop.time()
            try:
                viewers = await database_sync_to_async(read_viewers)({page.key for page in open_pages.values()})
            except Exception:  # such as a database that is unavailable for a moment
                logger.warning("pages not authorized again", exc_info=True)
        hanging = {consumer: check for consumer, check in checks.items() if not check.done()}
        checks = hanging | {
            consumer: consumer.send_soon(partial(consumer.check, page, viewers.get(page.key), read_at))
            for consumer, page in open_pages.items()
            if consumer not in hanging
        }
        if checks:
            await asyncio.wait(checks.values(), timeout=REAUTHORIZE_EVERY_S)  # a page that hangs holds up no other
