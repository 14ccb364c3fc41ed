"""One open page of one viewer: what it asks for, what it follows, and the frames that answer.

The consumer passes in the page's messages and the conversation's events, one at a time and in order, and sends what
comes out. A running turn is followed by its sequence numbers: a state and the events after it are complete. Where this
process runs the turn, the state is ``LiveTurn`` itself; else it is read from the turn's checkpoint and kept up to date
with the events. A gap is closed by the same means.
"""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Any

from channels.db import database_sync_to_async
from django.db import Error
from django.utils.translation import gettext as _

from accounts.access import scratchpad as gate
from chat import eventlog
from chat.cards import pagination, rendering
from chat.cards.view_models import dom_id
from chat.conversations import access, commands
from chat.db_errors import is_outage
from chat.eventlog import TurnRecord
from chat.eventlog.read import checkpoint_thinking
from chat.live.follow import TurnFollower
from chat.live.state import Event, TurnState
from chat.live.stored import read_running
from chat.live.turn import LiveTurn
from chat.models import QueuedMessage, Turn
from chat.request_preview import summary
from chat.socket import frames
from chat.socket.frames import AnnounceFrame, PageFrames, TurnFrame, accepted_frames, error_frame
from chat.socket.reauthorize import (
    ConversationGoneError,
    PageKey,
    PageViewer,
    SignedOutError,
    authorize,
    require_session,
)
from chat.turns import queue
from chat.turns.manager import TurnManager
from chat.validation import InvalidInputError, check_characters, clean_message, storable
from reasoning.scratchpad import Scratchpad

logger = logging.getLogger(__name__)


