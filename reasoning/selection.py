"""Which parts of history go back, part by part, and why the others stay out.

Strip, then include, then the conditions under which a part is dropped (spec 001 BR-005, spec 002 drop, product 8). What
a service insists on comes last: a step that lacks it gets the placeholder of its dialect or stays out as a whole; where
the person's own settings hold it back, the step goes as it is, and the refusal names the setting (replay D4).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from reasoning.dialects import Dialect
from reasoning.events import AssistantMessage, Event, Reasoning, ToolCall
from reasoning.history import History, Part, Step, Turn
from reasoning.policy import ReasoningSettings

BY_SETTING = frozenset({"spec 001 BR-001", "spec 001 BR-005", "replay D1"})
Why = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Omission:
    """One event that is not sent, by the rule that says so. Unpacks as (seq, rule, reason)."""

    seq: int
    rule: str
    reason: str

    def __iter__(self) -> Iterator[int | str]:
        return iter((self.seq, self.rule, self.reason))


@dataclass(frozen=True, slots=True)
class SelectedStep:
    """What of a step is sent. ``placeholder`` stands where the service wants reasoning and there was none."""

    step: Step
    placeholder: str = ""


@dataclass(frozen=True, slots=True)
class SelectedTurn:
    """A question, and what is sent of its answer."""

    question: str
    steps: tuple[SelectedStep, ...]


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a request goes, as far as reasoning must come from there: an opaque item is good for no other."""

    api: str
    model: str
    provider: str

    def made(self, block: Reasoning) -> bool:
        return (block.model, block.provider) == (self.model, self.provider)


