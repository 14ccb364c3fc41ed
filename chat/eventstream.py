"""A turn as server-sent events: the pieces as they come, the steps of the trace, the envelope at the end.

Whoever comes late, or fell behind, is told in one piece what they missed: the pieces, joined, are always the whole.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from chat.frames import visible_thinking
from chat.live import LiveTurn
from chat.notices import Behind, BlockDone, Finished, Notice, OpenText, StepsChanged, ThinkingText
from chat.runner import runner
from chat.watchers import Asked, Watcher
from reasoning.policy import Visibility
from reasoning.trace import step_to_json


@dataclass(slots=True)
class TurnEvents:
    """The events of one turn for one viewer. The figures say how much was told."""

    watcher: Watcher
    turn_id: uuid.UUID
    sees: Visibility
    answer_chars: int = 0
    thinking_chars: int = 0
    steps: int = 0

    async def next(self) -> list[str] | None:
        """Wait for the next thing that happens in the turn; return its events, or None where the turn is over."""
        live = self._live()
        if live is None and not self.watcher.has_pending:
            return None
        notice = await self.watcher.next()
        if isinstance(notice, Finished) and notice.turn.id == self.turn_id:
            return None
        if isinstance(notice, Behind):
            return self.catch_up()
        return list(self._events(notice))

    def catch_up(self) -> list[str]:
        """Return what was told to others so far and not here."""
        live = self._live()
        if live is None:
            return []
        self.watcher.drop_reflected()
        thought = live.thinking_so_far[self.thinking_chars :]
        missed = live.answer_so_far[self.answer_chars : live.answer_told]
        return [
            *self._thinking(ThinkingText(live, live.thinking_n, self.thinking_chars, thought)),
            *self._steps(live),
            *self._answer(missed),
        ]

    def last(self, form: Mapping[str, Any]) -> list[str]:
        """Return the end: what the envelope holds and was not told yet, the error, the envelope itself."""
        thinking = form.get("thinking") if not self.thinking_chars else None
        return [
            *(_delta("thinking", thinking["text"]) if thinking else ()),
            *(event("tool_step", step) for step in form["toolTrace"][self.steps :]),
            *self._answer(form["answer"][self.answer_chars :]),
            *(piece for bullet in form["reasoningSummary"] for piece in _delta("summary", bullet)),
            *([event("error", {"error": form["error"]})] if "error" in form else ()),
            event("done", form),
        ]

    def _live(self) -> LiveTurn | None:
        live = runner.live(self.watcher.conversation_id)
        return live if live is not None and live.id == self.turn_id else None

    def _events(self, notice: Notice | Asked) -> Iterator[str]:
        match notice:
            case OpenText(turn, _n, text) if turn.id == self.turn_id:
                yield from self._answer(text)
            case BlockDone(turn, text=text) if turn.id == self.turn_id:
                yield from self._answer(text)
            case ThinkingText(turn) if turn.id == self.turn_id:
                yield from self._thinking(notice)
            case StepsChanged(turn) if turn.id == self.turn_id:
                yield from self._steps(turn)

    def _answer(self, text: str) -> list[str]:
        self.answer_chars += len(text)
        return _delta("answer", text)

    def _thinking(self, piece: ThinkingText) -> list[str]:
        self.thinking_chars += len(piece.text)
        return _delta("thinking", visible_thinking(piece, self.sees)) if piece.text else []

    def _steps(self, live: LiveTurn) -> list[str]:
        finished = [step.trace for step in live.steps if step.trace] if self.sees.trace else []
        fresh = finished[self.steps :]
        self.steps += len(fresh)
        return [event("tool_step", step_to_json(step)) for step in fresh]


def event(name: str, form: Any) -> str:
    """Return one server-sent event."""
    return f"event: {name}\ndata: {json.dumps(form, ensure_ascii=False, separators=(',', ':'))}\n\n"


def _delta(channel: str, text: str) -> list[str]:
    return [event("delta", {"channel": channel, "text": text})] if text else []
