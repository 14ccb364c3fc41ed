"""Canonical events, what the log stores: one frozen type for each kind, and its JSON form. Spec 002.

The form is the one that ``contracts`` fixes: ``seq``, ``turn``, ``step`` and ``type``, plus the fields of the kind.
Unknown keys are ignored and missing optional ones take their default, so that old rows stay readable.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any, ClassVar, Literal, get_args

from reasoning.errors import EventError

HistoryCut = Literal["", "summarised", "left out"]  # what became of earlier messages
TurnStatus = Literal["completed", "errored", "aborted", "iteration_capped", "interrupted"]


@dataclass(frozen=True, slots=True, kw_only=True)
class BaseEvent:
    """What all kinds have. ``seq`` is set by the log; ``step`` is the index of the provider response in the turn."""

    type: ClassVar[str]
    seq: int = 0
    turn: str = ""
    step: int | None = None
    active: bool = True

    def json_fields(self) -> list[str]:
        """Return the names of the kind's own fields, in the order of the JSON form."""
        return [field.name for field in fields(self) if field.name not in _COMMON]


_COMMON = frozenset(field.name for field in fields(BaseEvent))


@dataclass(frozen=True, slots=True, kw_only=True)
class AttachedFile:
    """A file that the person attached. ``chars``: of its text; ``cut``: the file has more of it.

    ``text``, and ``data`` (base64, of an image), are loaded for a request; the JSON form of the log has neither.
    """

    id: str
    name: str
    media_type: str
    size: int = 0
    chars: int = 0
    cut: bool = False
    text: str = field(default="", repr=False)
    data: str = field(default="", repr=False)

    @property
    def is_image(self) -> bool:
        return self.media_type.startswith("image/")

    def to_json(self) -> dict[str, Any]:
        form = asdict(self)
        del form["text"], form["data"]
        return form


@dataclass(frozen=True, slots=True, kw_only=True)
class UserMessage(BaseEvent):
    """What the person asked, and what they attached to it."""

    type: ClassVar[str] = "user_message"
    text: str
    attachments: tuple[AttachedFile, ...] = ()

    def json_fields(self) -> list[str]:
        return ["text", *(["attachments"] if self.attachments else [])]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reasoning(BaseEvent):
    """What a model thought. ``kind`` text is a ThinkingBlock; the others are opaque and go back verbatim.

    A signature is what a service put on a call (``{"call_id", "extra_content"}``, or other fields) or on its message
    (``{"message": {"reasoning_opaque"}}``). ``whole`` is false for an item of a response that was cut short: no service
    accepts that one. Spec 001 BR-002, spec 002 decision 1.
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

    def json_fields(self) -> list[str]:
        by_kind = {"text": ["text", "source_field", "is_hidden"], "details": ["details"]}
        return ["kind", *by_kind.get(self.kind, ["item"]), "model", "provider", *([] if self.whole else ["whole"])]


@dataclass(frozen=True, slots=True, kw_only=True)
class AssistantMessage(BaseEvent):
    """One message of a step, with its citations, and the summary on the last one. Product 20.

    ``continues``: the text continues where that of the message before was cut off (product 41).

    ``phase`` is the service's own word for the message; it is sent back to the model and endpoint of origin, which are
    recorded with it. Spec 002 decision 2.
    """

    type: ClassVar[str] = "assistant_message"
    text: str
    summary: tuple[str, ...] = ()
    citations: tuple[Mapping[str, Any], ...] = ()
    partial: bool = False
    continues: bool = False
    phase: str = ""
    model: str = ""
    provider: str = ""

    def json_fields(self) -> list[str]:
        origin = ["phase", "model", "provider"] if self.phase else []
        return ["text", "summary", "citations", "partial", *(["continues"] if self.continues else []), *origin]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall(BaseEvent):
    """A call as the model made it; ``arguments`` is the exact string (product 10)."""

    type: ClassVar[str] = "tool_call"
    call_id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResult(BaseEvent):
    """What the tool returned, as the model gets it."""

    type: ClassVar[str] = "tool_result"
    call_id: str
    output: str
    ok: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class PermissionDecision(BaseEvent):
    """Whether a call may run, and who decided so."""

    type: ClassVar[str] = "permission_decision"
    call_id: str
    decision: Literal["allow", "deny"]
    by: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnEnd(BaseEvent):
    """How a turn ended."""

    type: ClassVar[str] = "turn_end"
    status: TurnStatus


@dataclass(frozen=True, slots=True, kw_only=True)
class Continuation(BaseEvent):
    """The person asked for the rest of a turn that had ended too early; it runs again. Product 41.

    What its turn said of the answer until then: the model, the label of its profile, and the time of its thinking.
    """

    type: ClassVar[str] = "continuation"
    model: str = ""
    model_label: str = ""
    thinking_ms: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Compaction(BaseEvent):
    """Requests from here on send this summary in place of all events up to ``to_seq``, which stay in the log.

    ``left_out``: what came before could not be summarised; ``summary`` is then an earlier one, or empty. Product 23.
    """

    type: ClassVar[str] = "compaction"
    to_seq: int
    summary: str
    left_out: bool = False

    def json_fields(self) -> list[str]:
        return ["to_seq", "summary", *(["left_out"] if self.left_out else [])]


Event = (
    UserMessage
    | Reasoning
    | AssistantMessage
    | ToolCall
    | ToolResult
    | PermissionDecision
    | TurnEnd
    | Continuation
    | Compaction
)
_KINDS: dict[str, type[Event]] = {kind.type: kind for kind in get_args(Event)}


def event_to_json(event: Event) -> dict[str, Any]:
    """Return the JSON form: common keys first, then the fields of the kind. ``active`` only where it is false."""
    form: dict[str, Any] = {"seq": event.seq, "turn": event.turn}
    if event.step is not None:
        form["step"] = event.step
    form["type"] = event.type
    for name in event.json_fields():
        value = getattr(event, name)
        form[name] = list(value) if isinstance(value, tuple) else value
    if isinstance(event, UserMessage) and event.attachments:
        form["attachments"] = [file.to_json() for file in event.attachments]
    if not event.active:
        form["active"] = False
    return form


def event_from_json(form: Mapping[str, Any]) -> Event:
    """Read one event. Raises EventError for an unknown type or a missing field."""
    kind = _KINDS.get(form.get("type", ""))
    if kind is None:
        raise EventError(f"type: unknown event type {form.get('type')!r}; known: {', '.join(_KINDS)}")
    # Keys of a later version are ignored, so that older code can read newer rows.
    known = {field.name for field in fields(kind)}
    values = {name: value for name, value in form.items() if name in known}
    if kind is AssistantMessage:
        values |= {name: tuple(values[name]) for name in ("summary", "citations") if name in values}
    try:
        if kind is UserMessage and "attachments" in values:
            values["attachments"] = tuple(attached_file(each) for each in values["attachments"])
        return kind(**values)
    except TypeError as error:
        raise EventError(f"{kind.type}: {error}") from error


def attached_file(form: Mapping[str, Any]) -> AttachedFile:
    """Read one attachment of a ``user_message``. Raises TypeError for a missing field."""
    known = {each.name for each in fields(AttachedFile)}
    return AttachedFile(**{name: value for name, value in form.items() if name in known})
