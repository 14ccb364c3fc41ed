"""Answers as bytes: the events of a stream, or one body. Equal scripts give equal bytes: no clock and no chance."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from replay_contract_server.script import ErrorEvent, Usage

CREATED = 1_767_225_600
SSE_HEADERS = {"Content-Type": "text/event-stream; charset=utf-8", "Cache-Control": "no-cache"}


@dataclass(frozen=True, slots=True)
class Frame:
    """One event. ``cuts``: bytes at which a new write begins; ``hold``: wait for this release first.

    ``value``: the JSON object inside. ``settles``: with it the answer has reached a good end.
    """

    data: bytes
    cuts: tuple[int, ...] = ()
    hold: str | None = None
    value: Mapping[str, Any] | None = None
    settles: bool = False


@dataclass(frozen=True, slots=True)
class Answer:
    """A whole answer. Streamed ones are sent in transfer chunks, the others with their length.

    ``settle`` is called when the frame that settles it is sent. ``error_event`` returns the n-th event of the stream
    for a fault inside it.
    """

    status: int
    headers: Mapping[str, str]
    frames: tuple[Frame, ...]
    streamed: bool = False
    delay_ms: float = 0
    settle: Callable[[], None] = lambda: None
    error_event: Callable[[ErrorEvent, int], Frame] = lambda fault, _: event(
        {"error": {"message": fault.message, "type": "server_error", "param": None, "code": fault.code}}
    )


DONE = Frame(b"data: [DONE]\n\n")


def compact(value: Any) -> bytes:
    """Return a JSON value as UTF-8 bytes."""
    # Half a surrogate pair has no bytes in UTF-8: it stays the escape that it is in JSON.
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "backslashreplace")


def event(value: Mapping[str, Any], hold: str | None = None, *, settles: bool = False) -> Frame:
    """Return a JSON object as an event; one with a type is named by it, as in the Responses API."""
    name = b"event: %b\n" % str(value["type"]).encode() if "type" in value else b""
    return Frame(b"%bdata: %b\n\n" % (name, compact(value)), hold=hold, value=value, settles=settles)


def json_answer(status: int, value: Any, headers: Mapping[str, str] | None = None, *, settles: bool = False) -> Answer:
    """Return an answer that is one JSON document."""
    frame = Frame(compact(value), value=value, settles=settles)
    return Answer(status, {"Content-Type": "application/json", **(headers or {})}, (frame,))


def count_usage(given: Usage, names: tuple[str, str], request: Any, written: str, reasoning: str) -> dict[str, Any]:
    """Return the token counts under an API's names of input and output: scripted, or counted."""
    counts = [
        _tokens(text) if count is None else count
        for count, text in ((given.input, request), (given.output, written), (given.reasoning_tokens, reasoning))
    ]
    return {
        f"{names[0]}_tokens": counts[0],
        f"{names[0]}_tokens_details": {"cached_tokens": given.cached_tokens},
        f"{names[1]}_tokens": counts[1],
        f"{names[1]}_tokens_details": {"reasoning_tokens": counts[2]},
        "total_tokens": counts[0] + counts[1],
    }


def _tokens(value: Any) -> int:
    """Return the token count of a JSON value or a text: a quarter of its bytes, rounded up."""
    data = value.encode("utf-8", "surrogatepass") if isinstance(value, str) else compact(value)
    return -(-len(data) // 4)
