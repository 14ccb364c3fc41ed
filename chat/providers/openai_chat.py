"""Chat completions: OpenAI's, and every server that speaks them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Any

from chat.providers.base import ProviderRequest
from chat.providers.decoding import USAGE_PLACES, ResponseDecoder, error_in, finish_name, usage_in, without_surrogates
from chat.providers.errors import UNKNOWN_ENDPOINT, Endpoint, failure_from_object, plain_name
from chat.providers.openai_http import STREAM, OpenAIService
from reasoning.deltas import RawDelta, RawEnd, RawFields
from reasoning.replay.wire.chat import CHAT
from reasoning.services.finish_reasons import read_finish_reason
from reasoning.services.signatures import SEALS, SignatureJoiner, is_opaque, is_thought, signatures_in
from reasoning.stream.normalizer import NATIVE_FIELDS

if TYPE_CHECKING:
    from openai import AsyncOpenAI

# Elsewhere an unknown parameter may be refused without a name.
_CACHE_KEY_HOSTS = frozenset({"api.openai.com"})
_TEXT_FIELDS = ("content", "refusal", "text")
_DETAIL_TEXTS = ("text", "summary")  # of an element of reasoning_details
# Fields of a delta that are neither thinking nor a signature.
_PLAIN_FIELDS = frozenset({"role", "content", "text", "refusal", "tool_calls", "function_call", "name"})
_CALLS = frozenset({"toolcalls", "toolcall", "functioncalls"})  # other names of the field, without signs
_CALL_PARTS = ("tool_use", "tool_call", "function_call")  # calls among the parts of a content
_WRAPPERS = ("data", "result")  # in which gateways put a chunk
# Where a choice says how it ended; the last is of old models of OpenAI.
_FINISH_FIELDS = ("finish_reason", "finishReason", "stop_reason", "finish_details")


class OpenAIChatProvider(OpenAIService):
    """One model at one endpoint, over chat completions."""

    wire = CHAT
    _optional = ("stream_options", "prompt_cache_key", "max_tokens", "max_completion_tokens", STREAM)

    def build_body(self, request: ProviderRequest, model: str) -> dict[str, Any]:
        body = super().build_body(request, model)
        body["stream_options"] = {"include_usage": True}
        if request.conversation and self._connection.host in _CACHE_KEY_HOSTS:
            body.setdefault("prompt_cache_key", request.conversation)
        return body

    def open_response(self, client: AsyncOpenAI, body: dict[str, Any]) -> AbstractAsyncContextManager[Any]:
        # As extra_body: given as arguments, the SDK would walk and rebuild every message.
        api = client.chat.completions.with_streaming_response
        return api.create(model="", messages=[], stream=STREAM in body, extra_body=body)

    def new_decoder(self, endpoint: Endpoint) -> ChatDecoder:
        return ChatDecoder(endpoint)


class ChatDecoder(ResponseDecoder):
    """Decode chunks of a stream, or a whole chat completion. It ends with a finish reason."""

    def __init__(self, endpoint: Endpoint = UNKNOWN_ENDPOINT) -> None:
        super().__init__(endpoint)
        self._model = ""
        self._choice_index: Any = None  # of the alternative that is read: the first that comes
        self._came: set[str] = set()  # fields that had something in a delta
        self._thoughts = SignatureJoiner()  # among the parts of a content, that are not signed yet
        self._thinking_field = ""  # under which the response began to think
        self._texts: defaultdict[str, CumulativeText] = defaultdict(CumulativeText)  # by field
        self._details = DetailTexts()
        self._pending_end: str | None = None  # the finish reason to assume if no better one follows

    def read_event(self, chunk: dict[str, Any]) -> list[RawDelta]:
        """Return what a chunk holds."""
        if "choices" not in chunk:
            chunk = unwrapped(chunk)
        choices = dicts_in(chunk.get("choices"))
        if error := error_in(chunk, choices):
            raise failure_from_object(error, self._endpoint)

        model = chunk.get("model")
        self._model = model if isinstance(model, str) and model else self._model
        deltas: list[RawDelta] = []
        for choice in choices:
            index = choice.get("index") or 0
            self._choice_index = index if self._choice_index is None else self._choice_index
            if index == self._choice_index:  # another one is an alternative, of which we ask for none
                self._read_choice(choice, deltas)
        for place in (chunk, *choices):
            if not place.keys().isdisjoint(USAGE_PLACES):
                self._usage = usage_in(place) or self._usage
        return deltas

    def _read_choice(self, choice: Mapping[str, Any], deltas: list[RawDelta]) -> None:
        delta, message, text = choice.get("delta"), choice.get("message"), choice.get("text")
        if isinstance(delta, str | list):  # its text alone, or its parts
            delta = {"content": delta}
        if isinstance(delta, dict) and delta:
            if isinstance(inner := delta.get("message"), dict):
                delta = {**delta, **inner}
                del delta["message"]
            deltas += self._read_fields(delta)
            for name, value in delta.items():
                if value:
                    self._came.add(name)
        elif isinstance(text, str) and text:
            # A completion of text where a chat completion was asked for.
            deltas += self._read_fields({"content": text})
        if isinstance(message, str):
            message = {"content": message}
        if isinstance(message, dict):
            # A service that ignored ``stream``, a proxy that joined the chunks, or a last chunk that repeats what came
            # in deltas.
            new = {name: value for name, value in message.items() if name not in self._came}
            deltas += self._read_fields(new, is_repetition=bool(self._came))
            if message.get("content") or message.get("tool_calls"):
                self._pending_end = self._pending_end or ""
        deltas += self._read_finish(choice)

    def _read_finish(self, choice: Mapping[str, Any]) -> Iterable[RawEnd]:
        names = [name for field in _FINISH_FIELDS if (value := choice.get(field)) and (name := finish_name(value))]
        if not names:
            return ()
        name, native = names[0], finish_name(choice.get("native_finish_reason"))
        # OpenRouter may hide that the model was cut off.
        if read_finish_reason(name) == "stop" and read_finish_reason(native) in ("length", "content_filter", "error"):
            name = native
        # An unknown one may come with every chunk.
        if read_finish_reason(name) is None:
            self._pending_end = name
            return ()
        return self.end(name, self._model)

    def finish(self) -> tuple[RawDelta, ...]:
        """Return text that was held back, the end of a response that didn't name it clearly, and the token counts."""
        held = [RawFields({name: rest}) for name, text in self._texts.items() if (rest := text.finish())]
        held += [RawFields({"reasoning_details": [element]}) for element in self._details.finish()]
        end = () if self._pending_end is None else tuple(self.read_end_mark())
        return (*held, *end, *super().finish())

    def read_end_mark(self) -> Iterable[RawDelta]:
        """Return an end. The end mark and a whole answer are one without a reason, too (Snowflake, seen 2026)."""
        return self.end(self._pending_end or ("tool_calls" if self._has_calls else "stop"), self._model)

    def mend(self, chunk: Any) -> Any:
        """Replace lone surrogates in all but texts and calls, whose other half may come with the next chunk."""
        if not isinstance(chunk, dict):
            return chunk
        texts = [{name: one.pop(name, None) for name in ("delta", "message")} for one in dicts_in(chunk.get("choices"))]
        mended = without_surrogates(chunk)
        for choice, fields_by_name in zip(dicts_in(mended.get("choices")), texts, strict=True):
            choice.update(fields_by_name)
            for fields in fields_by_name.values():
                # Stored as they came, so they must be encodable.
                if isinstance(fields, dict) and fields.get("reasoning_details"):
                    fields["reasoning_details"] = without_surrogates(fields["reasoning_details"])
        return mended

    def _read_fields(self, source: dict[str, Any], *, is_repetition: bool = False) -> list[RawFields]:
        deltas: list[RawFields] = []
        fields: dict[str, Any] = {}
        more: dict[str, Any] = {}
        # Nearly every delta is text alone.
        if not source.keys() <= _PLAIN_FIELDS:
            more = {name: value for name, value in source.items() if value and name not in _PLAIN_FIELDS}
            # A repetition may use another name for what was thought.
            fields = {} if not more or (is_repetition and self._thinking_field) else self._thinking_in(more)
            if signatures := signatures_in(more):
                fields["signatures"] = signatures
            self._usage = usage_in(more) or self._usage
        has_native = bool(fields.keys() - {"signatures"})
        content = next((found for name in _TEXT_FIELDS if (found := source.get(name)) not in (None, "", [])), None)
        if content and (source.get("role") in _THOUGHT_WORDS or (more and says_thought(more))):
            # Beside a native field it is the same text again.
            fields |= {} if has_native else {"reasoning_content": text_in(content).removeprefix("<thought>")}
        elif isinstance(content, list | dict):
            # Typed parts (Mistral), in their order.
            if fields:
                deltas.append(RawFields(fields))
                fields = {}
            deltas += self._read_parts(content if isinstance(content, list) else [content], has_native=has_native)
        elif spoken := content if isinstance(content, str) else number_text(content):
            fields["content"] = spoken
            self._has_text = True
        call = source.get("function_call")
        if source.get("tool_calls"):
            fields["tool_calls"] = source["tool_calls"]
        elif more and (calls := next((more[name] for name in more if plain_name(name) in _CALLS), None)):
            fields["tool_calls"] = calls
        elif isinstance(call, dict) and call:
            # The form before there were several calls.
            fields["tool_calls"] = [{"index": 0, "type": "function", "function": call}]
        self._has_calls = self._has_calls or "tool_calls" in fields
        deltas += self._new_in(fields)
        return deltas

    def _new_in(self, fields: dict[str, Any]) -> Iterator[RawFields]:
        """Yield fields without what their texts repeat of the response."""
        for name, value in fields.items():
            if isinstance(value, str) and not (text := self._texts[name]).is_plain:
                fields[name] = text.feed(value)
            elif name == "reasoning_details" and isinstance(value, list):
                fields[name] = [self._details.feed(each) if isinstance(each, dict) else each for each in value]
        if any(fields.values()):
            yield RawFields(fields)

    def _read_parts(self, parts: list[Any], *, has_native: bool) -> Iterator[RawFields]:
        for part in parts:
            if is_thought(part):
                self._thoughts.add([part])
                if is_opaque("content", part):  # what signs a thought comes last
                    yield RawFields({"signatures": {"content": self._thoughts.whole}})
                    self._thoughts = SignatureJoiner()
            if text := part_text(part, has_native=has_native):
                self._has_text = self._has_text or "content" in text
                yield RawFields(text)
            elif isinstance(part, dict) and part.get("type") in _CALL_PARTS:
                self._has_calls = True
                yield RawFields({"tool_calls": [part]})

    def _thinking_in(self, source: dict[str, Any]) -> dict[str, Any]:
        """Return thinking under its usual names; what has another name or form as ``reasoning_content``.

        Services mirror a text under several names. The one under which a response begins to think counts to its end.
        """
        fields = {name: source[name] for name in NATIVE_FIELDS if source.get(name) and isinstance(source[name], str)}
        if source.get("reasoning_details"):
            fields["reasoning_details"] = source["reasoning_details"]
        if any(name in fields and not fields[name].isspace() for name in NATIVE_FIELDS):
            self._thinking_field = self._thinking_field or "usual"
            return fields
        plain = {plain_name(name): value for name, value in source.items() if name not in fields}
        for name in _OTHER_NAMES:
            if self._thinking_field in ("", name) and (text := text_in(plain.get(name))):
                fields["reasoning_content"] = text
                if not text.isspace():
                    self._thinking_field = name
                return fields
        if self._thinking_field in ("", _WITHIN) and (text := text_within(source)):
            fields["reasoning_content"], self._thinking_field = text, _WITHIN
        return fields


