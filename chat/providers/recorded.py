"""A captured provider response, in any of the forms in which people keep one, to its ``RawDelta`` values.

Reads an event stream, a JSON body, JSON chunks one a line or in a list, and cassettes (``cassettes``), compressed or
not. Chat completions and Responses, streamed or whole; anything else is a ``RecordingError`` that says what came.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

from chat.providers.base import ProviderError
from chat.providers.cassettes import RecordingError, body_of, dumped, is_cassette, packing, read_yaml, unpacked
from chat.providers.chunks import DONE, ChunkDecoder
from chat.providers.errors import cut_off
from chat.providers.responses import ResponsesDecoder
from chat.providers.sse import SSEDecoder
from reasoning.deltas import RawDelta

_BOM = b"\xef\xbb\xbf"
_EVENT_STREAM = re.compile(rb"\s*(?::|(?:data|event|id|retry):)")
_MAX_NAMES = 6
_Decoder = ChunkDecoder | ResponsesDecoder


@dataclass(frozen=True, slots=True)
class Recording:
    """What was in one response. ``failure`` is how it ended where it did not end well."""

    deltas: tuple[RawDelta, ...]
    failure: ProviderError | None = None


def read_recording(data: bytes, *, exchange: int = 0) -> Recording:
    """Decode the captured response in ``data``; of a cassette, the one at position ``exchange``.

    Raises RecordingError for a file that is none, or that has no such exchange.
    """
    payloads = _payloads(unpacked(data).removeprefix(_BOM), exchange)
    decoder = _decoder_for(payloads)
    deltas: list[RawDelta] = []
    try:
        for payload in payloads:
            deltas += decoder.feed(payload)
    except ProviderError as failure:
        return Recording((*deltas, *decoder.finish()), failure)
    deltas += decoder.finish()
    return Recording(tuple(deltas), None if decoder.ended or _is_snapshot(payloads) else cut_off())


def _payloads(data: bytes, exchange: int) -> list[bytes]:
    """Return the JSON texts of a file: the data of its events, its lines, or itself."""
    cassette = _cassette(data) if data.strip() else None
    if cassette is not None:
        body = body_of(cassette, exchange).removeprefix(_BOM)
        if not _is_text_of_response(body):
            packed = packing(cassette, exchange)
            how = f" (content-encoding: {packed})" if packed else ""
            raise RecordingError(f"exchange {exchange}: its body is neither JSON nor an event stream{how}")
        return _response_payloads(body)
    if exchange != 0:
        raise RecordingError(f"there is no exchange {exchange}: the file holds one response")
    return _response_payloads(data)


def _cassette(data: bytes) -> Any:
    """Return the cassette that a file is, or None for the text of a response."""
    if not _is_text_of_response(data):
        return read_yaml(data)
    value = None if _EVENT_STREAM.match(data) else _json(data)
    return value if is_cassette(value) else None


def _is_text_of_response(data: bytes) -> bool:
    return bool(_EVENT_STREAM.match(data)) or data.lstrip().startswith((b"{", b"["))


def _response_payloads(data: bytes) -> list[bytes]:
    if _EVENT_STREAM.match(data):
        return _events(data)
    value = _json(data)
    if isinstance(value, list):
        return [dumped(item) for item in value]
    return [data] if value is not None else _lines(data)


def _events(data: bytes) -> list[bytes]:
    sse = SSEDecoder()
    try:
        events = [*sse.feed(data), *sse.finish()]
    except ProviderError as error:
        raise RecordingError(error.message) from error
    return [payload for event in events for payload in _parted(event)]


def _parted(event: bytes) -> list[bytes]:
    """Part what a capture without blank lines makes one event of."""
    lines = event.split(b"\n")
    is_many = len(lines) > 1 and all(line.strip() in (b"", DONE) or isinstance(_json(line), dict) for line in lines)
    return lines if is_many else [event]


def _lines(data: bytes) -> list[bytes]:
    """One chunk a line. A broken line is left in, so that it is reported as the service's fault."""
    lines = [line.strip() for line in data.splitlines() if line.strip()]
    if not lines:
        raise RecordingError("there is nothing in it")
    if _json(lines[0]) is None:
        raise RecordingError("its JSON is broken or cut off")
    return lines


def _json(data: bytes) -> Any:
    """Return the value in ``data``, None where it is no JSON."""
    try:
        return json.loads(data.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None


def _decoder_for(payloads: list[bytes]) -> _Decoder:
    """Tell the two APIs apart by the first payload that says anything."""
    names: list[str] = []
    for payload in payloads:
        value = _json(payload)
        decoder = _decoder_of(value) if isinstance(value, dict) else None
        if decoder is not None:
            return decoder
        names = names or [" ".join(str(name).split())[:40] for name in value] if isinstance(value, dict) else names
    came = f"; its JSON has {', '.join(names[:_MAX_NAMES])}" if names else ""
    raise RecordingError(f"no chat completion and no response of the Responses API is in it{came}")


def _decoder_of(value: dict[str, Any]) -> _Decoder | None:
    kind, described = str(value.get("object", "")), str(value.get("type", ""))
    if kind == "text_completion":
        return None
    if isinstance(value.get("choices"), list) or kind.startswith("chat.completion"):
        return ChunkDecoder()
    if kind == "response" or described.startswith("response."):
        return ResponsesDecoder()
    if value.get("error"):
        return ChunkDecoder()
    return ResponsesDecoder() if described == "error" and "message" in value else None


def _is_snapshot(payloads: list[bytes]) -> bool:
    """Say whether this is a whole response, which may say that it is still being worked on."""
    value = _json(payloads[0]) if len(payloads) == 1 else None
    return isinstance(value, dict) and value.get("object") == "response"
