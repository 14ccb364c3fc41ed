"""Captured provider responses for ``replay_stream``: a file in any common form to its ``RawDelta`` values.

Reads event streams, JSON bodies, JSON chunks one a line or in a list, and cassettes of HTTP recorders in YAML or JSON
(exchanges under ``interactions`` or ``http_interactions``, or a lone ``response``; bodies as text, bytes or parsed
JSON), compressed by gzip or not. Requests are never read. Anything wrong with a file is a ``RecordingError``.
"""

from __future__ import annotations

import gzip
import io
import json
import re
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import yaml

from chat.providers.base import ProviderError
from chat.providers.decoding import EventParser, is_end_mark
from chat.providers.errors import cut_off
from chat.providers.openai_chat import ChatDecoder
from chat.providers.openai_responses import ResponsesDecoder
from chat.texts.error_texts import failure_text
from reasoning.deltas import RawDelta
from reasoning.stream.surrogates import repair_surrogates

MAX_BYTES = 64 * 1024 * 1024
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_EVENT_STREAM = re.compile(rb"\s*(?::|(?:data|event|id|retry):)")
_LISTS = ("interactions", "http_interactions")
_CASSETTE_KEYS = (*_LISTS, "response")
_GZIP = b"\x1f\x8b"
# The YAML reader lets through whatever its converters raise for a scalar that doesn't fit its tag.
_YAML_ERRORS = (yaml.YAMLError, ValueError, TypeError, AttributeError, LookupError, ArithmeticError, RecursionError)


class RecordingError(ValueError):
    """The file is no recording of a chat completion or a response. The text says why, in one line."""


@dataclass(frozen=True, slots=True)
class Recording:
    """What was in one response. ``failure`` is how it ended where it did not end well."""

    deltas: tuple[RawDelta, ...]
    failure: ProviderError | None = None


def read_recording(data: bytes, *, exchange: int = 0) -> Recording:
    """Decode the captured response in ``data``; of a cassette, the one at position ``exchange``.

    Raises RecordingError if the file is not a recording or has no exchange at that position.
    """
    data = decompress(data).removeprefix(_BYTE_ORDER_MARK)
    cassette = read_cassette(data)
    if cassette is not None:
        data = cassette_body(cassette, exchange)
    elif exchange != 0:
        raise RecordingError(f"there is no exchange {exchange}: the file holds one response")
    payloads = payloads_in(data)
    decoder = decoder_for(payloads)
    deltas: list[RawDelta] = []
    try:
        for payload in payloads:
            deltas += decoder.feed(payload)
    except ProviderError as failure:
        return Recording((*deltas, *decoder.finish()), failure)
    deltas += decoder.finish()
    # A background response that is still being worked on is whole, too.
    first = parse_json(payloads[0])
    is_whole = len(payloads) == 1 and isinstance(first, dict) and first.get("object") == "response"
    return Recording(tuple(deltas), decoder.failure or (None if decoder.ended or is_whole else cut_off()))


def payloads_in(data: bytes) -> list[bytes]:
    """Return the JSON texts of a response: the data of its events, its lines, the items of a list, or itself."""
    if _EVENT_STREAM.match(data):
        events = EventParser()
        try:
            found = [*events.feed(data), *events.finish()]
        except ProviderError as error:
            raise RecordingError(failure_text(error, for_staff=True)) from error
        return [payload for event in found for payload in split_event(event)]
    value = parse_json(data)
    if isinstance(value, list):
        return [dump_json(item) for item in value]
    if value is not None:
        return [data]
    # One chunk a line. A later line that is broken is left in, so that it is reported as the service's fault.
    lines = [line.strip() for line in data.splitlines() if line.strip()]
    if not lines:
        raise RecordingError("there is nothing in it")
    if parse_json(lines[0]) is None:
        raise RecordingError("its JSON is broken or cut off")
    return lines


def split_event(event: bytes) -> list[bytes]:
    """Split what a capture without blank lines turns into one event."""
    lines = event.split(b"\n")
    are_events = all(not line.strip() or is_end_mark(line) or isinstance(parse_json(line), dict) for line in lines)
    return lines if are_events else [event]


