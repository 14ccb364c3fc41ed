"""Redacts values of any shape into JSON values: one walk, new objects, the input never changed.

What is outside the bounds (depth, number of values, length of strings, bytes of output) is replaced, never passed
through; a cycle, an unknown object, bytes and numbers that JSON doesn't know become notes. Names decide first, then
shape, then text. Spec 004 redaction.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence, Set
from datetime import date, time
from decimal import Decimal
from enum import Enum
from pathlib import PurePath
from typing import Any
from uuid import UUID

from reasoning.redaction.keys import KeyKind, classify
from reasoning.redaction.policy import CYCLE, TOO_DEEP, TRUNCATED, VECTOR, RedactionPolicy
from reasoning.redaction.truncation import json_bytes, truncate
from reasoning.redaction.values import changes, is_inert, is_mixed

Json = Any
_NAME_KEYS = ("name", "key", "header", "field", "param", "parameter")
_VALUE_KEYS = ("value", "val", "content", "data")
_SHORTEST_VECTOR = 15  # commas of a list of numbers in a text
_NUMBERS = re.compile(
    rf"\[?\s{{0,4}}(?:[+-]?\d[\d.eE+\-]{{0,30}}\s{{0,4}},\s{{0,4}}){{{_SHORTEST_VECTOR},}}+[+-]?[\d.]?[\d.eE+\-]{{0,30}}\s{{0,4}}\]?"
)
_BASE64 = re.compile(r"(?<![A-Za-z0-9+/])(?:data:[\w./+\-;]{1,64},)?[A-Za-z0-9+/\-_]{256,}+={0,2}")
_NOTE = re.compile(r"\[(?:text, \d+ characters?|list, \d+ items?|object, \d+ keys?|number|boolean|nothing|redacted)\]")
_LONG_INTEGER_BITS = 256
_MARK_BYTES = 24


class Walk:
    """One walk over one value. ``text`` redacts a string and reports to ``counts``."""

    def __init__(self, policy: RedactionPolicy, text: Callable[[str], str], counts: Counter[str]) -> None:
        self._policy = policy
        self._text = text
        self._counts = counts
        self._nodes = policy.max_nodes
        self._bytes = policy.value_bytes
        self._open: set[int] = set()

    def value(self, value: object, *, depth: int = 0, kind: KeyKind = KeyKind.NONE) -> Json:
        """Return the JSON value to show, under a key of ``kind``."""
        self._nodes -= 1
        if kind is not KeyKind.NONE and (masked := self._by_key(value, kind)) is not None:
            return self._spend(masked)
        if not isinstance(value, (str, int)) and isinstance(value, (Mapping, list, tuple, Set)):
            return self._container(value, depth, kind)
        return self._spend(self._leaf(value))

    def _spend(self, shown: Json) -> Json:
        self._bytes -= json_bytes(shown) + 2
        return shown

    def _is_spent(self) -> bool:
        return self._nodes <= 0 or self._bytes <= _MARK_BYTES

    def _by_key(self, value: object, kind: KeyKind) -> Json:
        """Return the mask that the key's name asks for, None where the value is to be looked at."""
        if value is None or isinstance(value, bool) or value in ("", [], {}, ()):
            return None
        policy = self._policy
        match kind:
            case KeyKind.SECRET:
                return self._mask("secret")
            case KeyKind.WEAK if isinstance(value, str) and _looks_secret(value):
                return self._mask("secret")
            case KeyKind.PII if policy.personal:
                return self._mask("pii")
            case KeyKind.EMAIL if policy.personal and not (isinstance(value, str) and "@" in value):
                return None if isinstance(value, (Mapping, list, tuple)) else self._mask("email")
            case KeyKind.VECTOR if isinstance(value, str) and len(value) > 64:
                return VECTOR
        return None

    def _mask(self, kind: str) -> str:
        self._counts[kind] += 1
        return self._policy.placeholder

    def _container(self, value: Any, depth: int, kind: KeyKind) -> Json:
        if id(value) in self._open:
            return self._spend(CYCLE)
        if depth >= self._policy.max_depth:
            return self._spend(TOO_DEEP)
        self._open.add(id(value))
        try:
            return self._object(value, depth) if isinstance(value, Mapping) else self._array(value, depth, kind)
        finally:
            self._open.discard(id(value))

    def _object(self, value: Mapping[Any, Any], depth: int) -> Json:
        shown: dict[str, Json] = {}
        sibling = self._sibling_kind(value)
        for key, item in value.items():
            if self._is_spent():
                shown[TRUNCATED] = True
                self._counts["truncated"] += 1
                break
            name = _key_text(key)
            kind = sibling if sibling is not KeyKind.NONE and name.lower() in _VALUE_KEYS else self._kind(name)
            shown[self._unused(self._key(name), shown)] = self.value(item, depth=depth + 1, kind=kind)
        return shown

    def _key(self, name: str) -> str:
        shown = truncate(self._text(name[: self._policy.window]), self._policy.text_limit, self._text)
        self._spend(shown)
        return shown

    @staticmethod
    def _unused(key: str, taken: Mapping[str, Json]) -> str:
        number, free = 2, key
        while free in taken:
            free, number = f"{key} ({number})", number + 1
        return free

    def _kind(self, name: str) -> KeyKind:
        return classify(name, self._policy.extra_keys, self._policy.never_keys)

    def _sibling_kind(self, value: Mapping[Any, Any]) -> KeyKind:
        """Return the kind of a ``{"name": …, "value": …}`` object's value, by the name that it holds."""
        if len(value) > 16:
            return KeyKind.NONE
        lower = {_key_text(key).lower(): item for key, item in value.items()}
        names = [lower[key] for key in _NAME_KEYS if isinstance(lower.get(key), (str, bytes))]
        return self._kind(_key_text(names[0])) if names and not lower.keys().isdisjoint(_VALUE_KEYS) else KeyKind.NONE

    def _array(self, value: Any, depth: int, kind: KeyKind) -> Json:
        items = value if isinstance(value, Sequence) else sorted(value, key=_sort_text)
        if self._is_vector(items, kind):
            self._counts["vector"] += 1
            return self._spend({"count": len(items)})
        inner = KeyKind.NONE if kind is KeyKind.VECTOR else kind
        pairs = _are_pairs(items)
        shown: list[Json] = []
        for item in items:
            if self._is_spent():
                shown.append(TRUNCATED)
                self._counts["truncated"] += 1
                break
            shown.append(self._pair(item, depth + 1) if pairs else self.value(item, depth=depth + 1, kind=inner))
        return shown

    def _pair(self, pair: Sequence[Any], depth: int) -> Json:
        """Redact ``[name, value]`` as a header list has it."""
        self._nodes -= 1
        name = _key_text(pair[0])
        return [self._key(name), self.value(pair[1], depth=depth + 1, kind=self._kind(name))]

    def _is_vector(self, items: Sequence[Any], kind: KeyKind) -> bool:
        if len(items) < (2 if kind is KeyKind.VECTOR else self._policy.vector_min):
            return False
        if not all(isinstance(item, (int, float)) and not isinstance(item, bool) for item in items):
            return False
        floats = sum(isinstance(item, float) for item in items)
        return kind is KeyKind.VECTOR or floats * 2 >= len(items) or len(items) >= 4 * self._policy.vector_min

    def _leaf(self, value: object) -> Json:
        match value:
            case None | bool():
                return value
            case Enum():
                return self._leaf(value.value)
            case str():
                return self._string(str.__str__(value))
            case int():
                return self._integer(int(value))
            case float():
                return float(value) if math.isfinite(value) else str(float(value))
            case bytes() | bytearray() | memoryview():
                return f"[{len(value)} bytes]"
            case date() | time() | Decimal() | UUID() | PurePath():
                return self._string(str(value))
        return f"[{type(value).__name__[:64]}]"

    def _integer(self, value: int) -> Json:
        if value.bit_length() > _LONG_INTEGER_BITS:
            return f"[integer, {value.bit_length()} bits]"
        digits = str(value)
        return value if len(digits) < 13 or self._text(digits) == digits else self._mask("card")

    def _string(self, text: str) -> str:
        policy = self._policy
        window = text[: policy.window]
        shown = self._text(self._shaped(self._nested(window) if len(text) <= policy.window else window))
        short = truncate(shown, policy.text_limit, self._text)
        if len(text) > policy.window and not short.endswith(TRUNCATED):
            short += TRUNCATED
        if short is not shown:
            self._counts["truncated"] += 1
        return short

    def _shaped(self, text: str) -> str:
        if len(text) < 48:
            return text
        if text.count(",") >= _SHORTEST_VECTOR:
            text = _NUMBERS.sub(VECTOR, text)
        return _BASE64.sub(_base64_note, text)

    def _nested(self, text: str) -> str:
        """Redact JSON that a string holds by its keys, too. Text that doesn't parse is text."""
        if text[:1] not in ("{", "[", '"') or text.startswith("[redacted"):
            return text
        try:
            parsed = json.loads(text)
        except (ValueError, RecursionError):
            return text
        if not isinstance(parsed, (dict, list, str)) or (isinstance(parsed, str) and parsed[:1] not in ("{", "[", '"')):
            return text
        inner = Walk(self._policy, self._text, self._counts)
        shown = inner.value(parsed, depth=1)
        return text if shown == parsed else json.dumps(shown, ensure_ascii=False)


