"""Events of the Responses API, and whole responses, to ``RawDelta`` values.

Promises: an item comes from its done event, since the one that announced it holds provisional ciphertext; where a done
event is missing, from the final snapshot; reasoning items and calls leave in the order of ``output_index``, at the end.
Raw reasoning text is thinking; the provider's summary of it is status text (``reasoning_summary``), which the core
ignores and nothing stores. Spec 002, product 7.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from chat.providers.chunks import DONE, read_usage
from chat.providers.errors import Endpoint, failure_from_object, malformed
from reasoning.deltas import RawDelta, RawEnd, RawFields, RawItem

_NOWHERE = Endpoint(host="the model service")
_TEXT_FIELDS = {
    "response.output_text.delta": "content",
    "response.refusal.delta": "content",
    "response.reasoning_text.delta": "reasoning_content",
    "response.reasoning_summary_text.delta": "reasoning_summary",
}
_FINAL = ("response.completed", "response.incomplete", "response.failed", "response.cancelled")
_OPAQUE = ("reasoning", "compaction")
_REASONS = {"max_output_tokens": "length", "content_filter": "content_filter"}


class ResponsesDecoder:
    """Decode one response. ``ended``: a final event came. ``finish`` hands out items of a stream that was cut off."""

    __slots__ = ("_calls", "_endpoint", "_items", "_texts", "done", "ended")

    def __init__(self, endpoint: Endpoint = _NOWHERE) -> None:
        self._endpoint = endpoint
        self._items: dict[int, Mapping[str, Any]] = {}
        self._texts: set[tuple[int, str]] = set()  # (output_index, field) whose text came in deltas
        self._calls = 0
        self.ended = False
        self.done = False

    def feed(self, payload: bytes) -> tuple[RawDelta, ...]:
        """Return what one event, or a whole response, holds. Raises ProviderError for an error event or no JSON."""
        if payload.strip() in (b"", DONE):
            self.done = True
            return ()
        try:
            event = msgspec.json.decode(payload.decode("utf-8", "replace"))
        except (msgspec.MsgspecError, RecursionError) as error:
            raise malformed("something that is not JSON in the middle of its answer") from error
        return tuple(self._event(event)) if isinstance(event, dict) else ()

    def finish(self) -> tuple[RawDelta, ...]:
        """Return the finished items of a response whose final event never came."""
        return tuple(self._release())

    def _event(self, event: dict[str, Any]) -> Iterator[RawDelta]:
        kind = event.get("type")
        if kind in _TEXT_FIELDS:
            yield from self._text(_TEXT_FIELDS[kind], event)
        elif kind == "response.output_item.done":
            yield from self._item(_index(event), event.get("item"))
        elif kind in _FINAL:
            yield from self._end(event.get("response"))
        elif kind == "error" or (event.get("error") and event.get("object") != "response"):
            raise failure_from_object(event, self._endpoint)
        elif event.get("object") == "response" or (kind is None and isinstance(event.get("output"), list)):
            yield from self._end(event)

    def _text(self, field: str, event: dict[str, Any]) -> Iterator[RawDelta]:
        text = event.get("delta")
        if isinstance(text, str) and text:
            self._texts.add((_index(event), field))
            yield RawFields({field: text})

    def _item(self, index: int, item: Any) -> Iterator[RawDelta]:
        """Keep a finished item, and give out what text of it has not come in deltas."""
        if not isinstance(item, dict) or index in self._items:
            return
        self._items[index] = item
        for field, text in _item_texts(item):
            if text and (index, field) not in self._texts:
                yield RawFields({field: text})

    def _end(self, response: Any) -> Iterator[RawDelta]:
        """Read the final snapshot: items that had no done event, usage, and how it ended."""
        if not isinstance(response, dict):
            return
        if response.get("status") in ("queued", "in_progress"):
            return  # of a background response: there is nothing in it yet
        if response.get("status") in ("failed", "cancelled") or response.get("error"):
            raise failure_from_object(response.get("error") or {"code": "server_error"}, self._endpoint)
        output = response.get("output")
        for index, item in enumerate(output if isinstance(output, list) else ()):
            yield from self._item(index, item)
        yield from self._release()
        usage = read_usage(response.get("usage"))
        if usage is not None:
            yield usage
        self.ended = self.done = True
        yield RawEnd(self._finish_reason(response), str(response.get("model") or ""))

    def _release(self) -> Iterator[RawDelta]:
        for index in sorted(self._items):
            item = self._items[index]
            if item.get("type") in _OPAQUE:
                yield RawItem(index, item)
            elif item.get("type") == "function_call":
                yield self._call(item)
        self._items = {}

    def _call(self, item: Mapping[str, Any]) -> RawFields:
        function = {"name": item.get("name"), "arguments": item.get("arguments") or ""}
        call = {"index": self._calls, "id": item.get("call_id"), "type": "function", "function": function}
        self._calls += 1
        return RawFields({"tool_calls": [call]})

    def _finish_reason(self, response: Mapping[str, Any]) -> str:
        details = response.get("incomplete_details")
        if response.get("status") == "incomplete" and isinstance(details, dict):
            reason = str(details.get("reason") or "length")
            return _REASONS.get(reason, reason)
        return "tool_calls" if self._calls else "stop"


def _index(event: Mapping[str, Any]) -> int:
    index = event.get("output_index")
    return index if isinstance(index, int) else 0


def _item_texts(item: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield (field, text) for the texts of a finished message or reasoning item."""
    match item.get("type"):
        case "message":
            yield "content", _joined(item.get("content"), "output_text", "refusal")
        case "reasoning":
            yield "reasoning_summary", _joined(item.get("summary"), "summary_text")
            yield "reasoning_content", _joined(item.get("content"), "reasoning_text", "text")


def _joined(parts: Any, *kinds: str) -> str:
    if not isinstance(parts, list):
        return ""
    kept = (part for part in parts if isinstance(part, dict) and part.get("type") in kinds)
    texts = (part.get("text") or part.get("refusal") for part in kept)
    return "".join(text for text in texts if isinstance(text, str))
