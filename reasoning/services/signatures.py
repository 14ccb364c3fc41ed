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
SEALS = ("signature", "data")  # what ends a block: a signature, or its ciphertext
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
    """Say whether a field has the name and the type of a signature."""
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


class SignatureJoiner:
    """Put the pieces of signatures together, each at a cost that doesn't grow with what came before.

    Readable text is joined, of anything else the last value counts. A piece of a block continues the block of its
    index. Without an index it continues the last block, if that has the same type and no seal, which ends a block.
    """

    def __init__(self) -> None:
        self._whole: Any = None

    def add(self, piece: Mapping[str, Any] | list[Any]) -> None:
        """Add a piece: fields by their names, or blocks."""
        self._whole = _joined(self._whole, piece)

    @property
    def whole(self) -> Any:
        """What the pieces are together; None where none came."""
        return _plain(self._whole)


class _Text:
    """Readable text in pieces."""

    def __init__(self, text: str) -> None:
        self.pieces = [text]
        self.chars = len(text)

    def add(self, text: str, *, is_sealed: bool) -> None:
        # A service may send a block in pieces, and all of it again with its seal.
        if not (is_sealed and len(text) == self.chars and text == "".join(self.pieces)):
            self.pieces.append(text)
            self.chars += len(text)


def _joined(old: Any, new: Any, *, name: str = "", depth: int = 0, is_sealed: bool = False) -> Any:
    """Return a piece joined to what came before, which is changed."""
    if depth > _MAX_DEPTH or (new in _NOTHING and old is not None):
        return old
    if isinstance(new, Mapping):
        fields = old if isinstance(old, dict) else {}
        is_sealed = any(new.get(seal) for seal in SEALS)
        for key, value in new.items():
            fields[key] = _joined(fields.get(key), value, name=str(key), depth=depth + 1, is_sealed=is_sealed)
        return fields
    if isinstance(new, list):
        blocks = old if isinstance(old, list) else []
        for position, piece in enumerate(new):
            _join_block(blocks, piece, begins_list=not position, depth=depth)
        return blocks
    if isinstance(new, str) and name in _TEXT_NAMES:
        if not isinstance(old, _Text):
            return _Text(new)
        old.add(new, is_sealed=is_sealed)
        return old
    return new


def _join_block(blocks: list[Any], piece: Any, *, begins_list: bool, depth: int) -> None:
    at = None
    if isinstance(piece, Mapping) and piece.get("index") is not None:
        place = (piece["index"], piece.get("type"))
        at = next((at for at in range(len(blocks) - 1, -1, -1) if _place(blocks[at]) == place), None)
    elif isinstance(piece, Mapping) and begins_list and blocks and isinstance(blocks[-1], dict):
        last = blocks[-1]
        is_same_type = piece.get("type", last.get("type")) == last.get("type")
        at = len(blocks) - 1 if is_same_type and not any(last.get(seal) for seal in SEALS) else None
    if at is not None:
        blocks[at] = _joined(blocks[at], piece, depth=depth + 1)
    elif not any(_repeats(piece, block) for block in blocks):
        blocks.append(_joined(None, piece, depth=depth + 1))


def _place(block: Any) -> tuple[Any, Any] | None:
    return (block.get("index"), block.get("type")) if isinstance(block, dict) else None


def _repeats(piece: Any, block: Any) -> bool:
    """Say whether a piece is a whole block once more, as it may come at the end."""
    if isinstance(piece, Mapping) and isinstance(block, dict):
        return all(piece.get(seal) == block.get(seal) for seal in SEALS) and piece == _plain(block)
    return bool(piece == block)


def _plain(value: Any) -> Any:
    match value:
        case _Text():
            return "".join(value.pieces)
        case dict():
            return {key: _plain(each) for key, each in value.items()}
        case list():
            return [_plain(each) for each in value]
    return value
