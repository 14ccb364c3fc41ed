"""What the process that runs a turn passes on to those where it is watched.

Nothing is kept or done for it as text comes in: from the first follower on the live turn is looked at some ten times a
second, and what is new goes out, joined. The place of a text is counted in characters of the answer, so one that was
lost shows as a gap and one that comes twice is cut. Passed on are the released answer, the status line, redacted
steps, the addresses of passages, and how much was thought: never thinking itself, a scratchpad, raw arguments or the
text of a result.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from django.utils.translation import override

from chat.live import LiveStep, LiveTurn
from chat.relaylink import Form
from reasoning.citations import Source
from reasoning.trace import step_from_json, step_to_json

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

FOLLOWED_FOR_S = 10.0
THOUGHT_EVERY_S = 1.0


@dataclass(slots=True)
class Feed:
    """One turn of this process and the channels of those who follow it, each with when it was last heard of."""

    live: LiveTurn
    say: Callable[[str, Form], None]
    followers: dict[str, float] = field(default_factory=dict)
    _pieces: int = 0
    _chars: int = 0
    _status: tuple[StrOrPromise, int] = ("", 0)
    _model: str = ""
    _steps: list[LiveStep] = field(default_factory=list)
    _sources: tuple[Source, ...] = ()
    _thought: int = 0
    _thought_at: float = 0.0

    def __post_init__(self) -> None:
        self._pieces, self._chars = self.live.answer_pieces, len(self.live.answer_so_far)

    def follow(self, channel: str, have: int | None, now: float) -> None:
        """Take or keep a follower. One that says how many characters it has gets all that the others were sent."""
        self.followers[channel] = now
        if have is None:
            return self.say(channel, self._form(self._chars, ""))
        missed = self.live.answer_so_far[have : self._chars]
        return self.say(channel, {**self._form(have, missed), **{name: of(self.live) for name, of in _STATE.items()}})

    def drop_silent(self, now: float) -> None:
        """Forget followers that were not heard of for long."""
        self.followers = {name: at for name, at in self.followers.items() if now - at < FOLLOWED_FOR_S}

    def pass_on(self, now: float) -> None:
        """Tell all followers what is new."""
        text, news = self.live.answer_from_piece(self._pieces), self._news(now)
        if text or news:
            form = {**self._form(self._chars, text), **news}
            self._pieces, self._chars = self.live.answer_pieces, self._chars + len(text)
            for channel in self.followers:
                self.say(channel, form)

    def _form(self, at: int, text: str) -> Form:
        return {
            "kind": "grown",
            "in": self.live.conversation_id.hex,
            "turn": self.live.public_id,
            "at": at,
            "text": text,
        }

    def _news(self, now: float) -> Form:
        live, names = self.live, []
        status, reads = self._status
        if live.status_text is not status or live.reads != reads:
            self._status = live.status_text, live.reads
            names += ["status", "reads", "aloud"]
        if live.model != self._model:
            self._model = live.model
            names.append("model")
        if live.steps != self._steps:
            self._steps = list(live.steps)
            names.append("steps")
        if live.sources is not self._sources:
            self._sources = live.sources
            names.append("sources")
        if live.thinking_chars != self._thought and now - self._thought_at > THOUGHT_EVERY_S:
            self._thought, self._thought_at = live.thinking_chars, now
            names.append("thought")
        return {name: _STATE[name](live) for name in names}


_STATE: dict[str, Callable[[LiveTurn], Any]] = {
    "status": lambda live: in_no_language(live.status_text),
    "reads": lambda live: live.reads,
    "aloud": lambda live: live.status_is_aloud,
    "model": lambda live: live.model,
    "steps": lambda live: [step_form(step) for step in live.steps],
    "sources": lambda live: [[source.ref, source.url] for source in live.sources],
    "thought": lambda live: live.thinking_chars,
}


def in_no_language(text: StrOrPromise) -> str:
    """Return a text as it stands in the code, for each viewer's process to translate."""
    with override(None):
        return str(text)


def step_form(step: LiveStep) -> Form:
    """Return a step as it is passed on: both its name and its account are redacted."""
    return {"tool": step.tool, "trace": step_to_json(step.trace) if step.trace else None}


def steps_of(forms: list[dict[str, Any]]) -> list[LiveStep]:
    """Return the steps that were passed on, in their order. Their ids stay where they run."""
    return [
        LiveStep(str(index), form["tool"], step_from_json(form["trace"]) if form["trace"] else None)
        for index, form in enumerate(forms)
    ]