def _base64_note(found: re.Match[str]) -> str:
    """Name a long run by its size if it is an encoding, with small letters, capitals and digits; else leave it."""
    run = found.group()
    start = run[-256:]
    dense = not (start.islower() or start.isupper()) and any(char.isdigit() for char in start) and changes(start) > 0.3
    return f"[base64 {len(run)} chars]" if dense else run


def note(value: object) -> str:
    """Describe an argument that isn't to be shown: what it is and how much of it there is."""
    match value:
        case str() if _NOTE.fullmatch(value):
            return value
        case str():
            return f"[text, {_plural(len(value), 'character')}]"
        case None:
            return "[nothing]"
        case bool():
            return "[boolean]"
        case int() | float():
            return "[number]"
        case Mapping():
            return f"[object, {_plural(len(value), 'key')}]"
        case list() | tuple() | Set():
            return f"[list, {_plural(len(value), 'item')}]"
    return f"[{type(value).__name__[:64]}]"


def _plural(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def _looks_secret(value: str) -> bool:
    return not is_inert(value) and " " not in value and len(value) >= 8 and is_mixed(value)


def _key_text(key: object) -> str:
    match key:
        case str():
            return str.__str__(key)
        case bytes():
            return key[:256].decode("latin-1")
        case None | bool():
            return str(key).lower().replace("none", "null")
        case int() if key.bit_length() <= _LONG_INTEGER_BITS:
            return str(int(key))
        case float():
            return str(float(key))
    return f"[{type(key).__name__[:64]}]"


def _sort_text(item: object) -> tuple[str, str]:
    plain = isinstance(item, (str, int, float)) and not isinstance(item, Enum)
    return type(item).__name__, str(item)[:64] if plain else ""


def _are_pairs(items: Sequence[Any]) -> bool:
    return bool(items) and all(
        isinstance(item, (list, tuple)) and len(item) == 2 and isinstance(item[0], (str, bytes)) for item in items
    )
