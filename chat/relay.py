"""What processes tell each other of turns: who runs one passes it on, who watches one elsewhere mirrors it.

Only where ``REDIS_URL`` is set; a single process says nothing and pays nothing. Each conversation that is watched or
runs here is a group of the channel layer, in which is said that a turn began or ended, that something else changed,
that somebody wants to follow, or to stop it. What a turn shows goes to its followers alone. What is said may be lost at
any time: whatever matters stands in the database and is looked for there. Layout, "Updates travel, HTML does not".
"""

from __future__ import annotations

import asyncio
import logging
import time
import uuid
from collections import deque
from functools import partial
from typing import Any, Protocol

from channels.db import database_sync_to_async
from django.conf import settings

from chat import log, relayreads
from chat.live import LiveTurn
from chat.notices import Behind, ModelChanged, Notice, QueueChanged, SettingsChanged
from chat.relayfeed import Feed
from chat.relaylink import Form, Link
from chat.relaymirror import JOIN_WITHIN_S, Here, Place
from chat.watchers import Watchers

logger = logging.getLogger(__name__)
SEND_EVERY_S = 0.075
LINGER_S = 10.0
READY_WITHIN_S = 2.0
STOP_TRIES = 30
STOP_AGAIN_S = 1.0
REMEMBERED = 1000
CHANGES: dict[type[Notice], str] = {
    QueueChanged: "queue",
    ModelChanged: "model",
    SettingsChanged: "settings",
    Behind: "cards",
}


class Process(Here, Protocol):
    """What the relay needs of its process."""

    def live_here(self, conversation_id: uuid.UUID) -> LiveTurn | None:
        """Return the turn that this process runs in a conversation."""

    def stop_here(self, conversation_id: uuid.UUID) -> bool:
        """Stop the turn that this process runs."""


