"""OpenAI's Responses API, used without its own memory: ``store`` is false, and each request holds the whole history."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import msgspec

from chat.providers.base import ProviderRequest
from chat.providers.decoding import ResponseDecoder, error_in, finish_name, read_usage, without_surrogates
from chat.providers.errors import UNKNOWN_ENDPOINT, Endpoint, failure_from_object
from chat.providers.openai_http import STORE, STREAM, OpenAIService
from reasoning.deltas import RawDelta, RawEnd, RawFields, RawItem, RawMessage
from reasoning.replay.wire.responses import RESPONSES
from reasoning.services.arguments import is_json_object, join_arguments
from reasoning.services.finish_reasons import read_finish_reason

if TYPE_CHECKING:
    from openai import AsyncOpenAI

_NO_INDEX = -1
_TEXT_FIELDS = {
    "response.output_text.delta": "content",
    "response.refusal.delta": "content",
    "response.reasoning_text.delta": "reasoning_content",
    "response.reasoning.delta": "reasoning_content",  # a name of 2025
    "response.reasoning_summary_text.delta": "reasoning_summary",
}
# Parts of a summary are paragraphs; nothing in their text says so.
_PARAGRAPH_END = "\n\n"
# Events that repeat a text as a whole, and where they hold it.
_WHOLE_TEXTS = {
    "response.output_text.done": "text",
    "response.refusal.done": "refusal",
    "response.content_part.done": "part",
}
_ARGUMENTS = {"response.function_call_arguments.delta": "delta", "response.function_call_arguments.done": "arguments"}
# Each with the status of its response, which some gateways leave out.
_FINAL_EVENTS = {
    "response.completed": "completed",
    "response.done": "completed",
    "response.incomplete": "incomplete",
    "response.failed": "failed",
    "response.cancelled": "cancelled",
}
_OPAQUE_ITEMS = ("reasoning", "compaction")
_MAX_MESSAGES = 256  # of one response; what a service sends in more is read as part of the last
_MAX_HELD_CHARS = 1_000_000  # of messages that wait for an earlier one to end
MAX_ITEMS_BYTES = 16_000_000  # of all items of a stream: they are buffered until its end


class OpenAIResponsesProvider(OpenAIService):
    """One model at one endpoint, over the Responses API.

    ``reasoning`` is not optional here, since without it the answer is another one: a request names the parts that are.
    """

    wire = RESPONSES
    _optional = ("prompt_cache_key", "max_output_tokens", "include", STORE, STREAM)

    def build_body(self, request: ProviderRequest, model: str) -> dict[str, Any]:
        body = super().build_body(request, model)
        if request.conversation:
            # Part of this API, unlike of chat completions; some services find their cache by it alone.
            body.setdefault("prompt_cache_key", request.conversation)
        return body

    def open_response(self, client: AsyncOpenAI, body: dict[str, Any]) -> AbstractAsyncContextManager[Any]:
        # As extra_body: given as arguments, the SDK would walk and rebuild every item.
        return client.responses.with_streaming_response.create(stream=STREAM in body, extra_body=body)

    def new_decoder(self, endpoint: Endpoint) -> ResponsesDecoder:
        return ResponsesDecoder(endpoint)


class ResponsesDecoder(ResponseDecoder):
    """Decode events of a stream, or a whole response. Spec 002, product 7. It ends with a final event.

    An item is read from its done event, since the one that announced it holds provisional ciphertext; where a done
    event is missing, from the final snapshot. A call is put together from every event about it, since services leave
    its arguments out of one or the other. Reasoning items, calls and a mark for each message are emitted at the
    end, in the order of ``output_index``; the text of a message comes before, as ``MessageTexts`` releases it. Items
    whose index is missing or always 0 are distinguished by their id, and one recording may hold several responses. Raw
    reasoning text is thinking; the provider's summary of it is ``reasoning_summary``, shown while it streams and never
    stored. Deltas that come behind the event with their whole text add only what doesn't repeat it.
    """

    def __init__(self, endpoint: Endpoint = UNKNOWN_ENDPOINT) -> None:
        super().__init__(endpoint)
        # Finished items and calls with their output_index, and what is known of messages and calls.
        self._items: list[tuple[int, Mapping[str, Any], MessageItem | CallItem | None]] = []
        self._messages = MessageTexts()
        self._seen: set[int | str] = set()  # output_index and id of each of them
        # Thinking that came in deltas, by output_index and by item id, and field.
        self._streamed: defaultdict[tuple[int | str, str], StreamedText] = defaultdict(StreamedText)
        self._calls: dict[int | tuple[str, str], CallItem] = {}  # by output_index, and by each of their ids
        self._newest_call: CallItem | None = None
        self._call_count = 0
        self._items_bytes = 0
        self._is_incomplete = False  # a message, by its own status
        self._ended_ids: set[str] = set()  # of responses whose final event came
        self._readers: Mapping[str, Callable[[str, Mapping[str, Any]], Iterator[RawDelta]]] = {
            **dict.fromkeys(_TEXT_FIELDS, self._read_text),
            **dict.fromkeys(_WHOLE_TEXTS, self._read_whole_text),
            **dict.fromkeys(_ARGUMENTS, self._read_arguments),
            "response.reasoning_text.done": self._read_thinking_end,
            "response.content_part.added": self._read_added_part,
            "response.output_item.added": self._read_added_item,
            "response.output_item.done": self._read_done_item,
            "response.reasoning_summary_text.done": self._read_summary_end,
        }

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
        if reader := self._readers.get(kind):
            yield from reader(kind, event)
        elif kind in _FINAL_EVENTS:
            found = event.get("response")
            response = found if isinstance(found, dict) else {}
            stated = string_in(response, "status")
            # A snapshot may be that of the beginning, or say less than the event about it.
            is_worse = stated in ("incomplete", "failed", "cancelled") and _FINAL_EVENTS[kind] == "completed"
            yield from self._end({**response, "status": stated if is_worse else _FINAL_EVENTS[kind]})
        elif kind == "error" or (event.get("error") and event.get("object") != "response"):
            raise failure_from_object(event, self._endpoint)
        elif event.get("object") == "response" or (not kind and isinstance(event.get("output"), list)):
            yield from self._end(event)
        elif not kind and (error := error_in(event, [])):
            raise failure_from_object(error, self._endpoint)

    def _read_added_item(self, _kind: str, event: Mapping[str, Any]) -> Iterator[RawDelta]:
        item = event.get("item")
        if isinstance(item, dict) and item.get("type") == "message":
            self._messages.announce(string_in(item, "id"), index_of(event))
        elif isinstance(item, dict) and item.get("type") == "function_call":
            yield from self._read_call(item, index_of(event))
        elif isinstance(item, dict) and item.get("type") == "reasoning":
            # Where every item is numbered 0, this is another one.
            for field in ("reasoning_summary", "reasoning_content"):
                self._streamed.pop((index_of(event), field), None)

    def _read_done_item(self, _kind: str, event: Mapping[str, Any]) -> Iterator[RawDelta]:
        item = event.get("item")
        index = len(self._items) if index_of(event) == _NO_INDEX else index_of(event)
        if isinstance(item, dict) and item.get("type") == "function_call":
            yield from self._read_call(item, index)
        elif isinstance(item, dict):
            # Where an item has an id, that alone says whether it came before.
            is_new = (string_in(item, "id") or index) not in self._seen
            yield from (self._add_item if is_new else self._complete_item)(index, item)

    def _read_summary_end(self, _kind: str, _event: Mapping[str, Any]) -> Iterator[RawFields]:
        yield RawFields({"reasoning_summary": _PARAGRAPH_END})

    def _read_text(self, kind: str, event: Mapping[str, Any]) -> Iterator[RawFields]:
        field, text = _TEXT_FIELDS[kind], string_in(event, "delta")
        if not text:
            return
        item_id, index, part = string_in(event, "item_id"), index_of(event), event.get("content_index")
        if field == "content":
            if not (text := self._messages.without_repetition(item_id, index, text)):
                return
            message = self._messages.find(item_id, index)
            if not message.streamed.add(part, text):
                if not (text := self._messages.behind_end(message, text)):
                    return
                message.streamed.reopen()
                message.streamed.add(part, text)
            self._has_text = True
            yield from self._messages.add(message, text, is_refusal=kind == "response.refusal.delta")
        elif self._streamed[item_id or index, field].add(part, text):
            if item_id:
                self._streamed[index, field].add(part, text)
            yield RawFields({field: text})

    def _read_thinking_end(self, _kind: str, event: Mapping[str, Any]) -> Iterator[RawFields]:
        thought = self._streamed[string_in(event, "item_id") or index_of(event), "reasoning_content"]
        thought.end_part(event.get("content_index"), string_in(event, "text"))
        yield from ()

    def _read_added_part(self, _kind: str, event: Mapping[str, Any]) -> Iterator[RawFields]:
        item_id, index, part = string_in(event, "item_id"), index_of(event), event.get("content_index")
        # It may have the number of one that ended.
        self._streamed[item_id or index, "reasoning_content"].ended.discard(part)
        if message := self._messages.known(item_id, index):
            message.streamed.ended.discard(part)
        yield from ()

    def _read_whole_text(self, kind: str, event: Mapping[str, Any]) -> Iterator[RawFields]:
        """Yield the text of a part of a message of which no delta came."""
        inner = event.get("part") if kind == "response.content_part.done" else None
        part: Mapping[str, Any] = inner if isinstance(inner, dict) else event
        if part is event and kind == "response.content_part.done":
            return
        if part is not event and part.get("type") not in ("output_text", "text", "refusal"):
            return  # thinking, which has events of its own
        text, refusal, index = string_in(part, "text"), string_in(part, "refusal"), event.get("content_index")
        if self._messages.is_repeated(string_in(event, "item_id"), index_of(event), text or refusal):
            return
        message = self._messages.find(string_in(event, "item_id"), index_of(event))
        # A delta without an index may have been of any part.
        is_new = message.is_empty or (index is not None and message.streamed.parts.keys().isdisjoint({index, None}))
        whole = text or refusal
        # vLLM counts the deltas there (seen 2026-02): a number that is new is no new part.
        is_new = is_new and (message.is_empty or not message.whole.endswith(whole))
        if whole and is_new and not message.is_done:
            message.streamed.add(index, whole)
            self._has_text = True
            yield from self._messages.add(message, whole, is_refusal=bool(refusal))
        message.streamed.end_part(index, whole)

    def _read_arguments(self, kind: str, event: Mapping[str, Any]) -> Iterator[RawDelta]:
        ids = {"id": event.get("item_id"), "call_id": event.get("call_id")}
        call = self._find_call({**ids, "name": event.get("name")}, index_of(event))
        text = string_in(event, _ARGUMENTS[kind])
        (call.streamed if _ARGUMENTS[kind] == "delta" else call.whole).append(text)
        yield from self._count_bytes(len(text))

    def _read_call(self, item: Mapping[str, Any], index: int) -> Iterator[RawDelta]:
        self._seen |= {index, string_in(item, "id") or index}
        call = self._find_call(item, index)
        # The newest first: a done event says more than the one that announced the item.
        call.whole.insert(0, item.get("arguments"))
        yield from self._count_bytes(len(msgspec.json.encode(item)))

    def _find_call(self, item: Mapping[str, Any], index: int) -> CallItem:
        """Return the call that an item or an event is about: by one of its ids, else by its index; or a new one."""
        ids = [(name, value) for name in ("call_id", "id") if (value := string_in(item, name))]
        call = next((self._calls[one] for one in ids if one in self._calls), None)
        if call is None:
            near = self._newest_call if index == _NO_INDEX else self._calls.get(index) or self._calls.get(_NO_INDEX)
            # Some services number every item 0, others change its id from event to event.
            call = near if near and not (item.get("call_id") and near.fields.get("call_id")) else None
        if call is None:
            call = CallItem({"type": "function_call"})
            self._items.append((len(self._items) if index == _NO_INDEX else index, call.fields, call))
            self._calls[index] = self._newest_call = call
        call.fields |= {name: value for name in ("id", "call_id", "name") if (value := string_in(item, name))}
        self._calls |= dict.fromkeys(ids, call)
        return call

    def _add_item(self, index: int, item: dict[str, Any]) -> Iterator[RawDelta]:
        """Collect a finished item, and emit those of its texts that didn't come in deltas."""
        is_message, item_id = item.get("type") == "message", string_in(item, "id")
        texts = list(texts_of(item.get("content"), "output_text", "text", "refusal")) if is_message else []
        whole = "".join(text for _kind, text in texts)
        if is_message and self._messages.is_repeated(item_id, index, whole):
            return
        message = self._messages.find(item_id, index) if is_message else None
        self._is_incomplete = self._is_incomplete or (is_message and item.get("status") == "incomplete")
        self._items.append((index, item, message))
        self._seen |= {index, string_in(item, "id") or index}
        if message is not None:
            for kind, text in texts if message.is_empty else ():
                message.streamed.add(None, text)
                self._has_text = True
                yield from self._messages.add(message, text, is_refusal=kind == "refusal")
            yield from self._messages.add_rest(message, whole)
            message.streamed.end(whole)
            yield from self._messages.end(message)
        elif item.get("type") == "reasoning":
            summary = [text for _kind, text in texts_of(item.get("summary"), "summary_text")]
            raw = [text for _kind, text in texts_of(item.get("content"), "reasoning_text", "text")]
            # Deltas may have named the item by index, by id or not at all.
            keys: tuple[int | str, ...] = (index, string_in(item, "id"), _NO_INDEX)
            for field, parts, end in (("reasoning_summary", summary, _PARAGRAPH_END), ("reasoning_content", raw, "")):
                whole = "".join(parts)
                if whole and not any(self._streamed[key, field].parts for key in keys):
                    for key in keys[:2]:
                        self._streamed[key, field].add(None, whole)
                    yield RawFields({field: "".join(text + end for text in parts)})
                for key in keys[:2]:
                    self._streamed[key, field].end(whole)
        yield from self._count_bytes(len(msgspec.json.encode(item)))

    def _complete_item(self, index: int, item: dict[str, Any]) -> Iterator[RawDelta]:
        """Take what an item that is known lacked: the end of its text, or its ciphertext.

        Azure has the ciphertext in the final event alone (seen 2026-07), some gateways call a message done at its first
        delta (seen 2026-09).
        """
        item_id, kind = string_in(item, "id"), item.get("type")
        same = [found for found in self._items if found[1].get("type") == kind]
        by_id = [found for found in same if item_id and found[1].get("id") == item_id]
        for found in by_id or [found for found in same if found[0] == index]:
            at, known, message = found
            if isinstance(message, MessageItem):
                whole = "".join(text for _kind, text in texts_of(item.get("content"), "output_text", "text", "refusal"))
                yield from self._messages.add_rest(message, whole)
            elif kind in _OPAQUE_ITEMS:
                stated = {name: value for name, value in known.items() if value}
                self._items[self._items.index(found)] = (at, {**item, **stated}, None)
            return

    def _count_bytes(self, count: int) -> Iterator[RawDelta]:
        self._items_bytes += count
        if self._items_bytes > MAX_ITEMS_BYTES and not self.ended:
            # The turn counts what is released; where that is within its limits, the response ends here.
            yield from self._release_items()
            self.ended = self.done = True
            yield RawEnd("length")

    def _end(self, response: Mapping[str, Any]) -> Iterator[RawDelta]:
        """Read the final snapshot: items that had no done event, token counts, and how the response ended."""
        if response.get("status") in ("queued", "in_progress"):
            # A background response has nothing in it yet.
            return
        # Some gateways send the final event twice.
        if (response_id := string_in(response, "id")) in self._ended_ids:
            return
        self._ended_ids |= {response_id} - {""}
        usage = read_usage(response.get("usage"))
        if response.get("status") in ("failed", "cancelled") or response.get("error"):
            self._usage = usage
            raise failure_from_object(response.get("error") or {"code": "server_error"}, self._endpoint)
        found = response.get("output")
        output = found if isinstance(found, list) else []
        renamed = self._calls_without(output)
        for index, item in enumerate(output):
            if isinstance(item, dict) and item.get("type") == "function_call":
                # A call that is here under other ids runs once.
                if same := next((call for call in renamed if call.is_same(item)), None):
                    renamed.remove(same)
                else:
                    yield from self._read_call(item, index)
            elif isinstance(item, dict):
                is_new = self._seen.isdisjoint({index, string_in(item, "id")})
                yield from (self._add_item if is_new else self._complete_item)(index, item)
            if self._items_bytes > MAX_ITEMS_BYTES:
                return
        if not self._has_text and (text := string_in(response, "output_text")):
            self._has_text = True
            yield RawFields({"content": text})
        yield from self._release_items()
        if usage is not None:
            yield usage
        details = response.get("incomplete_details")
        reason = finish_name(details.get("reason")) if isinstance(details, dict) else ""
        if response.get("status") == "incomplete" or reason or self._is_incomplete:
            # It isn't complete, whatever the reason is called.
            reason = reason if reason and read_finish_reason(reason) not in (None, "stop", "tool_calls") else "length"
        else:
            reason = "tool_calls" if self._has_calls else "stop"
        yield from self.end(reason, str(response.get("model") or ""))
        self.done = True

    def _calls_without(self, output: list[Any]) -> list[CallItem]:
        """Return the calls of which no id is in a final snapshot: vLLM makes up new ones for it (seen 2026-06)."""
        stated = {string_in(item, name) for item in output if isinstance(item, dict) for name in ("id", "call_id")}
        calls = [part for _index, _item, part in self._items if isinstance(part, CallItem)]
        return [call for call in calls if stated.isdisjoint({call.fields.get("id"), call.fields.get("call_id")})]

    def read_end_mark(self) -> Iterator[RawDelta]:
        """Yield an end. Some gateways send the end mark of chat completions instead of a final event."""
        yield from self._release_items()
        yield from self.end("tool_calls" if self._has_calls else "stop", "")

    def _release_items(self) -> Iterator[RawDelta]:
        yield from self._messages.release_all()
        items = sorted(self._items, key=lambda found: found[0])
        self._items.clear()
        self._calls.clear()
        self._newest_call = None
        self._seen.clear()
        self._streamed.clear()
        for index, item, part in items:
            if item.get("type") in _OPAQUE_ITEMS:
                yield RawItem(index, item)
            elif isinstance(part, MessageItem):
                yield RawMessage(part.number, string_in(item, "phase"))
            elif isinstance(part, CallItem) and (item.get("name") or item.get("call_id")):
                function = {"name": item.get("name"), "arguments": part.arguments}
                call = {"index": self._call_count, "id": item.get("call_id"), "type": "function", "function": function}
                self._call_count += 1
                self._has_calls = True
                yield RawFields({"tool_calls": [call]})


