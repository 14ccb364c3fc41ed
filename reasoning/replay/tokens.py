"""Estimate tokens: of texts, of events, and of the next request.

A request's size is what its service reported, plus an estimate of what was added since. The body that would be sent is
counted, so that the figure cannot drift from the request (spec 001 BR-004). A reported size counts only while the
request begins with what was reported: a changed setting, model, branch or compaction changes that beginning.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from reasoning.events import AssistantMessage, AttachedFile, Event, Reasoning, ToolCall, ToolResult, UserMessage
from reasoning.replay.attachments import IMAGE_TOKENS, without_images

CHARS_PER_TOKEN = 4
RESERVE = 1024  # tokens that an answer needs at the very least
_WIDE = re.compile(r"[\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uffef\U00020000-\U0003ffff]")
ENCRYPTED_KEYS = frozenset(
    {
        "encrypted_content",
        "data",
        "signature",
        "thought_signature",
        "thoughtSignature",
        "thinking_signature",
        "reasoning_opaque",
    }
)


@dataclass(frozen=True, slots=True)
class UsageAnchor:
    """A request's size as its service reported it: input tokens, how many entries it had, and their digest."""

    tokens: int
    entries: int
    digest: str

    def is_prefix_of(self, entries: Sequence[Any]) -> bool:
        """Return True if the request starts with the entries whose token count the service reported."""
        return 0 < self.entries <= len(entries) and self.digest == digest_of(entries[: self.entries])

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
    return UsageAnchor(tokens, len(entries), digest_of(entries))


def request_tokens(entries: Sequence[Any], anchor: UsageAnchor | int | None, overhead_tokens: int) -> int:
    """Return the size of a request: ``entries``, and ``overhead_tokens`` for instructions and tools.

    A plain number as anchor is a lower bound.
    """
    if isinstance(anchor, UsageAnchor) and anchor.is_prefix_of(entries):
        return anchor.tokens + entry_tokens(entries[anchor.entries :])
    estimate = entry_tokens(entries) + (overhead_tokens if entries else 0)
    return max(estimate, anchor) if isinstance(anchor, int) else estimate


def entry_tokens(entries: Sequence[Any]) -> int:
    """Estimate messages or input items, generously; ciphertext by what it encrypts, not by its length; images flat."""
    if not entries:
        return 0
    # Ciphertext is base64 with a header of about 650 bytes.
    ciphertexts: list[str] = []
    bare, images = without_images(entries)
    text = json.dumps([without_ciphertext(entry, ciphertexts) for entry in bare], ensure_ascii=False)
    return (
        text_tokens(text)
        + IMAGE_TOKENS * images
        + sum(max(0, -(-(3 * len(sealed) // 4 - 650) // 4)) for sealed in ciphertexts)
    )


def estimate_tokens(text: str) -> int:
    """Estimate without a tokeniser: four UTF-16 units to a token, rounded up. Never fails. Spec 000 rule 5, product 19.

    The formula is JavaScript's, where an emoji counts two.
    """
    units = len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2
    return -(-units // CHARS_PER_TOKEN)


def text_tokens(text: str) -> int:
    """Estimate a text as ``estimate_tokens`` does, but each wide character (Chinese, Japanese, Korean) as one token."""
    narrow = text if text.isascii() else _WIDE.sub("", text)
    return estimate_tokens(narrow) + len(text) - len(narrow)


def event_tokens(event: Event) -> int:
    """Estimate what an event would cost if it were sent."""
    match event:
        case UserMessage():
            return question_tokens(event.text, event.attachments)
        case Reasoning(kind="text") | AssistantMessage():
            return text_tokens(event.text)
        case Reasoning():
            return entry_tokens([event.item or event.details]) if event.item or event.details else 0
        case ToolCall():
            return text_tokens(event.arguments)
        case ToolResult():
            return text_tokens(event.output)
    return 0


def question_tokens(text: str, files: Sequence[AttachedFile]) -> int:
    """Estimate a question with its attachments; ``chars`` counts where their text isn't loaded."""
    costs = (IMAGE_TOKENS if file.is_image else max(text_tokens(file.text), file.chars // 4) for file in files)
    return text_tokens(text) + sum(costs)


def without_ciphertext(value: Any, found: list[str], key: str = "") -> Any:
    """Return ``value`` without its ciphertexts, which are added to ``found``."""
    if key in ENCRYPTED_KEYS and isinstance(value, str):
        found.append(value)
        return ""
    if isinstance(value, Mapping):
        return {name: without_ciphertext(inner, found, name) for name, inner in value.items()}
    if isinstance(value, list):
        return [without_ciphertext(inner, found) for inner in value]
    return value


def digest_of(entries: Sequence[Any]) -> str:
    text = json.dumps(without_images(entries)[0], ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
