"""Every response in ``SHARED_DIR/streams``, taken out of its file without any code of the product.

Plain ``json`` and ``yaml``, and an event-stream splitter of a few lines: two readings that share code would share its
mistakes. Knows the forms that lie in that folder, and no others. What the responses say: ``recorded_readings``.
"""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import yaml

CHAT, RESPONSES, OTHER = "chat", "responses", "other"


@dataclass(frozen=True)
class Exchange:
    """One response of one file. ``payloads`` are its JSON values in order, ``raw`` is its body as it travelled."""

    path: Path
    number: int
    is_streamed: bool
    raw: bytes = field(repr=False)
    payloads: tuple[Any, ...] = field(repr=False)

    @property
    def name(self) -> str:
        return f"{self.path.parent.name}/{self.path.name}[{self.number}]"

    @property
    def kind(self) -> str:
        kinds = {_kind(payload) for payload in self.payloads} - {OTHER}
        return kinds.pop() if kinds else OTHER


class _Loader(yaml.CSafeLoader):
    """Also reads the binary tag by its other name."""


_Loader.add_multi_constructor("!", lambda _loader, _suffix, node: base64.b64decode(node.value))


@cache
def exchanges(folder: Path) -> tuple[Exchange, ...]:
    """Every response of every file in the folder, whatever API it is of."""
    return tuple(exchange for path in recorded_files(folder) for exchange in _of_file(path))


def recorded_files(folder: Path) -> list[Path]:
    return [path for path in sorted(folder.rglob("*")) if path.is_file() and path.suffix != ".md"]


def event_data(raw: bytes) -> list[str]:
    """The ``data`` of each event, split the simplest way that is right for a whole body."""
    found = []
    for event in raw.decode("utf-8", "replace").replace("\r\n", "\n").split("\n\n"):
        lines = [line[5:].removeprefix(" ") for line in event.split("\n") if line.startswith("data:")]
        if lines:
            found.append("\n".join(lines))
    return found


def _of_file(path: Path) -> Iterator[Exchange]:
    data = path.read_bytes()
    if path.suffix in (".yaml", ".yml"):
        cassette = yaml.load(data, Loader=_Loader)  # noqa: S506
        recorded = cassette.get("interactions") or cassette["http_interactions"]
        for number, exchange in enumerate(recorded):
            yield _of_body(path, number, _body(exchange.get("response")))
    elif path.name.endswith(".chunks.txt"):
        lines = [line for line in data.split(b"\n") if line.strip()]
        yield Exchange(path, 0, True, data, tuple(map(json.loads, lines)))
    else:
        yield Exchange(path, 0, False, data, (json.loads(data),))


def _body(response: Any) -> bytes:
    if response is None:
        return b""  # of another protocol than HTTP
    if "parsed_body" in response:
        return json.dumps(response["parsed_body"]).encode()
    body = response["body"]
    body = body["string"] if isinstance(body, dict) else body
    body = body.encode() if isinstance(body, str) else body
    return gzip.decompress(body) if body[:2] == b"\x1f\x8b" else bytes(body)


def _of_body(path: Path, number: int, raw: bytes) -> Exchange:
    data = event_data(raw)
    if data:
        return Exchange(path, number, True, raw, tuple(json.loads(text) for text in data if text != "[DONE]"))
    try:
        return Exchange(path, number, False, raw, (json.loads(raw),))
    except ValueError:
        return Exchange(path, number, False, raw, ())


def _kind(payload: Any) -> str:
    if not isinstance(payload, dict):
        return OTHER
    if "choices" in payload:
        return CHAT
    is_response = payload.get("object") == "response" or str(payload.get("type", "")).startswith("response.")
    return RESPONSES if is_response else OTHER