class PageSession:
    """One open page: the turn that it follows, and the frames that answer its messages and the events."""

    def __init__(self, manager: TurnManager, key: PageKey, viewer: PageViewer) -> None:
        self.key = key
        self._manager = manager
        self._conversation_id = key.conversation_id
        self._user = viewer.user
        self._frames = PageFrames(viewer.sees)
        self._follower: TurnFollower[TurnState] | None = None  # of the running turn that the page shows
        self._authorized_at = 0.0  # by the clock of the event loop
        self._heard = False  # an event came since the last check
        self._may_have_new_settings = True  # since the turn that runs was started
        self._newest_id = viewer.newest_id  # the newest turn when the page was last known to be up to date
        self._cards: set[str] = set()  # that the page has: from this socket, or by its own word
        self._must_redraw = False  # an event could not be drawn
        self._must_sync = False  # it has cards that we don't know; nothing of a card is sent before it names them
        self._scratchpads: dict[str, Scratchpad] = {}
        self._panel_card = ""
        self._actions: dict[str, Callable[[Mapping[str, Any]], Awaitable[list[str]]]] = {
            "stop": self._stop,
            "sync": self._sync,
            "refresh": self._refresh,
            "open": self._open,
            "close": self._close,
        }

    @property
    def turn(self) -> TurnState | None:
        """The running turn that the page follows."""
        return self._follower.turn if self._follower else None

    async def opened(self, shows: str | None = None) -> list[str]:
        """Return what the page is sent first: the running turn. ``shows``: the newest card that it was loaded with."""
        turn = await self._running()
        if turn is not None:
            self._newest_id = turn.public_id
        if turn is not None and shows not in (None, turn.public_id):
            self._must_sync = True
            return [TurnFrame(running=True).encode()]
        return self._snapshot(turn)

    async def receive(self, form: object) -> list[str]:
        """Do what the page asks for; a refusal is an error fragment. Raises SignedOutError."""
        if not isinstance(form, dict):
            return [error_frame(_("A JSON object is needed."))]
        client_id = client_id_of(form)
        drawn: list[str] = []
        try:
            check_characters(form)
            if "action" not in form:
                return await self._submit(form, client_id)
            drawn = await self.reauthorize()
            action = self._actions.get(_text_in(form, "action"))
            return [*drawn, *(await action(form) if action else [error_frame(_("action: there is no such action."))])]
        except InvalidInputError as refused:
            return [*drawn, error_frame(refused.message, client_id)]

    async def on_event(self, event: Event) -> list[str]:
        """Return the frames for an event of the conversation; without a database, none. Raises SignedOutError."""
        try:
            return await self._draw(event)
        except Error as error:
            if not is_outage(error):
                raise
            logger.warning("event not drawn; all cards are drawn when the database is back", exc_info=True)
            self._must_redraw = True
            return []

    async def _draw(self, event: Event) -> list[str]:
        match event["kind"]:
            case "queue":
                return [await self._queue()]
            case "redraw":
                return await self._redraw()
            case "model" | "settings":
                drawn = await self.reauthorize()
                return [*await database_sync_to_async(self.composer_frames)(), *drawn]
        self._heard = True
        if self._must_sync:
            return []
        match event["kind"]:
            case "started":
                self._newest_id = event["turn"]
                self._may_have_new_settings = False
                return await self._started(event)
            case "ended":
                self._newest_id = event["turn"]
                return await self._ended(event)
        return await self._follow(event)

    async def reauthorize(self) -> list[str]:
        """Read the viewer again; return all cards where that changed what they show. Raises SignedOutError."""
        self._authorized_at = asyncio.get_running_loop().time()
        self._may_have_new_settings = True
        return await self._set_viewer(await authorize(self.key))

    async def check(self, viewer: PageViewer | SignedOutError | None, read_at: float) -> list[str]:
        """Bring the page up to date. ``viewer``: its viewer, where that was read again, at ``read_at``.

        Raises SignedOutError.
        """
        drawn = await self.catch_up()
        if isinstance(viewer, SignedOutError):
            raise viewer
        if viewer is not None and self._authorized_at < read_at:  # else the page has read it since
            drawn += await self._set_viewer(viewer)
            drawn += await self._find_turn(viewer.newest_id)
        return drawn

    async def _set_viewer(self, viewer: PageViewer) -> list[str]:
        before, self._user, self._frames.sees = self._frames.sees, viewer.user, viewer.sees
        # A switch of the page's own is followed by a request of the page for its cards (spec 001 EC-005).
        is_changed = before.thinking != viewer.sees.thinking and before.show_reasoning == viewer.sees.show_reasoning
        drawn: list[str] = []
        if before.scratchpad != viewer.sees.scratchpad or before.scratchpad_possible != viewer.sees.scratchpad_possible:
            # Switched in another tab, expired or withdrawn: the cards are drawn again without their panels (product 9).
            is_changed, self._panel_card = True, ""
            drawn.append(frames.scratchpad_switch_frame(viewer.sees))
        if before.scratchpad_possible != viewer.sees.scratchpad_possible:
            self._scratchpads.clear()
            drawn += await database_sync_to_async(self.composer_frames)()  # an administrator's have more
        return [*drawn, *(await self._redraw() if is_changed else [])]

    async def catch_up(self) -> list[str]:
        """Bring the page up to date where events of the turn that it follows were lost, or could not be drawn."""
        if self._must_redraw and not self._must_sync:
            drawn = await self._redraw()
            self._must_redraw = False
            return drawn
        heard, self._heard = self._heard, False
        follower = self._follower
        if follower is None or (heard and not follower.is_behind):
            return []
        turn = follower.turn
        if not isinstance(turn, LiveTurn):
            return await self._read_stored(follower)
        if turn.finished.is_set():
            return await self._finish(turn)
        return self._snapshot(turn) if turn.seq > follower.seq else []

    async def _find_turn(self, newest_id: str) -> list[str]:
        """Draw all cards where the start of a turn was lost: it may have replaced one of them.

        ``newest_id``: the newest turn, read a moment ago.
        """
        if self.turn is not None or self._must_sync or newest_id == self._newest_id:
            return []
        return await self._redraw()

    @property
    def sees_scratchpads(self) -> bool:
        """Whether the viewer had them switched on when that was last read."""
        return self._frames.sees.scratchpad

    async def reveal(self, turn: LiveTurn, scratchpad: Scratchpad, *, is_open: bool = False) -> list[str]:
        """Return the debug panel with what came so far, if this viewer holds a grant at this moment (product 9).

        ``is_open``: more of this scratchpad comes, with this again.
        """
        if not self._frames.sees.scratchpad_possible:
            return []  # nor is it stored here, where it could never be shown
        known = self._scratchpads.get(turn.public_id)
        joined = Scratchpad.join([known, scratchpad] if known else [scratchpad])
        if not is_open:
            self._scratchpads = {turn.public_id: joined}
        panel = await database_sync_to_async(gate.render_panel)(
            joined,
            self._user,
            self.key.session_key,
            card_id=dom_id(turn.public_id),
            is_first=self._panel_card != turn.public_id,
        )
        if panel is None:
            return []
        self._panel_card = turn.public_id
        return [panel]

    # Following a turn

    async def _running(self) -> TurnState | None:
        return self._manager.live(self._conversation_id) or await read_running(self._conversation_id)

    def _snapshot(self, turn: TurnState | None) -> list[str]:
        """Return the running card, which the page has already, in its present state, and follow its turn from there."""
        if turn is None:
            self._follower = None
            return [TurnFrame(running=False).encode()]
        turn = self._follow_from(turn)
        return self._frames.snapshot(turn) + self._scratchpad_notice(turn)

    def _show(self, turn: TurnState) -> list[str]:
        """Return the running card, whole where the page doesn't have it, and follow its turn from there."""
        if turn.public_id in self._cards:
            return self._snapshot(turn)
        turn = self._follow_from(turn)
        self._cards.add(turn.public_id)
        return self._frames.append_live(turn) + self._scratchpad_notice(turn) + self._first_title(turn)

    def _first_title(self, turn: TurnState) -> list[str]:
        """Return the title that the first question has given its conversation."""
        if turn.number != 1 or turn.conversation is None:
            return []
        return frames.title_frames(turn.conversation, is_new=True)

    def _follow_from(self, turn: TurnState) -> TurnState:
        """Follow a turn from a state that was read just now, or from a later one that the page has; return it."""
        if self._follower is None or self._follower.turn.id != turn.id:
            self._follower = TurnFollower(turn)
        else:
            self._follower.continue_from(turn)
        return self._follower.turn

    def _scratchpad_notice(self, turn: TurnState) -> list[str]:
        is_elsewhere = self._frames.sees.scratchpad and not isinstance(turn, LiveTurn)
        return [gate.render_elsewhere_notice(dom_id(turn.public_id))] if is_elsewhere else []

    async def _started(self, event: Event) -> list[str]:
        drawn = []
        if self.turn and self.turn.public_id != event["turn"]:  # its end was lost, or is still on its way
            drawn += await self._finish(self.turn)
        turn = await self._running()
        if turn is None or turn.public_id != event["turn"]:
            return drawn  # over already; its end brings the card
        is_new = turn.public_id not in self._cards  # a sync may have brought it meanwhile
        if event["replaced"] == turn.public_id and not is_new:  # it is continued in its card
            self._follow_from(turn)
            drawn += [*self._frames.replace_live(turn), AnnounceFrame(text=_("Working on the answer")).encode()]
        elif is_new:
            drawn += [*frames.started_frames(event["replaced"]), *self._show(turn)]
            drawn.append(AnnounceFrame(text=_("Working on the answer")).encode())
        else:
            drawn += [*(self._snapshot(turn) if self.turn is not turn else ()), *self._first_title(turn)]
        return drawn

    async def _follow(self, event: Event) -> list[str]:
        follower = self._follower
        if follower is None or follower.turn.public_id != event["turn"]:
            live = self._manager.live(self._conversation_id)
            is_lost = live is not None and live.public_id == event["turn"]  # its start
            return await self._redraw() if is_lost else []
        was_behind, turn = follower.is_behind, follower.turn
        followed = follower.receive(event)
        if follower.is_behind and isinstance(turn, LiveTurn):
            return self._snapshot(turn)
        if follower.is_behind and not was_behind:
            return await self._read_stored(follower)  # the next check reads it again
        if any(each["kind"] == "rewritten" for each in followed):
            return self._snapshot(turn)
        return [frame for each in followed for frame in self._frames.draw(turn, each)]

    async def _read_stored(self, follower: TurnFollower[TurnState]) -> list[str]:
        """Bring a page up to date with a turn of another process: its checkpoint, then the events that continue it."""
        turn = follower.turn
        stored = await read_running(self._conversation_id)
        if stored is None or stored.id != turn.id:
            return await self._finish(turn)
        if self._frames.is_thinking_open(turn.public_id):
            stored.thinking = await database_sync_to_async(checkpoint_thinking)(turn.id)
        return self._snapshot(stored) if follower.continue_from(stored) else []

    async def _ended(self, event: Event) -> list[str]:
        follower = self._follower
        if follower and follower.turn.public_id == event["turn"]:
            turn = follower.turn
            return await self._finish(turn, is_complete=event["seq"] == follower.seq == turn.seq)
        record, next_request = await self._read_ended(uuid.UUID(event["turn"]))
        if record is None:
            return []
        if event["turn"] in self._cards:
            return [*self._frames.finished(record), *next_request]
        self._cards.add(event["turn"])
        return [*self._frames.append_cards([record]), *next_request]

    async def _finish(self, turn: TurnState, *, is_complete: bool = False) -> list[str]:
        """Return the end of the turn that the page follows; nothing where it isn't in the log yet."""
        record, next_request = await self._read_ended(turn.id, turn if isinstance(turn, LiveTurn) else None)
        if record is None:
            return []
        self._follower = None
        blocks = "".join(turn.frozen) if is_complete else None
        return [*self._frames.finished(record, blocks), *next_request]

    async def _read_ended(
        self, turn_id: uuid.UUID, live: LiveTurn | None = None
    ) -> tuple[TurnRecord | None, list[str]]:
        """Return an ended turn, None where it isn't in the log yet, and the frames of the next request.

        ``live``: the turn, where this process ran it. Then mostly nothing is left to be read.
        """
        record = live.record if live else None
        if record is None or not rendering.is_rendered(record.turn):  # in this viewer's language
            record = await _load_ended(turn_id, record)
        if record is None:
            return None, []
        if live and live.next_request and not self._may_have_new_settings:
            may_preview = self._frames.sees.previews_requests
            size = summary.context_view(live.next_request, self._conversation_id, may_preview=may_preview)
            return record, [frames.context_frame(size)]
        return record, await database_sync_to_async(self.composer_frames)([record.turn])

    def composer_frames(self, turns: Sequence[Turn] | None = None) -> list[str]:
        """Return what the page says of the next request: who answers it, how full it is; and the title.

        ``turns``: the newest ones of the selected branch, where they were read already. Reads the database.
        """
        conversation = access.find_conversation(self._user, self._conversation_id)
        if conversation is None:
            raise ConversationGoneError
        usage, model = summary.next_request(conversation, turns)
        title = frames.title_frames(conversation, is_new=False)
        return [frames.context_frame(usage), frames.model_frame(model), *title]

    # What the page asks for

    async def _submit(self, form: Mapping[str, Any], client_id: str) -> list[str]:
        message = clean_message(form.get("text"), form.get("id", ""), form.get("attachments", ()))
        command = commands.parse(message.text)
        if command is None:
            # What the viewer may see is not asked here: nothing is shown, and a turn's start should cost little.
            require = partial(require_session, self.key.session_key)
            submission = await self._manager.submit(self._conversation_id, message, authorize=require)
            if submission.turn_id is not None:
                return accepted_frames(client_id, appears=submission.started is not None)
            # Queued. Other pages learn it from an event; this one must not depend on the channel layer for it.
            return [*accepted_frames(client_id, appears=True), await self._queue()]
        await authorize(self.key)
        answer = await database_sync_to_async(commands.execute)(command, self._user, self._conversation_id)
        return [*accepted_frames(client_id), *frames.command_frames(answer)]

    async def _queue(self) -> str:
        return frames.queue_frame(await database_sync_to_async(queue.queued_messages)(self._conversation_id))

    async def _stop(self, form: Mapping[str, Any]) -> list[str]:
        await self._manager.stop(self._conversation_id)
        return []

    async def _open(self, form: Mapping[str, Any]) -> list[str]:
        turn = self.turn
        if turn is None or turn.public_id != form.get("id") or form.get("part") != "thinking":
            return []
        if not isinstance(turn, LiveTurn) and self._frames.sees.may_open_thinking:
            turn.thinking = max(turn.thinking, await database_sync_to_async(checkpoint_thinking)(turn.id), key=len)
        return self._frames.open_thinking(turn)

    async def _close(self, form: Mapping[str, Any]) -> list[str]:
        self._frames.close_thinking(_text_in(form, "id"))
        return []

    async def _refresh(self, form: Mapping[str, Any]) -> list[str]:
        self._panel_card = ""
        return self._snapshot(await self._running())

    async def _sync(self, form: Mapping[str, Any]) -> list[str]:
        """Bring a page up to date that was disconnected.

        ``last``: the newest card that the page has; ``status``: how it shows that card.
        """
        self._must_sync = False
        last = _text_in(form, "last")
        done, waiting, turn = await self._stored()
        ids = [record.turn.public_id for record in done]
        if form.get("fresh") is True:  # its cards have just been drawn again, up to ``last``, over those it was sent
            self._cards = set()
        already_sent, self._cards = self._cards, self._cards.union(ids)
        if last and last not in ids and (turn is None or last != turn.public_id):
            # Its newest card isn't among the newest turns of the selected branch any more.
            return [*self._frames.replace_all(done), *self._show_after_sync(turn, last), waiting]
        drawn: list[str] = []
        missing = [] if last else done
        if last in ids:
            position = ids.index(last)
            missing = done[position + 1 :]
            if form.get("status") == "streaming":  # it has ended since
                drawn = self._frames.finished(done[position])
        missing = [record for record in missing if record.turn.public_id not in already_sent]
        return [*drawn, *self._frames.append_cards(missing), *self._show_after_sync(turn, last), waiting]

    def _show_after_sync(self, turn: TurnState | None, last: str) -> list[str]:
        if turn is None:
            return self._snapshot(None)
        if last == turn.public_id:
            self._cards.add(last)
        return self._show(turn)

    async def _redraw(self) -> list[str]:
        """Return every card again."""
        done, waiting, turn = await self._stored()
        self._cards = {record.turn.public_id for record in done}
        return [*self._frames.replace_all(done), *self._show_after_sync(turn, ""), waiting]

    async def _stored(self) -> tuple[list[TurnRecord], str, TurnState | None]:
        """Return the finished turns, the queue's frame and the running turn; read again where that ended meanwhile."""
        records, waiting = await _read(self._conversation_id)
        turn = await self._running()
        if turn is None and any(record.turn.status == Turn.Status.RUNNING for record in records):
            records, waiting = await _read(self._conversation_id)
            turn = await self._running()
        self._newest_id = await _newest_turn_id(self._conversation_id)
        done = [record for record in records if turn is None or record.turn.pk != turn.id]
        return done, frames.queue_frame(waiting), self._manager.live(self._conversation_id) or turn


def client_id_of(form: object) -> str:
    """Return the id that a page gave what it sent, by which it recognises a refusal."""
    return storable(_text_in(form, "id")) if isinstance(form, dict) else ""


def _text_in(form: Mapping[str, Any], key: str) -> str:
    value = form.get(key)
    return value if isinstance(value, str) else ""


@database_sync_to_async
def _read(conversation_id: uuid.UUID) -> tuple[tuple[TurnRecord, ...], tuple[QueuedMessage, ...]]:
    newest = pagination.read_newest(conversation_id)
    rendering.load(newest)
    return newest, queue.queued_messages(conversation_id)


@database_sync_to_async
def _load_ended(turn_id: uuid.UUID, record: TurnRecord | None) -> TurnRecord | None:
    if record is None:
        turn = Turn.objects.exclude(status=Turn.Status.RUNNING).filter(pk=turn_id).first()
        if turn is None:
            return None
        record = eventlog.turn_record(turn)
    rendering.load([record])
    return record


@database_sync_to_async
def _newest_turn_id(conversation_id: uuid.UUID) -> str:
    newest = Turn.objects.filter(conversation=conversation_id, is_active=True).order_by("-number").first()
    return newest.public_id if newest else ""
