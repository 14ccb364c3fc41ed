"""What the server remembers of each request, and the prompt cache that it derives from it.

Order is a logical clock (a counter), so that two runs give equal records.
"""

from __future__ import annotations

import base64
import bisect
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.contract_server.script import text_of

CACHE_BLOCK = 128
CACHE_FLOOR = 1024


@dataclass(slots=True)
class Record:
    """One request to a model, from arrival to the end of its answer.

    ``verdict``: accepted, refused, fault (something else was answered instead) or exhausted (no reply left).
    ``keys`` are what the client named the conversation by, ``conversation`` falls back on the first user text.
    ``prefix``: bytes that the serialised part shares with the previous accepted request of the conversation.
    """

    serial: int
    path: str
    headers: Mapping[str, str]
    raw: bytes
    started: int
    body: Mapping[str, Any] | None = None
    model: str = ""
    mode: str = ""
    conversation: str = ""
    keys: tuple[str, ...] = ()
    verdict: str = ""
    rule: str | None = None
    status: int = 0
    ended: int | None = None
    reply: int | None = None
    overlaps: list[int] = field(default_factory=list)
    prefix: dict[str, int] = field(default_factory=dict)
    cached_tokens: int = 0
    input_tokens: int = 0
    events_sent: int = 0
    closed_early: bool = False
    faults: list[str] = field(default_factory=list)
    lost_reasoning: list[int] = field(default_factory=list)
    wasted_characters: int = 0
    notes: list[str] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        """Return everything as JSON values; ``raw`` as text and, exactly, in base64."""
        values = {name: getattr(self, name) for name in self.__slots__}
        exact = base64.b64encode(self.raw).decode()
        return {**values, "headers": dict(self.headers), "raw": self.raw.decode(errors="replace"), "raw_base64": exact}


class PromptCache:
    """The exact-prefix cache of the upstream: what the last accepted request of each conversation looked like."""

    def __init__(self) -> None:
        self._last: dict[str, dict[str, bytes]] = {}
        self._cached: dict[tuple[str, str], bytes] = {}

    def measure(self, record: Record) -> None:
        """Fill in the record's shared prefixes and cached tokens. Models share no cache."""
        if record.body is None:
            return
        now = _parts(record.body)
        before = self._last.get(record.conversation, {})
        record.prefix = {name: shared_prefix(data, before.get(name, b"")) for name, data in now.items()}
        record.input_tokens = tokens(now["messages"] or now["input"])
        whole = shared_prefix(b"".join(now.values()), self._cached.get((record.model, record.conversation), b""))
        cached = whole // 4 // CACHE_BLOCK * CACHE_BLOCK
        record.cached_tokens = cached if cached >= CACHE_FLOOR else 0

    def remember(self, record: Record) -> None:
        if record.body is None:
            return
        parts = _parts(record.body)
        self._last[record.conversation] = parts
        self._cached[record.model, record.conversation] = b"".join(parts.values())


def conversation_of(body: Mapping[str, Any], headers: Mapping[str, str]) -> str:
    """Return what tells conversations apart: the cache key, a header, else the first user text."""
    if keys := conversation_keys(body, headers):
        return keys[0]
    messages = turns_of(body)
    listed = messages if isinstance(messages, list) else []
    if isinstance(messages, str):
        return messages
    users = (one for one in listed if isinstance(one, Mapping) and one.get("role") == "user")
    return next((text_of(one.get("content")) for one in users), "")


def turns_of(body: Mapping[str, Any]) -> Any:
    """Return what the request says in turns, whichever API it is for."""
    return body.get("messages") or body.get("input")


def conversation_keys(body: Mapping[str, Any], headers: Mapping[str, str]) -> tuple[str, ...]:
    """Return the keys that the client gave: the cache key first, then the header's."""
    given = (body.get("prompt_cache_key"), headers.get("x-conversation"))
    return tuple(key for key in given if isinstance(key, str) and key)


def compact(value: Any) -> bytes:
    """Return a JSON value as the UTF-8 bytes that are counted and compared."""
    # Half a surrogate pair, which UTF-8 has no bytes for, stays the escape that it is in JSON.
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "backslashreplace")


def tokens(data: bytes) -> int:
    """Return the token count that goes with so many bytes: a quarter, rounded up."""
    return -(-len(data) // 4)


def shared_prefix(one: bytes, other: bytes) -> int:
    """Return the length of the longest common prefix."""
    sizes = range(1, min(len(one), len(other)) + 1)
    return bisect.bisect_left(sizes, True, key=lambda size: one[:size] != other[:size])


def _parts(body: Mapping[str, Any]) -> dict[str, bytes]:
    # In the order in which services lay them out in the prompt: a changed tool costs everything behind it.
    return {
        name: compact(body[name]) if name in body else b"" for name in ("tools", "instructions", "messages", "input")
    }
