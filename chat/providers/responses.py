"""Events of the Responses API, and whole responses, to ``RawDelta`` values.

Promises: an item comes from its done event, since the one that announced it holds provisional ciphertext; where a done
event is missing, from the final snapshot; reasoning items, calls and a mark for each message leave in the order of
``output_index``, at the end. Items whose index is missing or always 0 are told apart by their id, and one recording may
hold several responses. Raw reasoning text is thinking; the provider's summary of it is status text
(``reasoning_summary``), which is shown while it lasts and which nothing stores. Spec 002, product 7.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from chat.providers.base import ProviderError
from chat.providers.chunks import DONE, read_usage
from chat.providers.errors import Endpoint, failure_from_object
from chat.providers.loosejson import loose_json, without_halves
from reasoning.deltas import RawDelta, RawEnd, RawFields, RawItem, RawUsage

_NOWHERE = Endpoint(host="the model service")
_NO_INDEX = -1
_TEXT_FIELDS = {
    "response.output_text.delta": "content",
    "response.refusal.delta": "content",
    "response.reasoning_text.delta": "reasoning_content",
    "response.reasoning_summary_text.delta": "reasoning_summary",
}
_PART_END = "\n\n"  # parts of a summary are paragraphs; nothing in their text says so
_FINAL = ("response.completed", "response.incomplete", "response.failed", "response.cancelled")
_OPAQUE = ("reasoning", "compaction")
_MESSAGE_STOOD_HERE: Mapping[str, Any] = {"type": "message"}  # its text came before; replay keeps the order of items
_REASONS = {"max_output_tokens": "length", "content_filter": "content_filter"}


class ResponsesDecoder:
    """Decode one response. ``ended``: a final event came. ``finish`` hands out items of a stream that was cut off."""

    __slots__ = ("_calls", "_endpoint", "_items", "_known", "_texts", "_usage", "done", "ended")

    def __init__(self, endpoint: Endpoint = _NOWHERE) -> None:
        self._endpoint = endpoint
        self._items: list[tuple[int, Mapping[str, Any]]] = []  # finished ones, with output_index
        self._known: set[int | str] = set()  # output_index and id of each of them
        self._texts: set[tuple[int | str, str]] = set()  # (output_index or item id, field) whose text came in deltas
        self._usage: RawUsage | None = None  # of a response that failed
        self._calls = 0
        self.ended = False
        self.done = False

    def feed(self, payload: bytes) -> tuple[RawDelta, ...]:
        """Return what one event, or a whole response, holds. Raises ProviderError for an error event or no JSON."""
        if payload.strip() in (b"", DONE):
            self.done = True
            return ()
        try:
            event = msgspec.json.decode(payload)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            return self._feed_odd(payload)
        return tuple(self._event(event)) if isinstance(event, dict) else ()

    def _feed_odd(self, payload: bytes) -> tuple[RawDelta, ...]:
        """Read what the strict decoder does not take: odd JSON, and several events without a blank line between."""
        try:
            event = _odd_event(payload)
        except ProviderError:
            if b"\n" not in payload:
                raise
            return tuple(delta for line in payload.splitlines() if line for delta in self.feed(line))
        return tuple(self._event(event)) if isinstance(event, dict) else ()

    def finish(self) -> tuple[RawDelta, ...]:
        """Return the finished items of a response whose final event never came, and the counts of one that failed."""
        usage, self._usage = self._usage, None
        return (*self._release(), *((usage,) if usage is not None else ()))

    def _event(self, event: dict[str, Any]) -> Iterator[RawDelta]:
        kind = _string(event, "type")
        if kind in _TEXT_FIELDS:
            yield from self._text(_TEXT_FIELDS[kind], event)
        elif kind == "response.reasoning_summary_text.done":
            yield RawFields({"reasoning_summary": _PART_END})
        elif kind == "response.output_item.done":
            yield from self._done(event, event.get("item"))
        elif kind in _FINAL:
            yield from self._end(event.get("response"))
        elif kind == "error" or (event.get("error") and event.get("object") != "response"):
            raise failure_from_object(event, self._endpoint)
        elif event.get("object") == "response" or (not kind and isinstance(event.get("output"), list)):
            yield from self._end(event)

    def _text(self, field: str, event: dict[str, Any]) -> Iterator[RawDelta]:
        text = event.get("delta")
        if isinstance(text, str) and text:
            self._texts.add((_index(event), field))
            self._texts.add((_string(event, "item_id") or _index(event), field))
            yield RawFields({field: text})

    def _done(self, event: dict[str, Any], item: Any) -> Iterator[RawDelta]:
        """Take the item of a done event. Where it has an id, that alone says whether it came before."""
        if not isinstance(item, dict):
            return
        index = _index(event)
        index = len(self._items) if index == _NO_INDEX else index
        if (_string(item, "id") or index) not in self._known:
            yield from self._item(index, item)

    def _item(self, index: int, item: dict[str, Any]) -> Iterator[RawDelta]:
        """Keep a finished item, and give out what text of it has not come in deltas."""
        self._items.append((index, item))
        self._known |= {index, _string(item, "id") or index}
        for field, text in _item_texts(item):
            if text and self._texts.isdisjoint((key, field) for key in (index, _string(item, "id"), _NO_INDEX)):
                yield RawFields({field: text})

    def _end(self, response: Any) -> Iterator[RawDelta]:
        """Read the final snapshot: items that had no done event, usage, and how it ended."""
        if not isinstance(response, dict):
            return
        if response.get("status") in ("queued", "in_progress"):
            return  # of a background response: there is nothing in it yet
        usage = read_usage(response.get("usage"))
        if response.get("status") in ("failed", "cancelled") or response.get("error"):
            self._usage = usage
            raise failure_from_object(response.get("error") or {"code": "server_error"}, self._endpoint)
        output = response.get("output")
        for index, item in enumerate(output if isinstance(output, list) else ()):
            if isinstance(item, dict) and self._known.isdisjoint({index, _string(item, "id")}):
                yield from self._item(index, item)
        yield from self._release()
        if usage is not None:
            yield usage
        self.ended = self.done = True
        yield RawEnd(self._finish_reason(response), str(response.get("model") or ""))

    def _release(self) -> Iterator[RawDelta]:
        items = sorted(self._items, key=lambda pair: pair[0])
        self._items = []
        self._known.clear()
        self._texts.clear()
        for index, item in items:
            if item.get("type") in _OPAQUE:
                yield RawItem(index, item)
            elif item.get("type") == "message":
                yield RawItem(index, _MESSAGE_STOOD_HERE)
            elif item.get("type") == "function_call":
                yield self._call(item)

    def _call(self, item: Mapping[str, Any]) -> RawFields:
        function = {"name": item.get("name"), "arguments": item.get("arguments")}
        call = {"index": self._calls, "id": item.get("call_id"), "type": "function", "function": function}
        self._calls += 1
        return RawFields({"tool_calls": [call]})

    def _finish_reason(self, response: Mapping[str, Any]) -> str:
        details = response.get("incomplete_details")
        if response.get("status") == "incomplete" and isinstance(details, dict):
            reason = str(details.get("reason") or "length")
            return _REASONS.get(reason, reason)
        return "tool_calls" if self._calls else "stop"


def _odd_event(payload: bytes) -> Any:
    event = loose_json(payload)
    is_text = isinstance(event, dict) and _string(event, "type") in _TEXT_FIELDS
    return event if is_text else without_halves(event)


def _index(event: Mapping[str, Any]) -> int:
    index = event.get("output_index")
    return index if isinstance(index, int) else _NO_INDEX


def _string(mapping: Mapping[str, Any], name: str) -> str:
    value = mapping.get(name)
    return value if isinstance(value, str) else ""


def _item_texts(item: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield (field, text) for the texts of a finished message or reasoning item."""
    match item.get("type"):
        case "message":
            yield "content", _joined(item.get("content"), "output_text", "refusal")
        case "reasoning":
            yield "reasoning_summary", _joined(item.get("summary"), "summary_text", end=_PART_END)
            yield "reasoning_content", _joined(item.get("content"), "reasoning_text", "text")


def _joined(parts: Any, *kinds: str, end: str = "") -> str:
    if not isinstance(parts, list):
        return ""
    kept = (part for part in parts if isinstance(part, dict) and part.get("type") in kinds)
    texts = (part.get("text") or part.get("refusal") for part in kept)
    return "".join(text + end for text in texts if isinstance(text, str))
