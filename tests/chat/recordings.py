"""Every response in ``SHARED_DIR/streams``, taken out of its file without any code of the product.

Plain ``json`` and ``yaml``, and an event-stream splitter of a few lines: two readings that share code would share its
mistakes. Knows the forms in that folder, and no others. ``read`` says what a response holds; where one file holds
several responses, they are read one after the other, and the token counts are the last ones.
"""

from __future__ import annotations

import base64
import gzip
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from itertools import chain
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


_TAG = re.compile(r"</?(?:think|thinking|REASONING|scratchpad)\s*/?>", re.IGNORECASE)
_HEADING = re.compile(r"^\W*(?:reasoning summary|final answer)\b", re.IGNORECASE | re.MULTILINE)
_THOUGHT_FIRST = re.compile(r"\s*<think>(?P<thought>.*?)</think>(?P<answer>.*)", re.DOTALL)


@dataclass
class Reading:
    """The text, calls, items and token counts of one response."""

    content: str = ""
    native: str = ""
    calls: list[dict[str, str]] = field(default_factory=list)
    items: list[dict[str, Any]] = field(default_factory=list)
    tokens: dict[str, int | None] | None = None

    @property
    def has_tags(self) -> bool:
        return bool(_TAG.search(self.content) or _TAG.search(self.native))

    def parted(self) -> tuple[str, str | None]:
        """The answer and the thinking. Fails for text whose parting this reading doesn't know."""
        assert not _HEADING.search(self.content)
        if not self.has_tags:
            return self.content.strip(), self.native or None
        told = _THOUGHT_FIRST.fullmatch(self.content)
        assert told, self.content
        assert not self.native
        assert not _TAG.search(told["thought"] + told["answer"])
        return told["answer"].strip(), told["thought"].strip()


def read(exchange: Exchange) -> Reading:
    return _chat(exchange) if exchange.kind == CHAT else _responses(exchange)


def _chat(exchange: Exchange) -> Reading:
    reading = Reading()
    calls = _Calls(reading.calls)
    for payload in exchange.payloads:
        for choice in payload.get("choices") or []:
            fields = choice.get("delta") or choice.get("message") or {}
            reading.native += _native(fields)
            reading.content += _content(fields.get("content"))
            for piece in fields.get("tool_calls") or []:
                calls.add(piece)
        if payload.get("usage"):
            reading.tokens = _tokens(payload["usage"])
    return reading


def _native(fields: Mapping[str, Any]) -> str:
    """Of the fields that carry native reasoning the first which isn't empty: they mirror one another."""
    for name in ("reasoning_content", "reasoning", "thinking"):
        if fields.get(name):
            return str(fields[name])
    details = "".join(part.get("text") or part.get("summary") or "" for part in fields.get("reasoning_details") or [])
    content = fields.get("content")
    thoughts = [part["thinking"] for part in content if part["type"] == "thinking"] if type(content) is list else []
    return details or "".join(_content(thought) for thought in thoughts)


def _content(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "".join(part["text"] for part in content or [] if part["type"] == "text")


class _Calls:
    """Collects calls in the order in which they begin; a new id where another was, is another call."""

    def __init__(self, told: list[dict[str, str]]) -> None:
        self._told = told
        self._ids: list[str] = []
        self._places: dict[Any, int] = {}

    def add(self, piece: Mapping[str, Any]) -> None:
        call_id, index = piece.get("id") or "", piece.get("index")
        key = call_id if index is None else index
        place = self._places.get(key)
        if place is None or (call_id and self._ids[place] != call_id):
            place = self._places[key] = len(self._told)
            self._told.append({"name": "", "arguments": ""})
            self._ids.append(call_id)
        function = piece["function"]
        self._told[place]["name"] = self._told[place]["name"] or function.get("name") or ""
        self._told[place]["arguments"] += function.get("arguments") or ""


def _responses(exchange: Exchange) -> Reading:
    reading = Reading()
    for event in exchange.payloads:
        match event.get("type"):
            case "response.output_text.delta" | "response.refusal.delta":
                reading.content += event["delta"]
            case "response.reasoning_text.delta":
                reading.native += event["delta"]
            case "response.output_item.done":
                _read_item(event["item"], reading)
            case "response.completed" | "response.incomplete":
                reading.tokens = _tokens(event["response"]["usage"])
            case None:
                _read_whole(event, reading)
    return reading


def _read_whole(response: Mapping[str, Any], reading: Reading) -> None:
    for item in response["output"]:
        _read_item(item, reading)
    for part in chain.from_iterable(item.get("content") or [] for item in response["output"]):
        match part["type"]:
            case "output_text":
                reading.content += part["text"]
            case "reasoning_text":
                reading.native += part["text"]
    reading.tokens = _tokens(response["usage"]) if response["usage"] else None


def _read_item(item: Mapping[str, Any], reading: Reading) -> None:
    if item["type"] == "function_call":
        reading.calls.append({"name": item["name"], "arguments": item["arguments"]})
    elif item["type"] == "reasoning":
        reading.items.append({"id": item["id"], "has_encrypted_content": bool(item.get("encrypted_content"))})


def _tokens(usage: Mapping[str, Any]) -> dict[str, int | None]:
    """Token counts, in the names of either API; some services put reasoning tokens beside the others."""
    details = usage.get("completion_tokens_details") or usage.get("output_tokens_details") or {}
    return {
        "input_tokens": usage.get("prompt_tokens", usage.get("input_tokens")),
        "output_tokens": usage.get("completion_tokens", usage.get("output_tokens")),
        "reasoning_tokens": details.get("reasoning_tokens", usage.get("reasoning_tokens")),
    }
