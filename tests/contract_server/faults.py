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
    Fault,
    HttpError,
    Instead,
    RateLimit,
    RejectCiphertext,
    ServerError,
    SlowFirstToken,
    Stall,
    Timed,
)
from tests.contract_server.overflows import WORDINGS
from tests.contract_server.rules.base import Asked
from tests.contract_server.rules.ciphertext import rejection, unverifiable
from tests.contract_server.state import OpenStream
from tests.contract_server.stream import Answer, Frame, json_answer
from tests.contract_server.wire import Connection

CONNECT, HEADERS = (-2, 0), (-1, 0)
Place = tuple[int, int]


class CutError(Exception):
    """The answer ends here; ``mode`` as in ``Disconnect``."""

    def __init__(self, mode: str) -> None:
        super().__init__(mode)
        self.mode = mode


def in_place(faults: Sequence[Fault], asked: Asked) -> Instead | None:
    """Return the fault that answers in place of the reply, if one of them does for this request."""
    return next((one for one in faults if isinstance(one, Instead) and _applies(one, asked)), None)


def _applies(fault: Instead, asked: Asked) -> bool:
    match fault:
        case ContextOverflow():
            return not fault.silent
        case RejectCiphertext():
            return rejection(asked) is not None
    return True


def answer_instead(fault: Instead, asked: Asked) -> Answer:
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
        case RejectCiphertext():
            refusal = rejection(asked) or unverifiable("", "")
            return json_answer(refusal.status, refusal.to_json(), {"X-Contract-Rule": "S7"})


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


async def happen(fault: Timed, connection: Connection, stream: OpenStream, answer: Answer) -> None:
    """Let a fault happen. Raises CutError if it ends the answer, ClientGoneError if the client leaves meanwhile."""
    match fault:
        case SlowFirstToken():
            await hold(fault.name, connection, stream, seconds=fault.seconds)
        case Stall():
            await hold(fault.name, connection, stream, seconds=fault.max_seconds, keepalive=fault.keepalive)
        case ErrorEvent():
            await connection.part(answer.error_event(fault, stream.record.events_sent).data)
            raise CutError("fin")
        case Disconnect():
            raise CutError(fault.mode)


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
