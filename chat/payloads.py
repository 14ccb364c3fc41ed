"""Payloads of older schemas, read as today's.

Rows are never rewritten: an event says the schema that it was written under, and is brought up to date each time it is
read. A change of what a payload holds adds a number, and the one step that leads there from the number before.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

Payload = Mapping[str, Any]
SCHEMA = 2


def up_to_date(kind: str, schema: int, payload: Payload) -> dict[str, Any]:
    """Return the payload of an event of ``kind`` as today's code reads it. One of a later schema is left as it is."""
    current = dict(payload)
    for number in range(schema, SCHEMA):
        current = _STEPS[number](kind, current)
    return current


def _name_the_field(kind: str, payload: dict[str, Any]) -> dict[str, Any]:
    """Schema 1 left the field of thinking empty where it was not native: it came in tags, or from a checkpoint."""
    if kind == "reasoning" and payload.get("kind") == "text" and not payload.get("source_field"):
        return {**payload, "source_field": "think_tags"}
    return payload


_STEPS: Mapping[int, Callable[[str, dict[str, Any]], dict[str, Any]]] = {1: _name_the_field}
