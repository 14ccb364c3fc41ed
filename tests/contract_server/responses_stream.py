"""The Responses API's answers as bytes: numbered, named events, or one body."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tests.contract_server.fault_kinds import ErrorEvent
from tests.contract_server.knobs import Knobs
from tests.contract_server.responses_plan import Draft, Piece
from tests.contract_server.stream import CREATED, Frame, body_frame, event

Item = Mapping[str, Any]
OUTCOME_TEXT = "The server had an error while processing your request."


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a response ends; ``reason`` says why it is incomplete, or the code of its failure."""

    status: str = "completed"
    reason: str = ""

    @classmethod
    def read(cls, finish: str) -> Outcome:
        """Read a script's ``finish``; a chat API's reasons are taken for what they mean here."""
        status, _, reason = _CHAT_REASONS.get(finish, finish).partition(":")
        return cls(status, reason)

    def fields(self) -> dict[str, Any]:
        failed = {"code": self.reason or "server_error", "message": OUTCOME_TEXT} if self.status == "failed" else None
        details = {"reason": self.reason or "max_output_tokens"} if self.status == "incomplete" else None
        return {"status": self.status, "error": failed, "incomplete_details": details}


_CHAT_REASONS = {
    "stop": "completed",
    "tool_calls": "completed",
    "length": "incomplete:max_output_tokens",
    "content_filter": "incomplete:content_filter",
}
RUNNING = Outcome("in_progress")


@dataclass(frozen=True, slots=True)
class Spoken:
    """An item with the text that it goes out in; ``announced`` is what its added event carries."""

    item: Item
    draft: Draft
    announced: Item


@dataclass(frozen=True, slots=True)
class Response:
    """What is the same in every snapshot of a response."""

    id: str
    model: str
    usage: Mapping[str, Any] | None
    reasoning: Mapping[str, Any]

    def snapshot(self, outcome: Outcome, output: Sequence[Item]) -> dict[str, Any]:
        """Return the response object; usage comes with the end."""
        head = {"id": self.id, "object": "response", "created_at": CREATED, "model": self.model, "store": False}
        usage = {"usage": None if outcome == RUNNING else self.usage}
        return {**head, **outcome.fields(), "output": list(output), **_CONSTANT, "reasoning": self.reasoning, **usage}


_CONSTANT: dict[str, Any] = {
    "instructions": None,
    "metadata": {},
    "parallel_tool_calls": True,
    "previous_response_id": None,
    "temperature": 1.0,
    "tool_choice": "auto",
    "tools": [],
    "top_p": 1.0,
}


@dataclass(frozen=True, slots=True)
class Told:
    """An event that has no number yet."""

    type: str
    values: Mapping[str, Any]
    hold: str | None = None


def response_frames(
    response: Response, spoken: Sequence[Spoken], outcome: Outcome | None, hold: str | None, knobs: Knobs
) -> tuple[Frame, ...]:
    """Return the events of a stream; without an outcome it has no final one."""
    opening = {"response": response.snapshot(RUNNING, [])}
    told = [Told("response.created", opening), Told("response.in_progress", opening), *_items_told(spoken, knobs)]
    if outcome:
        output = [] if knobs.omit_completed_output else [one.item for one in spoken]
        told.append(Told(f"response.{outcome.status}", {"response": response.snapshot(outcome, output)}, hold))
    frames = [_numbered(n, one) for n, one in enumerate(told)]
    if outcome == Outcome():
        frames[-1] = replace(frames[-1], settles=True)
    return tuple(frames)


def whole_response(response: Response, spoken: Sequence[Spoken], outcome: Outcome | None) -> Frame:
    """Return the answer to a request that is not streamed."""
    outcome = outcome or Outcome()
    return body_frame(response.snapshot(outcome, [one.item for one in spoken]), settles=outcome == Outcome())


def _numbered(number: int, told: Told) -> Frame:
    return event({"type": told.type, "sequence_number": number, **told.values}, told.hold)


def _items_told(spoken: Sequence[Spoken], knobs: Knobs) -> Iterator[Told]:
    """Yield the events of all items; done events at once, or in reverse when all has been said."""
    late: list[Told] = []
    for index, one in enumerate(spoken):
        yield Told("response.output_item.added", {"output_index": index, "item": one.announced}, one.draft.hold)
        yield from _text_told(index, one)
        done = Told("response.output_item.done", {"output_index": index, "item": one.item})
        if one.draft.kind == "reasoning" and knobs.omit_reasoning_done:
            continue
        if knobs.done_order == "reversed":
            late.append(done)
        else:
            yield done
    yield from reversed(late)


def _text_told(index: int, one: Spoken) -> Iterator[Told]:
    where = {"item_id": one.item.get("id"), "output_index": index}
    match one.draft.kind:
        case "reasoning":
            for n, part in enumerate(one.draft.parts):
                yield from _part_told(where | {"summary_index": n}, "reasoning_summary", "summary_text", part)
            if one.draft.raw_text:
                place = where | {"content_index": 0}
                yield from _said("response.reasoning_text", place, "text", one.draft.raw_text)
        case "message":
            part = one.draft.parts[0]
            yield from _part_told(where | {"content_index": 0}, "content", "output_text", part)
        case "function_call":
            yield from _said("response.function_call_arguments", where, "arguments", one.draft.parts[0])


def _part_told(where: Mapping[str, Any], family: str, part_type: str, pieces: Sequence[Piece]) -> Iterator[Told]:
    """Yield a part's beginning, its text and its end: ``content`` of a message or ``reasoning_summary``."""
    text = "".join(piece.text for piece in pieces)
    name = "output_text" if family == "content" else f"{family}_text"
    yield Told(f"response.{family}_part.added", {**where, "part": text_part(part_type, "")})
    yield from _said(f"response.{name}", where, "text", pieces)
    yield Told(f"response.{family}_part.done", {**where, "part": text_part(part_type, text)})


def _said(name: str, where: Mapping[str, Any], key: str, pieces: Sequence[Piece]) -> Iterator[Told]:
    for piece in pieces:
        yield Told(f"{name}.delta", {**where, "delta": piece.text}, piece.hold)
    yield Told(f"{name}.done", {**where, key: "".join(piece.text for piece in pieces)})


def text_part(part_type: str, text: str) -> dict[str, Any]:
    """Return a part of a message or of a summary."""
    return {"type": part_type, "text": text} | ({"annotations": []} if part_type == "output_text" else {})


def error_frame(response: Response, fault: ErrorEvent, number: int) -> Frame:
    """Return the event that ends a stream in an error, in one of the three forms that services use."""
    code = fault.code or fault.type
    if fault.event == "error":
        values = {"code": code, "message": fault.message, "param": None, **fault.extra}
        return _numbered(number, Told("error", values))
    status = fault.event.removeprefix("response.")
    snapshot = response.snapshot(Outcome(status, "" if fault.code is None else str(fault.code)), [])
    if status == "failed":
        snapshot["error"] = {"code": code, "message": fault.message, **fault.extra}
    return _numbered(number, Told(fault.event, {"response": snapshot}))
