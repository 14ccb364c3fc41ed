"""One open page of one viewer: what it asks for, and the frames that answer.

A consumer passes messages and notices in and sends what comes out. Who is looking and what they may see is read again
while the page stays open, so a sign-out or a switch takes effect without a new socket.
"""

from __future__ import annotations

import uuid
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from channels.db import database_sync_to_async
from django.utils.translation import gettext as _

from accounts import scratchpad as gate
from accounts.models import User
from accounts.preferences import is_signed_in, reread
from chat import backlog, commands, log, orders, owned, screens, windows
from chat.drawing import rendered
from chat.forms import MessageRefused, clean_message
from chat.frames import PageFrames, error_frame, queue_frame, scratchpad_frame
from chat.live import LiveTurn
from chat.models import QueuedMessage, Turn
from chat.notices import Behind, Finished, ModelChanged, Notice, SettingsChanged, Started
from chat.pageframes import command_frames, context_frame, model_frame, title_frames
from chat.runner import runner
from chat.standing import OpenPage
from chat.textframes import json_frame
from chat.viewers import Gone, SignedOut, first_look, is_thinking_switched, look_again
from chat.watchers import REFLECTED, Asked, Watcher
from reasoning.policy import Visibility
from reasoning.scratchpad import Scratchpad

OF_A_CARD = (*REFLECTED, Started, Finished)
ORDERED = frozenset({"sync", "refresh", "open", "close"})


