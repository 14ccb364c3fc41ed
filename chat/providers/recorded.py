"""A captured provider response, in any of the forms in which people keep one, to its ``RawDelta`` values.

Reads an event stream, a JSON body, JSON chunks one a line, and cassettes (YAML or JSON: ``interactions``,
``http_interactions``, or a lone ``response``). Of a cassette only responses are read, never requests. Chat
completions and Responses, streamed or whole; anything else is a ``RecordingError`` that says what came.
"""

from __future__ import annotations

import base64
import gzip
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import yaml

from chat.providers.base import ProviderError
from chat.providers.chunks import DONE, ChunkDecoder
from chat.providers.errors import cut_off
from chat.providers.responses import ResponsesDecoder
from chat.providers.sse import SSEDecoder
from reasoning.deltas import RawDelta

MAX_BYTES = 64 * 1024 * 1024
_EVENT_STREAM = re.compile(rb"\s*(?::|(?:data|event|id|retry):)")
_LISTS = ("interactions", "http_interactions")


class RecordingError(ValueError):
    """The file is no recording of a chat completion or a response. The text says why."""


@dataclass(frozen=True, slots=True)
class Recording:
    """What was in one response. ``failure`` is how it ended where it did not end well."""

    deltas: tuple[RawDelta, ...]
    failure: ProviderError | None = None


def read_recording(data: bytes, *, exchange: int = 0) -> Recording:
    """Decode the captured response in ``data``; of a cassette, the one at position ``exchange``.

    Raises RecordingError for a file that is none, or that has no such exchange.
    """
    if len(data) > MAX_BYTES:
        raise RecordingError(f"the file is larger than {MAX_BYTES // 1024**2} MiB")
    payloads = list(_payloads(data, exchange))
    decoder = _decoder_for(payloads)
    deltas: list[RawDelta] = []
    try:
        for payload in payloads:
            deltas += decoder.feed(payload)
    except ProviderError as failure:
        return Recording((*deltas, *decoder.finish()), failure)
    deltas += decoder.finish()
    return Recording(tuple(deltas), None if decoder.ended else cut_off())


def _payloads(data: bytes, exchange: int) -> Iterator[bytes]:
    """Yield the JSON texts of a file: the data of its events, its lines, or itself."""
    data = data.removeprefix(b"\xef\xbb\xbf")
    if _EVENT_STREAM.match(data):
        yield from _single(_events(data), exchange)
    elif data.lstrip().startswith((b"{", b"[")):
        yield from _json_payloads(data, exchange)
    else:
        yield from _cassette(_yaml(data), exchange)


def _json_payloads(data: bytes, exchange: int) -> Iterator[bytes]:
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        # One chunk a line. A broken line is left in, so that it is reported as the service's fault.
        lines = [line.strip() for line in data.splitlines() if line.strip()]
        yield from _single(lines, exchange)
        return
    if isinstance(value, dict) and any(key in value for key in (*_LISTS, "response")) and "type" not in value:
        yield from _cassette(value, exchange)
    else:
        values = value if isinstance(value, list) else [value]
        yield from _single([json.dumps(item).encode() for item in values], exchange)


def _single(payloads: list[bytes], exchange: int) -> list[bytes]:
    if exchange != 0:
        raise RecordingError(f"there is no exchange {exchange}: the file holds one response")
    return payloads


def _events(data: bytes) -> list[bytes]:
    sse = SSEDecoder()
    return [*sse.feed(data), *sse.finish()]


def _cassette(value: Any, exchange: int) -> list[bytes]:
    """Return the payloads of one response of a cassette."""
    body = _body(_response(value, exchange))
    if body[:2] == b"\x1f\x8b":
        body = _unzipped(body)
    if _EVENT_STREAM.match(body):
        return _events(body)
    if not body.lstrip().startswith((b"{", b"[")):
        raise RecordingError("the body of that exchange is neither JSON nor an event stream")
    return [body]


def _response(value: Any, exchange: int) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise RecordingError("neither an event stream, nor JSON, nor a cassette")
    exchanges = next((value[key] for key in _LISTS if isinstance(value.get(key), list)), [value])
    if not 0 <= exchange < len(exchanges):
        raise RecordingError(f"there is no exchange {exchange}: the cassette holds {len(exchanges)}, from 0")
    chosen = exchanges[exchange]
    response = chosen.get("response") if isinstance(chosen, dict) else None
    if not isinstance(response, dict):
        raise RecordingError(f"exchange {exchange} has no HTTP response")
    return response


def _body(response: dict[str, Any]) -> bytes:
    """Return the bytes of a body, under any of the names that recorders use."""
    if response.get("parsed_body") is not None:
        return json.dumps(response["parsed_body"]).encode()
    body = response.get("body")
    if isinstance(body, dict):
        if "base64_string" in body:
            return base64.b64decode(body["base64_string"])
        body = body.get("string", body.get("text"))
    if isinstance(body, str):
        return body.encode("utf-8", "surrogatepass")
    if not isinstance(body, bytes):
        raise RecordingError("that exchange has no body")
    return body


def _unzipped(body: bytes) -> bytes:
    import io  # noqa: PLC0415

    try:
        with gzip.GzipFile(fileobj=io.BytesIO(body)) as file:
            return file.read(MAX_BYTES)
    except (OSError, EOFError) as error:
        raise RecordingError("the body of that exchange is compressed and cannot be read") from error


class _Loader(yaml.SafeLoader):
    """The safe loader, which also takes the tags of other languages' recorders as plain values."""


def _plain(loader: yaml.SafeLoader, suffix: str, node: yaml.Node) -> Any:
    if suffix == "binary" and isinstance(node, yaml.ScalarNode):
        return base64.b64decode(node.value)
    if isinstance(node, yaml.MappingNode):
        return loader.construct_mapping(node, deep=True)
    if isinstance(node, yaml.SequenceNode):
        return loader.construct_sequence(node, deep=True)
    return node.value


_Loader.add_multi_constructor("!", _plain)


def _yaml(data: bytes) -> Any:
    try:
        return yaml.load(data, Loader=_Loader)  # noqa: S506  (a SafeLoader)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise RecordingError("neither an event stream, nor JSON, nor readable YAML") from error


def _decoder_for(payloads: list[bytes]) -> ChunkDecoder | ResponsesDecoder:
    """Tell the two APIs apart by the first payload that says anything."""
    for payload in payloads:
        if payload.strip() in (b"", DONE):
            continue
        try:
            value = json.loads(payload)
        except (ValueError, RecursionError):
            continue
        decoder = _decoder_of(value)
        if decoder is not None:
            return decoder
    raise RecordingError("no chat completion and no response of the Responses API is in it")


def _decoder_of(value: Any) -> ChunkDecoder | ResponsesDecoder | None:
    if not isinstance(value, dict):
        return None
    if isinstance(value.get("choices"), list) or str(value.get("object", "")).startswith("chat.completion"):
        return ChunkDecoder()
    if str(value.get("type", "")).startswith("response.") or value.get("object") == "response":
        return ResponsesDecoder()
    return ChunkDecoder() if value.get("error") else None
