"""Faults carried out: answers that come instead of the reply, and what happens at a point of an open stream."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from tests.contract_server.fault_kinds import (
    BodyKind,
    ContextOverflow,
    Disconnect,
    ErrorEvent,
    HttpError,
    Instead,
    RateLimit,
    ServerError,
    SlowFirstToken,
    Stall,
    Timed,
)
from tests.contract_server.state import OpenStream
from tests.contract_server.stream import Answer, Frame, event, json_answer
from tests.contract_server.wire import Connection

CONNECT, HEADERS = (-2, 0), (-1, 0)
Place = tuple[int, int]

# Shortened from what services answer; the code differs as well, and one has none.
WORDINGS: tuple[tuple[str, str | int | None], ...] = (
    ("This model's maximum context length is 8192 tokens. Please reduce the length.", "context_length_exceeded"),
    ("Your input exceeds the context window of this model.", "context_length_exceeded"),
    ("prompt is too long: 210000 tokens > 200000 maximum", None),
    ("The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).", 400),
    ("the request exceeds the available context size, try increasing it", "exceed_context_size_error"),
    ("Input validation error: inputs tokens + max_new_tokens must be <= 4096", "validation"),
    ("Range of input length should be [1, 129024]", "invalid_parameter_error"),
)


class CutError(Exception):
    """The answer ends here; ``mode`` as in ``Disconnect``."""

    def __init__(self, mode: str) -> None:
        super().__init__(mode)
        self.mode = mode


def answer_instead(fault: Instead) -> Answer:
    """Return the answer that a fault gives in place of the reply."""
    match fault:
        case HttpError():
            error: dict[str, Any] = {
                "message": fault.message,
                "type": "server_error",
                "param": None,
                "code": fault.code,
            }
            return _body_answer(fault.status, fault.body, error, fault.headers)
        case RateLimit():
            error = {"message": "Rate limit reached.", "type": "requests", "code": "rate_limit_exceeded"}
            return _body_answer(429, "json", error, _retry_headers(fault.retry_after))
        case ServerError():
            error = {"message": "Internal error.", "type": "server_error", "param": None, "code": None}
            return _body_answer(fault.status, fault.body, error, {})
        case ContextOverflow():
            message, number = WORDINGS[fault.wording]
            error = {"message": message, "type": "invalid_request_error", "code": number}
            return _body_answer(400, "json", error, {})


def _body_answer(status: int, kind: BodyKind, error: Mapping[str, Any], headers: Mapping[str, str]) -> Answer:
    match kind:
        case "json":
            return json_answer(status, {"error": error}, headers)
        case "html":
            page = f"<html><head><title>{status}</title></head><body><h1>{status}</h1></body></html>"
            return Answer(status, {"Content-Type": "text/html", **headers}, (Frame(page.encode()),))
        case "empty":
            return Answer(status, headers, ())


def _retry_headers(after: float | str | dict[str, int] | None) -> dict[str, str]:
    match after:
        case None:
            return {}
        case dict():
            return {"retry-after-ms": str(after["ms"])}
    return {"Retry-After": str(after)}


def placed(faults: Sequence[Timed], frames: Sequence[Frame]) -> Mapping[Place, list[Timed]]:
    """Return the faults by event and byte. One behind the last event never happens."""
    found: defaultdict[Place, list[Timed]] = defaultdict(list)
    for fault in faults:
        found[_place(fault.at, frames)].append(fault)
    return found


def _place(at: str, frames: Sequence[Frame]) -> Place:
    match at.split(":"):
        case ["connect"]:
            return CONNECT
        case ["headers"]:
            return HEADERS
        case ["event", n]:
            return int(n), 0
        case ["inside_event", n, byte]:
            size = len(frames[int(n)].data) if int(n) < len(frames) else 1
            return int(n), min(int(byte), size - 1)
        case ["before_done"]:
            return max(len(frames) - 1, 0), 0
    return 0, 0


async def happen(fault: Timed, connection: Connection, stream: OpenStream) -> None:
    """Let a fault happen. Raises CutError if it ends the answer, ClientGoneError if the client leaves meanwhile."""
    match fault:
        case SlowFirstToken():
            await hold(fault.name, connection, stream, seconds=fault.seconds)
        case Stall():
            await hold(fault.name, connection, stream, seconds=fault.max_seconds, keepalive=fault.keepalive)
        case ErrorEvent():
            await connection.part(_error_frame(fault).data)
            raise CutError("fin")
        case Disconnect():
            raise CutError(fault.mode)


def _error_frame(fault: ErrorEvent) -> Frame:
    error = {"message": fault.message, "type": fault.type, "param": None, "code": fault.code, **fault.extra}
    return event({"error": error})


async def hold(
    name: str,
    connection: Connection,
    stream: OpenStream,
    *,
    seconds: float | None = None,
    keepalive: float | None = None,
) -> None:
    """Wait for the release of ``name``, at most ``seconds``; send a comment every ``keepalive`` seconds."""
    gate = stream.hold(name)
    loop = asyncio.get_running_loop()
    until = None if seconds is None else loop.time() + seconds
    while until is None or loop.time() < until:
        left = None if until is None else until - loop.time()
        step = min((one for one in (left, keepalive) if one is not None), default=None)
        if await connection.wait(gate, step):
            break
        if keepalive is not None:
            await connection.part(b": keepalive\n\n")
    stream.resume()
