"""Turns values of any shape into JSON values to show: one walk, new objects, the input unchanged.

What exceeds the bounds (depth, number of values, length of strings, bytes of output) is replaced, never passed through;
cycles, unknown objects, bytes and numbers that JSON doesn't know become notes. The key's name decides first, then the
value's shape, then its text. Spec 004 redaction.
"""

from __future__ import annotations

import json
import math
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Mapping, Sequence, Set
from datetime import date, time
from decimal import Decimal
from enum import Enum
from pathlib import PurePath
from typing import Any
from uuid import UUID

from reasoning.redaction.allowlist import is_harmless
from reasoning.redaction.classify import KeyKind, classify
from reasoning.redaction.policy import CYCLE, REDACTED, TOO_DEEP, TRUNCATED, VECTOR, RedactionPolicy
from reasoning.redaction.rules.personal_data import is_labelled
from reasoning.redaction.values import class_changes, is_issued, is_mixed

Json = Any
_NAME_KEYS = ("name", "key", "header", "field", "param", "parameter", "parameterkey")
_VALUE_KEYS = ("value", "val", "content", "data", "parametervalue")
_NUMBER_KEYS = (*_VALUE_KEYS, "number", "no", "nr", "id")  # in an object behind a label, which is their label
_VECTOR_COMMAS = 15  # of a list of numbers in a text
_NUMBERS = re.compile(
    rf"\[?\s{{0,4}}(?:[+-]?\d[\d.eE+\-]{{0,30}}\s{{0,4}},\s{{0,4}}){{{_VECTOR_COMMAS},}}+[+-]?[\d.]?[\d.eE+\-]{{0,30}}\s{{0,4}}\]?"
)
_BASE64 = re.compile(r"(?<![A-Za-z0-9+/])(?:data:[\w./+\-;]{1,64},)?[A-Za-z0-9+/\-_]{256,}+={0,2}")
_NOTE = re.compile(r"\[(?:text, \d+ characters?|list, \d+ items?|object, \d+ keys?|number|boolean|nothing|redacted)\]")
_MAX_INTEGER_BITS = 256
_LABELLED_CHARS = 256  # of a value that a label may be beside
_MARK_BYTES = 24

_MARK = re.compile(r"\[[a-z]{2,12}(?: \d+ chars)?\]|\*\*\*@")
_LOOK_BACK = 32
_MAX_CUTS = 4


def truncate(text: str, limit: int, redact: Callable[[str], str]) -> str:
    """Return at most ``limit`` characters of redacted text, and a suffix where something was cut off.

    What was cut before stays. A cut that changes what the end means (half a number, a name without its mask) moves back
    to a white space until redacting the result changes nothing.
    """
    if len(text) <= limit or (text.endswith(TRUNCATED) and len(text) <= limit + len(TRUNCATED)):
        return text
    end = outside_mark(text, character_boundary(text, limit))
    for _ in range(_MAX_CUTS):
        short = text[:end] + TRUNCATED
        if redact(short) == short:
            return short
        end = outside_mark(text, max(text.rfind(" ", 0, max(end, 0)), 0))
    return TRUNCATED


def outside_mark(text: str, end: int) -> int:
    """Move a cut out of a mask, to its beginning."""
    for found in _MARK.finditer(text, max(end - _LOOK_BACK, 0), end + _LOOK_BACK):
        if found.start() < end < found.end():
            return found.start()
    return end


def character_boundary(text: str, end: int) -> int:
    """Move a cut back out of a sequence that is displayed as one character."""

    def joins(char: str) -> bool:
        return (
            char == "\u200d" or "\U0001f3fb" <= char <= "\U0001f3ff" or unicodedata.category(char) in ("Mn", "Me", "Mc")
        )

    first = max(end - _LOOK_BACK, 0)
    while end > first and (joins(text[end]) or text[end - 1] == "\u200d"):
        end -= 1
    flags = re.compile("[\U0001f1e6-\U0001f1ff]*").match(text[:end][::-1])  # a flag is a pair of letters
    return end - len(flags.group()) % 2 if flags and "\U0001f1e6" <= text[end] <= "\U0001f1ff" else end


def json_bytes(value: object) -> int:
    """Return the size of a value as JSON with every character escaped: no encoding of it is larger."""
    if isinstance(value, str) and value.isascii() and value.isprintable():
        return len(value) + 2 + value.count('"') + value.count("\\")
    return len(json.dumps(value))


