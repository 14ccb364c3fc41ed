"""The state of a turn running in this process. Batches updates and publishes them in order.

The turn calls ``show_answer``, ``show_status`` and so on, which only collect. One task, ``pump``, renders finished
blocks of what was collected, applies each event to the state and publishes it.
"""

from __future__ import annotations

import asyncio
import logging
import time
import uuid
from dataclasses import dataclass, field
from datetime import timedelta
from os.path import commonprefix
from typing import TYPE_CHECKING, Any, NamedTuple

from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from django.utils.translation import override

from accounts.access.visibility import site_flags
from chat.html import BlockSplitter
from chat.live.blocks import BlockRenderer, RedrawPace, held_pace, markup_pace, may_redraw
from chat.live.publish import publish
from chat.live.state import Event, LiveStep, TurnState
from reasoning.citations import Source
from reasoning.deltas import Channel
from reasoning.events import HistoryCut
from reasoning.redaction import redact_text
from reasoning.trace import ToolTraceStep, TraceRoom, step_to_json
from reasoning.visibility import EXCERPT_CHARS, Viewer, visibility

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

    from chat.eventlog import TurnRecord
    from reasoning.stream.turn import EndedPart

MAX_TOOL_CHARS = 80
FEED_CHARS = 4_096  # are split into blocks without a pause
WRITING = _("Writing…")
REDRAW_EVERY_S = 0.25  # at most so often is the open block of a turn drawn again
logger = logging.getLogger(__name__)


class Rewrite(NamedTuple):
    """A text that was shown and changed behind ``same_chars``; it has ``chars`` now."""

    channel: Channel
    same_chars: int
    chars: int

    @classmethod
    def between(cls, channel: Channel, before: str, after: str, chars: int) -> Rewrite:
        return cls(channel, len(commonprefix([before, after])), chars)  # noqa: RUF071 - of characters, they are no paths


class RequestSize(NamedTuple):
    """How large a request is, how large it may be, and what is stored beside it and not sent. In tokens."""

    tokens: int
    limit: int
    unsent: int