@dataclass(slots=True, eq=False)
class CallItem:
    """One call of a response: its ids and its name, and its arguments as often as they came."""

    fields: dict[str, Any]
    whole: list[Any] = field(default_factory=list)
    streamed: list[str] = field(default_factory=list)

    @property
    def arguments(self) -> Any:
        """The first complete ones that say something; else what there is."""
        found = [
            one for one in (*self.whole, join_arguments(self.streamed)) if one and isinstance(one, str | dict | list)
        ]
        complete = (one for one in found if isinstance(one, dict) or (isinstance(one, str) and is_json_object(one)))
        return next((one for one in complete if one != "{}"), found[0] if found else "")

    def is_same(self, item: Mapping[str, Any]) -> bool:
        """Say whether an item with other ids is this call, by its name and its arguments."""
        has_ids = bool(self.fields.get("call_id") and item.get("call_id"))
        return has_ids and (self.fields.get("name"), self.arguments) == (item.get("name"), item.get("arguments"))


@dataclass(slots=True, eq=False)
class StreamedText:
    """How much of an item's text came, by content_index, and whether an event had the whole of it."""

    parts: Counter[Any] = field(default_factory=Counter)
    ended: set[Any] = field(default_factory=set)
    is_over: bool = False

    def add(self, part: Any, text: str) -> bool:
        """Count a text; return whether it is new."""
        if self.is_over or part in self.ended:
            return False
        self.parts[part] += len(text)
        return True

    def reopen(self) -> None:
        """Note that more comes, whatever was said of its end."""
        self.is_over = False
        self.ended.clear()

    def end_part(self, part: Any, whole: str) -> None:
        """Note the whole text of a part; what is missing of it may still come."""
        if whole and self.parts[part] >= len(whole):
            self.ended.add(part)

    def end(self, whole: str) -> None:
        """Note the whole text of the item."""
        self.is_over = self.is_over or (bool(whole) and self.parts.total() >= len(whole))


