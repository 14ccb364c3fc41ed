"""Chat-completion chunks, and whole chat completions, to ``RawDelta`` values.

Every model's answer goes through here, the offline analyst's too. Promises: what a service sends beyond the known
fields is skipped while it is decoded; odd shapes (no choices, null, parts for text, objects for arguments) are read
or passed over, never raised; an error object inside a stream, and JSON that is none, are a ProviderError.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from chat.providers.base import ProviderError
from chat.providers.errors import Endpoint, failure_from_object
from chat.providers.loosejson import loose_json, without_halves
from reasoning.deltas import RawDelta, RawEnd, RawFields, RawUsage

DONE = b"[DONE]"
_NOWHERE = Endpoint(host="the model service")


class _Fields(msgspec.Struct):
    content: Any = None
    reasoning_content: Any = None
    reasoning: Any = None
    thinking: Any = None
    reasoning_details: Any = None
    tool_calls: Any = None
    refusal: Any = None


class _Choice(msgspec.Struct):
    delta: _Fields | None = None
    message: _Fields | None = None
    index: Any = None
    finish_reason: Any = None
    usage: Any = None
    error: Any = None


class _Chunk(msgspec.Struct):
    choices: list[_Choice | None] | None = None
    usage: Any = None
    model: Any = None
    error: Any = None
    message: Any = None
    detail: Any = None
    code: Any = None
    type: Any = None


_decode = msgspec.json.Decoder(_Chunk).decode
_THINKING_FIELDS = ("reasoning_content", "reasoning", "thinking", "reasoning_details")


class ChunkDecoder:
    """Decode one response. ``ended``: a finish reason came. ``done``: nothing more will.

    ``feed`` takes the payload of one event, ``finish`` follows the last. Token counts leave once, at the end, however
    often they came: some services send a running total with each chunk.
    """

    __slots__ = ("_endpoint", "_has_calls", "_model", "_usage", "done", "ended")

    def __init__(self, endpoint: Endpoint = _NOWHERE) -> None:
        self._endpoint = endpoint
        self._has_calls = False
        self._model = ""
        self._usage: RawUsage | None = None
        self.ended = False
        self.done = False

    def feed(self, payload: bytes) -> tuple[RawDelta, ...]:
        """Return what one payload holds. Raises ProviderError for an error object or what is no JSON."""
        try:
            chunk = _decode(payload)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            return self._feed_odd(payload)
        if chunk.model in (None, self._model) and (text := _only_text(chunk)):
            return (RawFields({"content": text}),)
        return tuple(self._chunk(chunk))

    def finish(self) -> tuple[RawDelta, ...]:
        """Return the token counts, if any came. Calling it again returns nothing."""
        usage, self._usage = self._usage, None
        return (usage,) if usage is not None else ()

    def _feed_odd(self, payload: bytes) -> tuple[RawDelta, ...]:
        """Read what the strict decoder does not take: the end mark, several chunks in one event, odd shapes."""
        text = payload.strip()
        if not text:
            return ()
        if text == DONE:
            self.done = True
            return tuple(self._end(None))
        try:
            chunk = _loose(loose_json(text))
        except ProviderError:
            if b"\n" not in text:
                raise
            return tuple(delta for line in text.split(b"\n") for delta in self.feed(line))
        return tuple(self._chunk(chunk))

    def _chunk(self, chunk: _Chunk) -> Iterator[RawDelta]:
        self._refuse_errors(chunk)
        if isinstance(chunk.model, str) and chunk.model:
            self._model = chunk.model
        for choice in chunk.choices or ():
            # Only the first of several alternatives is ours; we never ask for more.
            if choice is not None and choice.index in (None, 0):
                yield from self._choice(choice)
        if chunk.usage is not None:
            self._usage = read_usage(chunk.usage) or self._usage

    def _choice(self, choice: _Choice) -> Iterator[RawDelta]:
        is_whole = choice.delta is None and choice.message is not None
        fields = choice.message if is_whole else choice.delta
        if fields is not None:
            yield from self._fields(fields)
        if choice.usage is not None:
            self._usage = read_usage(choice.usage) or self._usage
        if choice.finish_reason or is_whole:
            yield from self._end(choice.finish_reason)

    def _end(self, reason: Any) -> Iterator[RawEnd]:
        """End once. A whole answer, and the end mark, are an end where no reason was given (Snowflake, seen 2026)."""
        if self.ended:
            return
        self.ended = True
        usual = "tool_calls" if self._has_calls else "stop"
        yield RawEnd(reason if isinstance(reason, str) and reason else usual, self._model)

    def _fields(self, source: _Fields) -> Iterator[RawFields]:
        fields = {name: value for name in _THINKING_FIELDS if (value := getattr(source, name))}
        content = source.content or source.refusal
        if isinstance(content, list):
            if fields:
                yield RawFields(fields)
            yield from _parts(content, has_native=bool(fields))
            fields = {}
        elif isinstance(content, str):
            fields["content"] = content
        if source.tool_calls:
            fields["tool_calls"] = source.tool_calls
            self._has_calls = True
        if fields:
            yield RawFields(fields)

    def _refuse_errors(self, chunk: _Chunk) -> None:
        """Raise for each way in which services put an error into a 200 answer."""
        error = chunk.error or next((choice.error for choice in chunk.choices or () if choice and choice.error), None)
        if error is None and chunk.choices is None and chunk.usage is None:
            error = _bare_error(chunk)
        if error:
            raise failure_from_object(error, self._endpoint)


def _only_text(chunk: _Chunk) -> str:
    """Return the text of a chunk that holds nothing else, as nearly every one does; of any other an empty one."""
    choice = chunk.choices[0] if chunk.choices else None
    text = choice.delta.content if choice and choice.delta else None
    is_all = chunk == _Chunk([_Choice(_Fields(text), index=0)], model=chunk.model)
    return text if is_all and isinstance(text, str) else ""


def decode_completion(body: bytes, endpoint: Endpoint = _NOWHERE) -> tuple[RawDelta, ...]:
    """Return the deltas of a whole, unstreamed chat completion. Raises ProviderError as ``ChunkDecoder.feed``."""
    decoder = ChunkDecoder(endpoint)
    return (*decoder.feed(body), *decoder.finish())


def read_usage(usage: Any) -> RawUsage | None:
    """Read token counts under any of the names that services give them; None if there are none."""
    if not isinstance(usage, Mapping):
        return None
    counts = RawUsage(
        _first_count(usage, "prompt_tokens", "input_tokens"),
        _first_count(usage, "completion_tokens", "output_tokens"),
        _detail(usage, "reasoning_tokens", "completion_tokens_details", "output_tokens_details"),
        _detail(usage, "cached_tokens", "prompt_tokens_details", "input_tokens_details")
        or _first_count(usage, "prompt_cache_hit_tokens"),
    )
    return counts if counts != RawUsage() else None


def _detail(usage: Mapping[str, Any], name: str, *places: str) -> int | None:
    inner = (usage.get(place) for place in places)
    counts = (_first_count(place, name) for place in (*inner, usage) if isinstance(place, Mapping))
    return next((count for count in counts if count is not None), None)


def _first_count(usage: Mapping[str, Any], *names: str) -> int | None:
    values = (usage.get(name) for name in names)
    return next((int(value) for value in values if isinstance(value, int | float) and 0 <= value < 2**53), None)


def _parts(parts: list[Any], *, has_native: bool) -> Iterator[RawFields]:
    """Map content that comes as a list of typed parts (Mistral), in its order.

    Beside a native field, thoughts among the parts are the same text again. Normaliser 8.
    """
    for part in parts:
        if isinstance(part, str):
            yield RawFields({"content": part})
        elif isinstance(part, dict):
            kind = part.get("type")
            text = _part_text(part.get("thinking") or part.get("reasoning") or part.get("text"))
            if text and kind in ("text", "output_text"):
                yield RawFields({"content": text})
            elif text and kind in ("thinking", "reasoning") and not has_native:
                yield RawFields({"thinking": text})


def _part_text(value: Any) -> str:
    if isinstance(value, list):
        return "".join(_part_text(part.get("text") if isinstance(part, dict) else part) for part in value)
    return value if isinstance(value, str) else ""


def _bare_error(chunk: _Chunk) -> dict[str, Any] | None:
    """Read an error without the usual ``error`` key: a message, and no choices."""
    if isinstance(chunk.message, str) or chunk.detail:
        return {"message": chunk.message, "detail": chunk.detail, "code": chunk.code, "type": chunk.type}
    return None


def _loose(value: Any) -> _Chunk:
    """Take of any JSON what looks like a chunk."""
    if not isinstance(value, dict):
        return _Chunk()
    choices = value.get("choices")
    kept: list[_Choice | None] | None = None
    if isinstance(choices, list):
        kept = [_loose_choice(choice) for choice in choices if isinstance(choice, dict)]
    names = ("usage", "model", "error", "message", "detail", "code", "type")
    return _Chunk(kept, **{name: without_halves(value.get(name)) for name in names})


def _loose_choice(choice: dict[str, Any]) -> _Choice:
    names = ("index", "finish_reason", "usage", "error")
    return _Choice(
        _loose_fields(choice.get("delta")),
        _loose_fields(choice.get("message")),
        **{name: without_halves(choice.get(name)) for name in names},
    )


def _loose_fields(fields: Any) -> _Fields | None:
    if not isinstance(fields, dict):
        return None
    kept = {name: value for name, value in fields.items() if name in _Fields.__struct_fields__}
    if kept.get("reasoning_details"):
        kept["reasoning_details"] = without_halves(kept["reasoning_details"])  # they are kept as they came
    return _Fields(**kept)