def decoder_for(payloads: list[bytes]) -> ChatDecoder | ResponsesDecoder:
    """Distinguish the two APIs by the first payload that says anything."""
    names: list[str] = []
    for payload in payloads:
        value = parse_json(payload)
        if not isinstance(value, dict):
            continue
        kind, event_type = str(value.get("object", "")), str(value.get("type", ""))
        if kind != "text_completion":
            if isinstance(value.get("choices"), list) or kind.startswith("chat.completion"):
                return ChatDecoder()
            if kind == "response" or event_type.startswith("response."):
                return ResponsesDecoder()
            if value.get("error"):
                return ChatDecoder()
            if event_type == "error" and "message" in value:
                return ResponsesDecoder()
        names = names or [" ".join(str(name).split())[:40] for name in value]
    found = f"; its JSON has {', '.join(names[:6])}" if names else ""
    raise RecordingError(f"no chat completion and no response of the Responses API is in it{found}")


def read_cassette(data: bytes) -> Any:
    """Return the cassette that a file is, or None for the text of a response."""
    if not data.strip() or _EVENT_STREAM.match(data):
        return None
    if data.lstrip().startswith((b"{", b"[")):
        value = parse_json(data)
        # Events of the Responses API have a ``response``, too, and a type.
        is_cassette = (
            isinstance(value, dict) and "type" not in value and not value.keys().isdisjoint((*_LISTS, "response"))
        )
        return value if is_cassette else None
    try:
        # The pure Python loader: endless nesting stops this one, and takes the whole process down with the C one.
        return yaml.load(data, Loader=CassetteLoader)  # noqa: S506  (a SafeLoader)
    except _YAML_ERRORS as error:
        raise RecordingError("neither an event stream, nor JSON, nor readable YAML") from error


def cassette_body(cassette: Any, exchange: int) -> bytes:
    """Return the decompressed body of the response at position ``exchange``."""
    if not isinstance(cassette, dict) or cassette.keys().isdisjoint(_CASSETTE_KEYS):
        raise RecordingError("neither an event stream, nor JSON, nor a cassette")
    exchanges = next((cassette[key] for key in _LISTS if isinstance(cassette.get(key), list)), [cassette])
    if not 0 <= exchange < len(exchanges):
        raise RecordingError(f"there is no exchange {exchange}: the cassette holds {len(exchanges)}, from 0")
    chosen = exchanges[exchange]
    response = chosen.get("response") if isinstance(chosen, dict) else None
    if not isinstance(response, dict):
        raise RecordingError(f"exchange {exchange} has no HTTP response")
    try:
        body = decompress(raw_body(response)).removeprefix(_BYTE_ORDER_MARK)
    except RecordingError as error:
        raise RecordingError(f"exchange {exchange}: {error}") from error
    if not body.strip():
        raise RecordingError(f"exchange {exchange}: its response has no body")
    if not _EVENT_STREAM.match(body) and not body.lstrip().startswith((b"{", b"[")):
        raise RecordingError(f"exchange {exchange}: its body is neither JSON nor an event stream")
    return body


def raw_body(response: Mapping[str, Any]) -> bytes:
    """Return the bytes of a body, under any of the names that recorders use."""
    if response.get("parsed_body") is not None:
        return dump_json(response["parsed_body"])
    body = response.get("body", response.get("content"))
    if isinstance(body, dict):
        is_parsed = bool(body) and body.keys().isdisjoint({"string", "text"})
        body = [body] if is_parsed else body.get("string", body.get("text"))
    if isinstance(body, list):
        return dump_json(body)
    if isinstance(body, str):
        return repair_surrogates(body).encode()
    return body if isinstance(body, bytes) else b""


def decompress(data: bytes) -> bytes:
    """Return ``data``, decompressed if it was compressed. Refuses what is too large before or after."""
    try:
        if data.startswith(_GZIP):
            with gzip.GzipFile(fileobj=io.BytesIO(data)) as file:
                # one byte more than allowed, to notice what is too large without inflating it
                data = file.read(MAX_BYTES + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise RecordingError("it is compressed and cannot be decompressed") from error
    if len(data) > MAX_BYTES:
        raise RecordingError(f"it is larger than {MAX_BYTES // 1024**2} MiB")
    return data


def parse_json(data: bytes) -> Any:
    """Return the value in ``data``, None where it is no JSON."""
    try:
        return json.loads(data.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None


def dump_json(value: Any) -> bytes:
    try:
        return json.dumps(value, default=str).encode()  # YAML has dates and bytes, JSON doesn't
    except (TypeError, ValueError, RecursionError) as error:
        raise RecordingError("its JSON body is recorded as something that is no JSON") from error


class CassetteLoader(yaml.SafeLoader):
    """Plain YAML, and bytes as Ruby's recorder writes them."""

    def construct_bytes(self, node: yaml.ScalarNode) -> bytes:
        return self.construct_yaml_binary(node)


CassetteLoader.add_constructor("!binary", CassetteLoader.construct_bytes)
