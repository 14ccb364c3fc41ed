"""Chat completions: OpenAI's, and every server that speaks them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Any

from chat.providers.base import ProviderRequest
from chat.providers.decoding import ResponseDecoder, read_usage, without_surrogates
from chat.providers.errors import UNKNOWN_ENDPOINT, Endpoint, failure_from_object
from chat.providers.openai_http import OpenAIService
from reasoning.deltas import RawDelta, RawEnd, RawFields
from reasoning.stream.normalizer import THINKING_FIELDS

if TYPE_CHECKING:
    from openai import AsyncOpenAI

# Elsewhere an unknown parameter may be refused without a name.
_CACHE_KEY_HOSTS = frozenset({"api.openai.com"})


class OpenAIChatProvider(OpenAIService):
    """One model at one endpoint, over chat completions."""

    _api = "chat"
    _optional = ("stream_options", "prompt_cache_key", "max_tokens", "max_completion_tokens")

    def build_body(self, request: ProviderRequest, model: str) -> dict[str, Any]:
        """Return the whole request body. Instructions come first, so that prompt caches find an unchanged start."""
        body = {**request.body, "model": model, "stream": True}
        if request.instructions:
            body["messages"] = [{"role": "system", "content": request.instructions}, *body.get("messages", ())]
        if request.tools:
            body["tools"] = list(request.tools)
        body["stream_options"] = {"include_usage": True}
        if request.conversation and self._connection.host in _CACHE_KEY_HOSTS:
            body.setdefault("prompt_cache_key", request.conversation)
        return body

    def open_response(self, client: AsyncOpenAI, body: dict[str, Any]) -> AbstractAsyncContextManager[Any]:
        # As extra_body: given as arguments, the SDK would walk and rebuild every message.
        api = client.chat.completions.with_streaming_response
        return api.create(model="", messages=[], stream=True, extra_body=body)

    def new_decoder(self, endpoint: Endpoint) -> ChatDecoder:
        return ChatDecoder(endpoint)


class ChatDecoder(ResponseDecoder):
    """Decode chunks of a stream, or a whole chat completion. It ends with a finish reason."""

    def __init__(self, endpoint: Endpoint = UNKNOWN_ENDPOINT) -> None:
        super().__init__(endpoint)
        self._has_calls = False
        self._model = ""

    def read_event(self, chunk: dict[str, Any]) -> Iterator[RawDelta]:
        """Yield what a chunk holds."""
        choices = dicts_in(chunk.get("choices"))
        if error := error_in(chunk, choices):
            raise failure_from_object(error, self._endpoint)

        model = chunk.get("model")
        self._model = model if isinstance(model, str) and model else self._model
        self._usage = read_usage(chunk.get("usage")) or self._usage
        for choice in choices:
            if choice.get("index") not in (None, 0):
                # Another alternative: we never ask for more than one.
                continue
            fields = choice.get("delta")
            # A service that ignored ``stream``, or a proxy that joined the chunks.
            is_whole = fields is None and choice.get("message") is not None
            fields = choice["message"] if is_whole else fields
            if isinstance(fields, dict):
                yield from self._read_fields(fields)
            self._usage = read_usage(choice.get("usage")) or self._usage
            if choice.get("finish_reason") or is_whole:
                yield from self._end(choice.get("finish_reason"))

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

    def _read_fields(self, source: dict[str, Any]) -> Iterator[RawFields]:
        fields = {name: source[name] for name in THINKING_FIELDS if source.get(name)}
        content = source.get("content") or source.get("refusal")
        if isinstance(content, list):
            # Typed parts (Mistral), in their order.
            has_native = bool(fields)
            if fields:
                yield RawFields(fields)
                fields = {}
            for part in content:
                text = part_text(part, has_native=has_native)
                if text:
                    yield RawFields(text)
        elif isinstance(content, str) and content:
            fields["content"] = content
        if source.get("tool_calls"):
            fields["tool_calls"] = source["tool_calls"]
            self._has_calls = True
        if fields:
            yield RawFields(fields)

    def read_end_mark(self) -> Iterator[RawDelta]:
        """Yield an end, where the stream gave no reason for one."""
        return self._end(None)

    def _end(self, reason: Any) -> Iterator[RawEnd]:
        """End once. A whole answer, and the end mark, are an end where no reason was given (Snowflake, seen 2026)."""
        if not self.ended:
            self.ended = True
            default = "tool_calls" if self._has_calls else "stop"
            yield RawEnd(reason if isinstance(reason, str) and reason else default, self._model)


def error_in(chunk: dict[str, Any], choices: list[dict[str, Any]]) -> Any:
    """Return the error that a service put into a 200 answer, if any."""
    if error := chunk.get("error"):
        return error
    for choice in choices:
        if error := choice.get("error"):
            return error
    # Without the usual key: a message and no choices.
    is_bare = chunk.get("choices") is None and chunk.get("usage") is None
    if is_bare and (isinstance(chunk.get("message"), str) or chunk.get("detail")):
        return {name: chunk.get(name) for name in ("message", "detail", "code", "type")}
    # MiniMax names the failure beside empty choices.
    status = chunk.get("base_resp")
    return status if isinstance(status, dict) and status.get("status_code") else None


def dicts_in(values: Any) -> list[dict[str, Any]]:
    """Return the objects of what should be a list."""
    return [value for value in values if isinstance(value, dict)] if isinstance(values, list) else []


def part_text(part: Any, *, has_native: bool) -> dict[str, str]:
    """Return the field and text of one typed part; nothing for a kind that is not known.

    Beside a native field, thoughts among the parts are the same text again. Normaliser 8.
    """
    if isinstance(part, str):
        return {"content": part} if part else {}
    if not isinstance(part, dict):
        return {}
    value = part.get("thinking") or part.get("reasoning") or part.get("text")
    pieces = value if isinstance(value, list) else [value]
    texts = (piece.get("text") if isinstance(piece, dict) else piece for piece in pieces)
    text = "".join(text for text in texts if isinstance(text, str))
    match part.get("type"):
        case "text" | "output_text" if text:
            return {"content": text}
        case "thinking" | "reasoning" if text and not has_native:
            return {"thinking": text}
    return {}
