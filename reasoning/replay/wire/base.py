"""What a wire format is: the one place that knows how requests of an API look.

``write`` turns selected history into entries (messages, or input items). A format says how a question, a step, a result
and the instructions look, which reasoning has a place, and by which parameters reasoning is asked for.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, NamedTuple

from reasoning.events import AssistantMessage, AttachedFile, Reasoning
from reasoning.prompt import CONTINUE
from reasoning.replay.attachments import framed_question
from reasoning.replay.dialects import Control, Dialect, IdRule
from reasoning.replay.history import HistoryStep
from reasoning.replay.wire.calls import CallIds
from reasoning.settings import ReasoningSettings

NOT_REASONING = re.compile(r"(?:.*/)?(?:gpt-[34]|chatgpt-)")  # models that refuse reasoning parameters
Entry = dict[str, Any]
Part = Literal["instructions", "question", "answer", "thinking", "result"]


@dataclass(frozen=True, slots=True)
class SelectedStep:
    """What of a step is sent. ``placeholder`` is sent where the service wants reasoning and there was none.

    ``is_running``: the receiver made it, in the turn that it is to continue.
    """

    step: HistoryStep
    placeholder: str = ""
    is_running: bool = False


@dataclass(frozen=True, slots=True)
class SelectedTurn:
    """A question with its attachments, and what is sent of its answer."""

    question: str
    steps: tuple[SelectedStep, ...]
    attachments: tuple[AttachedFile, ...] = ()
    hides_images: bool = False  # the receiver refused them
    is_running: bool = False


@dataclass(frozen=True, slots=True)
class Origin:
    """The receiver of a request. An opaque item is accepted only by the model, endpoint and key that made it."""

    api: str
    model: str
    provider: str

    def is_same_model(self, part: Reasoning | AssistantMessage) -> bool:
        return (part.model, part.provider) == (self.model, self.provider)


@dataclass(frozen=True, slots=True)
class Repair:
    """One thing that was repaired: the rule, and its index in the list."""

    rule: str
    index: int


NoteWords = Literal[
    "has no parameter for it",
    "can only be switched on and off",
    "takes none beside reasoning.effort",
    "takes no reasoning back",
    "refused it",
]


class Note(NamedTuple):
    """A setting that reaches nothing at a service, and why. Pages have their own sentence for each of the words."""

    setting: str
    service: str
    words: NoteWords

    def __str__(self) -> str:
        return f"{self.setting}: {self.service} {self.words}"


@dataclass(frozen=True, slots=True)
class Parameters:
    """Parameters of a request body.

    ``notes`` name settings that reach nothing. ``optional``: the parameters that are left out where the service refuses
    them (``reasoning.mode`` is one within another), each with the setting that it comes from, empty where nobody chose
    it. ``switches_off``: they ask the model not to think.
    """

    body: Mapping[str, Any]
    notes: tuple[Note, ...] = ()
    optional: Mapping[str, str] = field(default_factory=dict)
    switches_off: bool = False


class WireFormat(ABC):
    """One API. ``FORMATS`` lists them; nothing else in the project compares their names.

    ``about``: what the name means, in the help of settings. ``dialect``: the dialect that all its services speak;
    empty where address and model decide. ``reasoning_kinds`` have a place in its requests, and must be followed by an
    answer or a call where ``needs_follower``. ``mention``: how a refusal speaks of this API.
    """

    name: ClassVar[str]
    label: ClassVar[str]
    about: ClassVar[str]
    mention: ClassVar[re.Pattern[str]]
    entries_key: ClassVar[str]
    text_part: ClassVar[str]
    call_ids: ClassVar[IdRule]
    dialect: ClassVar[str] = ""
    reasoning_kinds: ClassVar[frozenset[str]]
    needs_follower: ClassVar[bool] = False

    def write(
        self,
        turns: Sequence[SelectedTurn],
        *,
        summary: str,
        dialect: Dialect,
        origin: Origin,
        takes_images: bool,
        alternates_roles: bool,
    ) -> tuple[list[Entry], tuple[Repair, ...]]:
        """Return the entries of a request, and what was repaired. ``summary`` represents the turns before.

        ``alternates_roles``: no two questions, or answers, are neighbours.
        """
        call_ids = CallIds(dialect.call_ids or self.call_ids, is_certain=dialect.call_ids is not None)
        entries = [self.question(summary, ())] if summary else []
        for turn in turns:
            sees_images = takes_images and not turn.hides_images
            text, images = framed_question(turn.question, turn.attachments, takes_images=sees_images)
            if text or images:
                entries.append(self.question(text, images))
            for number, selected in enumerate(turn.steps, 1):
                entries += self.step(selected, dialect, origin, call_ids)
                if selected.step.is_continued and (number < len(turn.steps) or turn.is_running):
                    entries.append(self.question(CONTINUE, ()))
        entries, repairs = self.repair(entries)
        return (self.alternating(entries) if alternates_roles else entries), repairs

    @abstractmethod
    def question(self, text: str, images: Sequence[str]) -> Entry:
        """Return a user's message. ``images`` are data URLs."""

    @abstractmethod
    def step(self, selected: SelectedStep, dialect: Dialect, origin: Origin, call_ids: CallIds) -> list[Entry]:
        """Return what is sent of one response: its own entries, and the results of its calls."""

    @abstractmethod
    def repair(self, entries: Sequence[Entry]) -> tuple[list[Entry], tuple[Repair, ...]]:
        """Return entries that a service accepts. The last check before a request leaves (replay 10).

        Selection is built so that nothing is found here; what is found all the same (an old row, a broken event) must
        not end a conversation for good.
        """

    def alternating(self, entries: Sequence[Entry]) -> list[Entry]:
        """Return entries where neighbouring questions are one, since many chat templates demand that. Product 29."""
        joined: list[Entry] = []
        for entry in entries:
            if joined and joined[-1].get("role") == entry.get("role") == "user":
                content = self.joined_content(joined[-1]["content"], entry["content"])
                joined[-1] = {**joined[-1], "content": content}
            else:
                joined.append(entry)
        return joined

    def with_first_question(self, entries: Sequence[Entry], text: str) -> list[Entry]:
        """Return entries with ``text`` in front of the first question, or as a question where there is none."""
        first = next((index for index, entry in enumerate(entries) if entry.get("role") == "user"), None)
        if first is None:
            return [self.question(text, ()), *entries]
        question = {**entries[first], "content": self.joined_content(text, entries[first].get("content"))}
        return [*entries[:first], question, *entries[first + 1 :]]

    def joined_content(self, before: Any, after: Any) -> str | list[Entry]:
        """Return the contents of two messages of one role as one."""
        if not isinstance(before, list) and not isinstance(after, list):
            return "\n\n".join(filter(None, (before, after)))
        return [*self.content_parts(before), *self.content_parts(after)]

    def content_parts(self, content: Any) -> list[Entry]:
        """Return the content of a message as a list of parts."""
        return content if isinstance(content, list) else [{"type": self.text_part, "text": content}] if content else []

    @abstractmethod
    def params(
        self, settings: ReasoningSettings, model: str, dialect: Dialect, *, sends_all: bool, may_switch_off: bool
    ) -> Parameters:
        """Return the parameters that ask for reasoning.

        ``sends_all``: all reasoning of this model is sent back, so the service may be asked to use it.
        ``may_switch_off``: where reasoning is off, a service may be asked to switch it off; else nothing is sent about
        it (product 13).
        """

    @abstractmethod
    def output_limit(self, dialect: Dialect) -> str:
        """Return the parameter that limits the length of an answer, its reasoning included."""

    @abstractmethod
    def control(self, dialect: Dialect) -> Control:
        """Return how a request asks for effort."""

    @abstractmethod
    def has_rare_settings(self, dialect: Dialect) -> bool:
        """Say whether a request can ask for ``RARE_SETTINGS``, in its object ``reasoning``."""

    @abstractmethod
    def with_frame(
        self, body: Mapping[str, Any], instructions: str, tools: Sequence[Mapping[str, Any]], *, takes_system: bool
    ) -> dict[str, Any]:
        """Return a planned body with its instructions and tools (function tools, as chat completions have them).

        Where the service has no system message, the instructions are in front of the first question (product 29).
        """

    @abstractmethod
    def part_of(self, entry: Mapping[str, Any]) -> Part:
        """Say what an entry of a body holds."""


def asked_settings(settings: ReasoningSettings) -> tuple[str, ...]:
    """Return the settings that ask for something and are set."""
    asked = {
        "reasoning.effort": settings.effort,
        "reasoning.maxTokens": settings.max_tokens,
        "reasoning.summary": None if settings.summary == "none" else settings.summary,
    }
    return (*(name for name, value in asked.items() if value), *rare_params(settings))


def rare_params(settings: ReasoningSettings) -> dict[str, str]:
    """Return the values of ``RARE_SETTINGS`` to ask for, by setting; what a service does anyway isn't asked for."""
    values = {"reasoning.context": settings.context, "reasoning.mode": settings.mode}
    return {name: value for name, value in values.items() if value not in (None, "auto", "standard")}


def unsupported(service: str, *names: str) -> tuple[Note, ...]:
    """Return the notes on settings for which a service has no parameter."""
    return tuple(Note(name, service, "has no parameter for it") for name in names)
