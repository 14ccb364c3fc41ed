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
from dataclasses import dataclass
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
from chat.eventlog import TurnRecord
from chat.eventlog.read import checkpoint_thinking
from chat.live.follow import TurnFollower
from chat.live.state import Event, TurnState
from chat.live.stored import read_running
from chat.live.turn import LiveTurn
from chat.models import QueuedMessage, Turn
from chat.request_preview import summary
from chat.socket import frames
from chat.socket.frames import AnnounceFrame, PageFrames, TurnFrame, confirm_frames, error_frame
from chat.socket.reauthorize import (
    ConversationGoneError,
    PageKey,
    PageViewer,
    SignedOutError,
    authorize,
    require_session,
)
from chat.texts.db_errors import is_outage
from chat.turns import queue
from chat.turns.manager import TurnManager
from chat.validation import InvalidInputError, check_characters, clean_message, storable
from reasoning.scratchpad import Scratchpad

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class Lane:
    """A running turn that the page follows, and its frames. Where two are compared there is a second one."""

    frames: PageFrames
    is_beside: bool = False
    follower: TurnFollower[TurnState] | None = None

    @property
    def turn(self) -> TurnState | None:
        return self.follower.turn if self.follower else None

    def follow(self, turn: TurnState) -> TurnState:
        """Follow a turn from a state that was read just now, or from a later one that the page has; return it."""
        if self.follower is None or self.follower.turn.id != turn.id:
            self.follower = TurnFollower(turn)
        else:
            self.follower.continue_from(turn)
        return self.follower.turn


Running = tuple[TurnState | None, TurnState | None]  # where two are compared the second is not None