@dataclass(kw_only=True, eq=False)
class LiveTurn(TurnState):
    """The state of a running turn in the process that runs it. It belongs to the event loop of the turn."""

    replaces: uuid.UUID | None = None
    working_status: StrOrPromise = ""  # what the model does; behind it the status line may name what the model reads
    sources: tuple[Source, ...] = ()
    record: TurnRecord | None = None  # as stored, once the turn has ended
    next_request: RequestSize | None = None  # by the model and the settings of this turn, once it has ended
    finished: asyncio.Event = field(default_factory=asyncio.Event)
    answer: str = ""  # all that was released, published or not
    rewrites: list[Rewrite] = field(default_factory=list)
    _pending: list[Event] = field(default_factory=list)
    _wake: asyncio.Event = field(default_factory=asyncio.Event)
    _idle: asyncio.Event = field(default_factory=asyncio.Event)
    _splitter: BlockSplitter = field(default_factory=BlockSplitter)
    _is_behind: bool = False  # the open block: some of its text isn't drawn, or is drawn without its markup
    _drawn_at: float = 0.0  # of the monotonic clock, as the next one
    _redraw_at: float = 0.0
    _steps_started: int = 0
    _omitted_from: int | None = None  # the first step that a trace has no room for
    _trace_room: TraceRoom = field(default_factory=TraceRoom)
    _new_results: int | None = None  # of the calls since the model was last given results
    _reads: int = 0
    _given_results: int = 0
    _status: StrOrPromise = ""
    _trouble: StrOrPromise = ""
    _thought: str = ""
    _model: str = ""
    _retry_at: float | None = None
    _thinking_since: float | None = None
    _thinking_ms: float = 0.0

    def __post_init__(self) -> None:
        self._blocks = BlockRenderer(self.conversation_id, self.owner_id)
        self._model = self.model
        replaced = self.replaces.hex if self.replaces else ""
        self._add({"kind": "started", "replaced": replaced, "beside": self.is_beside})
        self.show_status(self.working_status)

    @property
    def thinking_ms(self) -> int:
        running = time.monotonic() - self._thinking_since if self._thinking_since is not None else 0.0
        return int(self._thinking_ms + running * 1000)

    @property
    def published_answer(self) -> str:
        return self.answer[: self.answer_chars]

    def to_json(self) -> dict[str, Any]:
        return {**super().to_json(), "sources": [[source.ref, source.url] for source in self.sources]}

    async def restore(self, before: EndedPart, thinking_ms: int) -> None:
        """Begin with what a turn holds already that is continued. Called before anything is shown or published."""
        # Pages that followed the earlier run in other processes ignore smaller numbers. A run has fewer events than
        # milliseconds; the last number of one that was killed is nowhere.
        self.seq = max(0, (timezone.now() - self.started_at) // timedelta(milliseconds=1))
        self.sources = before.sources
        self._thinking_ms = thinking_ms
        self.thinking, self.thinking_chars = before.thinking, len(before.thinking)
        for trace in before.trace:
            self.step_finished(self.step_queued(trace.tool, trace.response), trace, trace.response)
        # Their events are published with the next ones, but a page that connects before reads the state.
        self.steps = [LiveStep.from_json(event) for event in self._pending if event["kind"] == "step"]
        self.answer, self.answer_chars = before.answer, len(before.answer)
        if blocks := self._splitter.feed(before.answer):
            self.frozen = [str(await self._blocks.render(blocks, self.sources))]
        self.open_block = await self._blocks.render_open(self._splitter.open_parts, self.sources)

    def show_answer(self, text: str) -> None:
        """Show released answer text."""
        if self._status is not WRITING:
            self.show_status(WRITING)
        if self._thinking_since is not None:
            self._stop_thinking_clock()
        self.answer += text
        self._add_text("text", text)

    def show_thinking(self, text: str) -> None:
        """Show redacted thinking text."""
        if self._thinking_since is None:
            self._thinking_since = time.monotonic()
        self._add_text("thinking", text)

    def replace_text(self, channel: Channel, chars: int, text: str) -> None:
        """Replace the last ``chars`` characters that were shown of the answer or the thinking."""
        self._add({"kind": "rewritten", "channel": channel.value, "chars": chars, "text": text})

    def show_status(self, text: StrOrPromise, *, announce: bool = False, wait_s: float | None = None) -> None:
        """Set the status line; ``wait_s``: how long until the next try. While there is trouble, it is only remembered.

        With any other status than that of a model that works, its thinking rests.
        """
        if text is self._status:
            return
        self._status, self._thought, self._reads = text, "", 0
        self._retry_at = None if wait_s is None else time.time() + wait_s
        if text is self.working_status:
            if self._new_results is not None:
                self._given_results, self._new_results = self._new_results, None
            self._reads = self._given_results
        else:
            self._stop_thinking_clock()
        if not self._trouble:
            self._add_status(announce=announce)

    def show_model(self, name: str) -> None:
        """Name the model that answers, where it isn't the expected one."""
        if name != self._model:
            self._model = name
            self._add_status()

    def show_trouble(self, text: StrOrPromise) -> None:
        """Let the status line say this, whatever the turn does, until it is called with an empty text."""
        if text is not self._trouble:
            self._trouble = text
            self._add_status(announce=bool(text))

    def show_thought_line(self, text: str) -> None:
        """Say what the thinking is about, in the service's words. Never stored."""
        self._thought = text
        self._add_status()

    def show_history_cut(self, cut: HistoryCut) -> None:
        """Say that earlier messages were summarised or left out, so that the request fits."""
        self._add({"kind": "history", "cut": cut})

    def step_queued(self, tool: str, response: int | None) -> int:
        """Show a call made by this response of the turn; return its place among all. Its name is redacted."""
        self._stop_thinking_clock()
        at = self._steps_started
        self._steps_started += 1
        self._add_step_if_room(at, LiveStep(redact_text(tool[:MAX_TOOL_CHARS]), response, is_queued=True))
        return at

    def step_started(self, at: int, tool: str, response: int | None) -> None:
        """Show that the call at this place runs."""
        self._add_step_if_room(at, LiveStep(redact_text(tool[:MAX_TOOL_CHARS]), response))

    def step_finished(self, at: int, trace: ToolTraceStep, response: int | None) -> None:
        """Show what the call at this place became."""
        self._new_results = (self._new_results or 0) + (trace.results or 0)
        if self._trace_room.takes(trace):
            self._add_step_if_room(at, LiveStep(trace.tool, response, trace))
        else:
            omitted = self._trace_room.omitted_step()
            self._omitted_from = at if self._omitted_from is None else min(at, self._omitted_from)
            self._add_step(self._omitted_from, LiveStep(omitted.tool, None, omitted))

    def _add_step_if_room(self, at: int, step: LiveStep) -> None:
        if self._omitted_from is None:
            self._add_step(at, step)

    def show_approval(self, step: ToolTraceStep | None) -> None:
        """Show that a call waits for the user's decision; None: no more."""
        self._add({"kind": "approval", "step": step_to_json(step) if step else None})

    async def pump(self) -> None:
        """Publish what the turn shows, until cancelled. What is shown meanwhile is joined."""
        while True:
            self._idle.set()
            await self._wake.wait()
            self._idle.clear()
            self._wake.clear()
            pending, self._pending = self._pending, []
            for event in pending:
                try:
                    await self._publish(event)
                except Exception:  # the turn waits for the pump at its end
                    logger.exception("live event not published", extra={"turn": self.public_id})

    async def settle(self) -> None:
        """Wait until everything shown was published. Nothing may be shown afterwards."""
        self._stop_thinking_clock()
        self._is_behind = False  # the end of the turn draws everything
        while self._wake.is_set() or not self._idle.is_set():
            await self._idle.wait()
            await asyncio.sleep(0)

    async def _publish(self, event: Event) -> None:
        if event["kind"] == "text":
            event = await self._answer_event(event["text"])
        elif event["kind"] == "thinking":
            event |= {"offset": self.thinking_chars, "chars": self.thinking_chars + len(event["text"])}
        elif event["kind"] == "rewritten":
            event = await self._rewrite_event(event)
        # Applied before it is sent: a page that reads the state now must not get the event again as news.
        event |= {"turn": self.public_id, "seq": self.seq + 1}
        self.apply(event)
        await publish(self.conversation_id, _public(event))

    async def _answer_event(self, text: str) -> Event:
        blocks = self._splitter.feed(text[:FEED_CHARS])
        for start in range(FEED_CHARS, len(text), FEED_CHARS):
            await asyncio.sleep(0)  # lets other turns run: much may have come while a block was rendered
            blocks += self._splitter.feed(text[start : start + FEED_CHARS])
        now = time.monotonic()
        is_due = now >= self._redraw_at
        if blocks:
            html = str(await self._blocks.render(blocks, self.sources))
            event: Event = {"kind": "block", "text": text, "html": html}
            return event | (await self._redraw(markup_pace) if is_due else await self._show_as_text())
        event = {"kind": "text", "text": text, "added": "", "open": None, "n": self.tail_n + 1}
        as_text = event | ({"added": text} if text else {"n": self.tail_n})
        takes, is_held = self.open_block.takes(text), not self.open_block.is_whole
        # 1. Plain words are added as they are.
        if takes and not (self._is_behind or self.open_block.is_code):
            return as_text
        # 2. A block that is too long to be drawn again gets all text so, once what it lacks was drawn.
        if not may_redraw(self._splitter.open_parts):
            return event | await self._redraw(markup_pace) if self._is_behind else as_text
        # 3. Markup is drawn when it is due, and sooner where text waits behind half a link or the like.
        if is_due and (self._is_behind or not takes):
            return event | await self._redraw(markup_pace)
        if is_held and held_pace.is_free() and now >= self._drawn_at + REDRAW_EVERY_S:
            return event | await self._redraw(held_pace)
        # 4. Until then it is shown as text.
        self._redraw_soon()
        return event | {"n": self.tail_n} if is_held else as_text

    async def _redraw(self, pace: RedrawPace) -> Event:
        drawn = await self._blocks.render_open(self._splitter.open_parts, self.sources)
        self._is_behind, self._drawn_at = False, time.monotonic()
        self._redraw_at = max(self._redraw_at, self._drawn_at + REDRAW_EVERY_S, pace.spend(drawn.cost_s))
        return {"open": drawn.shown}

    async def _show_as_text(self) -> Event:
        drawn = await self._blocks.render_open(self._splitter.open_parts, self.sources, as_text=True)
        self._redraw_soon()
        return {"open": drawn.shown}

    def _redraw_soon(self) -> None:
        """Draw the open block again as soon as its share allows, though no more text may come."""
        if not self._is_behind:
            self._is_behind = True
            self._wait_for_redraw()

    def _wait_for_redraw(self) -> None:
        wait_s = self._redraw_at - time.monotonic()
        if self._is_behind and wait_s > 0:
            asyncio.get_running_loop().call_later(wait_s, self._wait_for_redraw)
        elif self._is_behind:
            self._add_text("text", "")

    async def _rewrite_event(self, change: Event) -> Event:
        """Return an event with the whole of a text of which the last part changed."""
        if change["channel"] == Channel.THINKING:
            thinking = self._replace_end(self.thinking, change)
            return {"kind": "rewritten", "channel": "thinking", "text": thinking, "offset": 0, "chars": len(thinking)}
        answer = self._replace_end(self.published_answer, change)
        self.answer = answer + self.answer[self.answer_chars :]
        # From the start: the numbers of citations in later blocks depend on the blocks before.
        self._splitter, self._blocks = BlockSplitter(), BlockRenderer(self.conversation_id, self.owner_id)
        blocks = self._splitter.feed(answer)
        html = str(await self._blocks.render(blocks, self.sources)) if blocks else ""
        event = {"kind": "rewritten", "channel": "answer", "html": html, "chars": len(answer)}
        return event | await self._redraw(markup_pace)

    def _replace_end(self, before: str, change: Event) -> str:
        after = before[: len(before) - change["chars"]] + str(change["text"])
        self.rewrites.append(Rewrite.between(Channel(change["channel"]), before, after, len(after)))
        return after

    def _add(self, event: Event) -> None:
        self._pending.append(event)
        self._wake.set()

    def _add_text(self, kind: str, text: str) -> None:
        if self._pending and self._pending[-1]["kind"] == kind:
            self._pending[-1]["text"] += text
        else:
            self._add({"kind": kind, "text": text})

    def _add_status(self, *, announce: bool = False) -> None:
        with override(None):  # in English, for each viewer's process to translate
            text = str(self._trouble or self._status)
        status = {
            "text": text,
            "reads": self._reads,
            "model": self._model,
            "thought": self._thought,
            "thought_ms": None if self._status is self.working_status else int(self._thinking_ms),
            "retry_at": None if self._trouble else self._retry_at,
        }
        self._add({"kind": "status", "announce": announce, **status})

    def _add_step(self, at: int, step: LiveStep) -> None:
        self._add({"kind": "step", "at": at, **step.to_json()})

    def _stop_thinking_clock(self) -> None:
        if self._thinking_since is not None:
            self._thinking_ms += (time.monotonic() - self._thinking_since) * 1000
            self._thinking_since = None


def _public(event: Event) -> Event:
    """Return an event as it may leave the process: of thinking, what ordinary viewers may read. Product 4."""
    if event["kind"] not in ("thinking", "status") and event.get("channel") != Channel.THINKING:
        return event
    allowed = visibility(site_flags(), Viewer(show_reasoning=True)).thinking
    if event["kind"] == "status":
        return event if allowed in ("whole", "excerpt") else {**event, "thought": ""}
    match allowed:
        case "whole":
            return event
        case "excerpt":
            return {**event, "text": event["text"][: max(0, EXCERPT_CHARS - event["offset"])]}
    return {**event, "text": ""}