class Page:
    """See the module. ``person`` and ``session_key`` are those of the socket."""

    def __init__(self, watcher: Watcher, person: User, session_key: str | None, sees: Visibility) -> None:
        self._watcher = watcher
        self._conversation_id = watcher.conversation_id
        self._person = person
        self._session_key = session_key
        self._frames = PageFrames(sees)
        self.standing = OpenPage(session_key, person.pk, watcher.conversation_id)
        self.standing.may_expire = sees.scratchpad
        self._held: set[str] = set()  # cards that came over this socket, or that the page said it has
        self._scratchpads: dict[str, Scratchpad] = {}
        self._drawn_pad = ""
        self._is_to_say = False  # what it holds, before it is sent anything of a card
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
        found = await first_look(person, session_key, watcher.conversation_id)
        if found is None:
            return None
        mark, current, sees = found
        page = cls(watcher, current, session_key, sees)
        page.standing.mark = mark
        return page

    def opened(self, shows: str | None = None) -> list[str]:
        """Return what a page is sent first: the running turn as it stands.

        ``shows`` is the newest card that the page was loaded with. Where another turn runs, the page lacks its card, or
        got it over an earlier socket: it is sent nothing of it before it has said what it holds.
        """
        turn = runner.live(self._conversation_id)
        if turn is None or shows in (None, turn.public_id):
            return self._snapshot()
        self._is_to_say = True
        return [json_frame(running=True)]

    async def draw(self, notice: Notice | Asked) -> list[str]:
        """Return the frames for a notice, or for what the page asked. Raises SignedOut."""
        if isinstance(notice, Asked):
            return await self.take(notice.form)
        if self._is_to_say and isinstance(notice, OF_A_CARD):
            return []  # what it then lacks is drawn as it stands
        if isinstance(notice, SettingsChanged | ModelChanged):
            await self.read_again()
        if isinstance(notice, Behind):
            return await self._redraw("")
        if isinstance(notice, Started) and notice.turn.public_id in self._held:
            return await self._around(notice)  # a snapshot that was drawn meanwhile brought its card
        if isinstance(notice, Started):
            self._held.add(notice.turn.public_id)
            self._watcher.drop_reflected()  # its card is drawn as it stands now
        return [*self._frames.draw(notice), *await self._around(notice)]

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
        """Return what changes beside the cards: the title with the first question, it and the meter with each end."""
        if isinstance(notice, Started) and notice.turn.number == 1:
            named = notice.conversation or await self._person.conversations.aget(pk=self._conversation_id)
            return title_frames(named, is_new=True)
        if isinstance(notice, Finished | ModelChanged | SettingsChanged):
            is_running = runner.live(self._conversation_id) is not None
            return await database_sync_to_async(self._next_request)(is_running=is_running)
        return []

    def _next_request(self, *, is_running: bool) -> list[str]:
        """Return what the page says of the next request: who answers it, how full it is; and the title as it is now."""
        conversation = owned.open_conversation(self._person, self._conversation_id)
        if conversation is None:
            raise Gone
        usage, model = screens.next_request(conversation, is_running=is_running)
        return [context_frame(usage), model_frame(model), *title_frames(conversation, is_new=False)]

    def _revealed(self, scratchpad: Scratchpad) -> str | None:
        current = reread(self._person, self._session_key)
        grant = gate.grant_for(*current) if current else None
        return gate.reveal(scratchpad, grant) if grant else None

    async def _submit(self, form: Mapping[str, Any], client_id: str) -> list[str]:
        message = clean_message(form.get("text"), form.get("id", ""))
        order = commands.parse(message.text)
        if order is not None:
            await self._require_session()
            return await self._obey(order)
        await runner.submit(self._conversation_id, self._person.pk, message, first=self._require_signed_in)
        return [error_frame("")]

    async def _obey(self, order: commands.Order) -> list[str]:
        """Carry out a command at once, whether or not a turn runs, and tell every page of the conversation."""
        answer = await database_sync_to_async(orders.carry_out)(order, self._person, self._conversation_id)
        if answer.is_change:
            runner.tell(self._conversation_id, SettingsChanged())
        completions = await database_sync_to_async(orders.completions)(self._person)
        return [error_frame(""), *command_frames(answer, completions)]

    async def _stop(self, form: Mapping[str, Any]) -> list[str]:
        await self._require_session()
        runner.stop(self._conversation_id)
        return []

    async def _open(self, form: Mapping[str, Any]) -> list[str]:
        await self.read_again()
        turn = runner.live(self._conversation_id)
        if turn is None or turn.public_id != form.get("id") or form.get("part") != "thinking":
            return []
        self._watcher.drop_thinking()
        self._watcher.reads_thinking = self._frames.sees.may_open_thinking
        return self._frames.open_thinking(turn)

    async def _close(self, form: Mapping[str, Any]) -> list[str]:
        self._watcher.reads_thinking = False
        self._frames.close_thinking(_word(form, "id"))
        return []

    async def _refresh(self, form: Mapping[str, Any]) -> list[str]:
        await self.read_again()
        self._drawn_pad = ""
        return self._snapshot()

    async def _sync(self, form: Mapping[str, Any]) -> list[str]:
        """Bring a page up to date that was away: cards it misses, the end of one it saw running, the live one."""
        self._is_to_say = False
        await self.read_again()
        last, was_streaming = _word(form, "last"), form.get("status") == "streaming"
        done, queue = await self._stored()
        turn = runner.live(self._conversation_id)
        known = [rows.turn.public_id for rows in done]
        if form.get("fresh") is True:  # its cards have just been drawn again, up to ``last``, over those it was sent
            self._held = set()
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

    async def _require_session(self) -> None:
        await database_sync_to_async(self._require_signed_in)()

    def _require_signed_in(self) -> None:
        """Raise SignedOut where session or person have ended. What they may see is not asked."""
        if not is_signed_in(self._person, self._session_key):
            raise SignedOut

    async def read_again(self) -> None:
        """See who is looking and what they may see. Raises SignedOut."""
        before = self._frames.sees
        self._person, self._frames.sees = await look_again(self._person, self._session_key, self._conversation_id)
        self.standing.may_expire = self._frames.sees.scratchpad
        if is_thinking_switched(before, self._frames.sees):
            self._watcher.tell(Behind())


def client_id_of(form: object) -> str:
    """Return the id that a page gave what it sent, by which it knows what was refused."""
    return _word(form, "id") if isinstance(form, dict) else ""


def _word(form: Mapping[str, Any], key: str) -> str:
    """Return a text that the page sent; whatever else stands there counts as nothing."""
    value = form.get(key)
    return value if isinstance(value, str) else ""


@database_sync_to_async
def _read(conversation_id: uuid.UUID) -> tuple[tuple[log.TurnRows, ...], tuple[QueuedMessage, ...]]:
    newest = log.turns(conversation_id, since=windows.newest(conversation_id).since)
    return newest, backlog.waiting(conversation_id)
