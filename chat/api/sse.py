"""A turn as server-sent events: the pieces as they come, the steps of the trace, the envelope at the end.

Wherever a client joins, pieces continue what it was sent before: joined, they are the whole. Only where something that
was sent repeats the scratchpad, the envelope alone has the text that is stored (product 22). The ``id`` of an event
says how much of each channel its client has, so that any process can continue behind it, whether the turn still runs
there, elsewhere, or has ended.
"""

from __future__ import annotations

import asyncio
import json
import logging
import re
import uuid
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping
from dataclasses import InitVar, dataclass, field
from typing import Any

from asgiref.sync import sync_to_async
from django.db import DatabaseError, connection
from django.utils.translation import gettext as _

from chat import eventlog
from chat.api.endpoint import ApiError
from chat.live.follow import TurnFollower
from chat.live.groups import Subscription, group_of
from chat.live.state import Event, TurnState
from chat.live.stored import FollowedTurn, read_followed
from chat.live.turn import LiveTurn
from chat.models import Turn
from chat.turns.manager import turn_manager
from reasoning.deltas import Channel
from reasoning.trace import step_to_json
from reasoning.visibility import EXCERPT_CHARS, Visibility

logger = logging.getLogger(__name__)
REAUTHORIZE_EVERY_S = 10.0  # as the pages' sockets
LOOK_AGAIN_S = 2.0  # for an event that was lost
KEEP_ALIVE_S = 10.0  # of silence; with LOOK_AGAIN_S well below the 15 s that are promised
# A comment: a client that resumes has had the start, and must hear at once that it is connected.
RESUMED = ": resumed\n\n"
# Without a blank line: httpx-sse 0.4 makes an empty event of a blank line behind an event with an id (seen 2026-11).
KEEP_ALIVE = ": keep-alive\n"
# Not of the format, but of clients that split text at every line end that Unicode knows, such as httpx.
LINE_ENDS = str.maketrans({char: json.dumps(char)[1:-1] for char in "\x85\u2028\u2029"})
RunningTurn = LiveTurn | FollowedTurn
WHOLE = Visibility(thinking="whole")
_POSITION = re.compile(r"a(\d{1,9})-t(\d{1,9})-s(\d{1,6})-b(\d{1,6})(?:-(error|done))?")


@dataclass(slots=True)
class Position:
    """How much of a turn a client was sent: characters of answer and thinking, steps, bullets, and the last events."""

    answer: int = 0
    thinking: int = 0
    steps: int = 0
    bullets: int = 0
    end: str = ""  # "error" or "done", once that was sent

    def __str__(self) -> str:
        end = f"-{self.end}" if self.end else ""
        return f"a{self.answer}-t{self.thinking}-s{self.steps}-b{self.bullets}{end}"

    @classmethod
    def parse(cls, event_id: str) -> Position:
        """Return the position behind the event with this id. Raises ApiError."""
        found = _POSITION.fullmatch(event_id)
        if found is None:
            message = _("Last-Event-ID: the id of an event of this turn is needed.")
            raise ApiError(400, "invalid_event_id", message, field="Last-Event-ID")
        answer, thinking, steps, bullets = map(int, found.groups()[:4])
        return cls(answer, thinking, steps, bullets, found[5] or "")


@sync_to_async
def release_connection() -> None:
    """Close this request's database connection, which it would hold while it waits. Later work opens it again."""
    if not connection.in_atomic_block:
        connection.close()


async def running_turn(conversation_id: uuid.UUID, turn_id: uuid.UUID) -> RunningTurn | None:
    """Return a running turn with its text so far, wherever it runs; None for one that has ended."""
    for beside in (False, True):
        live = turn_manager.live(conversation_id, beside=beside)
        if live and live.id == turn_id:
            return live
    return await sync_to_async(read_followed)(turn_id)


