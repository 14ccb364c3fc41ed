"""Scripts: what the server is to say, read from JSON and checked when it is loaded, not when it is played.

A script is a list of replies, or an object with ``replies`` and settings for all of them. Replies are taken in order;
one with ``match`` waits for the first request that fits. Unknown keys are errors, so a typo cannot pass for a rule.
"""

from __future__ import annotations

import bisect
from collections.abc import Mapping
from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from tests.contract_server.fault_kinds import Fault
from tests.contract_server.items import ItemScript
from tests.contract_server.knobs import Knobs

Chunking = Literal["char", "word", "whole"] | Annotated[int, Meta(ge=1)]


class ScriptError(ValueError):
    """A script that cannot be played; the message names the place."""


class Match(Struct, frozen=True, forbid_unknown_fields=True):
    """What a request must be for its reply; all that is given must hold."""

    last_user_contains: str | None = None
    tool_outputs_at_least: int | None = None  # counted since the last user message
    mode: str | None = None


class ScriptedCall(Struct, frozen=True, forbid_unknown_fields=True):
    """A tool call; ``arguments`` as an object is written compactly, as a string it is sent byte for byte."""

    name: str
    arguments: str | dict[str, Any] = "{}"
    id: str | None = None

    def arguments_text(self) -> str:
        return arguments_text(self.arguments)


class Reply(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One scripted answer.

    The same reply serves both APIs: over Responses reasoning becomes a reasoning item with a summary (a list: its
    parts), the content a message, each call an item. ``items`` give them in any order, for Responses alone.
    ``finish`` is a chat API's reason, or ``completed``, ``incomplete:<reason>``, ``failed:<code>``, ``cancelled``.

    With ``deltas`` the wire carries exactly those (and stops at each ``{"hold": name}`` among them until a release by
    that name); ``reasoning`` beside them then only tells the ledger what was issued.
    ``repeat`` keeps the reply for ever, for trying things by hand. ``delay_ms`` paces events for people watching.
    """

    match: Match | None = None
    mode: str | None = None
    reasoning: str | list[str] | None = None
    content: str | None = None
    tool_calls: list[ScriptedCall] = []
    reasoning_details: list[dict[str, Any]] | None = None
    items: list[ItemScript] | None = None
    deltas: list[dict[str, Any]] | None = None
    field: str | None = None
    fields: list[str] | None = None
    chunk: Chunking = "word"
    tags: bool | str | list[str] | None = None
    stray_close: bool = False
    finish: str | UnsetType | None = UNSET
    usage: dict[str, int] = {}
    usage_location: Literal["top", "choice", "final_chunk", "none"] = "final_chunk"
    model_in_reply: str | None = None
    knobs: dict[str, Any] = {}
    faults: list[Fault] = []
    delay_ms: float = 0
    repeat: bool = False

    def reasoning_text(self) -> str:
        """Return the declared reasoning in one piece; empty if there is none."""
        return "".join(self.reasoning or ())

    def tag_pair(self) -> tuple[str, str]:
        """Return the delimiters for reasoning inside ``content``."""
        match self.tags:
            case [opening, closing]:
                return opening, closing
            case str(name):
                return f"<{name}>", f"</{name}>"
        return "<think>", "</think>"


class ScriptFile(Struct, frozen=True, forbid_unknown_fields=True):
    """A script with settings for all replies. ``models`` adds names to the model table, in front of it."""

    replies: list[Reply]
    knobs: dict[str, Any] = {}
    mode: str | None = None
    models: dict[str, str] = {}


class Pending:
    """A reply in the queue with what is left of its faults."""

    def __init__(self, index: int, reply: Reply) -> None:
        self.index = index
        self.reply = reply
        self._left = [fault.times for fault in reply.faults]

    def faults(self) -> list[Fault]:
        """Return the faults that are still to happen."""
        return [fault for fault, left in zip(self.reply.faults, self._left, strict=True) if left]

    def spend(self, fault: Fault) -> None:
        """Count one use of a fault."""
        place = next(n for n, known in enumerate(self.reply.faults) if known is fault)
        self._left[place] -= 1


class Script:
    """The queue of replies and the settings that came with them."""

    def __init__(self, source: ScriptFile | None = None) -> None:
        self.source = source or ScriptFile(replies=[])
        self._queue = [Pending(n, reply) for n, reply in enumerate(self.source.replies)]

    def next_for(self, mode: str, messages: Any) -> Pending | None:
        """Return the reply that this request would get, and leave it in the queue."""
        return next((one for one in self._queue if _fits(one.reply.match, mode, messages)), None)

    def take(self, pending: Pending) -> None:
        if not pending.reply.repeat:
            self._queue.remove(pending)

    def put_back(self, pending: Pending) -> None:
        """Return a reply that never reached its end to its old place."""
        if pending not in self._queue:  # as one that repeats always is
            bisect.insort(self._queue, pending, key=lambda one: one.index)

    def left(self) -> int:
        return len(self._queue)


def arguments_text(arguments: str | Mapping[str, Any]) -> str:
    """Return scripted arguments as they go over the wire."""
    return arguments if isinstance(arguments, str) else msgspec.json.encode(arguments).decode()


def parse_script(source: Any) -> Script:
    """Return a script from JSON values. Raises ScriptError naming the place."""
    if isinstance(source, list):
        source = {"replies": source}
    try:
        read = msgspec.convert(source, ScriptFile)
        for knobs in (read.knobs, *(reply.knobs for reply in read.replies)):
            Knobs.read(knobs)
    except (msgspec.ValidationError, ValueError) as error:
        raise ScriptError(str(error)) from error
    return Script(read)


def _fits(match: Match | None, mode: str, messages: Any) -> bool:
    if match is None:
        return True
    text, outputs = _running_turn(messages)
    return (
        match.mode in (None, mode)
        and (match.last_user_contains or "") in text
        and outputs >= (match.tool_outputs_at_least or 0)
    )


def _running_turn(messages: Any) -> tuple[str, int]:
    """Return the text of the last user message and the number of tool results behind it."""
    if isinstance(messages, str):
        return messages, 0
    outputs = 0
    listed = messages if isinstance(messages, list) else []
    for message in reversed([one for one in listed if isinstance(one, Mapping)]):
        if message.get("role") == "user":
            return text_of(message.get("content")), outputs
        outputs += message.get("role") == "tool" or message.get("type") == "function_call_output"
    return "", outputs


def text_of(content: Any) -> str:
    """Return the text of a message's content, which is a string or a list of parts."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return "".join(str(part.get("text", "")) for part in parts if isinstance(part, Mapping))
