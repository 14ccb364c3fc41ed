"""OpenAI's Responses API, used without its own memory: ``store`` is false, and each request holds the whole history."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Any

from chat.providers.base import ProviderRequest
from chat.providers.decoding import ResponseDecoder, read_usage, without_surrogates
from chat.providers.errors import UNKNOWN_ENDPOINT, Endpoint, failure_from_object
from chat.providers.openai_http import OpenAIService
from reasoning.deltas import RawDelta, RawEnd, RawFields, RawItem

if TYPE_CHECKING:
    from openai import AsyncOpenAI

_NO_INDEX = -1
_TEXT_FIELDS = {
    "response.output_text.delta": "content",
    "response.refusal.delta": "content",
    "response.reasoning_text.delta": "reasoning_content",
    "response.reasoning_summary_text.delta": "reasoning_summary",
}
# Parts of a summary are paragraphs; nothing in their text says so.
_PARAGRAPH_END = "\n\n"
_FINAL_EVENTS = ("response.completed", "response.incomplete", "response.failed", "response.cancelled")
_OPAQUE_ITEMS = ("reasoning", "compaction")
# Its text was sent before; replay needs the order of items.
_MESSAGE_MARK: Mapping[str, Any] = {"type": "message"}
_FINISH_REASONS = {"max_output_tokens": "length"}


class OpenAIResponsesProvider(OpenAIService):
    """One model at one endpoint, over the Responses API.

    ``reasoning`` and ``include`` are never left out without asking: without them the answer is another one.
    """

    _api = "responses"
    _optional = ("prompt_cache_key",)

    def build_body(self, request: ProviderRequest, model: str) -> dict[str, Any]:
        body = {**request.body, "model": model, "stream": True}
        if request.instructions:
            body["instructions"] = request.instructions
        if request.tools:
            # A function is flat in this API, and ``strict`` is on by default.
            body["tools"] = [
                {"type": "function", "strict": False, **tool["function"]}
                if tool.get("type") == "function"
                else dict(tool)
                for tool in request.tools
            ]
        if request.conversation:
            # Part of this API, unlike of chat completions; some services find their cache by it alone.
            body.setdefault("prompt_cache_key", request.conversation)
        return body

    def open_response(self, client: AsyncOpenAI, body: dict[str, Any]) -> AbstractAsyncContextManager[Any]:
        # As extra_body: given as arguments, the SDK would walk and rebuild every item.
        return client.responses.with_streaming_response.create(stream=True, extra_body=body)

    def new_decoder(self, endpoint: Endpoint) -> ResponsesDecoder:
        return ResponsesDecoder(endpoint)


class ResponsesDecoder(ResponseDecoder):
    """Decode events of a stream, or a whole response. Spec 002, product 7. It ends with a final event.

    An item is read from its done event, since the one that announced it holds provisional ciphertext; where a done
    event is missing, from the final snapshot. Reasoning items, calls and a mark for each message are emitted at the
    end, in the order of ``output_index``. Items whose index is missing or always 0 are distinguished by their id, and
    one recording may hold several responses. Raw reasoning text is thinking; the provider's summary of it is
    ``reasoning_summary``, shown while it streams and never stored.
    """

    def __init__(self, endpoint: Endpoint = UNKNOWN_ENDPOINT) -> None:
        super().__init__(endpoint)
        self._items: list[tuple[int, Mapping[str, Any]]] = []  # finished items with their output_index
        self._seen: set[int | str] = set()  # output_index and id of each of them
        self._streamed: set[tuple[int | str, str]] = set()  # (output_index or item id, field) whose text came in deltas
        self._call_count = 0

    def mend(self, event: Any) -> Any:
        """Replace lone surrogates in all but texts, whose other half may come with the next event."""
        is_text = isinstance(event, dict) and string_in(event, "type") in _TEXT_FIELDS
        return event if is_text else without_surrogates(event)

    def finish(self) -> tuple[RawDelta, ...]:
        """Return the items of a response whose final event never came, and the token counts of one that failed."""
        return (*self._release_items(), *super().finish())

    def read_event(self, event: dict[str, Any]) -> Iterator[RawDelta]:
        """Yield what an event holds."""
        kind = string_in(event, "type")
        if kind in _TEXT_FIELDS:
            field, text = _TEXT_FIELDS[kind], event.get("delta")
            if isinstance(text, str) and text:
                self._streamed |= {(index_of(event), field), (string_in(event, "item_id") or index_of(event), field)}
                yield RawFields({field: text})
        elif kind == "response.reasoning_summary_text.done":
            yield RawFields({"reasoning_summary": _PARAGRAPH_END})
        elif kind == "response.output_item.done":
            item = event.get("item")
            index = len(self._items) if index_of(event) == _NO_INDEX else index_of(event)
            # Where an item has an id, that alone says whether it came before.
            if isinstance(item, dict) and (string_in(item, "id") or index) not in self._seen:
                yield from self._add_item(index, item)
        elif kind in _FINAL_EVENTS:
            yield from self._end(event.get("response"))
        elif kind == "error" or (event.get("error") and event.get("object") != "response"):
            raise failure_from_object(event, self._endpoint)
        elif event.get("object") == "response" or (not kind and isinstance(event.get("output"), list)):
            yield from self._end(event)

    def _add_item(self, index: int, item: dict[str, Any]) -> Iterator[RawFields]:
        """Collect a finished item, and emit those of its texts that didn't come in deltas."""
        self._items.append((index, item))
        self._seen |= {index, string_in(item, "id") or index}
        keys = (index, string_in(item, "id"), _NO_INDEX)
        texts = {
            "content": join_parts(item.get("content"), "output_text", "refusal"),
            "reasoning_summary": join_parts(item.get("summary"), "summary_text", end=_PARAGRAPH_END),
            "reasoning_content": join_parts(item.get("content"), "reasoning_text", "text"),
        }
        fields = {"message": ("content",), "reasoning": ("reasoning_summary", "reasoning_content")}
        for field in fields.get(string_in(item, "type"), ()):
            if texts[field] and self._streamed.isdisjoint((key, field) for key in keys):
                yield RawFields({field: texts[field]})

    def _end(self, response: Any) -> Iterator[RawDelta]:
        """Read the final snapshot: items that had no done event, token counts, and how the response ended."""
        if not isinstance(response, dict) or response.get("status") in ("queued", "in_progress"):
            # A background response has nothing in it yet.
            return
        usage = read_usage(response.get("usage"))
        if response.get("status") in ("failed", "cancelled") or response.get("error"):
            self._usage = usage
            raise failure_from_object(response.get("error") or {"code": "server_error"}, self._endpoint)
        output = response.get("output")
        for index, item in enumerate(output if isinstance(output, list) else ()):
            if isinstance(item, dict) and self._seen.isdisjoint({index, string_in(item, "id")}):
                yield from self._add_item(index, item)
        yield from self._release_items()
        if usage is not None:
            yield usage
        self.ended = self.done = True
        reason = "tool_calls" if self._call_count else "stop"
        details = response.get("incomplete_details")
        if response.get("status") == "incomplete" and isinstance(details, dict):
            reason = str(details.get("reason") or "length")
        yield RawEnd(_FINISH_REASONS.get(reason, reason), str(response.get("model") or ""))

    def _release_items(self) -> Iterator[RawDelta]:
        items = sorted(self._items, key=lambda pair: pair[0])
        self._items.clear()
        self._seen.clear()
        self._streamed.clear()
        for index, item in items:
            if item.get("type") in _OPAQUE_ITEMS:
                yield RawItem(index, item)
            elif item.get("type") == "message":
                yield RawItem(index, _MESSAGE_MARK)
            elif item.get("type") == "function_call":
                function = {"name": item.get("name"), "arguments": item.get("arguments")}
                call = {"index": self._call_count, "id": item.get("call_id"), "type": "function", "function": function}
                self._call_count += 1
                yield RawFields({"tool_calls": [call]})


def index_of(event: Mapping[str, Any]) -> int:
    """Return the item that an event is about."""
    index = event.get("output_index")
    return index if isinstance(index, int) else _NO_INDEX


def string_in(mapping: Mapping[str, Any], name: str) -> str:
    """Return a string of an object; empty where there is none."""
    value = mapping.get(name)
    return value if isinstance(value, str) else ""


def join_parts(parts: Any, *kinds: str, end: str = "") -> str:
    """Return the texts of the parts of these kinds."""
    dicts = [part for part in parts if isinstance(part, dict)] if isinstance(parts, list) else []
    texts = [part.get("text") or part.get("refusal") for part in dicts if part.get("type") in kinds]
    return "".join(text + end for text in texts if isinstance(text, str))
