"""What a service said when it failed, whatever the envelope.

Seen: ``{"error": {...}}``, ``{"error": "text"}``, ``{"message", "code"}``, ``{"detail": [...]}``, a list of these, a
service's answer wrapped as text in a gateway's, plain text, and web pages (whose text tells nobody anything).
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

_TEXT_KEYS = ("message", "msg", "error_message", "error_msg", "detail", "reason", "raw", "error")
_INNER_KEYS = ("error", "errors", "detail", "details", "metadata", "message", "raw", "response")
_CODE_KEYS = ("code", "type", "status", "param")
_MAX_DEPTH = 6
_STATUSES = frozenset(map(str, range(400, 600)))

_OVERFLOW = re.compile(
    r"context_?length_?exceeded|exceed_context_size|model_context_window_exceeded|string_above_max_length"
    r"|context size has been exceeded"
    r"|(?:maximum|max|available|model'?s?|allowed) (?:model )?(?:context|prompt) (?:length|size|window)"
    r"|exceeds? (?:the |your |its )?(?:\w+ )?context|context (?:window|length|size)\W+(?:\w+ ){0,3}(?:exceed|limit)"
    r"|(?:longer|greater|larger) than the (?:model'?s? )?(?:maximum )?(?:context|model length)"
    r"|context length of only|context (?:the )?overflow"
    r"|(?:prompt|input|request|message)s?(?: \w+){0,2} (?:is|are) too (?:long|large)(?: for|:|;|\.|,|$| \()"
    r"|prompt too long|too large for model|exceeded model token limit"
    r"|reduce the length of (?:the|your) (?:input |messages|prompt)"
    r"|inputs?\W+tokens\W+max_(?:new_)?tokens\W+must be|inputs?\W+must have less than"
    r"|(?:input|prompt) token(?: count|s)?\b.{0,40}exceed|range of input length should be|too many (?:input )?tokens"
    r"|token limit exceeded|prompt exceeds",
    re.IGNORECASE,
)
_RATE = re.compile(
    r"per[ -](?:minute|min|day|hour|second)|\b[tr]p[md]\b|rate.?limit|too many requests|throttl", re.IGNORECASE
)
_QUOTA = re.compile(
    r"insufficient_quota|exceeded your current quota|insufficient (?:balance|credit|funds)|billing", re.IGNORECASE
)
_BAD_KEY = re.compile(
    r"invalid_api_key|(?:incorrect|invalid|missing|expired|no) api[ _-]?key"
    r"|api[ _-]?key (?:is )?(?:not valid|invalid|incorrect|expired)",
    re.IGNORECASE,
)
_UNKNOWN_MODEL = re.compile(
    r"model_not_found|(?:unknown|no such|invalid) model"
    r"|model\W.{0,120}(?:not (?:found|exist|available|supported)|does not exist|unknown)",
    re.IGNORECASE | re.DOTALL,
)
_BARE = re.compile(
    r"(?:40[45]\W*)?(?:page |file |method |the requested url )?(?:was )?not (?:found|allowed)\W*$"
    r"|invalid url \(|cannot post ",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Words:
    """``message`` is the first text meant for people, ``everything`` all of it with the codes, for classification."""

    message: str = ""
    everything: str = ""
    codes: str = ""
    status: int = 0  # an HTTP status that the error names itself

    @property
    def is_bare(self) -> bool:
        """Nothing is said beyond what the status says."""
        return not self.message or bool(_BARE.match(self.message))

    @property
    def is_overflow(self) -> bool:
        return bool(_OVERFLOW.search(self.everything)) and not self.is_rate_limit

    @property
    def is_rate_limit(self) -> bool:
        return bool(_RATE.search(self.everything))

    @property
    def is_quota(self) -> bool:
        return bool(_QUOTA.search(self.everything))

    @property
    def is_bad_key(self) -> bool:
        return bool(_BAD_KEY.search(self.everything))

    @property
    def is_unknown_model(self) -> bool:
        return bool(_UNKNOWN_MODEL.search(self.everything))


def read_words(body: bytes) -> Words:
    """Read an answer's body: JSON in any envelope, or plain text. A web page says nothing."""
    text = body[:200_000].decode("utf-8", "replace").strip()
    try:
        return read_object(json.loads(text))
    except (ValueError, RecursionError):
        return Words() if text.startswith("<") else Words(message=text, everything=text)


def read_object(value: Any) -> Words:
    """Read an error object that is already decoded."""
    texts: list[str] = []
    codes: list[str] = []
    _collect(value, texts, codes, 0)
    joined = " ".join(codes).lower()
    status = next((int(code) for code in codes if code in _STATUSES), 0)
    # A router's own sentence says nothing; what its upstream said comes after it.
    texts.sort(key=lambda text: "provider returned error" in text.lower())
    return Words(texts[0] if texts else "", " ".join([*texts, joined]), joined, status)


def _collect(value: Any, texts: list[str], codes: list[str], depth: int) -> None:
    if depth > _MAX_DEPTH:
        return
    match value:
        case str():
            _collect_text(value, texts, codes, depth)
        case list():
            for item in value[:20]:
                _collect(item, texts, codes, depth + 1)
        case dict():
            _collect_object(value, texts, codes, depth)


def _collect_text(value: str, texts: list[str], codes: list[str], depth: int) -> None:
    """Take a text, or what is inside it where a gateway put another's JSON there."""
    if value.lstrip().startswith(("{", "[")):
        try:
            return _collect(json.loads(value), texts, codes, depth + 1)
        except (ValueError, RecursionError):
            pass
    if value.strip():
        texts.append(value.strip())
    return None


def _collect_object(value: dict[str, Any], texts: list[str], codes: list[str], depth: int) -> None:
    codes += [str(value[key]) for key in _CODE_KEYS if isinstance(value.get(key), str | int)]
    codes += [str(part) for part in value.get("loc") or () if isinstance(part, str)]
    for key in dict.fromkeys((*_TEXT_KEYS, *_INNER_KEYS)):
        inner = value.get(key)
        if isinstance(inner, dict | list) or (isinstance(inner, str) and key in _TEXT_KEYS):
            _collect(inner, texts, codes, depth + 1)
