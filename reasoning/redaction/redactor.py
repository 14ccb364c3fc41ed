"""The one choke point: everything that a person sees of arguments, results and texts comes out of here.

Fails closed: on any exception the result is ``[unavailable]``, never the input. Spec 004 redaction.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from reasoning.redaction.classify import KeyKind, classify
from reasoning.redaction.json_walk import JsonWalk, json_bytes, size_note
from reasoning.redaction.policy import (
    DEFAULT,
    REDACTED,
    TRUNCATED,
    UNAVAILABLE,
    RedactionPolicy,
    SafeText,
    mark_safe_text,
)
from reasoning.redaction.private_text import mask_private
from reasoning.redaction.rule_book import rule_book
from reasoning.redaction.stream import MAX_HELD, StreamRedactor
from reasoning.unseen import clean

_OMITTED_STEP_BYTES = 96  # of the last step, which counts what was left out
REPEAT: Final = "repeat"  # the kind under which ``remove_repeats`` is counted
PRIVATE: Final = "private"  # and private text of the model
_COUNT_NAME = re.compile(r"[a-z_]{2,16}")


class Redactor:
    """Applies one policy. ``counts`` adds up what was masked, by kind only.

    ``remove_repeats`` masks what a text repeats of a scratchpad, and returns how often it does (product 22).
    """

    def __init__(
        self, policy: RedactionPolicy = DEFAULT, remove_repeats: Callable[[str], tuple[str, int]] | None = None
    ) -> None:
        self.policy = policy
        self._remove_repeats = remove_repeats
        self.counts: Counter[str] = Counter()

    def redact_text(self, text: str) -> SafeText:
        """Return the text with secrets, and personal data if the policy says so, masked. Not truncated; linear."""
        try:
            return mark_safe_text(self._redact(str.__str__(text)))
        except Exception:  # noqa: BLE001 - fail closed
            return mark_safe_text(UNAVAILABLE)

    def redact_args(self, value: object, *, shown: frozenset[str] | None = None) -> Any:
        """Return a JSON value to show for ``value``: bounded, strict JSON, new objects only.

        Strings are cut to ``text_limit`` characters. With ``shown``, the values of other top-level names become notes
        of type and size. Spec 004 trace.
        """
        try:
            if shown is not None and not isinstance(value, Mapping):
                value = size_note(value)
            elif shown is not None and isinstance(value, Mapping):
                value = {name: item if name in shown else _undeclared(name, item) for name, item in value.items()}
            return JsonWalk(self.policy, self._redact_value, self.counts).value(value)
        except Exception:  # noqa: BLE001 - fail closed
            return UNAVAILABLE

    def redact_trace(self, steps: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Return the steps redacted, at most ``trace_bytes`` of JSON; what doesn't fit is one step with a count."""
        # Citations are a public filing's words: only secrets are masked in them. Product 12.
        public = Redactor(replace(self.policy, personal=False))
        # Names of arguments, and much of what they contain, are the same in every step.
        redact, redact_public = remember_plain(self._redact_value), remember_plain(public._redact_value)
        shown: list[dict[str, Any]] = []
        # Two bytes for the brackets of the list, two for each comma.
        bytes_left = self.policy.trace_bytes - 2
        try:
            for number, step in enumerate(steps[: self.policy.max_nodes], 1):
                step_parts = {key: step[key] for key in step if key not in ("topCitations", "redactions")}
                redacted: dict[str, Any] = JsonWalk(self.policy, redact, self.counts).value(step_parts)
                if "topCitations" in step:
                    walk = JsonWalk(public.policy, redact_public, public.counts)
                    redacted["topCitations"] = walk.value(step["topCitations"])
                if isinstance(step.get("redactions"), Mapping):
                    # Counts by kind and nothing else: their names look like secrets' names.
                    redacted["redactions"] = {
                        kind: count
                        for kind, count in step["redactions"].items()
                        if isinstance(kind, str)
                        and _COUNT_NAME.fullmatch(kind)
                        and isinstance(count, int)
                        and 0 <= count < 10**6
                    }
                bytes_left -= json_bytes(redacted) + 2
                if bytes_left < (0 if number == len(steps) else _OMITTED_STEP_BYTES):
                    break
                shown.append(redacted)
        except Exception:  # noqa: BLE001 - fail closed
            return [{"tool": UNAVAILABLE, "args": {}}]
        finally:
            self.counts.update(public.counts)
        if len(shown) < len(steps):
            shown.append({"tool": TRUNCATED, "args": {}, "omitted": len(steps) - len(shown)})
        return shown

    def _redact_value(self, text: str) -> str:
        """Redact a text that the model wrote into a value: it may contain what an answer wouldn't show. Product 36."""
        if self.policy.private and (masked := mask_private(text)) != text:
            self.counts[PRIVATE] += 1
            text = masked
        return self._redact(text)

    def _redact(self, text: str) -> str:
        if self._remove_repeats:
            text, count = self._remove_repeats(text)
            self.counts[REPEAT] += count
        # Most strings of a trace are short and contain nothing; no machine has to be built for them.
        book = rule_book(personal=self.policy.personal)
        if len(text) <= MAX_HELD and clean(text) == text and book.is_plain(text):
            return text
        # One machine for streams and whole texts, so that both give the same output.
        stream = StreamRedactor(self.policy)
        shown = stream.feed(text) + stream.flush()
        self.counts.update(stream.counts)
        return shown


def remember_plain(redact: Callable[[str], str]) -> Callable[[str], str]:
    """Return ``redact``, which examines no text twice that it didn't change."""
    plain: set[str] = set()

    def remembering(text: str) -> str:
        if text in plain:
            return text
        shown = redact(text)
        if shown == text:
            plain.add(text)
        return shown

    return remembering


def _undeclared(name: object, item: object) -> str:
    """Return what is shown of an argument that its tool doesn't declare as showable."""
    if (
        isinstance(name, str)
        and classify(name) in (KeyKind.SECRET, KeyKind.WEAK)
        and isinstance(item, (str, int, float))
    ):
        return REDACTED  # not even its size
    return size_note(item)


# With the default policy; nobody reads these counts.
_default = Redactor()
redact_text, redact_args, redact_trace = _default.redact_text, _default.redact_args, _default.redact_trace
