"""Read the text fields of one chat-completions delta, whatever shape a server gives them. Normaliser 8.

A field that is no text counts as absent; nothing here raises.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

NATIVE_FIELDS = ("reasoning_content", "reasoning", "thinking")


def answer_text(content: object) -> str:
    """Return the text of ``content``: a string, or a list of parts of which the text parts count."""
    if isinstance(content, str):
        return content
    return "".join(_string(part, "text") for part in _mappings(content) if part.get("type", "text") == "text")


def native_text(delta: Mapping[str, Any]) -> tuple[str, str]:
    """Return native reasoning text and the field it came from; twice empty where there is none.

    The first field that holds text counts, for servers mirror one text into several. Spec 003 precedence.
    """
    for name in NATIVE_FIELDS:
        value = delta.get(name)
        if isinstance(value, str) and value:
            return value, name
    details = "".join(_detail_text(element) for element in _mappings(delta.get("reasoning_details")))
    if details:
        return details, "reasoning_details"
    parts = "".join(_thinking_part(part) for part in _mappings(delta.get("content")))
    return (parts, "thinking") if parts else ("", "")


def _detail_text(element: Mapping[str, Any]) -> str:
    return _string(element, "text") or _string(element, "summary")


def _thinking_part(part: Mapping[str, Any]) -> str:
    if part.get("type") != "thinking":
        return ""
    inner = part.get("thinking")
    return inner if isinstance(inner, str) else answer_text(inner)


def _mappings(value: object) -> Iterator[Mapping[str, Any]]:
    if isinstance(value, list | tuple):
        yield from (element for element in value if isinstance(element, Mapping))


def _string(mapping: Mapping[str, Any], key: str) -> str:
    value = mapping.get(key)
    return value if isinstance(value, str) else ""
