"""What a service puts on a message or a call beside its text, and wants back as it came. Product 38.

Gateways to Gemini, Claude and Copilot carry a model's signatures in fields of their own. They are opaque: recognised by
name, put together where they come in pieces, and never read.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple


class SignatureField(NamedTuple):
    """A kind of field: what its name contains, its type, and an example."""

    name: str
    type: type
    example: Mapping[str, Any]


FIELDS = (
    SignatureField("signature", str, {"thought_signature": "c2ln"}),
    SignatureField("signature", str, {"thoughtSignature": "c2ln"}),  # Gemini
    SignatureField("signature", str, {"thinking_signature": "c2ln"}),
    SignatureField("signatures", list, {"thought_signatures": ["c2ln"]}),
    SignatureField("opaque", str, {"reasoning_opaque": "c2ln"}),  # Copilot
    SignatureField("encrypted", str, {"encrypted_content": "c2ln"}),
    SignatureField("redacted", str, {"redacted_thinking": "c2ln"}),
    SignatureField("extracontent", dict, {"extra_content": {"google": {"thought_signature": "c2ln"}}}),
    SignatureField("providerspecific", dict, {"provider_specific_fields": {"thought_signature": "c2ln"}}),  # LiteLLM
    SignatureField("providermetadata", dict, {"provider_metadata": {"google": {"thoughtSignature": "c2ln"}}}),
    SignatureField("provideroptions", dict, {"provider_options": {"google": {"thoughtSignature": "c2ln"}}}),
    SignatureField("thinking", dict, {"thinking": {"content": "Hm.", "signature": "c2ln"}}),
    SignatureField("reasoning", dict, {"reasoning": {"text": "Hm.", "encrypted": "c2ln"}}),
    SignatureField("signature", str, {"metadata": {"thought_signature": "c2ln"}}),  # in an object of any name
    SignatureField("thinkingblocks", list, {"thinking_blocks": [{"thinking": "Hm.", "signature": "c2ln"}]}),  # LiteLLM
)
# Fields that have a place of their own, and a model's own arguments.
_PLAIN_NAMES = frozenset({"reasoningdetails", "toolcalls", "content", "function", "arguments", "parameters", "input"})
_THOUGHT_PARTS = frozenset({"thinking", "redacted_thinking", "reasoning", "thought"})
_TEXT_NAMES = frozenset({"thinking", "text", "content", "reasoning", "reasoning_content", "summary"})
_NO_LETTER = re.compile(r"[^a-z]+")
_MAX_DEPTH = 8
_NOTHING: tuple[Any, ...] = (None, "", [], {})


def signatures_in(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return those fields of a message or a call that are signatures, or pieces of one."""
    return {name: value for name, value in fields.items() if isinstance(name, str) and is_signature(name, value)}


def signatures_of_call(call: Mapping[str, Any]) -> dict[str, Any]:
    """Return the signatures of a call, with those of its function under ``function``."""
    function = call.get("function")
    inner = signatures_in(function) if isinstance(function, Mapping) else {}
    return {**signatures_in(call), **({"function": inner} if inner else {})}


def is_thought(part: object) -> bool:
    """Say whether a part of a message's content is a thought: a service may sign it there."""
    return isinstance(part, dict) and part.get("type") in _THOUGHT_PARTS


def is_signature(name: str, value: object, depth: int = 0) -> bool:
    """Say whether a field is sent back as it came."""
    if value in _NOTHING or not isinstance(value, str | dict | list):
        return False
    plain = _NO_LETTER.sub("", name.lower())
    if plain in _PLAIN_NAMES or depth > _MAX_DEPTH:
        return False
    if any(row.name in plain and isinstance(value, row.type) for row in FIELDS):
        return True
    # An object of any name that holds one.
    inner = value.items() if isinstance(value, dict) else ()
    return any(is_signature(str(key), each, depth + 1) for key, each in inner)


def is_opaque(name: str, value: object, depth: int = 0) -> bool:
    """Say whether a field holds anything but readable thinking, which is recorded as such."""
    if value in _NOTHING or depth > _MAX_DEPTH:
        return False
    if isinstance(value, Mapping):
        return any(is_opaque(str(inner), each, depth + 1) for inner, each in value.items())
    if isinstance(value, list | tuple):
        return any(is_opaque(name, each, depth + 1) for each in value)
    return isinstance(value, str) and name not in _TEXT_NAMES and name not in ("type", "id", "format")


def merge_signatures(old: Any, new: Any, *, name: str = "", depth: int = 0) -> Any:
    """Return two pieces of a signature as one: readable text is joined, of anything else the last value counts."""
    if new in _NOTHING or depth > _MAX_DEPTH:
        return old
    match old, new:
        case dict(), dict():
            keys = [*old, *(key for key in new if key not in old)]
            return {key: merge_signatures(old.get(key), new.get(key), name=str(key), depth=depth + 1) for key in keys}
        case list(), list():
            return merge_blocks(old, new, depth=depth + 1)
        case str(), str() if name in _TEXT_NAMES and old != new:
            return old + new
    return new


def merge_blocks(old: list[Any], new: list[Any], *, depth: int = 0) -> list[Any]:
    """Return two lists of blocks as one. A piece continues the block of its index.

    Without an index it continues the last block, if that has the same type and no signature, which ends a block.
    """
    blocks = list(old)
    for position, piece in enumerate(new):
        at = None
        if isinstance(piece, dict) and piece.get("index") is not None:
            keys = [(block.get("index"), block.get("type")) if isinstance(block, dict) else None for block in blocks]
            key = (piece["index"], piece.get("type"))
            at = keys.index(key) if key in keys else None
        elif isinstance(piece, dict) and not position and blocks and isinstance(blocks[-1], dict):
            last = blocks[-1]
            same_type = piece.get("type", last.get("type")) == last.get("type")
            at = len(blocks) - 1 if same_type and not (last.get("signature") or last.get("data")) else None
        if at is not None:
            blocks[at] = merge_signatures(blocks[at], piece, depth=depth)
        elif piece not in blocks:  # a whole block that is repeated at the end
            blocks.append(piece)
    return blocks
