"""Which parts of history go back, part by part, and why the others are omitted.

Strip, then include, then the conditions under which a part is dropped (spec 001 BR-005, spec 002 drop, product 8). What
a service insists on comes last: a step that lacks it gets the placeholder of its dialect or is omitted as a whole. But
what the person's own settings hold back stays out, and the refusal names the setting (replay D4).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import takewhile
from typing import Literal, NamedTuple

from reasoning.events import AssistantMessage, Event, Reasoning, ToolCall
from reasoning.replay.dialects import Dialect
from reasoning.replay.history import History, HistoryStep, HistoryTurn, StepPart
from reasoning.replay.wire.base import Origin, SelectedStep, SelectedTurn, WireFormat
from reasoning.settings import ReasoningSettings

BY_SETTING = frozenset({"spec 001 BR-001", "spec 001 BR-005", "replay D1"})
_PURGED = "product 3"
_REFUSED = "product 21"
# Why something is not sent. Pages have their own sentence for each, with the value that takes the place of ``{}``.
ReasonWords = Literal[
    "part of the summary",
    "left out, so that the request fits",
    "a result without its call",
    "reasoning.stripFromContext is {}",
    "reasoning.includeInContext is off",
    "the same call a second time",
    "partial text of a failed turn",
    "a call of a failed turn that never ran",
    "reasoning of a failed turn, without a follower",
    "of a response that did not end well",
    "it was purged",
    "reasoning of this kind has no place in a {} request",
    "{} takes no tools",
    "{} takes no reasoning back",
    "{} takes no reasoning details back",
    "{} takes no such step without its reasoning",
    "made by {}",
    "made at another endpoint or with another key",
    "the service refused its own items",
    "an item that is no object",
    "an item without ciphertext is not found by its service",
    "the same item a second time",
    "reasoning that nothing follows",
    "the service refused this question",
    "the service failed at the results of these calls",
]


class Reason(NamedTuple):
    """The rule by which something is not sent, in words that may have a value."""

    rule: str
    words: ReasonWords
    value: str = ""


_REFUSED_QUESTION = Reason("replay 10", "the service refused this question")


@dataclass(frozen=True, slots=True)
class Omission:
    """One event that is not sent, by the rule that says so. Unpacks as (seq, rule, reason)."""

    seq: int
    rule: str
    words: ReasonWords
    value: str = ""

    @property
    def reason(self) -> str:
        return self.words.format(self.value)

    def __iter__(self) -> Iterator[int | str]:
        return iter((self.seq, self.rule, self.reason))


class Refused(NamedTuple):
    """What the receiver refused of a conversation, by the number of the newest event: parts up to it are left out.

    ``items`` are opaque parts (product 21) and the phases of messages, ``images`` those of questions, ``questions``
    those that got no answer, ``turns`` all before a question that was refused twice (replay 10), ``calls`` those of
    ended turns, at whose results it failed. Of the others only
    whether they were refused counts: readable ``thinking``, the message of the ``system`` (product 29), and what takes
    another form: ``call_ids``, ``content`` (a null beside calls), ``parallel`` calls in one message, ``results``
    without the name of their tool.
    """

    items: int = 0
    images: int = 0
    questions: int = 0
    system: int = 0
    call_ids: int = 0
    content: int = 0
    calls: int = 0
    thinking: int = 0
    parallel: int = 0
    results: int = 0
    turns: int = 0


NOTHING_REFUSED = Refused()


@dataclass(slots=True)
class Selector:
    """Select what of one history is sent back, collecting what is omitted."""

    settings: ReasoningSettings
    dialect: Dialect
    wire: WireFormat
    origin: Origin
    refused: Refused = NOTHING_REFUSED
    omissions: list[Omission] = field(default_factory=list)
    sends_unanswered: bool = False  # a question that failed without an answer is sent again
    sends_calls: bool = False
    is_stuck: bool = False  # the newest question is the second in a row that the service refuses
    _seen_items: set[str] = field(default_factory=set)

    def select(self, history: History) -> tuple[SelectedTurn, ...]:
        words: ReasonWords = "left out, so that the request fits" if history.left_out else "part of the summary"
        self._omit(history.compacted_events, Reason("compaction", words))
        last_thinking = next((turn for turn in reversed(history.turns) if turn.has_reasoning), None)
        policy = self.settings.strip_from_context or "none"
        selected: list[SelectedTurn] = []
        for turn in history.turns:
            if turn.question_seq < self.refused.turns and not turn.is_running:
                self.omissions.append(Omission(turn.question_seq, *_REFUSED_QUESTION))
                self._omit(turn.events(), _REFUSED_QUESTION)
                continue
            self._omit(turn.orphan_results, Reason("replay 8", "a result without its call"))
            # The running turn sends its reasoning whatever the policy is (spec 001 BR-009).
            is_spared = turn.is_running or policy == "none" or (policy == "allButLast" and turn is last_thinking)
            strip = None if is_spared else Reason("spec 001 BR-005", "reasoning.stripFromContext is {}", policy)
            is_newest = turn is history.turns[-1]
            chosen = [self._select_step(step, turn, strip, is_newest=is_newest) for step in turn.steps]
            steps = tuple(step for step in chosen if step)
            is_unanswered = not steps and not turn.is_running and not is_newest
            if is_unanswered and turn.question_seq <= self.refused.questions:
                self.omissions.append(Omission(turn.question_seq, *_REFUSED_QUESTION))
                self.is_stuck = bool(selected) and turn is history.turns[-2]
                continue
            hides_images = turn.question_seq <= self.refused.images
            selected.append(SelectedTurn(turn.question, steps, turn.attachments, hides_images, turn.is_running))
            self.sends_unanswered = self.sends_unanswered or is_unanswered
        return tuple(selected)

    def _select_step(
        self, step: HistoryStep, turn: HistoryTurn, strip: Reason | None, *, is_newest: bool
    ) -> SelectedStep | None:
        firsts = {call.call_id: call for call in reversed(step.calls)}
        repeated = [call for call in step.calls if firsts[call.call_id] is not call]
        left = self._drop(step, repeated, Reason("replay 7", "the same call a second time"))
        # Those of the running turn stay: without their results the model would call them again.
        if not turn.is_running:
            failed_at = [call for call in left.calls if call.seq <= self.refused.calls]
            left = self._drop(left, failed_at, Reason("replay 10", "the service failed at the results of these calls"))
        # Services refuse partial steps, but the next question may be about what was found.
        if turn.has_failed:
            left = self._finished_calls(left)
        if not self.dialect.takes_tools:
            # The model called tools that it wasn't offered. Drop the calls; in the running turn drop the whole step, so
            # that the model answers anew.
            dropped = left.parts if turn.is_running and left.calls else left.calls
            left = self._drop(left, dropped, Reason("dialect", "{} takes no tools", self.dialect.name))
        # The service refused something of its own, and may have meant the word that it gave a message.
        parts = [
            replace(part, phase="") if isinstance(part, AssistantMessage) and part.seq <= self.refused.items else part
            for part in left.parts
        ]
        left = HistoryStep(parts, left.results, left.is_continued)
        reasons: list[Reason] = []
        # A service that insists on the thinking of its own calls gets it in the running turn whatever is set, for there
        # the person can't ask otherwise (spec 001 EC-006, product 31).
        is_insisted = turn.is_running and bool(left.calls) and self.dialect.needs != "nothing"
        for block in left.reasoning:
            reason = (
                unsupported_reason(block, self.dialect, self.wire)
                or (None if is_insisted else settings_reason(block, self.settings, strip))
                or self._provenance_reason(block, turn)
            )
            if reason:
                reasons.append(reason)
                left = self._drop(left, [block], reason)
        # The Responses API answers "reasoning without its required following item" otherwise.
        if self.wire.needs_follower:
            loose = list(takewhile(lambda part: not is_follower(part), reversed(left.parts)))
            left = self._drop(left, loose, Reason("replay 7", "reasoning that nothing follows"))
        if not left.parts:
            return None
        self.sends_calls = self.sends_calls or bool(left.calls)
        return self._apply_requirements(left, step, reasons, is_newest=is_newest, is_running=turn.is_running)

    def _finished_calls(self, step: HistoryStep) -> HistoryStep:
        """Return a failed turn's calls that were answered; partial text and loose reasoning are omitted. Replay 5."""
        partial = [message for message in step.messages if message.partial]
        left = self._drop(step, partial, Reason("spec 002 drop", "partial text of a failed turn"))
        is_signed = self.dialect.takes_signatures or any(block.kind == "signature" for block in left.reasoning)
        if not (is_signed and left.results):  # there a step's calls are sent all or none
            open_calls = [call for call in left.calls if call.call_id not in left.results]
            left = self._drop(left, open_calls, Reason("replay 5", "a call of a failed turn that never ran"))
        if left.calls:
            return left
        return self._drop(
            left, left.reasoning, Reason("spec 002 drop", "reasoning of a failed turn, without a follower")
        )

    def _provenance_reason(self, block: Reasoning, turn: HistoryTurn) -> Reason | None:
        """Return why a service would refuse an opaque block. Spec 002 drop, replay 2.4."""
        if block.kind == "text":
            return None
        if block.model != self.origin.model:
            return Reason("spec 002 decision 3", "made by {}", block.model)
        if not self.origin.is_same_model(block):
            return Reason("replay 2.4", "made at another endpoint or with another key")
        if block.seq <= self.refused.items:
            return Reason(_REFUSED, "the service refused its own items")
        if block.kind != "item":
            return None
        if turn.has_failed or not block.whole:
            return Reason("spec 002 drop", "of a response that did not end well")
        item = block.item
        if not isinstance(item, Mapping):
            return Reason("replay 7", "an item that is no object")
        if item.get("type", "reasoning") == "reasoning" and not item.get("encrypted_content"):
            return Reason("replay 7", "an item without ciphertext is not found by its service")
        item_id = str(item.get("id") or "")
        # A service refuses an item whose id it gets twice.
        if item_id and item_id in self._seen_items:
            return Reason("replay 7", "the same item a second time")
        self._seen_items.add(item_id)
        return None

    def _apply_requirements(
        self, left: HistoryStep, whole: HistoryStep, reasons: list[Reason], *, is_newest: bool, is_running: bool
    ) -> SelectedStep | None:
        """Give a step what its service insists on, or omit it. Replay D4, D5; product 3, 21 for what was lost.

        Unless it was purged, a step of the running turn stays: without its results the model would ask for them again.
        """
        rules = {reason.rule for reason in reasons}
        sent = SelectedStep(left, is_running=is_running)
        # Only text is insisted on. What a person has set wins over the service; the refusal then names the setting.
        # Where nothing is set, an earlier step with calls is omitted below: the question works, and its answer is left.
        is_default = self.settings.include_in_context is None and "spec 001 BR-005" not in rules and bool(left.calls)
        if "text" not in self.wire.reasoning_kinds or (rules & BY_SETTING and not is_default):
            return sent
        # A call whose signature or details were purged, or refused, is refused by the service that made them.
        takes_opaque = self.dialect.takes_signatures or self.dialect.takes_details
        lost = {_PURGED} if is_running else {_PURGED, _REFUSED}
        if takes_opaque and left.calls and rules & lost:
            self._omit_step(left)
            return None
        has_text = any(block.kind == "text" for block in left.reasoning)
        if has_text or not self._needs_text(left, whole, is_newest=is_newest):
            return sent
        if self.dialect.placeholder and not rules & {_PURGED, *BY_SETTING}:
            return replace(sent, placeholder=self.dialect.placeholder)
        if is_running and _PURGED not in rules:
            return sent
        self._omit_step(left)
        return None

    def _needs_text(self, left: HistoryStep, whole: HistoryStep, *, is_newest: bool) -> bool:
        match self.dialect.needs:
            case "running calls":
                return bool(left.calls) and is_newest
            case "calls":
                return bool(left.calls)
            case "everything":
                # Of any model there: the service counts what it answered itself.
                thought = any(
                    block.kind == "text" and block.provider == self.origin.provider for block in whole.reasoning
                )
                return bool(left.calls) or thought
        return False

    def _omit_step(self, step: HistoryStep) -> None:
        self._omit(step.events(), Reason("replay D5", "{} takes no such step without its reasoning", self.dialect.name))

    def _drop(self, step: HistoryStep, parts: Iterable[StepPart], reason: Reason) -> HistoryStep:
        dropped = list(parts)
        if not dropped:
            return step
        left = step.without(dropped)
        lost_results = [result for call_id, result in step.results.items() if call_id not in left.results]
        self._omit([*dropped, *lost_results], reason)
        return left

    def _omit(self, events: Iterable[Event], reason: Reason) -> None:
        self.omissions += [Omission(event.seq, *reason) for event in events]


