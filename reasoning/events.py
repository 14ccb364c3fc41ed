"""What is kept: one frozen type for each canonical kind, and its JSON form.

The form is the one that ``contracts`` fixes: ``seq``, ``turn``, ``step`` and ``type``, plus the fields of the kind.
Unknown keys are ignored and missing optional ones take their default, so that old rows stay readable. Spec 002.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Literal

from reasoning.errors import EventError

TurnStatus = Literal["completed", "errored", "aborted", "iteration_capped", "interrupted"]


@dataclass(frozen=True, slots=True, kw_only=True)
class UserMessage:
    """What the person asked."""

    type: ClassVar[str] = "user_message"
    text: str
    seq: int = 0
    turn: str = ""
    step: int | None = None
    active: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Reasoning:
    """What a model thought. ``kind`` text is a ThinkingBlock; the others are opaque and go back verbatim.

    A signature is what a service put on a call (``{"call_id", "extra_content"}``). ``whole`` is false for an item of a
    response that was cut short: no service takes that one back. Spec 001 BR-002, spec 002 decision 1.
    """

    type: ClassVar[str] = "reasoning"
    kind: Literal["text", "item", "details", "signature"]
    model: str
    provider: str
    text: str = ""
    source_field: str = ""
    is_hidden: bool = False
    item: Any = None
    details: Any = None
    whole: bool = True
    seq: int = 0
    turn: str = ""
    step: int | None = None
    active: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class AssistantMessage:
    """The answer of one step, with its summary and checked citations."""

    type: ClassVar[str] = "assistant_message"
    text: str
    summary: tuple[str, ...] = ()
    citations: tuple[Mapping[str, Any], ...] = ()
    partial: bool = False
    seq: int = 0
    turn: str = ""
    step: int | None = None
    active: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """A call as the model made it; ``arguments`` is the exact string (product 10)."""

    type: ClassVar[str] = "tool_call"
    call_id: str
    name: str
    arguments: str
    seq: int = 0
    turn: str = ""
    step: int | None = None
    active: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResult:
    """What the tool gave back, as the model gets it."""

    type: ClassVar[str] = "tool_result"
    call_id: str
    output: str
    ok: bool
    seq: int = 0
    turn: str = ""
    step: int | None = None
    active: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class PermissionDecision:
    """Whether a call may run, and who said so."""

    type: ClassVar[str] = "permission_decision"
    call_id: str
    decision: Literal["allow", "deny"]
    by: str
    seq: int = 0
    turn: str = ""
    step: int | None = None
    active: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnEnd:
    """How a turn ended."""

    type: ClassVar[str] = "turn_end"
    status: TurnStatus
    seq: int = 0
    turn: str = ""
    step: int | None = None
    active: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Compaction:
    """Everything up to ``to_seq`` stands for this summary from here on. History stays whole."""

    type: ClassVar[str] = "compaction"
    to_seq: int
    summary: str
    seq: int = 0
    turn: str = ""
    step: int | None = None
    active: bool = True


Event = UserMessage | Reasoning | AssistantMessage | ToolCall | ToolResult | PermissionDecision | TurnEnd | Compaction

_KINDS: dict[str, type[Event]] = {
    kind.type: kind
    for kind in (
        UserMessage,
        Reasoning,
        AssistantMessage,
        ToolCall,
        ToolResult,
        PermissionDecision,
        TurnEnd,
        Compaction,
    )
}
_COMMON = ("seq", "turn", "step", "active")
_BY_REASONING_KIND = {
    "text": ("text", "source_field", "is_hidden"),
    "item": ("item",),
    "details": ("details",),
    "signature": ("item",),
}


def event_to_json(event: Event) -> dict[str, Any]:
    """Return the JSON form: common keys first, then the fields of the kind. ``active`` only where it is false."""
    form: dict[str, Any] = {"seq": event.seq, "turn": event.turn}
    if event.step is not None:
        form["step"] = event.step
    form["type"] = event.type
    for name in _own_fields(event):
        value = getattr(event, name)
        form[name] = list(value) if isinstance(value, tuple) else value
    if not event.active:
        form["active"] = False
    return form


def event_from_json(form: Mapping[str, Any]) -> Event:
    """Read one event. Raises EventError for an unknown type or a missing field."""
    kind = _KINDS.get(form.get("type", ""))
    if kind is None:
        raise EventError(f"type: unknown event type {form.get('type')!r}; known: {', '.join(_KINDS)}")
    known = {field.name for field in fields(kind)}
    values = {name: value for name, value in form.items() if name in known}
    for name in ("summary", "citations"):
        if kind is AssistantMessage and name in values:
            values[name] = tuple(values[name])
    try:
        return kind(**values)
    except TypeError as error:
        raise EventError(f"{kind.type}: {error}") from error


def _own_fields(event: Event) -> list[str]:
    names = [field.name for field in fields(event) if field.name not in _COMMON]
    if isinstance(event, Reasoning):
        return ["kind", *_BY_REASONING_KIND[event.kind], "model", "provider", *([] if event.whole else ["whole"])]
    return names