@dataclass(slots=True)
class TurnEvents:
    """The events of one turn for one viewer, with how much was sent."""

    conversation_id: uuid.UUID
    turn_id: uuid.UUID
    sees: Visibility
    authorize: Callable[[], Visibility]  # reads what the viewer may see now; raises ApiError if that is nothing
    after: InitVar[Position | None] = None  # the last event that the client has; None for one that has nothing
    follower: TurnFollower[RunningTurn] | None = None  # of the turn, as it was last known while it ran
    position: Position = field(init=False)
    is_resumed: bool = field(init=False)
    rewrites: int = 0  # that the position has followed
    asked: str = ""  # the call whose waiting was sent last

    @property
    def turn(self) -> RunningTurn | None:
        return self.follower.turn if self.follower else None

    def __post_init__(self, after: Position | None) -> None:
        self.position, self.is_resumed = after or Position(), after is not None

    async def stream(self) -> AsyncGenerator[str, None]:
        """Yield what the turn shows until it has ended; a comment at once, and whenever nothing was sent for long."""
        clock = asyncio.get_running_loop().time
        # subscribed before the state is read: no event is lost in between
        async with Subscription(group_of(self.conversation_id)) as messages:
            turn = await self.look()
            yield RESUMED if self.is_resumed else await self.start()
            await release_connection()
            sent_at = looked_at = authorized_at = clock()
            while turn is not None:
                if clock() - authorized_at >= REAUTHORIZE_EVERY_S:
                    authorized_at = clock()
                    await self.reauthorize()
                for event in self.new_events(turn):
                    sent_at = clock()
                    yield event
                if clock() - sent_at >= KEEP_ALIVE_S:
                    sent_at = clock()
                    yield KEEP_ALIVE
                message = await messages.next(within_s=LOOK_AGAIN_S)
                has_ended = self.receive(turn, message["event"]) if message else False
                is_due = message is None or (self.is_behind(turn) and clock() - looked_at >= LOOK_AGAIN_S)
                if has_ended or is_due:
                    looked_at = clock()
                    turn = await self.look()
                    if isinstance(turn, FollowedTurn):
                        await release_connection()
        if self.turn is not None:
            for event in self.new_events(self.turn):
                yield event

    async def reauthorize(self) -> None:
        """Read again what the viewer may see. Raises ApiError if their token, session or conversation has ended."""
        try:
            self.sees = await sync_to_async(self.authorize)()
        except DatabaseError:  # unavailable for a moment; the next check follows soon
            logger.warning("stream not authorized again", exc_info=True)
        await release_connection()

    async def look(self) -> RunningTurn | None:
        """Return the present state of the turn, or the one in its checkpoint; None once its end is in the log."""
        found = await running_turn(self.conversation_id, self.turn_id)
        if found is None:
            return None
        if self.follower is None:
            self.follower = TurnFollower(found)
            if self.is_resumed:
                self.rewrites = len(found.rewrites)  # the client's position is behind them already
        else:
            self.follower.continue_from(found)
        return self.follower.turn

    def receive(self, turn: RunningTurn, event: Event) -> bool:
        """Follow an event of the conversation; return whether it is the end of this turn."""
        if event.get("turn") != turn.public_id:
            return False
        if event["kind"] == "ended":
            return True
        if self.follower and isinstance(turn, FollowedTurn):
            self.follower.receive(event)
        return False

    def is_behind(self, turn: RunningTurn) -> bool:
        """Return whether only a checkpoint has what this viewer may see next."""
        if isinstance(turn, LiveTurn):
            return False
        # events have no more of the thinking than ordinary viewers may read
        is_behind = self.follower is not None and bool(self.follower.early)
        return is_behind or (self.sees.thinking == "whole" and len(turn.thinking) < turn.thinking_chars)

    async def start(self) -> str:
        """Return the first event: which turn this is, the model that is expected to answer, and the turn beside it."""
        turn = self.turn or await Turn.objects.aget(pk=self.turn_id)
        other = turn.compared_with if isinstance(turn, TurnState) else turn.compared_with_id
        form = {"id": self.turn_id.hex, "model": turn.model}
        return self.event("start", form | ({"comparedWith": other.hex} if other else {}))

    def new_events(self, turn: RunningTurn) -> Iterator[str]:
        """Yield what was published since the last call. The position counts it, whatever this viewer may read of it."""
        at = self.position
        for channel, same_chars, chars in turn.rewrites[self.rewrites :]:
            # What was sent stays sent; what comes continues the text that replaced it.
            if channel is Channel.ANSWER and at.answer > same_chars:
                at.answer = chars
            elif channel is Channel.THINKING and at.thinking > same_chars:
                at.thinking = chars
        self.rewrites = len(turn.rewrites)
        thinking_chars = turn.thinking_chars if self.sees.thinking == "excerpt" else len(turn.thinking)
        yield from self.thinking_events(turn.thinking[at.thinking : thinking_chars], thinking_chars)
        for step in turn.steps[at.steps :] if self.sees.trace else ():
            # It runs, or it represents others and still counts them: such a step is sent at the end.
            if step.trace is None or step.trace.omitted:
                break
            at.steps += 1
            yield self.event("tool_step", step_to_json(step.trace))
        if turn.approval and turn.approval.call_id != self.asked:
            self.asked = turn.approval.call_id
            yield self.event("tool_step", step_to_json(turn.approval))
            yield self.event("permission", step_to_json(turn.approval))
        yield from self.answer_events(turn.answer[at.answer : turn.answer_chars])

    async def last_events(self, form: Mapping[str, Any]) -> AsyncGenerator[str, None]:
        """Yield the rest of an ended turn: what its envelope holds and wasn't sent yet, the error, the envelope."""
        at = self.position
        # A turn of this process has shown all of its thinking; an event of another one may have been lost.
        has_excerpt = self.sees.thinking == "excerpt" and at.thinking > EXCERPT_CHARS
        if "thinking" in form and not has_excerpt and not isinstance(self.turn, LiveTurn):
            stored = await sync_to_async(eventlog.thinking_for)(await Turn.objects.aget(pk=self.turn_id), WHOLE)
            whole = stored.text if stored else ""
            for event in self.thinking_events(whole[at.thinking :], len(whole)):
                yield event
        for step in form["toolTrace"][at.steps :]:
            at.steps += 1
            yield self.event("tool_step", step)
        sent = self.turn.answer[: at.answer] if self.turn else ""
        if form["answer"].startswith(sent):  # else something was withheld from what was stored: only `done` has it
            for event in self.answer_events(form["answer"][at.answer :]):
                yield event
        for bullet in form["reasoningSummary"][at.bullets :]:
            at.bullets += 1
            yield self.event("delta", {"channel": "summary", "text": bullet})
        if "error" in form and not at.end:
            at.end = "error"
            yield self.event("error", {"error": form["error"]})
        at.end = "done"
        yield self.event("done", form)

    def thinking_events(self, text: str, chars: int) -> Iterator[str]:
        """Yield the thinking from the position to ``chars``, as far as this viewer may read it."""
        shown = self.sees.thinking_piece(text, offset=self.position.thinking, chars=chars)
        self.position.thinking = max(self.position.thinking, chars)
        if shown:
            yield self.event("delta", {"channel": "thinking", "text": shown})

    def answer_events(self, text: str) -> Iterator[str]:
        if text:
            self.position.answer += len(text)
            yield self.event("delta", {"channel": "answer", "text": text})

    def event(self, name: str, form: Any) -> str:
        """Return an event whose id is the present position."""
        data = json.dumps(form, ensure_ascii=False, separators=(",", ":"))
        return f"id: {self.position}\nevent: {name}\ndata: {data.translate(LINE_ENDS)}\n\n"
