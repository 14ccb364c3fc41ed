"""Answers as bytes: the events of a chat stream, or one body, each ready to be written.

A stream is: the role, the deltas, the finish reason, usage if it was asked for, and ``[DONE]``. Equal scripts give
equal bytes: ids are counted and the time of creation is a constant.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.contract_server.deltas import Delta
from tests.contract_server.fault_kinds import ErrorEvent
from tests.contract_server.record import compact

CREATED = 1_767_225_600
SSE_HEADERS = {"Content-Type": "text/event-stream; charset=utf-8", "Cache-Control": "no-cache"}
JSON_HEADERS = {"Content-Type": "application/json"}


@dataclass(frozen=True, slots=True)
class Frame:
    """One event. ``cuts``: bytes at which a new write begins; ``hold``: wait for this release first.

    ``value`` is the JSON object inside, where there is one. ``settles``: with it the answer has come to a good end.
    """

    data: bytes
    cuts: tuple[int, ...] = ()
    hold: str | None = None
    value: Mapping[str, Any] | None = None
    settles: bool = False


@dataclass(frozen=True, slots=True)
class Answer:
    """A whole answer. Streamed ones are sent in transfer chunks, the others with their length.

    ``settle`` is told when the frame that settles it goes out. ``error_event`` makes the event of a fault in its
    midst, which is the n-th of the stream.
    """

    status: int
    headers: Mapping[str, str]
    frames: tuple[Frame, ...]
    streamed: bool = False
    delay_ms: float = 0
    settle: Callable[[], None] = lambda: None
    error_event: Callable[[ErrorEvent, int], Frame] = lambda fault, _: chat_error(fault)


@dataclass(frozen=True, slots=True)
class Voice:
    """What is the same in every chunk of an answer, and where its usage goes."""

    id: str
    model: str
    usage: Mapping[str, Any]
    usage_location: str = "final_chunk"
    asks_usage: bool = field(default=False)


DONE = Frame(b"data: [DONE]\n\n")


def event(value: Mapping[str, Any], hold: str | None = None) -> Frame:
    """Return a JSON object as an event; one with a type is named by it, as in the Responses API."""
    name = b"event: %b\n" % str(value["type"]).encode() if "type" in value else b""
    return Frame(b"%bdata: %b\n\n" % (name, compact(value)), hold=hold, value=value)


def chat_error(fault: ErrorEvent) -> Frame:
    """Return the error object that a chat stream ends with."""
    error = {"message": fault.message, "type": fault.type, "param": None, "code": fault.code, **fault.extra}
    return event({"error": error})


def body_frame(value: Any, *, settles: bool = False) -> Frame:
    """Return a JSON document as the one frame of an answer."""
    return Frame(compact(value), value=value, settles=settles)


def json_answer(status: int, value: Any, headers: Mapping[str, str] | None = None) -> Answer:
    """Return an answer that is one JSON document, or the frame of one."""
    frame = value if isinstance(value, Frame) else body_frame(value)
    return Answer(status, {**JSON_HEADERS, **(headers or {})}, (frame,))


def chat_frames(voice: Voice, deltas: Sequence[Delta], finish: str | None) -> tuple[Frame, ...]:
    """Return the events of a chat stream; ``finish`` None leaves the finish reason out."""
    frames = _delta_frames(voice, [{"role": "assistant"}, *deltas])
    hold = deltas[-1].get("hold") if deltas else None
    if finish is not None:
        frames.append(event(_finish_chunk(voice, finish), hold))
    if voice.usage_location == "final_chunk" and voice.asks_usage:
        frames.append(event(_chunk(voice, []) | {"usage": voice.usage}))
    return (*frames, DONE)


def _delta_frames(voice: Voice, deltas: Iterable[Delta]) -> list[Frame]:
    frames, hold = [], None
    for delta in deltas:
        if "hold" in delta:
            hold = delta["hold"]
            continue
        frames.append(event(_chunk(voice, [{"index": 0, "delta": delta, "finish_reason": None}]), hold))
        hold = None
    return frames


def _chunk(voice: Voice, choices: list[dict[str, Any]]) -> dict[str, Any]:
    chunk = {"id": voice.id, "object": "chat.completion.chunk", "created": CREATED, "model": voice.model}
    return chunk | {"choices": choices} | ({"usage": None} if voice.asks_usage else {})


def _finish_chunk(voice: Voice, finish: str) -> dict[str, Any]:
    choice: dict[str, Any] = {"index": 0, "delta": {}, "finish_reason": finish}
    if voice.usage_location == "choice":
        choice["usage"] = voice.usage
    top = {"usage": voice.usage} if voice.usage_location == "top" else {}
    return _chunk(voice, [choice]) | top


def chat_body(voice: Voice, message: Mapping[str, Any], finish: str | None) -> dict[str, Any]:
    """Return the answer to a request that is not streamed."""
    choice: dict[str, Any] = {"index": 0, "message": message, "finish_reason": finish}
    if voice.usage_location == "choice":
        choice["usage"] = voice.usage
    body = {"id": voice.id, "object": "chat.completion", "created": CREATED, "model": voice.model, "choices": [choice]}
    return body | ({"usage": voice.usage} if voice.usage_location in ("top", "final_chunk") else {})
