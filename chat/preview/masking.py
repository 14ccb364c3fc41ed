"""A request body as people may read it: redacted, cut to a readable size, and every mask marked (product 10, 12).

What is ours (instructions, tools, parameters) stands as it is. Of what was said, texts are redacted as a whole,
arguments as in the trace, results by the names in their JSON too; a ciphertext is named by its length. Who may not see
thinking, or the trace, gets that by its length alone (product 13, 15).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from django.utils.formats import number_format
from django.utils.translation import gettext as _

from chat.tools import registry
from reasoning.contextsize import SEALED_KEYS
from reasoning.policy import Visibility
from reasoning.providerfields import NATIVE_FIELDS
from reasoning.redaction import DEFAULT, REDACTED, TRUNCATED, UNAVAILABLE, Redactor

SHOWN_CHARS = 2_000  # of one text
MOST_CHARS = 200_000  # that are looked at in all, the newest first: redaction takes its time
_TEXTS = replace(DEFAULT, text_limit=SHOWN_CHARS)
_JSON = replace(_TEXTS, window=24_000, value_bytes=2 * SHOWN_CHARS)  # read whole, for the names of its values
_LONGEST_KEY = 40
_OPEN, _CLOSE = "\ue000", "\ue001"  # around notes of our own
Kind = Literal["", "thinking", "trace"]
_MARKS = re.compile(
    f"{_OPEN}([^{_OPEN}{_CLOSE}]*){_CLOSE}|"
    rf"({re.escape(REDACTED)}|{re.escape(TRUNCATED)}|{re.escape(UNAVAILABLE)}|"
    r"\[(?:vector|cycle|too deep|number|boolean|nothing|base64 \d+ chars|(?:text|list|object), \d+ \w+)\]|"
    r"[^\s*\"]{0,3}\*{3}@[\w.-]+)"
)


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece of a body's text; ``is_mask``: it stands for something that is not shown."""

    text: str
    is_mask: bool = False


def masked_body(body: Mapping[str, Any], sees: Visibility) -> tuple[Piece, ...]:
    """Return a body as indented JSON in pieces, for a page."""
    masker = _Masker(sees)
    shown = dict(body)
    for name in ("messages", "input"):
        if name in body:
            newest_first = [masker.entry(entry) for entry in reversed(body[name])]
            shown[name] = newest_first[::-1]
    text = json.dumps(shown, ensure_ascii=False, indent=2)
    return tuple(_pieces(text.encode("utf-8", "replace").decode()))


def _pieces(text: str) -> Iterator[Piece]:
    end = 0
    for mark in _MARKS.finditer(text):
        if mark.start() > end:
            yield Piece(text[end : mark.start()])
        yield Piece(mark[1] if mark[1] is not None else mark[2], is_mask=True)
        end = mark.end()
    yield Piece(text[end:])


class _Masker:
    def __init__(self, sees: Visibility) -> None:
        self._hides = {"thinking": not sees.may_open_thinking, "trace": not sees.show_reasoning, "": False}
        self._left = MOST_CHARS
        self._texts = Redactor(_TEXTS)
        self._json = Redactor(_JSON)
        self._arguments = Redactor()

    def entry(self, entry: Mapping[str, Any]) -> dict[str, Any]:
        """Return a message or an input item. Instructions are our own words."""
        if entry.get("role") == "system":
            return dict(entry)
        if entry.get("type") == "reasoning":
            return self._object(entry, "thinking")
        is_result = entry.get("role") == "tool" or entry.get("type") == "function_call_output"
        return self._object(entry, "trace" if is_result else "")

    def _object(self, value: Mapping[str, Any], kind: Kind) -> dict[str, Any]:
        tool = str(value.get("name", ""))
        return {self._key(str(key)): self._named(str(key), inner, tool, kind) for key, inner in value.items()}

    def _key(self, key: str) -> str:
        return key if key.isidentifier() and len(key) <= _LONGEST_KEY else self._text(key)

    def _named(self, key: str, value: Any, tool: str, kind: Kind) -> Any:
        if key == "arguments" and isinstance(value, str):
            return self._call_arguments(value, tool)
        if key in SEALED_KEYS and isinstance(value, str):
            return _note(_("sealed, %(count)s characters"), value) if value else value
        return self._value(key, value, "thinking" if key in _THINKING else kind)

    def _value(self, key: str, value: Any, kind: Kind) -> Any:
        match value:
            case str():
                return self._text(value) if key in _PLAIN else self._private(value, kind)
            case list() | tuple():
                return [self._value(key, inner, kind) for inner in value]
            case Mapping():
                return self._object(value, kind)
        return value

    def _private(self, text: str, kind: Kind) -> str:
        if self._hides[kind] and text.strip():
            return _note(_("not shown, %(count)s characters"), text)
        return self._text(text)

    def _call_arguments(self, arguments: str, tool: str) -> str:
        """Show arguments as the trace does: what a tool lets be seen, and type and size of everything else."""
        if self._hides["trace"]:
            return self._private(arguments, "trace")
        if (known := self._spent(arguments)) is not None:
            return known
        try:
            value = json.loads(arguments)
        except (ValueError, RecursionError):
            return _note(_("no JSON, %(count)s characters"), arguments)
        offered = registry().get(tool)
        shown = self._arguments.redact_args(value, shown=offered.shown_args if offered else frozenset())
        return json.dumps(shown, ensure_ascii=False)

    def _text(self, text: str) -> str:
        text = text.replace(_OPEN, "").replace(_CLOSE, "")
        if (known := self._spent(text)) is not None:
            return known
        bare = text.strip()
        return str(self._json.redact_args(bare) if _is_json(bare) else self._texts.redact_args(text))

    def _spent(self, text: str) -> str | None:
        """Count a text; where there were too many, return what stands for it."""
        looked_at = min(len(text), 2 * SHOWN_CHARS)
        if looked_at > self._left:
            return _note(_("%(count)s characters"), text)
        self._left -= looked_at
        return None


def _is_json(text: str) -> bool:
    try:
        return text[:1] in ("{", "[") and json.loads(text) is not None
    except (ValueError, RecursionError):
        return False


def _note(words: str, text: str) -> str:
    return f"{_OPEN}[{words % {'count': number_format(len(text), force_grouping=True)}}]{_CLOSE}"


_THINKING = frozenset({*NATIVE_FIELDS, "reasoning_details"})
_PLAIN = frozenset({"role", "type", "id", "call_id", "tool_call_id", "status", "format"})  # say nothing of content