class Relay:
    """See the module. All of it belongs to the event loop of one process."""

    def __init__(self, process: Process, watchers: Watchers, layer: Any = None) -> None:
        self._process = process
        self._watchers = watchers
        self._layer = layer
        self._link = Link(self._hear, self._missed, layer)
        self._places: dict[uuid.UUID, Place] = {}
        self._tasks: dict[uuid.UUID, asyncio.Task[None]] = {}
        self._feeds: dict[uuid.UUID, Feed] = {}  # by conversation
        self._feeding: asyncio.Task[None] | None = None
        self._ran_here: deque[uuid.UUID] = deque(maxlen=REMEMBERED)
        self._stopping: set[uuid.UUID] = set()

    def is_active(self) -> bool:
        return self._layer is not None or bool(settings.REDIS_URL)

    def live(self, conversation_id: uuid.UUID) -> LiveTurn | None:
        """Return the mirror of the turn that another process runs in a conversation."""
        place = self._places.get(conversation_id)
        return place.mirror if place else None

    def watch(self, conversation_id: uuid.UUID) -> None:
        """Follow what happens to a conversation elsewhere."""
        if not self.is_active():
            return
        self._start()
        place = self._places.get(conversation_id)
        if place is None:
            place = self._places[conversation_id] = Place(
                conversation_id, self._process, self._watchers, partial(self._ask, conversation_id), self._ran_here
            )
            self._link.join(_group(conversation_id))
            joined = partial(self._link.joined, _group(conversation_id), within_s=JOIN_WITHIN_S)
            self._tasks[conversation_id] = self._process.spawn(place.run(joined))
        place.idle_since = None

    def unwatch(self, conversation_id: uuid.UUID) -> None:
        """Take note that nobody watches here now; a page that is loaded again finds its place still warm."""
        place = self._places.get(conversation_id)
        if place:
            place.idle_since = time.monotonic()

    async def ready(self, conversation_id: uuid.UUID) -> None:
        """Wait until the turn that runs elsewhere, if any, is known here. For a page that is about to be drawn."""
        if not self.is_active() or self._process.live_here(conversation_id):
            return
        is_watched = conversation_id in self._places
        self.watch(conversation_id)
        if not is_watched:
            self.unwatch(conversation_id)
        try:
            async with asyncio.timeout(READY_WITHIN_S):
                await self._places[conversation_id].ready.wait()
        except TimeoutError:
            logger.warning("not known whether a turn runs elsewhere", extra={"conversation": conversation_id.hex})

    def started(self, live: LiveTurn, replaced: uuid.UUID | None) -> None:
        """Say that this process runs a turn now."""
        if self.is_active():
            self._start()
            self._ran_here.append(live.id)
            self._link.join(_group(live.conversation_id))
            self._say(live.conversation_id, "started", turn=live.public_id, replaced=replaced.hex if replaced else None)

    def ended(self, conversation_id: uuid.UUID, turn_id: uuid.UUID) -> None:
        """Say that a turn is over, as the log has it."""
        if not self.is_active():
            return
        self._start()
        self._feeds.pop(conversation_id, None)
        self._say(conversation_id, "ended", turn=turn_id.hex)
        if conversation_id not in self._places:
            self._link.leave(_group(conversation_id))

    def taken_over(self, conversation_id: uuid.UUID, turn_id: uuid.UUID) -> bool:
        """Say that a dead process's turn was ended here; whether a mirror of it here was told too."""
        self.ended(conversation_id, turn_id)
        is_mirrored = self.live(conversation_id) is not None
        if is_mirrored:
            self._places[conversation_id].hear({"kind": "ended", "turn": turn_id.hex})
        return is_mirrored

    def changed(self, conversation_id: uuid.UUID, notice: Notice) -> None:
        """Say that something beside the turn changed."""
        if self.is_active():
            self._start()
            self._say(conversation_id, "changed", what=CHANGES[type(notice)])

    def stop(self, conversation_id: uuid.UUID) -> bool:
        """Have the turn stopped wherever it runs; whether one is known to run."""
        if not self.is_active():
            return False
        if conversation_id not in self._stopping:
            self._start()
            self._stopping.add(conversation_id)
            self._process.spawn(self._insist_on_stop(conversation_id))
        return self.live(conversation_id) is not None

    async def let_go(self, conversation_id: uuid.UUID) -> None:
        """Before this process runs a turn: end the mirror of the one before."""
        place = self._places.get(conversation_id)
        if place:
            await place.let_go()

    async def look(self) -> None:
        """Look in the database for turns that nobody told of; forget places where nobody is."""
        now = time.monotonic()
        for conversation_id, place in list(self._places.items()):
            if place.idle_since is not None and now - place.idle_since > LINGER_S:
                await self._forget(conversation_id)
        unknown = [each for each, place in self._places.items() if not (place.mirror or self._process.live_here(each))]
        if unknown:
            for conversation_id in await database_sync_to_async(relayreads.running_in)(unknown):
                if conversation_id in self._places:
                    self._places[conversation_id].hear({"kind": "running"})

    async def count_elsewhere(self, owner_id: int) -> int:
        """Return how many turns of a person other processes run."""
        if not self.is_active():
            return 0
        return await database_sync_to_async(relayreads.count_elsewhere)(owner_id)

    async def close(self) -> None:
        """Say what is left and hear no more; the process ends, with the tasks that it was given."""
        self._cancel_tasks()
        if self.is_active():
            await self._link.close()

    def _cancel_tasks(self) -> None:
        for task in self._tasks.values():
            if not task.get_loop().is_closed():
                task.cancel()

    def _start(self) -> None:
        if self._link.start():
            self._cancel_tasks()
            self._places.clear()
            self._tasks.clear()
            self._feeds.clear()

    async def _forget(self, conversation_id: uuid.UUID) -> None:
        place, task = self._places.pop(conversation_id), self._tasks.pop(conversation_id)
        task.cancel()
        place.close()
        if not self._process.live_here(conversation_id):
            self._link.leave(_group(conversation_id))

    def _say(self, conversation_id: uuid.UUID, kind: str, **more: Any) -> None:
        self._link.say_to_group(_group(conversation_id), {"kind": kind, "in": conversation_id.hex, **more})

    def _ask(self, conversation_id: uuid.UUID, turn: str, have: int | None) -> None:
        self._say(conversation_id, "follow", turn=turn, to=self._link.channel, have=have)

    async def _insist_on_stop(self, conversation_id: uuid.UUID) -> None:
        """Ask for the stop until the turn that runs now has ended: a word may be lost."""
        try:
            turn = await database_sync_to_async(log.running_turn)(conversation_id)
            for _try in range(STOP_TRIES if turn else 0):
                self._say(conversation_id, "stop", turn=turn.public_id if turn else "")
                await asyncio.sleep(STOP_AGAIN_S)
                now = await database_sync_to_async(log.running_turn)(conversation_id)
                if now is None or turn is None or now.pk != turn.pk:
                    return
        finally:
            self._stopping.discard(conversation_id)

    def _hear(self, form: Form) -> None:
        conversation_id = uuid.UUID(form["in"])
        live = self._process.live_here(conversation_id)
        match form["kind"]:
            case "follow" if live and live.public_id == form["turn"]:
                self._feed(live, form)
            case "stop" if live and live.public_id == form["turn"]:
                self._process.stop_here(conversation_id)
            case "started" | "grown" | "ended" | "changed" if conversation_id in self._places:
                self._places[conversation_id].hear(form)

    def _missed(self) -> None:
        for place in self._places.values():
            place.hear({"kind": "missed"})

    def _feed(self, live: LiveTurn, form: Form) -> None:
        feed = self._feeds.get(live.conversation_id)
        if feed is None or feed.live is not live:
            feed = self._feeds[live.conversation_id] = Feed(live, self._link.say)
        feed.follow(form["to"], form["have"], time.monotonic())
        if self._feeding is None or self._feeding.done():
            self._feeding = self._process.spawn(self._pass_on())

    async def _pass_on(self) -> None:
        """Look at the followed turns some ten times a second, as long as there are any."""
        while self._feeds:
            now = time.monotonic()
            for conversation_id, feed in list(self._feeds.items()):
                feed.drop_silent(now)
                if feed.followers:
                    feed.pass_on(now)
                else:
                    del self._feeds[conversation_id]
            await asyncio.sleep(SEND_EVERY_S)


def _group(conversation_id: uuid.UUID) -> str:
    return f"conversation.{conversation_id.hex}"
