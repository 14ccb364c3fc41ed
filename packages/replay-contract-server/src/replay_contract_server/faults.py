"""Faults carried out: answers instead of the reply, places in an open stream, and streams with a spoilt form."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from replay_contract_server.frames import DONE, Answer, Frame, event, json_answer
from replay_contract_server.rules.base import CheckedRequest
from replay_contract_server.rules.opaque import any_ciphertext, unverifiable
from replay_contract_server.script import (
    WORDINGS,
    BodyKind,
    ContextOverflow,
    ErrorAnswer,
    Fault,
    HttpError,
    MalformedSse,
    Pending,
    RateLimit,
    RejectCiphertext,
    SseForm,
    TimedFault,
)

Place = tuple[int, int]  # event, byte
CONNECT, HEADERS = (-2, 0), (-1, 0)
MARK = "\ue000"
MEBIBYTE = 1024 * 1024
FINAL_EVENTS = ("response.completed", "response.incomplete", "response.failed", "response.cancelled")


def error_instead(faults: Sequence[Fault], request: CheckedRequest) -> ErrorAnswer | None:
    """Return the fault that answers this request in place of the reply, if there is one."""
    for fault in faults:
        if isinstance(fault, RejectCiphertext) and any_ciphertext(request) is None:
            continue
        if isinstance(fault, ErrorAnswer):
            return fault
    return None


def error_answer(fault: ErrorAnswer, request: CheckedRequest) -> Answer:
    match fault:
        case HttpError():
            error = {"message": fault.message, "type": "server_error", "param": None, "code": None}
            return _with_body(fault.status, fault.body, error)
        case RateLimit():
            error = {"message": "Rate limit reached.", "type": "requests", "code": "rate_limit_exceeded"}
            match fault.retry_after:
                case None:
                    headers = {}
                case dict(after):
                    headers = {"retry-after-ms": str(after["ms"])}
                case after:
                    headers = {"Retry-After": str(after)}
            return json_answer(429, {"error": error}, headers)
        case ContextOverflow():
            message, code = WORDINGS[fault.wording]
            return json_answer(400, {"error": {"message": message, "type": "invalid_request_error", "code": code}})
        case RejectCiphertext():
            refusal = any_ciphertext(request) or unverifiable("", "")
            return json_answer(refusal.status, refusal.to_json(), {"X-Contract-Rule": "S7"})


def _with_body(status: int, kind: BodyKind, error: Mapping[str, Any]) -> Answer:
    if kind == "json":
        return json_answer(status, {"error": error})
    page = f"<html><head><title>{status}</title></head><body><h1>{status}</h1></body></html>"
    return Answer(status, {"Content-Type": "text/html"}, (Frame(page.encode()),) if kind == "html" else ())


def places(faults: Sequence[TimedFault], frames: Sequence[Frame]) -> Mapping[Place, list[TimedFault]]:
    """Return the faults by event and byte. One after the last event never happens."""
    found: defaultdict[Place, list[TimedFault]] = defaultdict(list)
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


def spoil_stream(frames: tuple[Frame, ...], pending: Pending) -> tuple[Frame, ...]:
    """Return the stream in the forms that the reply's faults ask for."""
    for fault in pending.faults():
        if isinstance(fault, MalformedSse):
            frames = spoil(frames, fault.form, min(fault.event, len(frames) - 1))
            pending.spend(fault)
    return frames


def spoil(frames: tuple[Frame, ...], form: SseForm, at: int) -> tuple[Frame, ...]:
    """Return the stream with event ``at`` in this form. Each form changes as little as its name says."""
    match form:
        case "missing_done":
            return tuple(one for one in frames if one.data != DONE.data and not _is_final(one))
        case "split_codepoint":
            at = next((n for n in range(at, len(frames)) if not frames[n].data.isascii()), at)
    return (*frames[:at], *_spoilt(frames[at], form), *frames[at + 1 :])


def _spoilt(frame: Frame, form: SseForm) -> tuple[Frame, ...]:
    value = frame.value or {"choices": []}
    match form:
        case "truncated_json":
            payload = frame.data.rstrip(b"\n")
            return (Frame(payload[: len(payload) // 2].rstrip() + b"\n\n"),)
        case "not_json":
            return (Frame(b"data: upstream is having a bad day\n\n"),)
        case "invalid_utf8":
            return (Frame(event(_mark_text(value)).data.replace(MARK.encode(), b"\xff\xfe")),)
        case "split_codepoint":
            data = frame.data if not frame.data.isascii() else ": é\n".encode() + frame.data
            return (Frame(data, cuts=(next(n for n, byte in enumerate(data) if byte >= 0x80) + 1,)),)
        case "oversized_line":
            return (event({**value, "padding": "x" * MEBIBYTE}),)
    return frame, frame  # duplicate_event


def _mark_text(value: Mapping[str, Any]) -> Mapping[str, Any]:
    """Put the mark at the end of the first text of the delta, or of the id where the event carries no text."""
    if isinstance(value.get("delta"), str):
        return {**value, "delta": value["delta"] + MARK}
    for choice in value.get("choices", ()):
        for key, text in choice.get("delta", {}).items():
            if isinstance(text, str):
                return {**value, "choices": [{**choice, "delta": {**choice["delta"], key: text + MARK}}]}
    return {**value, "id": f"{value.get('id', '')}{MARK}"}


def _is_final(frame: Frame) -> bool:
    return (frame.value or {}).get("type") in FINAL_EVENTS
