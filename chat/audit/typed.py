"""What a person typed may come back in the title, in the steps and in a summary made of steps: that is no leak."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from chat.audit.findings import Kind, Leaf
from chat.models import Event
from reasoning.events import UserMessage
from reasoning.tagscan import Tag, TagScanner

_ECHOES = frozenset({"trace", "summary"})


def is_echo(table: str, row: Mapping[str, Any], leaf: Leaf, kind: Kind) -> bool:
    """Say whether the delimiters of a text are ones that the person typed in the same conversation."""
    if kind not in (Kind.DELIMITER, Kind.SCRATCHPAD) or leaf.key.lower() == "scratchpad":
        return False
    if table == "chat_conversation":
        return _tags(leaf.text) <= _tags_typed_in(row["id"])
    is_account = table == "chat_event" and leaf.top in _ECHOES
    return is_account and _tags(leaf.text) <= _tags_typed_in(row["conversation_id"])


def _tags_typed_in(conversation: Any) -> set[str]:
    typed = Event.objects.filter(conversation=conversation, type=UserMessage.type).values_list("public", flat=True)
    return {tag for public in typed.iterator() for tag in _tags(str(public.get("text", "")))}


def _tags(text: str) -> set[str]:
    return {token.raw for token in TagScanner().feed(text) if isinstance(token, Tag)}
