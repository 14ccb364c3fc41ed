"""How large the next request is, in tokens: what was reported, plus an estimate of what was added since.

The body that would be sent is counted, so that the figure cannot drift from the request (spec 001 BR-004). A reported
size holds only while the request begins with what was reported; a changed setting, model, branch or compaction changes
that beginning, and the estimate stands alone again. Replay page, section 4.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from reasoning.events import AssistantMessage, Event, Reasoning, ToolCall, ToolResult, UserMessage
from reasoning.tokens import estimate_tokens

RESERVE = 1024  # tokens that an answer needs at the very least
_WIDE = re.compile(r"[\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uffef\U00020000-\U0003ffff]")
SEALED_KEYS = frozenset({"encrypted_content", "data", "signature", "thought_signature"})


@dataclass(frozen=True, slots=True)
class UsageAnchor:
    """A request's size as its service reported it: input tokens, how many entries it had, and their digest."""

    tokens: int
    entries: int
    digest: str

    def holds_for(self, entries: Sequence[Any]) -> bool:
        """Say whether a request begins with what was reported."""
        return 0 < self.entries <= len(entries) and self.digest == _digest(entries[: self.entries])

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, form: Any) -> UsageAnchor | None:
        """Read a stored anchor; None for anything that is none."""
        try:
            return cls(int(form["tokens"]), int(form["entries"]), str(form["digest"]))
        except (TypeError, KeyError, ValueError):
            return None


def anchor_for(entries: Sequence[Any], tokens: int) -> UsageAnchor:
    """Return the anchor of a request with these entries, for which ``tokens`` of input were reported."""
    return UsageAnchor(tokens, len(entries), _digest(entries))


def request_tokens(entries: Sequence[Any], anchor: UsageAnchor | int | None, overhead_tokens: int) -> int:
    """Return the size of a request: ``entries``, and ``overhead_tokens`` for instructions and tools.

    A plain number as anchor is a lower bound.
    """
    if isinstance(anchor, UsageAnchor) and anchor.holds_for(entries):
        return anchor.tokens + entry_tokens(entries[anchor.entries :])
    estimate = entry_tokens(entries) + (overhead_tokens if entries else 0)
    return max(estimate, anchor) if isinstance(anchor, int) else estimate


def entry_tokens(entries: Sequence[Any]) -> int:
    """Estimate messages or input items, generously; ciphertext by what it stands for, not by its length."""
    sealed: list[int] = []
    if not entries:
        return 0
    text = json.dumps([_opened(entry, sealed) for entry in entries], ensure_ascii=False)
    return text_tokens(text) + sum(sealed)


def text_tokens(text: str) -> int:
    """Estimate a text: four characters to a token, but each wide character (Chinese, Japanese, Korean) is one."""
    wide = len(text) - len(_WIDE.sub("", text))
    return estimate_tokens(text) + -(-3 * wide // 4)


def event_tokens(event: Event) -> int:
    """Estimate what an event would cost if it were sent."""
    match event:
        case Reasoning(kind="text") | UserMessage() | AssistantMessage():
            return text_tokens(event.text)
        case Reasoning():
            return entry_tokens([event.item or event.details]) if event.item or event.details else 0
        case ToolCall():
            return text_tokens(event.arguments)
        case ToolResult():
            return text_tokens(event.output)
    return 0


def _opened(value: Any, sealed: list[int]) -> Any:
    """Return ``value`` without its ciphertexts, whose tokens are added to ``sealed``."""
    if isinstance(value, Mapping):
        return {key: _weighed(key, inner, sealed) for key, inner in value.items()}
    if isinstance(value, list):
        return [_opened(inner, sealed) for inner in value]
    return value


def _weighed(key: str, value: Any, sealed: list[int]) -> Any:
    if key in SEALED_KEYS and isinstance(value, str):
        sealed.append(max(0, -(-(3 * len(value) // 4 - 650) // 4)))
        return ""
    return _opened(value, sealed)


def _digest(entries: Sequence[Any]) -> str:
    text = json.dumps(entries, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
