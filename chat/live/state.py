"""What a page shows of a running turn, and the events that change it.

The process that runs a turn publishes plain dicts to the conversation's channel layer group. It and every follower
apply them to a ``TurnState``: a state with sequence number n plus all later events gives the same card everywhere.

Events of a turn have ``kind``, ``turn`` (its public id) and ``seq``, which rises by one:

    started   replaced: public id of the turn whose place it takes, its own where it is continued, or "". beside: it is
              the second of two that are compared
    text      n, text, added, open: more text of the open block. added: what of it is shown at the tip of the block, or
              open: HTML before and after the tip of the block, which is drawn again; with neither it is shown later.
              n: how often what is shown has changed
    block     text, html, open: text that finished blocks, their HTML, and what is shown of the new open block
    thinking  offset, chars, text: redacted thinking; chars is its new length. Only as ordinary viewers may read it
    rewritten channel (answer: html, open, chars; thinking: text, chars): the whole of a text that changed
    status    text (English), announce, reads, model, thought. thought_ms: how long the model has thought, while its
              thinking rests, else None. retry_at: when a busy service is asked again (seconds since the epoch), or None
    step      at, tool, response, queued, trace: the step at this index
    approval  step: the tool call that waits for its user's decision, as they see it, or None
    history   cut: earlier messages were summarised or left out (``reasoning.events.HistoryCut``)
    ended     the last one; its record is in the log. beside: as of started

Events of a conversation have ``kind`` alone, or with what they say: ``queue``, ``model``, ``settings``,
``redraw``. A scratchpad is in no event.
"""

from __future__ import annotations

import time
import uuid
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from math import ceil
from typing import Any

from django.utils import timezone

from chat.html import OpenBlock
from chat.models import Conversation
from reasoning.events import AttachedFile, HistoryCut
from reasoning.trace import ToolTraceStep, step_from_json, step_to_json

Event = dict[str, Any]
EMPTY_BLOCK = OpenBlock()


@dataclass(frozen=True, slots=True)
class LiveStep:
    """A tool call that runs, or the trace step that it became. The tool's name is redacted.

    ``response``: as ``ToolTraceStep`` has it. ``is_queued``: calls of the same response run before it.
    """

    tool: str
    response: int | None = None
    trace: ToolTraceStep | None = None
    is_queued: bool = False

    def to_json(self) -> dict[str, Any]:
        trace = step_to_json(self.trace) if self.trace else None
        return {"tool": self.tool, "response": self.response, "queued": self.is_queued, "trace": trace}

    @classmethod
    def from_json(cls, form: dict[str, Any]) -> LiveStep:
        response = form.get("response")
        trace = step_from_json(form["trace"], response=response) if form["trace"] else None
        return cls(form["tool"], response, trace, form.get("queued", False))


@dataclass(kw_only=True, eq=False)
class TurnState:
    """The state after the event ``seq``."""

    id: uuid.UUID
    conversation_id: uuid.UUID
    owner_id: int
    number: int
    question: str
    model: str
    started_at: datetime
    resumed_at: datetime | None = None  # where it runs again, to be continued
    model_label: str = ""  # of its profile
    compared_with: uuid.UUID | None = None  # the turn that answers the same question side by side
    is_beside: bool = False  # it is the second of the two
    attachments: tuple[AttachedFile, ...] = ()
    conversation: Conversation | None = None  # as it was when the turn was read
    seq: int = 0
    status_text: str = ""  # English; translated where it is drawn
    reads: int = 0  # results that the model was given; the status line may say so
    thought_line: str = ""  # of the service's own summary of its thinking, for viewers who may read thinking
    thought_ms: int | None = None  # how long the model has thought; None while it thinks
    retry_at: float | None = None  # when a busy service is asked again, in seconds since the epoch
    frozen: list[str] = field(default_factory=list)  # HTML of finished blocks
    open_block: OpenBlock = EMPTY_BLOCK  # what is shown of the block that still grows
    tail_n: int = 0  # changes of that
    answer_chars: int = 0
    thinking: str = ""
    thinking_chars: int = 0  # may exceed ``thinking`` where the turn runs in another process
    steps: list[LiveStep] = field(default_factory=list)
    approval: ToolTraceStep | None = None  # the call that waits for a decision
    history_cut: HistoryCut = ""

    @cached_property
    def public_id(self) -> str:
        return self.id.hex

    @property
    def elapsed_s(self) -> int:
        return max(0, int((timezone.now() - (self.resumed_at or self.started_at)).total_seconds()))

    @property
    def retry_in_s(self) -> int | None:
        return None if self.retry_at is None else max(0, ceil(self.retry_at - time.time()))

    @property
    def thinking_tokens(self) -> int:
        return -(-self.thinking_chars // 4)

    def can_apply(self, event: Event) -> bool:
        """Return whether the next event alone leads to the state behind it."""
        return True

    def take_over(self, older: TurnState) -> None:
        """Take the place of an older state of the same turn."""

    def apply(self, event: Event) -> None:
        """Apply the next event."""
        self.seq = event["seq"]
        match event["kind"]:
            case "text":
                self.tail_n = event["n"]
                if event["open"]:
                    self.open_block = OpenBlock(*event["open"])
                elif event["added"]:
                    self.open_block = self.open_block.plus(event["added"])
                self.answer_chars += len(event["text"])
            case "block":
                self.frozen.append(event["html"])
                self.tail_n, self.open_block = 0, OpenBlock(*event["open"])
                self.answer_chars += len(event["text"])
            case "thinking":
                self.thinking += event["text"]
                self.thinking_chars = event["chars"]
            case "rewritten":
                if event["channel"] == "answer":
                    self.frozen = [event["html"]] if event["html"] else []
                    self.tail_n, self.open_block = 0, OpenBlock(*event["open"])
                    self.answer_chars = event["chars"]
                else:
                    self.thinking, self.thinking_chars = event["text"], event["chars"]
            case "status":
                self.status_text, self.reads, self.model = event["text"], event["reads"], event["model"]
                self.thought_line = event["thought"]
                self.thought_ms, self.retry_at = event["thought_ms"], event["retry_at"]
            case "approval":
                self.approval = step_from_json(event["step"]) if event["step"] else None
            case "history":
                self.history_cut = event["cut"]
            case "step":
                step = LiveStep.from_json(event)
                # One that represents others represents all behind it.
                rest = [] if step.trace and step.trace.omitted else self.steps[event["at"] + 1 :]
                self.steps[event["at"] :] = [step, *rest]

    def to_json(self) -> dict[str, Any]:
        """Return what a checkpoint holds beside the answer and the thinking; ``chat.live.stored`` reads it back."""
        return {
            "seq": self.seq,
            "tail_n": self.tail_n,
            "status": self.status_text,
            "reads": self.reads,
            "model": self.model,
            "thought_ms": self.thought_ms,
            "retry_at": self.retry_at,
            "thinking_chars": self.thinking_chars,
            "steps": [step.to_json() for step in self.steps],
            "approval": step_to_json(self.approval) if self.approval else None,
            "history_cut": self.history_cut,
        }
