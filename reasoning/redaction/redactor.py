"""The one choke point: everything that a person sees of arguments, results, errors and texts comes out of here.

Fails closed: whatever goes wrong inside, the answer is ``[unavailable]`` and never the input. Spec 004 redaction.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from reasoning.redaction.keys import KeyKind, classify
from reasoning.redaction.patterns import rule_book
from reasoning.redaction.policy import DEFAULT, TRUNCATED, UNAVAILABLE, RedactionPolicy, SafeText, mark_safe_text
from reasoning.redaction.stream import StreamRedactor
from reasoning.redaction.truncation import json_bytes, truncate
from reasoning.redaction.walk import Walk, note

_ROOM_FOR_MARK = 96
_ERROR_WINDOW = 4_096
_SHORT = 512  # most keys and values of a step are shorter, and hold nothing
_KIND = re.compile(r"[a-z_]{2,16}")


class Redactor:
    """Applies one policy. ``counts`` adds up what was taken out, by kind: never a value, nor anything made of one."""

    def __init__(self, policy: RedactionPolicy = DEFAULT) -> None:
        self.policy = policy
        self._book = rule_book(policy)
        self._plain: set[str] | None = None  # names and values that came before in the trace at hand
        self.counts: Counter[str] = Counter()

    def redact_text(self, text: str) -> SafeText:
        """Return the text with secrets, and personal data if the policy says so, masked. Not truncated; linear."""
        try:
            return mark_safe_text(self._text(str.__str__(text)))
        except Exception:  # noqa: BLE001 - fail closed
            return mark_safe_text(UNAVAILABLE)

    def redact_args(self, value: object, *, shown: frozenset[str] | None = None) -> Any:
        """Return a JSON value to show for ``value``: bounded, strict JSON, new objects only.

        Strings keep ``text_limit`` characters. With ``shown``, the values of other top-level names become notes of type
        and size. Spec 004 trace.
        """
        try:
            return self._walk(value if shown is None else self._only(value, shown))
        except Exception:  # noqa: BLE001 - fail closed
            return UNAVAILABLE

    def redact_trace(self, steps: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Return the steps redacted, at most ``trace_bytes`` of JSON; what doesn't fit is one step with a count."""
        public = Redactor(replace(self.policy, personal=False))
        self._plain, public._plain = set(), set()
        try:
            return self._capped([self._step(step, public) for step in steps[: self.policy.max_nodes]], len(steps))
        except Exception:  # noqa: BLE001 - fail closed
            return [{"tool": UNAVAILABLE, "args": {}}]
        finally:
            self.counts.update(public.counts)
            self._plain = None

    def redact_error(self, error: BaseException) -> SafeText:
        """Return the class and the redacted message. Objects in an exception are never printed."""
        try:
            name = type(error).__name__[:64]
            message = _message(error)
            shown = self._text(f"{name}: {message}" if message else name)
            return mark_safe_text(truncate(shown, self.policy.text_limit, self._text))
        except Exception:  # noqa: BLE001 - fail closed
            return mark_safe_text(UNAVAILABLE)

    def _text(self, text: str) -> str:
        known = self._plain
        if known is not None and text in known:
            return text
        if len(text) <= _SHORT and self._book.is_plain(text):
            if known is not None:
                known.add(text)
            return text
        stream = StreamRedactor(self.policy)
        shown = stream.feed(text) + stream.flush()
        self.counts.update(stream.counts)
        return shown

    def _walk(self, value: object) -> Any:
        return Walk(self.policy, self._text, self.counts).value(value)

    def _only(self, value: object, shown: frozenset[str]) -> Any:
        if not isinstance(value, Mapping):
            return note(value)
        return {key: item if key in shown else self._note(key, item) for key, item in value.items()}

    def _note(self, key: object, item: object) -> str:
        """Say nothing of a secret's size either."""
        secret = isinstance(key, str) and classify(key, self.policy.extra_keys) in (KeyKind.SECRET, KeyKind.WEAK)
        return self.policy.placeholder if secret and isinstance(item, (str, int, float)) else note(item)

    def _step(self, step: Mapping[str, Any], public: Redactor) -> dict[str, Any]:
        """Redact a step; its citations with ``public``, for of a public filing's words only secrets are masked.

        Product 12.
        """
        special = ("topCitations", "redactions")
        shown = self._walk({key: item for key, item in step.items() if key not in special})
        if not isinstance(shown, dict):
            return {"tool": UNAVAILABLE, "args": {}}
        if "topCitations" in step:
            shown["topCitations"] = public._walk(step["topCitations"])
        if isinstance(step.get("redactions"), Mapping):
            shown["redactions"] = _counts(step["redactions"])
        return shown

    def _capped(self, steps: list[dict[str, Any]], total: int) -> list[dict[str, Any]]:
        kept: list[dict[str, Any]] = []
        left = self.policy.trace_bytes - 2
        for number, step in enumerate(steps, 1):
            left -= json_bytes(step) + 2
            if left < (0 if number == total else _ROOM_FOR_MARK):
                break
            kept.append(step)
        if len(kept) < total:
            kept.append({"tool": TRUNCATED, "args": {}, "omitted": total - len(kept)})
        return kept


def _counts(redactions: Mapping[Any, Any]) -> dict[str, int]:
    """Return counts by kind and nothing else: their names look like secrets' names, their values are small numbers."""
    kinds = (key for key in redactions if isinstance(key, str) and _KIND.fullmatch(key))
    return {key: redactions[key] for key in kinds if isinstance(redactions[key], int) and 0 <= redactions[key] < 10**6}


def _message(error: BaseException) -> str:
    """Return an exception's own words, bounded; nothing where they would print an unknown object."""
    own = type(error).__str__ is not BaseException.__str__ and not isinstance(error, (KeyError, OSError))
    if own or all(isinstance(arg, (str, int, float, type(None))) for arg in error.args):
        return str(error)[:_ERROR_WINDOW]
    return " ".join(arg for arg in error.args if isinstance(arg, str))[:_ERROR_WINDOW]


def redact_text(text: str) -> SafeText:
    """Redact one text with the default policy."""
    return Redactor().redact_text(text)


def redact_args(value: object) -> Any:
    """Redact one value with the default policy."""
    return Redactor().redact_args(value)


def redact_trace(steps: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Redact the steps of a trace with the default policy."""
    return Redactor().redact_trace(steps)