class CumulativeText:
    """Reads what is new in a text whose every piece repeats all of it (DashScope, seen 2026-05).

    The third piece decides: one that begins as the one before may do so by chance. ``is_plain``: pieces don't repeat.
    """

    def __init__(self) -> None:
        self.is_plain = False
        self._is_sure = False
        self._whole = ""  # the newest piece that was passed on
        self._held = ""  # the second piece, if it begins with the first

    def feed(self, piece: str) -> str:
        """Return what is new; nothing while the second piece is held back."""
        before, self._held = self._held, ""
        # Blanks and signs are repeated by chance.
        if not any(map(str.isalnum, self._whole)):
            self._whole = piece
            return piece
        is_repeated = piece.startswith(before or self._whole)
        if is_repeated and (before or self._is_sure):
            self._is_sure = True
            new, self._whole = piece[len(self._whole) :], piece
            return new
        if is_repeated and len(piece) > len(self._whole):
            self._held = piece
            return ""
        self.is_plain = True
        return before + piece

    def finish(self) -> str:
        """Return what is held back: of a long piece, only what is new."""
        held, self._held = self._held, ""
        return held[len(self._whole) :] if len(self._whole) >= _LONG_CHARS else held


class DetailTexts:
    """Reads what is new in elements of ``reasoning_details``, whose pieces may repeat what came before.

    Each piece may have all of its element (MiniMax, seen 2026-11); or the last one has it again, with the seal.
    """

    def __init__(self) -> None:
        self._open: dict[tuple[str, str], _OpenDetail] = {}  # by type, and index or id

    def feed(self, element: dict[str, Any]) -> dict[str, Any]:
        """Return a piece with what is new of its text. A seal ends its element, so nothing is held back then."""
        place = next((element[name] for name in ("index", "id") if element.get(name) is not None), None)
        if place is None:
            return element
        key = (str(element.get("type")), str(place))
        name = next((name for name in _DETAIL_TEXTS if element.get(name) and isinstance(element[name], str)), "")
        is_sealed = any(element.get(seal) for seal in SEALS)
        detail = self._open.pop(key, None) if is_sealed else self._open.get(key)
        if detail is None and name and not is_sealed:
            about = {field: value for field, value in element.items() if field in ("type", "index", "id")}
            detail = self._open[key] = _OpenDetail(about, name)
        if detail is None or name not in ("", detail.name):
            return element
        new = detail.feed(element[name], is_sealed=is_sealed) if name else ""
        new += detail.text.finish() if is_sealed else ""
        return {**element, detail.name: new} if name or new else element

    def finish(self) -> Iterator[dict[str, Any]]:
        """Yield what is held back of each element."""
        for detail in self._open.values():
            if rest := detail.text.finish():
                yield {**detail.about, detail.name: rest}


