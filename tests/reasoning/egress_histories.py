"""Histories as they never should be, for properties: what a log may hold at its worst, and what its service remembers.

A history is made together with the ledger of the contract server, so that its rules on altered, borrowed and foreign
reasoning see what was issued. Texts and ids are numbered; nothing is issued twice unless an id says so.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from hypothesis import strategies as st

from reasoning.events import (
    AssistantMessage,
    Compaction,
    Event,
    PermissionDecision,
    Reasoning,
    ToolCall,
    ToolResult,
    TurnEnd,
    UserMessage,
)
from replay_contract_server.ledger import Call, Ledger, Seal, Step, account_of, seal

HERE, ELSEWHERE = "here", "elsewhere"
KEY = "test-key"
STATUSES = ("completed", "completed", "errored", "aborted", "iteration_capped", "interrupted", None)
ARGUMENTS = ('{"q":  "a"}', "{}", "", "null", '{"q": ', "[1]", '{"a": NaN}', '{"q": "\ud800"}')
NAMES = ("searchFilings", "a b/<c>", "", "n" * 90)
FIELDS = ("reasoning_content", "reasoning", "thinking", "reasoning_details", "think_tags", "")
SAID = ("", "Said {n}.", "Said <think>{n}</think>.", "Half \ud83d of {n}.")
Draw = Callable[[st.SearchStrategy[Any]], Any]


@dataclass
class Log:
    """Events in the making, and the ledger of the service at the address ``here``."""

    draw: Draw
    model: str
    events: list[Event] = field(default_factory=list, repr=False)
    ledger: Ledger = field(default_factory=Ledger)
    number: int = 0

    def next(self) -> int:
        self.number += 1
        return self.number

    def pick(self, *options: Any) -> Any:
        return self.draw(st.sampled_from(options))

    def chance(self, of: int) -> bool:
        return bool(self.draw(st.integers(0, of - 1)) == 0)

    def add(self, event: Event, **values: Any) -> None:
        self.events.append(replace(event, seq=len(self.events) + 1, **values))


@dataclass
class _Turn:
    """One turn in the making. ``common`` are fields of each of its events."""

    log: Log
    common: dict[str, Any]
    keeps_steps: bool
    is_running: bool = False
    step: int = 0

    def add(self, event: Event) -> None:
        index = {"step": self.step} if self.keeps_steps and not isinstance(event, UserMessage | TurnEnd) else {}
        self.log.add(event, **self.common, **index)

    def response(self, *, has_calls: bool) -> None:
        """Add one whole provider response, the results of its calls, and what its service remembers of it."""
        made = _Response(self.log, *self._origin())
        calls = made.calls() if has_calls else []
        parts = made.parts(calls, is_whole=not self.log.chance(4))
        for part in parts:
            self.add(_purged(part) if isinstance(part, Reasoning) and self.log.chance(8) else part)
        for call in calls:
            if self.log.chance(8):
                decision = self.log.pick("allow", "deny")
                self.add(PermissionDecision(call_id=call.call_id, decision=decision, by="user"))
            if not (self.keeps_steps and self.log.chance(5)):  # without numbers, only results separate steps
                self.add(ToolResult(call_id=call.call_id, output=self.log.pick("", "found"), ok=True))
        if self.log.chance(8):
            self.add(ToolResult(call_id="nobody", output="stray", ok=True))
        made.issue(parts, calls)
        self.step += 1

    def torn_response(self) -> None:
        """Add what is left of a response that broke off."""
        n = self.log.next()
        whole = f"Broken thought {n}, long enough."
        self.log.ledger.issue(Step(serial=n, model=self.log.model, reasoning=whole, content=f"Torn {n} apart."))
        self.add(Reasoning(kind="text", model=self.log.model, provider=HERE, text=whole[:8]))
        self.add(AssistantMessage(text=f"Torn {n}", partial=True))
        self.step += 1

    def _origin(self) -> tuple[str, str]:
        return self.log.pick(
            (self.log.model, HERE), (self.log.model, HERE), ("other-model", HERE), (self.log.model, ELSEWHERE)
        )


@dataclass
class _Response:
    """One provider response in the making."""

    log: Log
    model: str
    provider: str
    number: int = 0

    def __post_init__(self) -> None:
        self.number = self.log.next()

    def calls(self) -> list[ToolCall]:
        return [self._call(index) for index in range(self.log.pick(1, 1, 2, 3))]

    def parts(self, calls: list[ToolCall], *, is_whole: bool) -> list[Event]:
        """Return reasoning of some kinds, a message, the calls; items and messages before, between and behind them."""
        text = self.log.pick(*SAID).format(n=self.number)
        message: list[Event] = [AssistantMessage(text=text)] if text or not calls else []
        blocks = self._blocks(calls)
        parts: list[Event] = [*blocks, *message, *calls]
        for index in range(self.log.pick(0, 0, 0, 1, 2)):
            more = f"Message {self.number}.{index}, in so many words."
            phase = {"phase": "commentary", "model": self.model, "provider": self.provider} if index else {}
            # Thinking is written first, whenever it came.
            where = self.log.draw(st.integers(len(blocks), len(parts)))
            parts.insert(where, AssistantMessage(text=more, **phase))
        for index in range(self.log.pick(0, 0, 1, 2)):
            where = self.log.draw(st.integers(0, len(parts)))
            parts.insert(where, self._reasoning(kind="item", item=self._item(index), whole=is_whole))
        return parts

    def issue(self, parts: list[Event], calls: list[ToolCall]) -> None:
        """Let the service remember it, if it is the one here. One that uses ids twice can't identify calls by them."""
        if self.provider != HERE:
            return
        if any(not call.call_id.startswith("call_n") for call in calls):
            self.log.ledger.issue(Step(serial=self.number, model=self.model, details=_details(parts)))
            return
        step = Step(
            serial=self.number,
            model=self.model,
            reasoning="".join(part.text for part in parts if isinstance(part, Reasoning)),
            content="\n\n".join(part.text for part in parts if isinstance(part, AssistantMessage) and part.text),
            calls=tuple(
                Call(call.call_id, call.name, call.arguments, self._signature_of(call, parts)) for call in calls
            ),
            details=_details(parts),
            items=tuple(item for part in parts if (item := _as_item(part))),
        )
        self.log.ledger.issue(step)
        if all(part.whole for part in parts if isinstance(part, Reasoning)):
            self.log.ledger.settle(self.number)

    def _call(self, index: int) -> ToolCall:
        call_id = f"call_n{self.number}_{index}"
        if self.log.chance(6):
            call_id = self.log.pick("call_0", "call_0", "fc_7", "")
        name = self.log.pick(NAMES[0], NAMES[0], *NAMES)
        return ToolCall(call_id=call_id, name=name, arguments=self.log.pick(ARGUMENTS[0], ARGUMENTS[1], *ARGUMENTS))

    def _blocks(self, calls: list[ToolCall]) -> list[Event]:
        blocks: list[Event] = []
        if self.log.pick(True, True, False):
            blocks.append(
                self._reasoning(kind="text", text=f"Thought {self.number}.", source_field=self.log.pick(*FIELDS))
            )
        if self.log.chance(3):
            elements = [{"type": "reasoning.text", "text": "t", "signature": f"sig {self.number}"}]
            blocks.append(self._reasoning(kind="details", details=elements))
        if calls and self.log.chance(3):
            extra = {"google": {"thought_signature": f"SIG {self.number}"}}
            item = {"call_id": calls[0].call_id, "extra_content": extra}
            blocks.append(self._reasoning(kind="signature", item=item))
        return blocks

    def _item(self, index: int) -> Any:
        item_id = f"rs_{self.number}_{index}"
        account = account_of(KEY if self.provider == HERE else "another key")
        sealed = seal(Seal(self.model, item_id, account, "resp", self.number))
        item = {"type": "reasoning", "id": item_id, "summary": [], "encrypted_content": sealed, "extra": 1}
        return self.log.pick(item, item, item, {**item, "encrypted_content": ""}, "no object")

    def _reasoning(self, **values: Any) -> Reasoning:
        return Reasoning(model=self.model, provider=self.provider, **values)

    def _signature_of(self, call: ToolCall, parts: list[Event]) -> str | None:
        if self.model != self.log.model:
            return None  # no other model of the service signs
        signed = [part.item for part in parts if isinstance(part, Reasoning) and part.kind == "signature"]
        of_it = [
            item["extra_content"]["google"]["thought_signature"] for item in signed if item["call_id"] == call.call_id
        ]
        return of_it[0] if of_it else None