def is_follower(part: StepPart) -> bool:
    return isinstance(part, ToolCall) or (isinstance(part, AssistantMessage) and bool(part.text))


def unsupported_reason(block: Reasoning, dialect: Dialect, wire: WireFormat) -> Reason | None:
    """Return why the request has no place for a block, whatever the settings."""
    if block.kind not in wire.reasoning_kinds:
        rule = "spec 002 decision 3" if block.kind == "item" else "replay 2.4"
        return Reason(rule, "reasoning of this kind has no place in a {} request", wire.name)
    if not (block.text or block.item or block.details):
        return Reason(_PURGED, "it was purged")
    if block.kind == "text" and not dialect.text_field:
        return Reason("dialect", "{} takes no reasoning back", dialect.name)
    if block.kind == "details" and dialect.takes_details is False:
        return Reason("dialect", "{} takes no reasoning details back", dialect.name)
    return None


def settings_reason(block: Reasoning, settings: ReasoningSettings, strip: Reason | None) -> Reason | None:
    """Return why the person's settings hold a block back: strip first, then include."""
    if block.kind == "signature":  # no reasoning that anyone could read
        return None
    include = settings.include_in_context
    if strip:
        return strip
    if block.kind == "text":
        return None if include else Reason("spec 001 BR-001", "reasoning.includeInContext is off")
    return Reason("replay D1", "reasoning.includeInContext is off") if include is False else None