class _OpenDetail:
    """An element that has no seal yet. ``about`` has its type and its place, ``name`` is the field of its text."""

    def __init__(self, about: dict[str, Any], name: str) -> None:
        self.about, self.name = about, name
        self.text = CumulativeText()
        self._pieces: list[str] = []

    def feed(self, piece: str, *, is_sealed: bool) -> str:
        """Return what is new in a piece of its text."""
        if is_sealed and piece == "".join(self._pieces):
            return ""
        new = piece if self.text.is_plain else self.text.feed(piece)
        self._pieces.append(new)
        return new


# How else thinking comes, with an example of each: the usual names with an object or a list, and other names, which
# may also be written in camel case.
OTHER_THINKING: dict[str, Any] = {
    "reasoning_content": [{"type": "text", "text": "Hm."}],
    "reasoning": {"content": "Hm."},
    "thinking": {"content": "Hm.", "signature": "c2ln"},
    "reasoning_text": "Hm.",  # Copilot
    "thought": "Hm.",
    "thoughts": ["Hm."],
    "thinking_content": "Hm.",
    "thought_content": "Hm.",
    "reasoning_summary": "Hm.",
    "thinking_summary": "Hm.",
    "cot_summary": "Hm.",
    "cot": "Hm.",
    "thinking_blocks": [{"type": "thinking", "thinking": "Hm.", "signature": "c2ln"}],  # LiteLLM
    "reasoningContent": {"reasoningText": {"text": "Hm."}},  # Bedrock
    "reasoning_delta": "Hm.",
    "reasoning_steps": [{"thought": "Hm.", "type": "web_search"}],  # Perplexity
    "reason_content": "Hm.",
    "model_thinking": "Hm.",
    "internal_thoughts": "Hm.",
    "chain_of_thought": "Hm.",
    "analysis": "Hm.",
}
# How a delta, or a part of its content, says that its text is a thought: a flag, also in an object (Gemini), or one of
# these words.
_THOUGHT_FLAGS = frozenset({"thought", "isthought", "isthinking", "isreasoning"})
_THOUGHT_WORDS = (
    *("thinking", "reasoning", "thought", "analysis", "thinking_delta", "reasoning_delta"),
    *("reasoning_text", "summary_text", "reasoning_content"),  # as the Responses API names them, among parts
)
_PART_TEXTS = ("thinking", "reasoning", "text", "summary", "refusal")
_WITHIN = "within"  # an object of the delta, such as ``provider_specific_fields``
_TEXT_KEYS = ("thinking", "reasoning", "reasoningText", "thought", "text", "content", "summary", "value")
_MAX_DEPTH = 4
_LONG_CHARS = 16  # that the next piece of a text doesn't repeat by chance


