"""A running turn in memory: what has been released so far, and what watchers are told as it grows.

The turn feeds redacted text in (``show_answer``, ``show_thinking``). The answer is split into blocks: text of the open
one is told in the next round of the loop; a pump task has each finished block rendered once, off the event loop, and
tells every watcher in order. What accumulates meanwhile goes out joined, so a slow moment costs frames, not latency.
State and notice change together between two awaits: whoever joins gets the state and then every notice after it, with
nothing missing and nothing twice. The pump outlives what goes wrong in it, for the turn waits for it at the end.

A scratchpad never comes here.
"""

from __future__ import annotations

import asyncio
import logging
import time
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING

from django.utils.safestring import SafeString

from reasoning.trace import ToolTraceStep

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

from chat.html import BlockSplitter
from chat.liveblocks import BlockRenderer
from chat.notices import BlockDone, Notice, OpenText, StatusChanged, StepsChanged, ThinkingText
from reasoning.citations import Source
from reasoning.redaction import redact_text

MAX_TOOL_CHARS = 80
logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class LiveStep:
    """A call that runs now, or the trace step that it became."""

    call_id: str
    tool: str
    trace: ToolTraceStep | None = None


@dataclass(slots=True)
class LiveTurn:
    """See the module. All of it belongs to the event loop that runs the turn."""

    id: uuid.UUID
    conversation_id: uuid.UUID
    owner_id: int
    number: int
    question: str
    model: str
    started_at: datetime
    tell: Callable[[Notice], None]
    status_text: StrOrPromise = ""
    status_is_aloud: bool = False
    reads: int = 0  # how many results the model has before it, where the status line says no more than that it works
    thought_line: str = ""  # of the service's own summary of its thinking; for those who may read thinking
    frozen: list[SafeString] = field(default_factory=list)
    tail_pieces: list[str] = field(default_factory=lambda: [""])
    thinking: list[str] = field(default_factory=list)
    thinking_chars: int = 0
    thinking_n: int = 0
    thinking_chars_elsewhere: int = 0  # of a turn of another process, which passes on no thinking but how much it is
    steps: list[LiveStep] = field(default_factory=list)
    sources: tuple[Source, ...] = ()
    answer_told: int = 0  # characters
    finished: asyncio.Event = field(default_factory=asyncio.Event)
    _at_work: StrOrPromise = ""  # the status of a model that works
    _found: int = 0  # results of the newest calls that it was given
    _steps_given: int = 0
    _before_trouble: tuple[StrOrPromise, bool] | None = None
    _began: float = field(default_factory=time.monotonic)
    _thinking_since: float | None = None
    _thinking_ms: float = 0.0
    _answer: list[str] = field(default_factory=list)
    _pending_answer: list[str] = field(default_factory=list)
    _pending_thinking: list[str] = field(default_factory=list)
    _finished: tuple[str, Sequence[str], str] | None = None  # blocks that wait for the pump
    _is_due: bool = False  # what came is told in the next round of the loop
    _splitter: BlockSplitter = field(default_factory=BlockSplitter)
    _blocks: BlockRenderer = field(init=False)
    _more: asyncio.Event = field(default_factory=asyncio.Event)
    _idle: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        self._blocks = BlockRenderer(self.conversation_id)
        self._at_work = self.status_text

    @property
    def public_id(self) -> str:
        return self.id.hex

    @property
    def elapsed_s(self) -> int:
        return int(time.monotonic() - self._began)

    @property
    def thinking_ms(self) -> int:
        running = time.monotonic() - self._thinking_since if self._thinking_since is not None else 0.0
        return int(self._thinking_ms + running * 1000)

    @property
    def thinking_tokens(self) -> int:
        return -(-max(self.thinking_chars, self.thinking_chars_elsewhere) // 4)

    @property
    def tail(self) -> str:
        return "".join(self.tail_pieces)

    @property
    def tail_n(self) -> int:
        """How many pieces came after the block's first text."""
        return max(0, len(self.tail_pieces) - 1)

    @property
    def answer_so_far(self) -> str:
        return "".join(self._answer)

    @property
    def answer_pieces(self) -> int:
        """In how many pieces the answer came so far."""
        return len(self._answer)

    def answer_from_piece(self, first: int) -> str:
        """Return the answer without its first pieces."""
        return "".join(self._answer[first:])

    @property
    def thinking_so_far(self) -> str:
        return "".join(self.thinking)

    def show_answer(self, text: str) -> None:
        """Take released answer text."""
        self._stop_thinking_clock()
        self._answer.append(text)
        self._pending_answer.append(text)
        if not self._is_due:
            self._is_due = True
            asyncio.get_running_loop().call_soon(self._tell_what_came)

    def show_thinking(self, text: str) -> None:
        """Take redacted thinking text."""
        if self._thinking_since is None:
            self._thinking_since = time.monotonic()
        self._pending_thinking.append(text)
        self._more.set()

    def show_status(self, text: StrOrPromise, *, aloud: bool = False) -> None:
        """Set the status line; it is told once. While there is trouble, it is only remembered."""
        if self._before_trouble is not None:
            self._before_trouble = (text, aloud)
        elif text is not self.status_text:
            self.status_text, self.status_is_aloud, self.thought_line = text, aloud, ""
            self.reads = self._results_given() if text is self._at_work else 0
            self.tell(StatusChanged(self, aloud))

    def show_model(self, name: str) -> None:
        """Name the model that answers, where that is another one than was expected."""
        if name != self.model:
            self.model = name
            self.tell(StatusChanged(self, aloud=False))

    def show_trouble(self, text: StrOrPromise) -> None:
        """Have the status line say this, whatever the turn does, until there is no trouble: an empty text."""
        before, self._before_trouble = self._before_trouble, None
        if text:
            before = before or (self.status_text, self.status_is_aloud)
            self.show_status(text, aloud=True)
            self._before_trouble = before
        elif before:
            self.show_status(before[0], aloud=before[1])

    def show_thought_line(self, text: str) -> None:
        """Say what the thinking is about, as far as its service says so. Never stored."""
        self.thought_line = text
        self.tell(StatusChanged(self, aloud=False))

    def step_started(self, call_id: str, tool: str) -> None:
        """Show a call that runs. Its name is a model's word, so it is redacted."""
        self._stop_thinking_clock()
        self.steps.append(LiveStep(call_id, redact_text(tool[:MAX_TOOL_CHARS])))
        self.tell(StepsChanged(self))

    def step_finished(self, call_id: str, trace: ToolTraceStep) -> None:
        """Show what a call became. An earlier step may have had a call of the same id."""
        for index in range(len(self.steps) - 1, -1, -1):
            if self.steps[index].call_id == call_id:
                self.steps[index] = replace(self.steps[index], trace=trace)
                break
        self.tell(StepsChanged(self))

    async def pump(self) -> None:
        """Pass on what comes in, in order, until cancelled."""
        while True:
            self._idle.set()
            await self._more.wait()
            self._idle.clear()
            self._more.clear()
            try:
                self._pass_on_thinking()
                while self._finished or self._pending_answer:
                    await self._pass_on_answer()
            except Exception:
                logger.exception("live text not passed on", extra={"turn": self.public_id})

    async def settle(self) -> None:
        """Wait until everything shown so far was passed on."""
        self._stop_thinking_clock()
        while self._is_due or self._more.is_set() or not self._idle.is_set():
            await self._idle.wait()
            await asyncio.sleep(0)

    def _results_given(self) -> int:
        """Return how many results the model has to read: those of the calls between its last request and this one."""
        if fresh := self.steps[self._steps_given :]:
            self._found = sum(step.trace.results or 0 for step in fresh if step.trace)
            self._steps_given = len(self.steps)
        return self._found

    def _stop_thinking_clock(self) -> None:
        if self._thinking_since is not None:
            self._thinking_ms += (time.monotonic() - self._thinking_since) * 1000
            self._thinking_since = None

    def _pass_on_thinking(self) -> None:
        if not self._pending_thinking:
            return
        text = "".join(self._pending_thinking)
        self._pending_thinking.clear()
        before = self.thinking_chars
        self.thinking.append(text)
        self.thinking_chars += len(text)
        self.thinking_n += 1
        self.tell(ThinkingText(self, self.thinking_n, before, text))

    def _tell_what_came(self) -> None:
        """Tell all that came of the answer in this round of the loop, or leave it to the pump where that is at work."""
        self._is_due = False
        if self._idle.is_set() and not self._more.is_set():
            try:
                self._finished = self._take_pending()
            except Exception:
                logger.exception("live text not passed on", extra={"turn": self.public_id})
        if self._finished or self._pending_answer:
            self._more.set()

    def _take_pending(self) -> tuple[str, Sequence[str], str] | None:
        """Tell what came of the open block. Where blocks are finished, return all that came, them, and the new tail."""
        text = "".join(self._pending_answer)
        self._pending_answer.clear()
        blocks = self._splitter.feed(text)
        if blocks:
            return text, blocks, self._splitter.tail
        if text:
            self.tail_pieces.append(text)
            self.answer_told += len(text)
            self.tell(OpenText(self, self.tail_n, text))
        return None

    async def _pass_on_answer(self) -> None:
        finished, self._finished = self._finished or self._take_pending(), None
        if not finished:
            return
        text, blocks, tail = finished
        html = await self._blocks.render(blocks, self.sources)
        before = self.tail
        self.frozen.append(html)
        self.tail_pieces = [tail]
        self.answer_told += len(text)
        self.tell(BlockDone(self, html, tail, text, before))
