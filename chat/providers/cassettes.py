"""What recorders of HTTP keep in one file, to the body of one response.

YAML or JSON; exchanges under ``interactions`` or ``http_interactions``, or a lone ``response``; bodies as text, bytes,
base64 or parsed JSON, packed or not. Requests are never read. All that is wrong with a file is a ``RecordingError``.
"""

from __future__ import annotations

import base64
import binascii
import gzip
import io
import json
import re
import zlib
from collections.abc import Mapping
from typing import Any

import yaml

from reasoning.surrogates import without_halves

MAX_BYTES = 64 * 1024 * 1024
_LISTS = ("interactions", "http_interactions")
_GZIP = b"\x1f\x8b"
_ZLIB = (b"\x78\x01", b"\x78\x5e", b"\x78\x9c", b"\x78\xda")
# What the YAML reader raises for a scalar that its tag does not fit is whatever its converters raise.
_NO_YAML = (yaml.YAMLError, ValueError, TypeError, AttributeError, LookupError, ArithmeticError, RecursionError)


class RecordingError(ValueError):
    """The file is no recording of a chat completion or a response. The text says why."""


def is_cassette(value: Any) -> bool:
    """Say whether a JSON value is a cassette. Events of the Responses API have a ``response``, too, and a type."""
    return isinstance(value, dict) and "type" not in value and any(name in value for name in (*_LISTS, "response"))


def read_yaml(data: bytes) -> Any:
    """Return the value in ``data``, as plain values whatever its tags say."""
    try:
        # The pure loader: nesting without end stops this one, and takes the whole process down with the C one.
        return yaml.load(data, Loader=_Loader)  # noqa: S506  (a SafeLoader)
    except _NO_YAML as error:
        raise RecordingError("neither an event stream, nor JSON, nor readable YAML") from error


def body_of(cassette: Any, exchange: int) -> bytes:
    """Return the unpacked body of the response at position ``exchange``."""
    response = _response(cassette, exchange)
    try:
        body = unpacked(_body(response))
    except RecordingError as error:
        raise RecordingError(f"exchange {exchange}: {error}") from error
    if not body.strip():
        raise RecordingError(f"exchange {exchange}: its response has no body")
    return body


def packing(cassette: Any, exchange: int) -> str:
    """Return what the response says of the packing of its body; empty where it says nothing."""
    headers = _response(cassette, exchange).get("headers")
    for name, value in headers.items() if isinstance(headers, dict) else ():
        if str(name).lower() == "content-encoding":
            value = value[0] if isinstance(value, list) and value else value
            return " ".join(str(value).split())[:40]
    return ""


def unpacked(data: bytes) -> bytes:
    """Return ``data``, decompressed if it was compressed. Refuses what is too large, packed or not."""
    try:
        if data.startswith(_GZIP):
            with gzip.GzipFile(fileobj=io.BytesIO(data)) as file:
                data = file.read(MAX_BYTES + 1)
        elif data.startswith(_ZLIB):
            data = zlib.decompressobj().decompress(data, MAX_BYTES + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise RecordingError("it is compressed and cannot be decompressed") from error
    if len(data) > MAX_BYTES:
        raise RecordingError(f"it is larger than {MAX_BYTES // 1024**2} MiB")
    return data


def dumped(value: Any) -> bytes:
    """Return a value out of YAML or JSON as JSON. Dates and bytes, which JSON lacks, become text."""
    try:
        return json.dumps(value, default=str).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise RecordingError("its JSON body is recorded as something that is no JSON") from error


def _response(cassette: Any, exchange: int) -> Mapping[str, Any]:
    if not is_cassette(cassette):
        raise RecordingError("neither an event stream, nor JSON, nor a cassette")
    exchanges = next((cassette[key] for key in _LISTS if isinstance(cassette.get(key), list)), [cassette])
    if not 0 <= exchange < len(exchanges):
        raise RecordingError(f"there is no exchange {exchange}: the cassette holds {len(exchanges)}, from 0")
    chosen = exchanges[exchange]
    response = chosen.get("response") if isinstance(chosen, dict) else None
    if not isinstance(response, dict):
        raise RecordingError(f"exchange {exchange} has no HTTP response")
    return response


def _body(response: Mapping[str, Any]) -> bytes:
    """Return the bytes of a body, under any of the names that recorders use."""
    if response.get("parsed_body") is not None:
        return dumped(response["parsed_body"])
    body = response.get("body", response.get("content"))
    if isinstance(body, dict):
        if "base64_string" in body:
            return _from_base64(body["base64_string"])
        is_parsed = not body.keys() & {"string", "text"}
        body = dumped(body) if is_parsed and body else body.get("string", body.get("text"))
    if isinstance(body, list):
        return dumped(body)
    if isinstance(body, str):
        return without_halves(body).encode()
    return body if isinstance(body, bytes) else b""


def _from_base64(value: Any) -> bytes:
    try:
        return base64.b64decode(value)
    except (TypeError, binascii.Error) as error:
        raise RecordingError("its body says that it is base64, and is not") from error


class _Loader(yaml.SafeLoader):
    """The safe loader, which also takes the tags of other languages' recorders as plain values.

    Of plain scalars it takes what JSON has for no text, and nothing else: recorders that write YAML 1.2 leave ``yes``,
    ``12:30`` and ``2026-01-02`` unquoted, which the library would make a truth value, a number and a date.
    """


def _plain(loader: yaml.SafeLoader, suffix: str, node: yaml.Node) -> Any:
    if suffix == "binary" and isinstance(node, yaml.ScalarNode):
        return base64.b64decode(node.value)
    if isinstance(node, yaml.MappingNode):
        return loader.construct_mapping(node, deep=True)
    if isinstance(node, yaml.SequenceNode):
        return loader.construct_sequence(node, deep=True)
    return node.value


_Loader.yaml_implicit_resolvers = {}
_Loader.add_implicit_resolver("tag:yaml.org,2002:null", re.compile(r"(?:~|null|Null|NULL|)\Z"), ["~", "n", "N", ""])
_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:bool", re.compile(r"(?:true|True|TRUE|false|False|FALSE)\Z"), list("tTfF")
)
_Loader.add_implicit_resolver("tag:yaml.org,2002:int", re.compile(r"-?(?:0|[1-9][0-9]*)\Z"), list("-0123456789"))
_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float",
    re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]*)?(?:[eE][-+]?[0-9]+)?\Z"),
    list("-0123456789"),
)
_Loader.add_multi_constructor("!", _plain)
_Loader.add_multi_constructor("tag:", _plain)