@dataclass(slots=True, eq=False)
class MessageItem:
    """One message item of a response. ``number`` is its own among all messages of the stream."""

    number: int
    item_id: str
    index: int
    is_done: bool = False
    is_empty: bool = True
    is_refusal: bool = False  # its newest part
    texts: list[str] = field(default_factory=list)
    streamed: StreamedText = field(default_factory=StreamedText)
    held: list[str] = field(default_factory=list)

    @property
    def whole(self) -> str:
        """Its text so far."""
        self.texts[:] = ["".join(self.texts)]
        return self.texts[0]


class MessageTexts:
    """The texts of a response's message items, released one message after the other, since a page grows at its end.

    Services may send the deltas of two messages in turn: the text of the second waits until the first is done. A part
    that is a refusal is separated from what was said before.
    """

    def __init__(self) -> None:
        self._count = 0
        self._messages: list[MessageItem] = []
        self._waiting: list[MessageItem] = []
        self._current: MessageItem | None = None
        self._held_chars = 0
        self._repeated: dict[str, int] = {}  # how far a new id repeats a message, by that id
        self._trusts_index = True  # some services number every item 0, others change its id from event to event

    def announce(self, item_id: str, index: int) -> None:
        """Note that a message begins."""
        if self._with_index(index) and not self._with_id(item_id):
            self._trusts_index = False
        self.find(item_id, index)

    def find(self, item_id: str, index: int) -> MessageItem:
        """Return the message that an event is about; one that begins if there is none."""
        return self.known(item_id, index) or self._begin(item_id, index)

    def known(self, item_id: str, index: int) -> MessageItem | None:
        """Return the message that an event is about: by its id, else by its index, of which one may have ended."""
        ended = (one for one in self._messages if not item_id and one.index == index != _NO_INDEX)
        return self._with_id(item_id) or self._with_index(index) or next(ended, None)

    def is_repeated(self, item_id: str, index: int, whole: str) -> bool:
        """Say whether a whole text under a new id is that of the message at this index, which is done."""
        return bool(whole) and any(one.whole == whole for one in self._done_at(item_id, index))

    def without_repetition(self, item_id: str, index: int, text: str) -> str:
        """Return a delta; nothing while those of a new id repeat a message that is done, from its start or its end.

        Those that turn out to be of another message are returned with the first that differs.
        """
        for done in self._done_at(item_id, index):
            whole = done.whole
            at = self._repeated.get(item_id, len(whole) - len(text) if whole.endswith(text) else 0)
            if whole.startswith(text, at):
                self._repeated[item_id] = at + len(text)
                return ""
            return whole[:at] + text
        return text

    def behind_end(self, message: MessageItem, text: str) -> str:
        """Return what a delta behind the end of its message adds; nothing while it repeats the message."""
        if message is not self._messages[-1]:
            return ""  # a page grows at its end
        whole, key = message.whole, str(message.number)
        at = self._repeated.get(key, len(whole) - len(text) if whole.endswith(text) else 0)
        if whole.startswith(text, at):
            self._repeated[key] = at + len(text)
            return ""
        # What seemed to repeat the beginning was new as well.
        return text if at == len(whole) else whole[:at] + text

    def add_rest(self, message: MessageItem, whole: str) -> Iterator[RawFields]:
        """Yield what a whole text has behind that of its message."""
        is_longer = len(whole) > len(message.whole) and whole.startswith(message.whole)
        if is_longer and (not message.is_done or message is self._messages[-1]):
            yield from self.add(message, whole[len(message.whole) :], is_refusal=message.is_refusal)

    def _done_at(self, item_id: str, index: int) -> list[MessageItem]:
        """Return the message at this index that is done, where the id is of none."""
        if not item_id or self._with_id(item_id):
            return []
        return [one for one in self._messages if one.is_done and one.index == index][-1:]

    def add(self, message: MessageItem, text: str, *, is_refusal: bool) -> Iterator[RawFields]:
        """Yield the text, or hold it until it is this message's turn."""
        if message.is_refusal != is_refusal and not message.is_empty:
            text = _PARAGRAPH_END + text
        message.is_empty, message.is_refusal = False, is_refusal
        message.texts.append(text)
        if message not in self._waiting:
            yield RawFields({"content": text}, message.number)
            return
        message.held.append(text)
        self._held_chars += len(text)
        if self._current and self._held_chars > _MAX_HELD_CHARS:  # it may never end
            yield from self.end(self._current)

    def end(self, message: MessageItem) -> Iterator[RawFields]:
        """Note that a message has ended, and yield what waited for that."""
        message.is_done = True
        while self._current and self._current.is_done:
            self._current = min(self._waiting, key=lambda one: one.index, default=None)
            if self._current:
                yield from self._release(self._current)

    def release_all(self) -> Iterator[RawFields]:
        """Yield everything that is held, and begin another response."""
        for message in sorted(self._waiting, key=lambda one: one.index):
            yield from self._release(message)
        self._messages.clear()
        self._current = None

    def _release(self, message: MessageItem) -> Iterator[RawFields]:
        self._waiting.remove(message)
        text = "".join(message.held)
        message.held.clear()
        self._held_chars -= len(text)
        if text:
            yield RawFields({"content": text}, message.number)

    def _begin(self, item_id: str, index: int) -> MessageItem:
        if len(self._messages) >= _MAX_MESSAGES:
            return self._messages[-1]
        message = MessageItem(self._count, item_id, index)
        self._count += 1
        self._messages.append(message)
        if self._current is None:
            self._current = message
        else:
            self._waiting.append(message)
        return message

    def _with_id(self, item_id: str) -> MessageItem | None:
        return next((one for one in self._messages if item_id and one.item_id == item_id), None)

    def _with_index(self, index: int) -> MessageItem | None:
        """Return the newest unfinished message at this index, or at none."""
        open_ones = [one for one in self._messages if not one.is_done] if self._trusts_index else []
        return next((one for one in reversed(open_ones) if one.index == index or _NO_INDEX in (one.index, index)), None)


def index_of(event: Mapping[str, Any]) -> int:
    """Return the item that an event is about."""
    index = event.get("output_index")
    return index if isinstance(index, int) else _NO_INDEX


def string_in(mapping: Mapping[str, Any], name: str) -> str:
    """Return a string of an object; empty where there is none."""
    value = mapping.get(name)
    return value if isinstance(value, str) else ""


def texts_of(parts: Any, *kinds: str) -> Iterator[tuple[str, str]]:
    """Yield kind and text of the parts of these kinds. A mere string is one of the first kind."""
    if isinstance(parts, str) and parts:
        yield kinds[0], parts
    for part in parts if isinstance(parts, list) else ():
        kind = string_in(part, "type") if isinstance(part, dict) else ""
        text = (string_in(part, "text") or string_in(part, "refusal")) if kind in kinds else ""
        if text:
            yield kind, text