@dataclass(slots=True)
class Selector:
    """Goes through a history once, noting what it leaves out."""

    settings: ReasoningSettings
    dialect: Dialect
    origin: Origin
    omit_items: bool = False  # after a service refused them: replay D6
    omissions: list[Omission] = field(default_factory=list)
    _seen_items: set[str] = field(default_factory=set)

    def select(self, history: History) -> tuple[SelectedTurn, ...]:
        self._omit(history.below, "compaction", "stands in the summary")
        last_thought = next((turn for turn in reversed(history.turns) if turn.has_reasoning), None)
        newest = history.turns[-1] if history.turns else None
        return tuple(
            self._turn(turn, is_last_thought=turn is last_thought, is_newest=turn is newest) for turn in history.turns
        )

    def _turn(self, turn: Turn, *, is_last_thought: bool, is_newest: bool) -> SelectedTurn:
        self._omit(turn.strays, "replay 8", "a result without its call")
        strip = self._strip_reason(turn, is_last_thought=is_last_thought)
        steps = (self._step(step, turn, strip, is_newest=is_newest) for step in turn.steps)
        return SelectedTurn(turn.question, tuple(step for step in steps if step is not None))

    def _strip_reason(self, turn: Turn, *, is_last_thought: bool) -> str:
        """Return why the turn's reasoning is stripped, or nothing. The running turn never is (BR-009)."""
        policy = self.settings.strip_from_context or "none"
        if turn.is_running or policy == "none" or (policy == "allButLast" and is_last_thought):
            return ""
        return f"reasoning.stripFromContext is {policy}"

    def _step(self, step: Step, turn: Turn, strip: str, *, is_newest: bool) -> SelectedStep | None:
        left = self._drop(step, _repeated_calls(step), "replay 7", "the same call a second time")
        left = self._finished_part(left) if turn.has_failed else left
        if not self.dialect.takes_tools:
            left = self._without_calls(left, turn)
        whys = {block.seq: self._why_left_out(block, strip, turn) for block in left.reasoning}
        for block in left.reasoning:
            if why := whys[block.seq]:
                left = self._drop(left, [block], *why)
        left = self._without_loose_ends(left)
        if not left.parts:
            return None
        return self._as_demanded(left, step, [why for why in whys.values() if why], is_newest=is_newest)

    def _without_calls(self, step: Step, turn: Turn) -> Step:
        """Drop calls that a model made unasked, in the running turn with what it said beside them: it is to go on."""
        goes = step.parts if turn.is_running and step.calls else step.calls
        return self._drop(step, goes, "dialect", f"{self.dialect.name} takes no tools")

    def _finished_part(self, step: Step) -> Step:
        """Of a failed turn keep the calls that were answered; partial text and loose reasoning stay. Replay 5."""
        partial = [message for message in step.messages if message.partial]
        left = self._drop(step, partial, "spec 002 drop", "partial text of a failed turn")
        open_calls = [call for call in left.calls if call.call_id not in left.results]
        if not (self.dialect.takes_signatures and left.results):  # there a step's calls stand or fall together
            left = self._drop(left, open_calls, "replay 5", "a call of a failed turn that never ran")
        if not left.calls:
            left = self._drop(left, left.reasoning, "spec 002 drop", "reasoning of a failed turn, without a follower")
        return left

    def _why_left_out(self, block: Reasoning, strip: str, turn: Turn) -> Why | None:
        return self._unfit(block) or self._set_aside(block, strip) or self._dropped(block, turn)

    def _unfit(self, block: Reasoning) -> Why | None:
        """What the request has no place for, whatever the settings."""
        if (block.kind == "item") != (self.origin.api == "responses"):
            rule = "spec 002 decision 3" if block.kind == "item" else "replay 2.4"
            return (rule, f"reasoning of this kind has no place in a {self.origin.api} request")
        if not (block.text or block.item or block.details):
            return ("product 3", "it was purged")
        if block.kind == "text" and not self.dialect.text_field:
            return ("dialect", f"{self.dialect.name} takes no reasoning back")
        if block.kind == "details" and self.dialect.takes_details is False:
            return ("dialect", f"{self.dialect.name} takes no reasoning details back")
        if block.kind == "signature" and not self.dialect.takes_signatures:
            return ("dialect", f"{self.dialect.name} takes no signatures back")
        return None

    def _set_aside(self, block: Reasoning, strip: str) -> Why | None:
        """Strip first, then include. A signature is no reasoning that anyone could read."""
        if block.kind == "signature":
            return None
        if strip:
            return ("spec 001 BR-005", strip)
        if block.kind == "text":
            return (
                None if self.settings.include_in_context else ("spec 001 BR-001", "reasoning.includeInContext is off")
            )
        return ("replay D1", "reasoning.includeInContext is off") if self.settings.include_in_context is False else None

    def _dropped(self, block: Reasoning, turn: Turn) -> Why | None:
        """What an opaque part must be, so that its service takes it back. Spec 002 drop, replay 1.1 and 2.4."""
        if block.kind == "text":
            return None
        if block.model != self.origin.model:
            return ("spec 002 decision 3", f"made by {block.model}")
        if not self.origin.made(block):
            return ("replay 2.4", "made at another endpoint or with another key")
        return self._item_dropped(block, turn) if block.kind == "item" else None

    def _item_dropped(self, block: Reasoning, turn: Turn) -> Why | None:
        if self.omit_items:
            return ("replay D6", "the service refused its own items")
        if turn.has_failed or not block.whole:
            return ("spec 002 drop", "of a response that did not end well")
        item = block.item
        if not isinstance(item, Mapping):
            return ("replay 7", "an item that is no object")
        if item.get("type", "reasoning") == "reasoning" and not item.get("encrypted_content"):
            return ("replay 7", "an item without ciphertext is not found by its service")
        item_id = str(item.get("id") or "")
        if item_id and item_id in self._seen_items:
            return ("replay 7", "the same item a second time")
        self._seen_items.add(item_id)
        return None

    def _without_loose_ends(self, step: Step) -> Step:
        """Drop opaque items that nothing of their step follows. Replay 7."""
        if self.origin.api != "responses":
            return step
        loose: list[Part] = []
        for part in reversed(step.parts):
            if isinstance(part, ToolCall) or (isinstance(part, AssistantMessage) and part.text):
                break
            loose.append(part)
        return self._drop(step, loose, "replay 7", "reasoning that nothing follows")

    def _as_demanded(self, left: Step, whole: Step, whys: list[Why], *, is_newest: bool) -> SelectedStep | None:
        """Give a step what its service insists on, or leave it out. Replay D4, D5; product 3 for what was purged."""
        if self.origin.api == "responses" or any(rule in BY_SETTING for rule, _reason in whys):
            return SelectedStep(left)
        if self._wants_opaque(left, whys):
            self._leave_out(left)
            return None
        if not self._wants_text(left, whole, is_newest=is_newest) or any(
            block.kind == "text" for block in left.reasoning
        ):
            return SelectedStep(left)
        if any(rule == "product 3" for rule, _reason in whys) or not self.dialect.placeholder:
            self._leave_out(left)
            return None
        return SelectedStep(left, self.dialect.placeholder)

    def _wants_opaque(self, left: Step, whys: list[Why]) -> bool:
        """A call whose signature or details were purged is refused by the service that made them."""
        takes_opaque = self.dialect.takes_signatures or self.dialect.takes_details
        return bool(takes_opaque and left.calls and any(rule == "product 3" for rule, _reason in whys))

    def _wants_text(self, left: Step, whole: Step, *, is_newest: bool) -> bool:
        match self.dialect.needs:
            case "running calls":
                return bool(left.calls) and is_newest
            case "calls":
                return bool(left.calls)
            case "everything":
                own = any(block.kind == "text" and self.origin.made(block) for block in whole.reasoning)
                return bool(left.calls) or own
        return False

    def _leave_out(self, step: Step) -> None:
        self._omit(step.events(), "replay D5", f"{self.dialect.name} takes no such step without its reasoning")

    def _drop(self, step: Step, parts: Iterable[Part], rule: str, reason: str) -> Step:
        dropped = list(parts)
        if not dropped:
            return step
        left = step.without(dropped)
        lost = [result for call_id, result in step.results.items() if call_id not in left.results]
        self._omit([*dropped, *lost], rule, reason)
        return left

    def _omit(self, events: Iterable[Event], rule: str, reason: str) -> None:
        self.omissions += [Omission(event.seq, rule, reason) for event in events]


def _repeated_calls(step: Step) -> list[Part]:
    seen: set[str] = set()
    repeated: list[Part] = []
    for call in step.calls:
        repeated += [call] if call.call_id in seen else []
        seen.add(call.call_id)
    return repeated