def unwrapped(chunk: dict[str, Any]) -> dict[str, Any]:
    """Return the chunk that a gateway has put into another object; ``chunk`` itself where there is none."""
    inner = (chunk.get(name) for name in _WRAPPERS)
    return next((one for one in inner if isinstance(one, dict) and "choices" in one), chunk)


_OTHER_NAMES = tuple(map(plain_name, OTHER_THINKING))


def text_in(value: Any, depth: int = 0) -> str:
    """Return the text of a string, of an object that holds one, or of a list of them."""
    if isinstance(value, str):
        return value
    if depth < _MAX_DEPTH and isinstance(value, list):
        return "".join(text_in(each, depth + 1) for each in value)
    if depth < _MAX_DEPTH and isinstance(value, dict):
        return next((text for key in _TEXT_KEYS if (text := text_in(value.get(key), depth + 1))), "")
    return ""


def text_within(fields: Mapping[str, Any], depth: int = 0) -> str:
    """Return thinking that is in an object among the fields of a delta, under any of its names."""
    for value in fields.values():
        if isinstance(value, dict) and depth < _MAX_DEPTH:
            plain = {plain_name(name): each for name, each in value.items()}
            texts = (text for name in _OTHER_NAMES if (text := text_in(plain.get(name))).strip())
            if text := next(texts, "") or text_within(value, depth + 1):
                return text
    return ""


