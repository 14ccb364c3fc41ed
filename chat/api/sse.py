"""A turn as server-sent events: the pieces as they come, the steps of the trace, the envelope at the end.

Wherever a client joins, pieces continue what it was sent before: joined, they are the whole. Only where something that
was sent repeats the scratchpad, the envelope alone has the text that is stored (product 22). Of a turn that runs in
another process (a request that was sent again) all comes at the end.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass
from typing import Any

from chat.live.groups import Subscription, group_of
from chat.live.turn import LiveTurn
from chat.turns.manager import turn_manager
from reasoning.deltas import Channel
from reasoning.trace import step_to_json
from reasoning.visibility import Visibility

LOOK_AGAIN_S = 2.0  # for an event that was lost


@dataclass(slots=True)
class TurnEvents:
    """The events of one turn for one viewer, with how much was sent."""

    conversation_id: uuid.UUID
    turn_id: uuid.UUID
    sees: Visibility
    answer_chars: int = 0
    thinking_chars: int = 0
    steps: int = 0
    rewrites: int = 0

    async def stream(self) -> AsyncGenerator[str, None]:
        """Yield what the turn shows until it ends."""
        # subscribed before the state is read: no event is lost in between
        async with Subscription(group_of(self.conversation_id)) as messages:
            live = turn_manager.live(self.conversation_id)
            is_running = live is not None and live.id == self.turn_id
            while live and is_running:
                # Asked before the events are read, so that the last ones are read once more.
                is_running = turn_manager.live(self.conversation_id) is live
                for event in self.new_events(live):
                    yield event
                if is_running:
                    await messages.next(within_s=LOOK_AGAIN_S)

    def new_events(self, live: LiveTurn) -> list[str]:
        """Return what was published since the last call."""
        for channel, same_chars, chars in live.rewrites[self.rewrites :]:
            # What was sent can't be taken back; what comes continues the text that replaced it.
            if channel is Channel.ANSWER and self.answer_chars > same_chars:
                self.answer_chars = chars
            elif channel is Channel.THINKING and self.thinking_chars > same_chars:
                self.thinking_chars = chars
        self.rewrites = len(live.rewrites)
        thinking, answer = live.thinking[self.thinking_chars :], live.published_answer[self.answer_chars :]
        shown = self.sees.thinking_piece(thinking, offset=self.thinking_chars, chars=live.thinking_chars)
        # The step that stands for others still counts them: it is sent at the end.
        finished = [step.trace for step in live.steps if step.trace and not step.trace.omitted]
        steps = [sse_event("tool_step", step_to_json(step)) for step in finished[self.steps :] if self.sees.trace]
        # counts what was published, not what this viewer may read of it
        self.thinking_chars += len(thinking)
        self.answer_chars += len(answer)
        self.steps += len(steps)
        return [*(delta_event("thinking", shown) if thinking else ()), *steps, *delta_event("answer", answer)]

    def last(self, form: Mapping[str, Any]) -> list[str]:
        """Return the end: what the envelope holds and wasn't sent yet, the error, the envelope itself."""
        # of a turn in another process nothing was sent so far
        thinking = form.get("thinking") if not self.thinking_chars else None
        return [
            *(delta_event("thinking", thinking["text"]) if thinking else ()),
            *(sse_event("tool_step", step) for step in form["toolTrace"][self.steps :]),
            *delta_event("answer", form["answer"][self.answer_chars :]),
            *(piece for bullet in form["reasoningSummary"] for piece in delta_event("summary", bullet)),
            *([sse_event("error", {"error": form["error"]})] if "error" in form else ()),
            sse_event("done", form),
        ]


def sse_event(name: str, form: Any) -> str:
    """Return one server-sent event."""
    return f"event: {name}\ndata: {json.dumps(form, ensure_ascii=False, separators=(',', ':'))}\n\n"


def delta_event(channel: str, text: str) -> list[str]:
    return [sse_event("delta", {"channel": channel, "text": text})] if text else []
