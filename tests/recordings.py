"""Every response in ``SHARED_DIR/streams``, read without any code of the product.

Plain ``json`` and ``yaml``, and an event-stream splitter of a few lines: two readings that share code would share its
mistakes. Knows the forms in that folder, and no others.
"""

import base64
import gzip
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import yaml

CHAT, RESPONSES, OTHER = "chat", "responses", "other"
_TAG = re.compile(r"</?(?:think|thinking|REASONING|scratchpad)\s*/?>", re.IGNORECASE)
_THOUGHT_FIRST = re.compile(r"\s*<think>(?P<thought>.*?)</think>(?P<answer>.*)", re.DOTALL)


class _Loader(yaml.CSafeLoader):
    """Also reads the binary tag by its other name."""


_Loader.add_multi_constructor("!", lambda _loader, _suffix, node: base64.b64decode(node.value))


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
        for payload in self.payloads:
            if isinstance(payload, dict) and "choices" in payload:
                return CHAT
            if isinstance(payload, dict) and (
                payload.get("object") == "response" or str(payload.get("type", "")).startswith("response.")
            ):
                return RESPONSES
        return OTHER


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
    if path.name.endswith(".chunks.txt"):
        yield Exchange(path, 0, True, data, tuple(json.loads(line) for line in data.split(b"\n") if line.strip()))
        return
    if path.suffix not in (".yaml", ".yml"):
        yield Exchange(path, 0, False, data, (json.loads(data),))
        return
    cassette = yaml.load(data, Loader=_Loader)  # noqa: S506
    for number, recorded in enumerate(cassette.get("interactions") or cassette["http_interactions"]):
        response = recorded.get("response") or {"body": b""}  # of another protocol than HTTP
        body = json.dumps(response["parsed_body"]) if "parsed_body" in response else response["body"]
        body = body["string"] if isinstance(body, dict) else body
        body = body.encode() if isinstance(body, str) else body
        raw = gzip.decompress(body) if body[:2] == b"\x1f\x8b" else bytes(body)
        events = event_data(raw)
        is_json = not events and raw.lstrip()[:1] in (b"{", b"[")
        texts = [raw.decode()] if is_json else [text for text in events if text != "[DONE]"]
        yield Exchange(path, number, bool(events), raw, tuple(map(json.loads, texts)))


@dataclass
class Reading:
    """The text, calls and opaque items of one response. Of several responses in one file they are joined."""

    content: str = ""
    native: str = ""
    calls: list[dict[str, str]] = field(default_factory=list)
    items: list[dict[str, Any]] = field(default_factory=list)

    @property
    def has_tags(self) -> bool:
        return bool(_TAG.search(self.content) or _TAG.search(self.native))

    def parted(self) -> tuple[str, str | None]:
        """The answer and the thinking. Fails for text whose parting this reading doesn't know."""
        if not self.has_tags:
            return self.content.strip(), self.native or None
        parts = _THOUGHT_FIRST.fullmatch(self.content)
        assert parts, self.content
        assert not self.native
        assert not _TAG.search(parts["thought"] + parts["answer"])
        return parts["answer"].strip(), parts["thought"].strip()


def read(exchange: Exchange) -> Reading:
    return _chat(exchange) if exchange.kind == CHAT else _responses(exchange)


def chat_deltas(exchange: Exchange) -> Iterator[dict[str, Any]]:
    """Yield the fields of each delta, or of the message of a response that was not streamed."""
    for choice in (choice for payload in exchange.payloads for choice in payload.get("choices") or []):
        yield choice.get("delta") or choice.get("message") or {}


def _chat(exchange: Exchange) -> Reading:
    reading = Reading()
    ids: list[str] = []
    places: dict[Any, int] = {}
    for fields in chat_deltas(exchange):
        reading.native += _native(fields)
        reading.content += _content(fields.get("content"))
        for piece in fields.get("tool_calls") or []:
            # Calls in the order in which they begin; a new id where another was, is another call.
            call_id, index = piece.get("id") or "", piece.get("index")
            key = call_id if index is None else index
            if key not in places or (call_id and ids[places[key]] != call_id):
                places[key] = len(ids)
                ids.append(call_id)
                reading.calls.append({"name": "", "arguments": ""})
            call = reading.calls[places[key]]
            call["name"] = call["name"] or piece["function"].get("name") or ""
            call["arguments"] += piece["function"].get("arguments") or ""
    return reading


def _native(fields: Mapping[str, Any]) -> str:
    """Of the fields that carry native reasoning the first which isn't empty: they mirror one another."""
    for name in ("reasoning_content", "reasoning", "thinking"):
        if fields.get(name):
            return str(fields[name])
    details = "".join(part.get("text") or part.get("summary") or "" for part in fields.get("reasoning_details") or [])
    content = fields.get("content")
    thoughts = [part["thinking"] for part in content if part["type"] == "thinking"] if type(content) is list else []
    return details or "".join(map(_content, thoughts))


def _content(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "".join(part["text"] for part in content or [] if part["type"] == "text")


def _responses(exchange: Exchange) -> Reading:
    reading = Reading()
    for event in exchange.payloads:
        items = []
        match event.get("type"):
            case "response.output_text.delta" | "response.refusal.delta":
                reading.content += event["delta"]
            case "response.reasoning_text.delta":
                reading.native += event["delta"]
            case "response.output_item.done":
                items = [event["item"]]
            case None:
                items = event["output"]
                for part in (part for item in items for part in item.get("content") or []):
                    reading.content += part["text"] if part["type"] == "output_text" else ""
                    reading.native += part["text"] if part["type"] == "reasoning_text" else ""
        for item in items:
            if item["type"] == "function_call":
                reading.calls.append({"name": item["name"], "arguments": item["arguments"]})
            elif item["type"] == "reasoning":
                reading.items.append({"id": item["id"], "has_encrypted_content": bool(item.get("encrypted_content"))})
    return reading
