"""One open page of one viewer: what it asks for, and the frames that answer.

A consumer passes messages and notices in and sends what comes out. Who is looking and what they may see is read again
while the page stays open, so a sign-out or a switch takes effect without a new socket.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from channels.db import database_sync_to_async
from django.utils.translation import gettext as _

from accounts import scratchpad as gate
from accounts.models import User
from accounts.preferences import reread, visibility
from chat import backlog, log, screens
from chat.drawing import rendered
from chat.forms import MessageRefused, clean_message
from chat.frames import (
    PageFrames,
    context_frame,
    error_frame,
    json_frame,
    queue_frame,
    scratchpad_frame,
    title_frame,
)
from chat.live import Behind, Finished, LiveTurn, Notice, Started
from chat.models import QueuedMessage, Turn
from chat.runner import runner
from chat.watchers import Asked, Watcher
from reasoning.policy import Visibility
from reasoning.scratchpad import Scratchpad

REREAD_EVERY_S = 10.0
ORDERED = frozenset({"sync", "refresh", "open", "close"})


class SignedOut(Exception):
    """The session or the person behind this page has ended."""


class Page:
    """See the module. ``person`` and ``session_key`` are those of the socket."""

    def __init__(self, watcher: Watcher, person: User, session_key: str | None, sees: Visibility) -> None:
        self._watcher = watcher
        self._conversation_id = watcher.conversation_id
        self._person = person
        self._session_key = session_key
        self._frames = PageFrames(sees)
        self._read_at = time.monotonic()
        self._held: set[str] = set()  # cards that came over this socket, or that the page said it has
        self._scratchpads: dict[str, Scratchpad] = {}
        self._drawn_pad = ""
        self._actions: dict[str, Callable[[Mapping[str, Any]], Awaitable[list[str]]]] = {
            "stop": self._stop,
            "sync": self._sync,
            "refresh": self._refresh,
            "open": self._open,
            "close": self._close,
        }

    @classmethod
    async def of(cls, watcher: Watcher, person: User, session_key: str | None) -> Page | None:
        """Open a page on one's own conversation; None where there is no such conversation for this person."""
        owns = await database_sync_to_async(person.conversations.filter(pk=watcher.conversation_id).exists)()
        if not owns:
            return None
        _person, sees = await _reread(person, session_key)
        return cls(watcher, person, session_key, sees)

    def opened(self) -> list[str]:
        """Return what a page is sent first: the running turn as it stands."""
        return self._snapshot()

    async def draw(self, notice: Notice | Asked) -> list[str]:
        """Return the frames for a notice, or for what the page asked. Raises SignedOut."""
        if isinstance(notice, Asked):
            return await self.take(notice.form)
        await self.check()
        if isinstance(notice, Behind):
            return await self._redraw("")
        if isinstance(notice, Started) and notice.turn.public_id in self._held:
            return await self._around(notice)  # a snapshot that was drawn meanwhile brought its card
        if isinstance(notice, Started):
            self._held.add(notice.turn.public_id)
        return [*self._frames.draw(notice), *await self._around(notice)]

    async def check(self) -> None:
        """See who is looking and what they may see, where that is a while ago. Raises SignedOut."""
        if time.monotonic() - self._read_at > REREAD_EVERY_S:
            await self._read_again()

    async def receive(self, form: object) -> list[str]:
        """Take what the page sent: a message or a stop at once, what needs a snapshot in its turn among the notices."""
        if isinstance(form, dict) and _word(form, "action") in ORDERED:
            return [] if self._watcher.ask(form) else [error_frame(_("Too much at once; try again in a moment."))]
        return await self.take(form)

    async def take(self, form: object) -> list[str]:
        """Carry out what the page asks for; a refusal comes back as an error fragment."""
        if not isinstance(form, dict):
            return [error_frame(_("A JSON object is needed."))]
        client_id = client_id_of(form)
        try:
            if "action" in form:
                action = self._actions.get(_word(form, "action"))
                return await action(form) if action else [error_frame(_("action: there is no such action."))]
            return await self._submit(form, client_id)
        except MessageRefused as refused:
            return [error_frame(refused.message, client_id)]

    async def reveal(self, turn: LiveTurn, scratchpad: Scratchpad) -> list[str]:
        """Return the debug panel with what came so far, if this viewer holds a grant at this moment (product 9)."""
        if not self._frames.sees.scratchpad_possible:
            return []  # nor is it kept here, where it could never be shown
        known = self._scratchpads.get(turn.public_id)
        joined = Scratchpad.join([known, scratchpad] if known else [scratchpad])
        self._scratchpads = {turn.public_id: joined}
        text = await database_sync_to_async(self._revealed)(joined)
        if text is None:
            return []
        is_first = self._drawn_pad != turn.public_id
        self._drawn_pad = turn.public_id
        return [scratchpad_frame(turn.public_id, text, is_first=is_first)]

    async def _around(self, notice: Notice) -> list[str]:
        """Return what changes beside the cards: the title with the first question, the meter with each end."""
        if isinstance(notice, Started) and notice.turn.number == 1:
            title, groups = await database_sync_to_async(screens.listed)(self._person, self._conversation_id)
            return [title_frame(title, groups, self._conversation_id)]
        if isinstance(notice, Finished):
            usage = await database_sync_to_async(screens.context_usage)(self._person, self._conversation_id)
            return [context_frame(usage)]
        return []

    def _revealed(self, scratchpad: Scratchpad) -> str | None:
        current = reread(self._person, self._session_key)
        grant = gate.grant_for(*current) if current else None
        return gate.reveal(scratchpad, grant) if grant else None

    async def _submit(self, form: Mapping[str, Any], client_id: str) -> list[str]:
        await self._read_again()
        message = clean_message(form.get("text"), form.get("id", ""))
        await runner.submit(self._conversation_id, self._person.pk, message)
        return [error_frame("")]

    async def _stop(self, form: Mapping[str, Any]) -> list[str]:
        await self._read_again()
        runner.stop(self._conversation_id)
        return []

    async def _open(self, form: Mapping[str, Any]) -> list[str]:
        await self._read_again()
        turn = runner.live(self._conversation_id)
        if turn is None or turn.public_id != form.get("id") or form.get("part") != "thinking":
            return []
        self._watcher.drop_thinking()
        return self._frames.open_thinking(turn)

    async def _close(self, form: Mapping[str, Any]) -> list[str]:
        self._frames.close_thinking(_word(form, "id"))
        return []

    async def _refresh(self, form: Mapping[str, Any]) -> list[str]:
        await self._read_again()
        self._drawn_pad = ""
        return self._snapshot()

    async def _sync(self, form: Mapping[str, Any]) -> list[str]:
        """Bring a page up to date that was away: cards it misses, the end of one it saw running, the live one."""
        await self._read_again()
        last, was_streaming = _word(form, "last"), form.get("status") == "streaming"
        done, queue = await self._stored()
        turn = runner.live(self._conversation_id)
        known = [rows.turn.public_id for rows in done]
        held, self._held = self._held, self._held.union(known)
        if last and last not in known and (turn is None or last != turn.public_id):
            return [*self._frames.replace_all(done), *self._live_frames(turn, last), queue]
        frames = self._frames.finished(done[known.index(last)]) if last in known and was_streaming else []
        after = known.index(last) + 1 if last in known else len(done) if last else 0
        missing = [rows for rows in done[after:] if rows.turn.public_id not in held]
        return [*frames, *self._frames.append_cards(missing), *self._live_frames(turn, last), queue]

    async def _redraw(self, last: str) -> list[str]:
        """Return every card again."""
        done, queue = await self._stored()
        self._held = {rows.turn.public_id for rows in done}
        turn = runner.live(self._conversation_id)
        return [*self._frames.replace_all(done), *self._live_frames(turn, last), queue]

    async def _stored(self) -> tuple[list[log.TurnRows], str]:
        """Return the finished turns and the queue's frame; read again where a turn ended meanwhile."""
        stored, waiting = await _read(self._conversation_id)
        await rendered(stored)
        turn = runner.live(self._conversation_id)
        if turn is None and any(rows.turn.status == Turn.Status.RUNNING for rows in stored):
            stored, waiting = await _read(self._conversation_id)
            turn = runner.live(self._conversation_id)
        done = [rows for rows in stored if turn is None or rows.turn.pk != turn.id]
        return done, queue_frame([(str(message.pk), message.text) for message in waiting])

    def _snapshot(self) -> list[str]:
        turn = runner.live(self._conversation_id)
        if turn is None:
            return [json_frame(running=False)]
        self._watcher.drop_reflected()
        return self._frames.snapshot(turn)

    def _live_frames(self, turn: LiveTurn | None, last: str) -> list[str]:
        if turn is None:
            return [json_frame(running=False)]
        self._watcher.drop_reflected()
        is_held = turn.public_id == last or turn.public_id in self._held
        self._held.add(turn.public_id)
        return self._frames.snapshot(turn) if is_held else self._frames.append_live(turn)

    async def _read_again(self) -> None:
        self._person, self._frames.sees = await _reread(self._person, self._session_key)
        self._read_at = time.monotonic()


def client_id_of(form: object) -> str:
    """Return the id that a page gave what it sent, by which it knows what was refused."""
    return _word(form, "id") if isinstance(form, dict) else ""


def _word(form: Mapping[str, Any], key: str) -> str:
    """Return a text that the page sent; whatever else stands there counts as nothing."""
    value = form.get(key)
    return value if isinstance(value, str) else ""


@database_sync_to_async
def _read(conversation_id: uuid.UUID) -> tuple[tuple[log.TurnRows, ...], tuple[QueuedMessage, ...]]:
    return log.turns(conversation_id), backlog.waiting(conversation_id)


@database_sync_to_async
def _reread(person: User, session_key: str | None) -> tuple[User, Visibility]:
    current = reread(person, session_key)
    if current is None:
        raise SignedOut
    return current[0], visibility(*current)
