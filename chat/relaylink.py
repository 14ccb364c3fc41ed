"""The end that this process has of the channel layer: what it says to others and hears from them.

Saying never waits: forms go into a bounded box that one task empties, and while Redis is away only what must arrive
stays in it. Hearing is one channel of this process, which joins the groups that are wanted. A numbered word to
ourselves every few seconds proves that all of it works; a number that is missing means that other words may be, and
``missed`` is called. No stream ends because of what happens here.
"""

from __future__ import annotations

import asyncio
import json
import logging
import secrets
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from channels.layers import get_channel_layer

logger = logging.getLogger(__name__)
Form = dict[str, Any]
MOST_UNSAID = 1000
SAY_TIMEOUT_S = 2.0
PING_EVERY_S = 3.0
SILENT_AFTER_S = 10.0
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.1, 5.0
CANCEL_AGAIN_S = 0.2


@dataclass(frozen=True, slots=True)
class _Saying:
    target: str
    body: str
    is_to_group: bool
    must_arrive: bool


class Link:
    """See the module. ``heard`` takes each form that others sent; it must not raise."""

    def __init__(self, heard: Callable[[Form], None], missed: Callable[[], None], layer: Any = None) -> None:
        self.channel = ""
        self._heard, self._missed = heard, missed
        self._layer = layer
        self._name = secrets.token_hex(8)
        self._unsaid: deque[_Saying] = deque()
        self._wanted: set[str] = set()
        self._joined: set[str] = set()
        self._changed = asyncio.Event()
        self._settled = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []
        self._loop: asyncio.AbstractEventLoop | None = None
        self._pinged = self._ping_heard = 0
        self._is_away = False

    def start(self) -> bool:
        """Begin to hear and say, if that is not so; say whether it began now, with nothing left of an earlier life."""
        loop = asyncio.get_running_loop()
        if loop is self._loop and self._tasks and not any(task.done() for task in self._tasks):
            return False
        for task in self._tasks if loop is self._loop else ():
            task.cancel()
        self._loop, self.channel = loop, ""
        self._changed, self._settled = asyncio.Event(), asyncio.Event()
        self._unsaid.clear()
        self._wanted.clear()
        self._joined.clear()
        self._tasks = [loop.create_task(work) for work in (self._hear(), self._say(), self._ping())]
        return True

    def join(self, group: str) -> None:
        """Hear what is said to a group, from soon on."""
        self._wanted.add(group)
        self._change()

    def leave(self, group: str) -> None:
        """Hear no more of a group."""
        self._wanted.discard(group)
        self._change()

    async def joined(self, group: str, *, within_s: float) -> bool:
        """Wait until a group is heard, but not for ever: Redis may be away."""
        try:
            async with asyncio.timeout(within_s):
                while group not in self._joined:
                    self._settled.clear()
                    await self._settled.wait()
        except TimeoutError:
            return False
        return True

    def say(self, channel: str, form: Form) -> None:
        """Tell another process something that it will miss if it does not arrive."""
        self._put(_Saying(channel, _body(form), is_to_group=False, must_arrive=False))

    def say_to_group(self, group: str, form: Form) -> None:
        """Tell all who hear a group; kept until Redis takes it."""
        self._put(_Saying(group, _body(form), is_to_group=True, must_arrive=True))

    async def close(self, *, within_s: float = 1.0) -> None:
        """Say what is left, end, and let the connections go."""
        if self._loop is not asyncio.get_running_loop():
            return
        try:
            async with asyncio.timeout(within_s):
                while self._unsaid and not self._is_away:
                    self._settled.clear()
                    await self._settled.wait()
        except TimeoutError:
            logger.warning("others not told everything", extra={"count": len(self._unsaid)})
        await self._end_tasks(within_s)
        try:
            await self._start_afresh()
        except Exception:
            logger.debug("connections not closed", exc_info=True)

    async def _end_tasks(self, within_s: float) -> None:
        """Cancel them until they have ended: the client of Redis swallows a cancellation at times."""
        until = asyncio.get_running_loop().time() + within_s
        while self._tasks and asyncio.get_running_loop().time() < until:
            for task in self._tasks:
                task.cancel()
            _ended, left = await asyncio.wait(self._tasks, timeout=CANCEL_AGAIN_S)
            self._tasks = list(left)
        self._tasks = []

    def _put(self, saying: _Saying) -> None:
        if len(self._unsaid) >= MOST_UNSAID:
            self._drop_what_may_be_missed()
        if len(self._unsaid) < MOST_UNSAID:
            self._unsaid.append(saying)
        self._change()

    def _change(self) -> None:
        self._changed.set()

    def _drop_what_may_be_missed(self) -> None:
        self._unsaid = deque(saying for saying in self._unsaid if saying.must_arrive)

    def _backend(self) -> Any:
        return self._layer or get_channel_layer()

    async def _say(self) -> None:
        """Join and say what is wanted, for ever; after a failure again, later and later."""
        pause_s = FIRST_PAUSE_S
        while not _is_ending():
            self._changed.clear()
            try:
                await self._join_and_leave()
                await self._say_all()
            except Exception as error:
                self._note_away(error)
                logger.debug("not said", exc_info=True)
                self._drop_what_may_be_missed()
                await asyncio.sleep(pause_s)
                pause_s = min(2 * pause_s, LONGEST_PAUSE_S)
                continue
            finally:
                self._settled.set()
            pause_s = FIRST_PAUSE_S
            if not _is_ending():
                await self._changed.wait()

    async def _join_and_leave(self) -> None:
        channel = self.channel
        for group in self._wanted - self._joined if channel else ():
            async with asyncio.timeout(SAY_TIMEOUT_S):
                await self._backend().group_add(group, channel)
            if channel == self.channel:
                self._joined.add(group)
        for group in self._joined - self._wanted:
            async with asyncio.timeout(SAY_TIMEOUT_S):
                await self._backend().group_discard(group, channel)
            self._joined.discard(group)

    async def _say_all(self) -> None:
        while self._unsaid:
            saying = self._unsaid.popleft()
            message = {"type": "relay", "by": self._name, "body": saying.body}
            backend = self._backend()
            try:
                async with asyncio.timeout(SAY_TIMEOUT_S):
                    await (backend.group_send if saying.is_to_group else backend.send)(saying.target, message)
            except BaseException:
                if saying.must_arrive:
                    self._unsaid.appendleft(saying)
                raise

    async def _hear(self) -> None:
        """Hear others, for ever; on a new channel where the old one has fallen silent."""
        pause_s = FIRST_PAUSE_S
        while not _is_ending():
            try:
                async with asyncio.timeout(SILENT_AFTER_S):
                    self.channel = await self._backend().new_channel()
                self._joined.clear()
                self._change()
                await self._hear_until_silent()
                pause_s = FIRST_PAUSE_S
            except Exception as error:
                if _is_torn():
                    return
                self._note_away(error)
                logger.debug("not heard", exc_info=True)
            await asyncio.sleep(pause_s)
            pause_s = min(2 * pause_s, LONGEST_PAUSE_S)

    async def _hear_until_silent(self) -> None:
        while True:
            try:
                async with asyncio.timeout(SILENT_AFTER_S):
                    message = await self._backend().receive(self.channel)
                self._take(message)
            except Exception:
                await self._start_afresh()
                raise

    async def _start_afresh(self) -> None:
        """Close connections that may be half open. The layer is ours alone, but for one that was handed in."""
        if self._layer is None:
            async with asyncio.timeout(SAY_TIMEOUT_S):
                await self._backend().flush()

    def _take(self, message: Form) -> None:
        form = json.loads(message["body"])
        if message["by"] != self._name:
            self._heard(form)
        elif "ping" in form:
            is_missing = form["ping"] > self._ping_heard + 1
            self._ping_heard = form["ping"]
            self._note_back()
            if is_missing:
                self._missed()

    async def _ping(self) -> None:
        while True:
            if self.channel:
                self._pinged += 1
                self.say(self.channel, {"ping": self._pinged})
            await asyncio.sleep(PING_EVERY_S)

    def _note_away(self, error: Exception) -> None:
        if not self._is_away:
            logger.warning("other processes out of reach", extra={"error": type(error).__name__})
        self._is_away = True

    def _note_back(self) -> None:
        if self._is_away:
            logger.info("other processes within reach again")
        self._is_away = False


def _body(form: Form) -> str:
    return json.dumps(form, separators=(",", ":"))


def _is_torn() -> bool:
    """Say whether the event loop is gone: what is left of a task is only being cleared away."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return True
    return False


def _is_ending() -> bool:
    """Say whether this task was cancelled: the client of Redis swallows that at times, and the task would never end."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
