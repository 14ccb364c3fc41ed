"""Streams with something wrong, or merely unusual, in their form. Each kind changes as little as its name says."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from tests.contract_server.fault_kinds import MalformedSse, SseForm
from tests.contract_server.record import Record, compact
from tests.contract_server.script import Pending
from tests.contract_server.stream import DONE, Frame, event

Frames = tuple[Frame, ...]
MARK = "\ue000"
BAD_BYTES = b"\xff\xfe"
MEBIBYTE = 1024 * 1024


def spoilt(frames: Frames, pending: Pending, record: Record) -> Frames:
    """Return the stream in the forms that the reply's faults ask for."""
    for fault in pending.faults():
        if isinstance(fault, MalformedSse):
            frames = spoil(frames, fault.form, fault.event)
            pending.spend(fault)
            record.faults.append(f"malformed_sse:{fault.form}")
    return frames


def spoil(frames: Frames, form: SseForm, at: int) -> Frames:
    """Return the stream with this form at event ``at`` (the last one, if the stream is shorter)."""
    return _FORMS[form](frames, min(at, len(frames) - 1))


def _replace(frames: Frames, at: int, *new: Frame) -> Frames:
    return (*frames[:at], *new, *frames[at + 1 :])


def _truncated_json(frames: Frames, at: int) -> Frames:
    payload = frames[at].data.rstrip(b"\n")
    return _replace(frames, at, Frame(payload[: len(payload) // 2].rstrip() + b"\n\n"))


def _not_json(frames: Frames, at: int) -> Frames:
    return _replace(frames, at, Frame(b"data: upstream is having a bad day\n\n"))


def _invalid_utf8(frames: Frames, at: int) -> Frames:
    value = _mark_text(frames[at].value or {"choices": [], "id": ""})
    return _replace(frames, at, Frame(event(value).data.replace(MARK.encode(), BAD_BYTES)))


def _mark_text(value: Mapping[str, Any]) -> Mapping[str, Any]:
    """Put the mark at the end of the first text of the delta, or of the id where the event carries no text."""
    if isinstance(value.get("delta"), str):
        return {**value, "delta": value["delta"] + MARK}
    for choice in value.get("choices", ()):
        for key, text in choice.get("delta", {}).items():
            if isinstance(text, str):
                return {**value, "choices": [{**choice, "delta": {**choice["delta"], key: text + MARK}}]}
    return {**value, "id": f"{value.get('id', '')}{MARK}"}


def _no_blank_line(frames: Frames, at: int) -> Frames:
    return _replace(frames, at, Frame(frames[at].data[:-1]))


def _crlf(frames: Frames, _at: int) -> Frames:
    # The payload is compact JSON: its only line ends are those of the event.
    return tuple(replace(one, data=one.data.replace(b"\n", b"\r\n")) for one in frames)


def _comment_only(frames: Frames, at: int) -> Frames:
    return _replace(frames, at, Frame(b": still working\n\n"), frames[at])


def _two_events_one_write(frames: Frames, at: int) -> Frames:
    start = max(0, min(at, len(frames) - 2))
    both = Frame(frames[start].data + frames[start + 1].data, settles=frames[start + 1].settles)
    return (*frames[:start], both, *frames[start + 2 :])


def _split_codepoint(frames: Frames, at: int) -> Frames:
    """Start a new write inside the first character of several bytes; where there is none, a comment brings one."""
    place = next((n for n in range(at, len(frames)) if not frames[n].data.isascii()), at)
    data = frames[place].data
    if data.isascii():
        data = ": é\n".encode() + data
    inside = next(n for n, byte in enumerate(data) if byte >= 0x80) + 1
    return _replace(frames, place, Frame(data, cuts=(inside,)))


def _oversized_line(frames: Frames, at: int) -> Frames:
    padded = {**(frames[at].value or {"choices": []}), "padding": "x" * MEBIBYTE}
    return _replace(frames, at, event(padded))


def _unknown_event_type(frames: Frames, at: int) -> Frames:
    stranger = Frame(b"event: contract.unknown\ndata: %b\n\n" % compact({"type": "contract.unknown"}))
    return _replace(frames, at, stranger, frames[at])


def _null_choices(frames: Frames, at: int) -> Frames:
    known = frames[0].value or {}
    missing = "response" if "response" in known else "choices"
    return _replace(frames, at, event({**known, missing: None}), frames[at])


def _missing_done(frames: Frames, _at: int) -> Frames:
    return tuple(one for one in frames if one.data != DONE.data and not _is_final(one))


def _is_final(frame: Frame) -> bool:
    """Say whether this is the snapshot that a response ends with."""
    kind = (frame.value or {}).get("type", "")
    return str(kind) in ("response.completed", "response.incomplete", "response.failed", "response.cancelled")


def _duplicate_event(frames: Frames, at: int) -> Frames:
    return _replace(frames, at, frames[at], frames[at])


_FORMS: dict[SseForm, Callable[[Frames, int], Frames]] = {
    "truncated_json": _truncated_json,
    "not_json": _not_json,
    "invalid_utf8": _invalid_utf8,
    "no_blank_line": _no_blank_line,
    "crlf": _crlf,
    "comment_only": _comment_only,
    "two_events_one_write": _two_events_one_write,
    "split_codepoint": _split_codepoint,
    "oversized_line": _oversized_line,
    "unknown_event_type": _unknown_event_type,
    "null_choices": _null_choices,
    "missing_done": _missing_done,
    "duplicate_event": _duplicate_event,
}