class PageSession:
    """One open page: the turn that it follows, and the frames that answer its messages and the events."""

    def __init__(self, manager: TurnManager, key: PageKey, viewer: PageViewer) -> None:
        self.key = key
        self._manager = manager
        self._conversation_id = key.conversation_id
        self._user = viewer.user
        self._frames = PageFrames(viewer.sees)
        self._lanes = (Lane(self._frames), Lane(PageFrames(viewer.sees, beside=True), is_beside=True))
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
        """The running turn that the page follows; where two are compared and the first has ended, the second."""
        return self._lanes[0].turn or self._lanes[1].turn

    async def opened(self, shows: str | None = None) -> list[str]:
        """Return what the page is sent first: the running turn. ``shows``: the newest card that it was loaded with."""
        running = await self._find_running()
        newest_id = _newest_of(running)
        if newest_id:
            self._newest_id = newest_id
        if newest_id and shows not in (None, newest_id):
            self._must_sync = True
            return [TurnFrame(running=True).encode()]
        return self._snapshots(running)

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
            case "started" if event.get("beside"):
                # Mostly its card has come with that of the first.
                return await (self._follow(event) if event["turn"] in self._cards else self._redraw())
            case "started":
                self._newest_id = event["turn"]
                self._may_have_new_settings = False
                return await self._on_start(event)
            case "ended":
                self._newest_id = self._newest_id if event.get("beside") else event["turn"]
                return await self._on_end(event)
        return await self._follow(event)

    async def reauthorize(self) -> list[str]:
        """Read the viewer again; return all cards where that changed what they show. Raises SignedOutError."""
        self._authorized_at = asyncio.get_running_loop().time()
        self._may_have_new_settings = True
        return await self._set_viewer(await authorize(self.key))

    async def check(self, viewer: PageViewer | SignedOutError | None, read_at: float) -> list[str]:
        """Bring the page up to date. ``viewer``: its viewer, where that was read again, at ``read_at``.

        Raises SignedOutError where that is what reading the viewer came to: its page shows what it missed before.
        """
        drawn = await self.catch_up()
        if isinstance(viewer, SignedOutError):
            raise viewer
        if viewer is not None and self._authorized_at < read_at:  # else the page has read it since
            drawn += await self._set_viewer(viewer)
            drawn += await self._find_turn(viewer.newest_id)
        return drawn

    async def _set_viewer(self, viewer: PageViewer) -> list[str]:
        before, self._user = self._frames.sees, viewer.user
        for lane in self._lanes:
            lane.frames.sees = viewer.sees
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
        return [frame for lane in self._lanes for frame in await self._catch_up_lane(lane, heard=heard)]

    async def _catch_up_lane(self, lane: Lane, *, heard: bool) -> list[str]:
        follower = lane.follower
        if follower is None or (heard and not follower.early):
            return []
        turn = follower.turn
        if not isinstance(turn, LiveTurn):
            return await self._read_stored(lane, follower)
        if turn.finished.is_set():
            return await self._finish(lane, turn)
        return self._snapshot(lane, turn) if turn.seq > follower.seq else []

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
            other = turn.compared_with.hex if turn.compared_with else ""
            self._scratchpads = {turn.public_id: joined} | {
                pk: kept for pk, kept in self._scratchpads.items() if pk == other
            }
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

    async def _find_running(self) -> Running:
        turn: TurnState | None = self._manager.live(self._conversation_id)
        beside: TurnState | None = self._manager.live(self._conversation_id, beside=True)
        if turn is None and beside is None:
            turn = await read_running(self._conversation_id)
            if turn is None or turn.compared_with:
                beside = await read_running(self._conversation_id, beside=True)
        return turn, beside

    def _snapshots(self, running: Running) -> list[str]:
        """Return the running cards, which the page has already."""
        drawn = []
        for lane, turn in zip(self._lanes, running, strict=True):
            if turn is None:
                lane.follower = None
            else:
                drawn += self._snapshot(lane, turn)
        return drawn or [TurnFrame(running=False).encode()]

    def _snapshot(self, lane: Lane, turn: TurnState) -> list[str]:
        """Return a running card, which the page has already, in its present state, and follow its turn from there."""
        turn = lane.follow(turn)
        self._cards.add(turn.public_id)
        return lane.frames.snapshot(turn) + self._scratchpad_notice(turn)

    async def _show(self, turn: TurnState, beside: TurnState | None, *, ends_second: bool = False) -> list[str]:
        """Return the running cards, whole where the page doesn't have them, and follow their turns from there.

        ``ends_second``: the page shows the second as running.
        """
        first, second = self._lanes
        has_second_ended = turn.compared_with is not None and beside is None
        ended = await _load_ended(turn.compared_with, None) if turn.compared_with and has_second_ended else None
        if turn.public_id in self._cards:
            return [
                *self._snapshots((turn, beside)),
                *(second.frames.finished(ended, other_runs=True) if ended and ends_second else ()),
            ]
        turn = first.follow(turn)
        self._cards.add(turn.public_id)
        if turn.compared_with:
            self._cards.add(turn.compared_with.hex)
        beside = second.follow(beside) if beside else None
        drawn = first.frames.append_live(turn, beside or ended)
        if beside:
            drawn += [second.frames.whole_open_block(beside), *self._scratchpad_notice(beside)]
        return drawn + self._scratchpad_notice(turn) + self._first_title(turn)

    def _first_title(self, turn: TurnState) -> list[str]:
        """Return the title that the first question has given its conversation."""
        if turn.number != 1 or turn.conversation is None:
            return []
        return frames.title_frames(turn.conversation, is_new=True)

    def _scratchpad_notice(self, turn: TurnState) -> list[str]:
        is_elsewhere = self._frames.sees.scratchpad and not isinstance(turn, LiveTurn)
        return [gate.render_elsewhere_notice(dom_id(turn.public_id))] if is_elsewhere else []

    async def _on_start(self, event: Event) -> list[str]:
        drawn = []
        for lane in self._lanes:
            if lane.turn and event["turn"] not in (lane.turn.public_id, *_other_of(lane.turn)):
                drawn += await self._finish(lane, lane.turn)  # its end was lost, or is still on its way
        turn, beside = await self._find_running()
        if turn is None or turn.public_id != event["turn"]:
            return drawn  # over already; its end brings the card
        if turn.seq < event["seq"]:  # of another process, without a checkpoint yet: later events continue this one
            turn.apply(event)
        is_new = turn.public_id not in self._cards  # a sync may have brought it meanwhile
        if event["replaced"] == turn.public_id and not is_new:  # it is continued in its card
            self._lanes[0].follow(turn)
            drawn += [*self._frames.replace_live(turn), AnnounceFrame(text=_("Working on the answer")).encode()]
        elif is_new:
            drawn += [*frames.start_frames(event["replaced"]), *await self._show(turn, beside)]
            drawn.append(AnnounceFrame(text=_("Working on the answer")).encode())
        else:
            is_followed = self._lanes[0].turn is turn
            drawn += [*(() if is_followed else self._snapshots((turn, beside))), *self._first_title(turn)]
        return drawn

    async def _follow(self, event: Event) -> list[str]:
        lane = self._lane_of(event["turn"])
        if lane is None or lane.follower is None:
            running_here = [self._manager.live(self._conversation_id, beside=lane.is_beside) for lane in self._lanes]
            missed_start = any(live is not None and live.public_id == event["turn"] for live in running_here)
            return await self._redraw() if missed_start else []
        follower = lane.follower
        turn, early_before = follower.turn, len(follower.early)
        followed = follower.receive(event)
        if follower.early and isinstance(turn, LiveTurn):
            return self._snapshot(lane, turn)
        if follower.early and not early_before:
            return await self._read_stored(lane, follower)  # the next check reads it again
        drawn: list[str] = []
        for each in followed:
            if each["kind"] == "rewritten":  # the state has what follows, too
                return self._snapshot(lane, turn)
            drawn += lane.frames.draw(turn, each)
        return drawn

    def _lane_of(self, turn_id: object) -> Lane | None:
        for lane in self._lanes:  # for every event of everybody: no generator, no property
            if lane.follower is not None and lane.follower.turn.public_id == turn_id:
                return lane
        return None

    async def _read_stored(self, lane: Lane, follower: TurnFollower[TurnState]) -> list[str]:
        """Bring a page up to date with a turn of another process: its checkpoint, then the events that continue it."""
        turn = follower.turn
        stored = await read_running(self._conversation_id, beside=lane.is_beside)
        if stored is None or stored.id != turn.id:
            return await self._finish(lane, turn)
        if lane.frames.is_thinking_open(turn.public_id):
            stored.thinking = await database_sync_to_async(checkpoint_thinking)(turn.id)
        return self._snapshot(lane, stored) if follower.continue_from(stored) else []

    async def _on_end(self, event: Event) -> list[str]:
        lane = self._lane_of(event["turn"])
        if lane and lane.follower:
            follower, turn = lane.follower, lane.follower.turn
            return await self._finish(lane, turn, is_complete=event["seq"] == follower.seq == turn.seq)
        record, next_request = await self._read_ended(uuid.UUID(event["turn"]))
        if record is None:
            return []
        if event["turn"] in self._cards:
            lane = self._lanes[bool(event.get("beside"))]
            return [*lane.frames.finished(record, other_runs=self.turn is not None), *next_request]
        if record.turn.compared_with_id:
            return await self._redraw()
        self._cards.add(event["turn"])
        return [*self._frames.append_cards([record]), *next_request]

    async def _finish(self, lane: Lane, turn: TurnState, *, is_complete: bool = False) -> list[str]:
        """Return the end of a turn that the page follows; nothing where it isn't in the log yet."""
        record, next_request = await self._read_ended(turn.id, turn if isinstance(turn, LiveTurn) else None)
        if record is None:
            return []
        lane.follower = None
        blocks = "".join(turn.frozen) if is_complete else None
        return [*lane.frames.finished(record, blocks, other_runs=self.turn is not None), *next_request]

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
        if record.turn.is_beside:
            return record, []
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
        message = clean_message(
            form.get("text"), form.get("id", ""), form.get("attachments", ()), form.get("compare_model", "")
        )
        command = commands.parse(message.text)
        if command is None:
            # What the viewer may see is not asked here: nothing is shown, and a turn's start should cost little.
            require = partial(require_session, self.key.session_key)
            submission = await self._manager.submit(self._conversation_id, message, authorize=require)
            if submission.turn_id is not None:
                return confirm_frames(client_id, appears=submission.started is not None)
            # Queued. Other pages learn it from an event; this one must not depend on the channel layer for it.
            return [*confirm_frames(client_id, appears=True), await self._queue()]
        await authorize(self.key)
        answer = await database_sync_to_async(commands.execute)(command, self._user, self._conversation_id)
        return [*confirm_frames(client_id), *frames.command_frames(answer)]

    async def _queue(self) -> str:
        return frames.queue_frame(await database_sync_to_async(queue.queued_messages)(self._conversation_id))

    async def _stop(self, form: Mapping[str, Any]) -> list[str]:
        await self._manager.stop(self._conversation_id)
        return []

    async def _open(self, form: Mapping[str, Any]) -> list[str]:
        lane = self._lane_of(form.get("id"))
        if lane is None or lane.turn is None or form.get("part") != "thinking":
            return []
        turn = lane.turn
        if not isinstance(turn, LiveTurn) and self._frames.sees.may_open_thinking:
            turn.thinking = max(turn.thinking, await database_sync_to_async(checkpoint_thinking)(turn.id), key=len)
        return lane.frames.open_thinking(turn)

    async def _close(self, form: Mapping[str, Any]) -> list[str]:
        for lane in self._lanes:
            lane.frames.close_thinking(_text_in(form, "id"))
        return []

    async def _refresh(self, form: Mapping[str, Any]) -> list[str]:
        self._panel_card = ""
        return self._snapshots(await self._find_running())

    async def _sync(self, form: Mapping[str, Any]) -> list[str]:
        """Bring a page up to date that was disconnected.

        ``last``: the newest card that the page has; ``status``: how it shows that card; ``beside``: and the second of
        two that are compared.
        """
        self._must_sync = False
        last, ends_second = _text_in(form, "last"), form.get("beside") == "streaming"
        done, waiting, (turn, beside) = await self._read_cards()
        ids = [record.turn.public_id for record in done]
        if form.get("fresh") is True:  # its cards have just been drawn again, up to ``last``, over those it was sent
            self._cards = set()
        is_gone = last not in ids and (turn is None or last != turn.public_id)
        if last and (is_gone or (_text_in(form, "beside") and not _is_compared(last, done, turn))):
            # Its newest card isn't among the newest turns of the selected branch any more, or is there alone.
            return await self._redraw()
        already_sent, self._cards = self._cards, self._cards.union(_cards_of(done))
        drawn: list[str] = []
        missing = [] if last else done
        if last in ids:
            position = ids.index(last)
            missing = done[position + 1 :]
            if form.get("status") == "streaming":  # it has ended since
                drawn = self._frames.finished(done[position], other_runs=beside is not None)
            if ends_second and beside is None and (second := done[position].beside):
                drawn += self._lanes[1].frames.finished(second, other_runs=turn is not None)
        missing = [record for record in missing if record.turn.public_id not in already_sent]
        appended = self._frames.append_cards(missing, beside)
        shown = await self._show_after_sync((turn, beside), last, ends_second=ends_second)
        return [*drawn, *appended, *shown, waiting]

    async def _show_after_sync(self, running: Running, last: str, *, ends_second: bool = False) -> list[str]:
        turn, beside = running
        if turn is None:
            return self._snapshots(running)
        if last == turn.public_id:
            self._cards.update((last, *_other_of(turn)))
        return await self._show(turn, beside, ends_second=ends_second)

    async def _redraw(self) -> list[str]:
        """Return every card again."""
        done, waiting, running = await self._read_cards()
        self._cards = _cards_of(done)
        return [*self._frames.replace_all(done, running[1]), *await self._show_after_sync(running, ""), waiting]

    async def _read_cards(self) -> tuple[list[TurnRecord], str, Running]:
        """Return the finished turns, the queue's frame and the running ones; read again where one ended meanwhile.

        Notes which turn is the newest.
        """
        records, waiting = await _read(self._conversation_id)
        running = await self._find_running()
        ran = {
            each.turn.pk
            for record in records
            for each in (record, record.beside)
            if each and each.turn.status == Turn.Status.RUNNING
        }
        if ran - {turn.id for turn in running if turn}:
            records, waiting = await _read(self._conversation_id)
            running = await self._find_running()
        self._newest_id = await _newest_turn_id(self._conversation_id)
        turn = running[0]
        done = [record for record in records if turn is None or record.turn.pk != turn.id]
        lives = [self._manager.live(self._conversation_id, beside=lane.is_beside) for lane in self._lanes]
        return done, frames.queue_frame(waiting), (lives[0] or turn, lives[1] or running[1])


def client_id_of(form: object) -> str:
    """Return the id that a page gave what it sent, by which it recognises a refusal."""
    return storable(_text_in(form, "id")) if isinstance(form, dict) else ""


def _text_in(form: Mapping[str, Any], key: str) -> str:
    value = form.get(key)
    return value if isinstance(value, str) else ""


def _cards_of(records: Sequence[TurnRecord]) -> set[str]:
    return {each.turn.public_id for record in records for each in (record, record.beside) if each}


def _is_compared(card: str, done: Sequence[TurnRecord], running: TurnState | None) -> bool:
    if running and running.public_id == card:
        return running.compared_with is not None
    return any(record.beside for record in done if record.turn.public_id == card)


def _other_of(turn: TurnState) -> tuple[str, ...]:
    """Return the id of the turn that is compared with this one, if there is one."""
    return (turn.compared_with.hex,) if turn.compared_with else ()


def _newest_of(running: Running) -> str:
    """Return the public id of the newest turn of the branch, where it runs or is compared with one that does."""
    turn, beside = running
    return turn.public_id if turn else next(iter(_other_of(beside)), "") if beside else ""


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
