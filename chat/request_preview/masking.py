"""A request body as administrators may read it: redacted, cut, and with every mask marked (product 10, 12).

Instructions, tool schemas and parameters are our own and shown in full. Texts are redacted, arguments are shown as in
the trace, JSON results are also redacted by their keys, a ciphertext is replaced by its length. A viewer who may not
see thinking, or the trace, gets only the length of those (product 13, 15).
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from django.utils.formats import number_format
from django.utils.translation import gettext as _

from chat.tools import registry
from reasoning.redaction import DEFAULT, REDACTED, TRUNCATED, UNAVAILABLE, Redactor, mask_private
from reasoning.replay.tokens import ENCRYPTED_KEYS
from reasoning.replay.wire import format_of_body
from reasoning.replay.wire.base import Part
from reasoning.stream.normalizer import THINKING_FIELDS
from reasoning.visibility import Visibility

SHOWN_CHARS = 2_000  # of one text
MAX_CHARS = 200_000  # that are redacted for one page, the newest entries first, because redaction takes time
_NEVER_HIDDEN_KEYS = frozenset({"role", "type", "id", "call_id", "tool_call_id", "status", "format"})
_MAX_KEY_CHARS = 40
# What people and their model say is shown with its delimiters.
_TEXT_POLICY = replace(DEFAULT, text_limit=SHOWN_CHARS, private=False)
# JSON in a text is parsed whole, for the keys of its values.
_JSON_POLICY = replace(_TEXT_POLICY, window=24_000, value_bytes=2 * SHOWN_CHARS)
_OPEN, _CLOSE = "\ue000", "\ue001"  # private-use characters around our own notes
_MASKS = re.compile(
    f"{_OPEN}([^{_OPEN}{_CLOSE}]*){_CLOSE}|"
    rf"({re.escape(REDACTED)}|{re.escape(TRUNCATED)}|{re.escape(UNAVAILABLE)}|"
    r"\[(?:vector|cycle|too deep|number|boolean|nothing|base64 \d+ chars|(?:text|list|object), \d+ \w+)\]|"
    r"[^\s*\"]{0,3}\*{3}@[\w.-]+)"
)
Kind = Literal["", "thinking", "trace"]
_KINDS: Mapping[Part, Kind] = {"thinking": "thinking", "result": "trace"}


@dataclass(frozen=True, slots=True)
class BodyPart:
    """A part of a body's text; a mask replaces something that is not shown."""

    text: str
    is_mask: bool = False


def masked_body(body: Mapping[str, Any], sees: Visibility) -> tuple[BodyPart, ...]:
    """Return a body as indented JSON, in parts."""
    masker, wire = BodyMasker(sees), format_of_body(body)
    shown = dict(body)
    # the newest entries are what an administrator looks for, so they use the budget first
    newest_first = [masker.entry(entry, wire.part_of(entry)) for entry in reversed(body[wire.entries_key])]
    shown[wire.entries_key] = newest_first[::-1]
    text = json.dumps(shown, ensure_ascii=False, indent=2).encode("utf-8", "replace").decode()

    parts, end = [], 0
    for mask in _MASKS.finditer(text):
        parts.append(BodyPart(text[end : mask.start()]))
        parts.append(BodyPart(mask[1] if mask[1] is not None else mask[2], is_mask=True))
        end = mask.end()
    return tuple(part for part in (*parts, BodyPart(text[end:])) if part.text)


class BodyMasker:
    """Masks the entries of one body, the newest first, until ``MAX_CHARS`` are used up."""

    def __init__(self, sees: Visibility) -> None:
        self.hidden = {"thinking": not sees.may_open_thinking, "trace": not sees.show_reasoning, "": False}
        self.chars_left = MAX_CHARS
        self.texts = Redactor(_TEXT_POLICY)
        self.json = Redactor(_JSON_POLICY)
        self.call_arguments = Redactor()

    def entry(self, entry: Mapping[str, Any], part: Part) -> dict[str, Any]:
        """Mask a message or an input item, by what it holds."""
        return dict(entry) if part == "instructions" else self.mapping(entry, _KINDS.get(part, ""))

    def mapping(self, value: Mapping[str, Any], kind: Kind) -> dict[str, Any]:
        masked = {}
        for key, inner in value.items():
            shown_key = key if key.isidentifier() and len(key) <= _MAX_KEY_CHARS else self.text(key)
            if key == "arguments" and isinstance(inner, str):
                masked[shown_key] = self.arguments(inner, str(value.get("name", "")))
            elif key in ENCRYPTED_KEYS and isinstance(inner, str):
                masked[shown_key] = _note(_("sealed, %(count)s characters"), inner) if inner else inner
            elif key in _NEVER_HIDDEN_KEYS and isinstance(inner, str):
                masked[shown_key] = self.text(inner)
            else:
                masked[shown_key] = self.value(inner, "thinking" if key in THINKING_FIELDS else kind)
        return masked

    def value(self, value: Any, kind: Kind) -> Any:
        match value:
            case str() if self.hidden[kind] and value.strip():
                return _note(_("not shown, %(count)s characters"), value)
            case str():
                # A result may repeat the arguments.
                return self.text(mask_private(value) if kind == "trace" else value)
            case list() | tuple():
                return [self.value(inner, kind) for inner in value]
            case Mapping():
                return self.mapping(value, kind)
        return value

    def arguments(self, arguments: str, tool_name: str) -> str:
        """Show arguments as the trace does: the values that the tool declares, of the others type and size."""
        if self.hidden["trace"]:
            return str(self.value(arguments, "trace"))
        if not self.fits(arguments):
            return _note(_("%(count)s characters"), arguments)
        try:
            value = json.loads(arguments)
        except (ValueError, RecursionError):
            return _note(_("no JSON, %(count)s characters"), arguments)
        tool = registry().get(tool_name)
        shown = self.call_arguments.redact_args(value, shown=tool.shown_args if tool else frozenset())
        return json.dumps(shown, ensure_ascii=False)

    def text(self, text: str) -> str:
        if text.startswith("data:image/"):
            return _note(_("image, %(count)s characters"), text)
        text = text.replace(_OPEN, "").replace(_CLOSE, "")
        if not self.fits(text):
            return _note(_("%(count)s characters"), text)
        bare = text.strip()
        try:
            is_json = bare[:1] in ("{", "[") and json.loads(bare) is not None
        except (ValueError, RecursionError):
            is_json = False
        return str(self.json.redact_args(bare) if is_json else self.texts.redact_args(text))

    def fits(self, text: str) -> bool:
        """Count a text against MAX_CHARS; False if it doesn't fit any more."""
        redacted_chars = min(len(text), 2 * SHOWN_CHARS)
        if redacted_chars > self.chars_left:
            return False
        self.chars_left -= redacted_chars
        return True


def _note(label: str, text: str) -> str:
    return f"{_OPEN}[{label % {'count': number_format(len(text), force_grouping=True)}}]{_CLOSE}"