def _details(parts: list[Event]) -> tuple[Any, ...]:
    return tuple(one for part in parts if isinstance(part, Reasoning) for one in part.details or ())


def _as_item(part: Event) -> dict[str, Any] | None:
    match part:
        case Reasoning(kind="item", item=dict(item)) if item["encrypted_content"]:
            return item
        case AssistantMessage() if part.text:
            return {"type": "message", "role": "assistant", "content": part.text}
        case ToolCall():
            return {"type": "function_call", "call_id": part.call_id, "name": part.name, "arguments": part.arguments}
    return None


def _purged(block: Reasoning) -> Reasoning:
    return replace(block, text="", item=None, details=None)


@st.composite
def logs(draw: Draw, model: str) -> Log:
    """Return a log whose newest turn waits for an answer."""
    log = Log(draw, model)
    turns = draw(st.integers(0, 4))
    for number in range(turns):
        _past_turn(log, f"t{number}")
        if log.chance(6):
            to_seq = draw(st.integers(0, len(log.events)))
            log.add(Compaction(to_seq=to_seq, summary="What came before."), turn=f"t{number}")
    running = _Turn(log, {"turn": "now"}, keeps_steps=log.pick(True, False), is_running=True)
    running.add(UserMessage(text="And now?"))
    for _ in range(log.pick(0, 0, 1, 2)):
        running.response(has_calls=True)
    return log


def _past_turn(log: Log, name: str) -> None:
    common = {"turn": name, "active": not log.chance(6)}
    turn = _Turn(log, common, keeps_steps=log.pick(True, True, False))
    turn.add(UserMessage(text=log.pick("Why?", "Half \ud800?", "")))
    for _ in range(log.pick(0, 1, 2)):
        turn.response(has_calls=True)
    status = log.pick(*STATUSES)
    if status == "completed":
        turn.response(has_calls=False)
    elif log.pick(True, False):
        turn.torn_response()
    if status:
        turn.add(TurnEnd(status=status))