def says_thought(fields: Mapping[str, Any], depth: int = 0) -> bool:
    """Say whether a delta marks its own text as a thought."""
    for name, value in fields.items():
        if value is True and plain_name(name) in _THOUGHT_FLAGS:
            return True
        if not depth and name in ("type", "content_type", "channel", "phase") and value in _THOUGHT_WORDS:
            return True
        if isinstance(value, dict) and depth < _MAX_DEPTH and says_thought(value, depth + 1):
            return True
    return False


def number_text(content: Any) -> str:
    """Return the text of a number that a service forgot to quote."""
    return str(content) if isinstance(content, int | float) and not isinstance(content, bool) else ""


def dicts_in(values: Any) -> list[dict[str, Any]]:
    """Return the objects of what should be a list, or the one that isn't in any."""
    if isinstance(values, dict):
        return [values]
    return [value for value in values if isinstance(value, dict)] if isinstance(values, list) else []


def part_text(part: Any, *, has_native: bool) -> dict[str, str]:
    """Return the field and text of one typed part; nothing for a kind that is not known.

    Beside a native field, thoughts among the parts are the same text again. Normaliser 8.
    """
    if isinstance(part, str):
        return {"content": part} if part else {}
    if not isinstance(part, dict):
        return {}
    text = text_in(next((part[name] for name in _PART_TEXTS if part.get(name)), ""))
    # Gemini marks a thought among its texts.
    match "thinking" if part.get("thought") is True else part.get("type", "text"):
        case "text" | "output_text" | "text_delta" | "refusal" if text:
            return {"content": text}
        case kind if kind in _THOUGHT_WORDS and text and not has_native:
            return {"thinking": text}
    return {}