class JsonWalk:
    """One walk over one value. ``redact`` redacts a string and reports to ``counts``."""

    def __init__(self, policy: RedactionPolicy, redact: Callable[[str], str], counts: Counter[str]) -> None:
        self._policy = policy
        self._redact = redact
        self._counts = counts
        self._nodes_left = policy.max_nodes
        self._bytes_left = policy.value_bytes
        self._ancestors: set[int] = set()

    def value(self, value: object, *, depth: int = 0, kind: KeyKind = KeyKind.NONE, name: str = "") -> Json:
        """Return the JSON value to show for ``value`` under a key of ``kind`` with this ``name``."""
        self._nodes_left -= 1
        is_text = isinstance(value, (str, int)) and not isinstance(value, bool)
        if name and is_text and self._policy.personal and is_labelled(name, key_text(value)[:_LABELLED_CHARS]):
            return self.spend(self.mask("pii"))
        if kind is not KeyKind.NONE and (masked := self.mask_by_key(value, kind)) is not None:
            return self.spend(masked)
        # Strings first: a str is a sequence, and an enum may be a str or an int as well.
        if isinstance(value, (str, int)) or not isinstance(value, (Mapping, list, tuple, Set)):
            shown = self.scalar(value)
            # What has no address left is no e-mail. Judged by the result, as a second redaction would judge it.
            is_email = kind is KeyKind.EMAIL and self._policy.personal and not isinstance(shown, bool)
            if is_email and shown and "@" not in str(shown):
                shown = self.mask("email")
            return self.spend(shown)
        # Ancestors only: a value that occurs twice side by side is no cycle.
        if id(value) in self._ancestors:
            return self.spend(CYCLE)
        if depth >= self._policy.max_depth:
            return self.spend(TOO_DEEP)
        self._ancestors.add(id(value))
        try:
            if isinstance(value, Mapping):
                return self.mapping(value, depth, name)
            return self.array(value, depth, kind, name)
        finally:
            self._ancestors.discard(id(value))

    def spend(self, shown: Json) -> Json:
        self._bytes_left -= json_bytes(shown) + 2
        return shown

    def is_spent(self) -> bool:
        if self._nodes_left > 0 and self._bytes_left > _MARK_BYTES:
            return False
        self._counts["truncated"] += 1
        return True

    def mask(self, kind: str) -> str:
        self._counts[kind] += 1
        return REDACTED

    def mask_by_key(self, value: object, kind: KeyKind) -> Json:
        """Return the mask that the key's name asks for, None where the value has to be examined."""
        if value is None or isinstance(value, bool) or value in ("", [], {}, ()):
            return None
        match kind:
            case KeyKind.SECRET:
                return self.mask("secret")
            case KeyKind.WEAK if isinstance(value, str) and looks_secret(value):
                return self.mask("secret")
            case KeyKind.SERVICE if isinstance(value, str) and is_issued(value):
                return self.mask("secret")
            case KeyKind.PII if self._policy.personal:
                return self.mask("pii")
            case KeyKind.VECTOR if isinstance(value, str) and len(value) > 64:
                return VECTOR
        return None

    def mapping(self, value: Mapping[Any, Any], depth: int, label: str) -> Json:
        shown: dict[str, Json] = {}
        # HAR files and many APIs write headers as {"name": "Authorization", "value": "…"}.
        sibling = self.kind_by_sibling(value)
        for key, item in value.items():
            if self.is_spent():
                shown[TRUNCATED] = True
                break
            name = key_text(key)
            kind = sibling if sibling is not KeyKind.NONE and name.lower() in _VALUE_KEYS else classify(name)
            # Two keys may be redacted to the same text; no value may be lost by that.
            unique = shown_key = self.shown_name(name)
            number = 2
            while unique in shown:
                unique, number = f"{shown_key} ({number})", number + 1
            own_label = label if label and name.lower() in _NUMBER_KEYS else name
            shown[unique] = self.value(item, depth=depth + 1, kind=kind, name=own_label)
        return shown

    def kind_by_sibling(self, value: Mapping[Any, Any]) -> KeyKind:
        """Return the kind of a ``{"name": …, "value": …}`` object's value, by the name in it."""
        if len(value) > 16:
            return KeyKind.NONE
        lower = {key_text(key).lower(): item for key, item in value.items()}
        names = [lower[key] for key in _NAME_KEYS if isinstance(lower.get(key), (str, bytes))]
        if not names or lower.keys().isdisjoint(_VALUE_KEYS):
            return KeyKind.NONE
        # As it is shown: a sentence with a secret would be another name once that is masked.
        return classify(self._redact(key_text(names[0])[: self._policy.window]))

    def shown_name(self, name: str) -> str:
        shown = truncate(self._redact(name[: self._policy.window]), self._policy.text_limit, self._redact)
        self.spend(shown)
        return shown

    def array(self, value: Any, depth: int, kind: KeyKind, label: str) -> Json:
        # Sets have no order; sorted, one value gives one JSON.
        items = (
            value
            if isinstance(value, Sequence)
            else sorted(value, key=lambda item: (type(item).__name__, key_text(item)))
        )
        if self.is_vector(items, kind):
            self._counts["vector"] += 1
            return self.spend({"count": len(items)})
        inner = KeyKind.NONE if kind is KeyKind.VECTOR else kind
        are_pairs = bool(items) and all(
            isinstance(item, (list, tuple)) and len(item) == 2 and isinstance(item[0], (str, bytes)) for item in items
        )
        shown: list[Json] = []
        for item in items:
            if self.is_spent():
                shown.append(TRUNCATED)
                break
            if are_pairs:  # [name, value], as in a list of headers
                self._nodes_left -= 1
                name = key_text(item[0])
                shown.append([self.shown_name(name), self.value(item[1], depth=depth + 2, kind=classify(name))])
            else:
                shown.append(self.value(item, depth=depth + 1, kind=inner, name=label))
        return shown

    def is_vector(self, items: Sequence[Any], kind: KeyKind) -> bool:
        if len(items) < (2 if kind is KeyKind.VECTOR else self._policy.vector_min):
            return False
        if not all(isinstance(item, (int, float)) and not isinstance(item, bool) for item in items):
            return False
        floats = sum(isinstance(item, float) for item in items)
        return kind is KeyKind.VECTOR or floats * 2 >= len(items) or len(items) >= 4 * self._policy.vector_min

    def scalar(self, value: object) -> Json:
        match value:
            case None | bool():
                return value
            case Enum():
                return self.scalar(value.value)
            case str():
                return self.shown_text(str.__str__(value))
            case int() if value.bit_length() > _MAX_INTEGER_BITS:
                return f"[integer, {value.bit_length()} bits]"
            case int():
                # A card number may be sent as a number.
                digits = str(int(value))
                return int(value) if len(digits) < 13 or self._redact(digits) == digits else self.mask("card")
            case float():
                return float(value) if math.isfinite(value) else str(float(value))
            case bytes() | bytearray() | memoryview():
                return f"[{len(value)} bytes]"
            case date() | time() | Decimal() | UUID() | PurePath():
                return self.shown_text(str(value))
        return f"[{type(value).__name__[:64]}]"

    def shown_text(self, text: str) -> str:
        policy = self._policy
        # Cut JSON doesn't parse, so only texts within the window are walked by their keys.
        window = text[: policy.window] if len(text) > policy.window else self.nested_json(text)
        if window.count(",") >= _VECTOR_COMMAS:
            window = _NUMBERS.sub(VECTOR, window)
        shown = self._redact(_BASE64.sub(base64_note, window))
        short = truncate(shown, policy.text_limit, self._redact)
        if len(text) > policy.window and not short.endswith(TRUNCATED):
            short += TRUNCATED
        if short is not shown:
            self._counts["truncated"] += 1
        return short

    def nested_json(self, text: str) -> str:
        """Redact JSON in a string by its keys, too. Text that doesn't parse is returned unchanged."""
        if text[:1] not in ("{", "[", '"') or text.startswith("[redacted"):
            return text
        try:
            parsed = json.loads(text)
        except (ValueError, RecursionError):
            return text
        if not isinstance(parsed, (dict, list)) and not (isinstance(parsed, str) and parsed[:1] in ("{", "[", '"')):
            return text
        # With bounds of its own; the result is cut to the text limit like any other string.
        shown = JsonWalk(self._policy, self._redact, self._counts).value(parsed, depth=1)
        return text if shown == parsed else json.dumps(shown, ensure_ascii=False)


def base64_note(found: re.Match[str]) -> str:
    """Replace a long run by its size if it is an encoding: lower case, capitals and digits."""
    run = found.group()
    end = run[-256:]
    dense = not (end.islower() or end.isupper()) and any(map(str.isdigit, end)) and class_changes(end) > 0.3
    return f"[base64 {len(run)} chars]" if dense else run


def size_note(value: object) -> str:
    """Describe a value that isn't shown: its type and size."""
    match value:
        case str() if _NOTE.fullmatch(value):
            return value
        case str():
            return f"[text, {plural(len(value), 'character')}]"
        case None:
            return "[nothing]"
        case bool():
            return "[boolean]"
        case int() | float():
            return "[number]"
        case Mapping():
            return f"[object, {plural(len(value), 'key')}]"
        case list() | tuple() | Set():
            return f"[list, {plural(len(value), 'item')}]"
    return f"[{type(value).__name__[:64]}]"


def plural(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def looks_secret(value: str) -> bool:
    return not is_harmless(value) and " " not in value and len(value) >= 8 and is_mixed(value)


def key_text(key: object) -> str:
    """Return the text of a key or another simple value. Objects with a ``__str__`` of their own are not asked."""
    match key:
        case str():
            return str.__str__(key)
        case bytes():
            return key[:256].decode("latin-1")
        case None | bool():
            return json.dumps(key)
        case int() if key.bit_length() <= _MAX_INTEGER_BITS:
            return str(int(key))
        case float():
            return str(float(key))
    return f"[{type(key).__name__[:64]}]"
