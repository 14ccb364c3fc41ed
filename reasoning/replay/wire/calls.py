"""Calls as they go back: ids, names, arguments and outputs.

A call is sent back as it came. One that no service accepts (arguments that are no JSON object or far too long, an id
of another API, no valid name) would fail every later request of its conversation, so it is replaced, under another id:
a service that checks the ids it issued must not recognise it. The log is not changed.
"""

from __future__ import annotations

import hashlib
import json
import re

from reasoning.delimiters.tags import blunt
from reasoning.events import ToolCall
from reasoning.replay.dialects import IdRule
from reasoning.replay.history import HistoryStep
from reasoning.stream.normalizer import normalize_stream

NOT_RUN = "not executed: the turn ended before this call ran"
MAX_ARGUMENT_CHARS = 100_000  # 25,000 tokens in one call
_OTHER_API_PREFIXES = ("fc_", "rs_")
_NOT_IN_NAME = re.compile(r"[^a-zA-Z0-9_-]")


class CallIds:
    """Hand out each call id once per request, in a form that the receiver accepts. Product 30.

    An id that fits stays; another one is replaced by one that depends on it alone. An id that a server used again gets
    a suffix. ``is_certain``: the rule is that of the receiver, not only of its API.
    """

    def __init__(self, rule: IdRule, *, is_certain: bool) -> None:
        self._rule, self._is_certain = rule, is_certain
        self._taken: set[str] = set()

    def take(self, call: ToolCall, *, is_replaced: bool, is_own: bool) -> str:
        """Return the id of a call in this request.

        ``is_replaced``: under an id that no service issued. ``is_own``: the receiver made it in this turn, so it
        accepts it as it is; some look it up, or keep a signature in it.
        """
        call_id = stand_in_id(call) if is_replaced else call.call_id
        fitted = call_id if is_own and not (is_replaced or self._is_certain) else fitting_id(call_id, self._rule)
        count = 1
        while fitted in self._taken:
            count += 1
            fitted = fitting_id(f"{call_id}-{count}", self._rule)
        self._taken.add(fitted)
        return fitted


def fitting_id(call_id: str, rule: IdRule) -> str:
    """Return the id, or one that a service with this rule accepts in its place; the same every time."""
    if rule.fits(call_id):
        return call_id
    plain = _NOT_IN_NAME.sub("_", call_id)
    return plain if rule.fits(plain) else digest_of(call_id)[: min(rule.chars, 32)]


def wire_name(call: ToolCall) -> str:
    """Return the name that came, or as much of it as all services accept."""
    return _NOT_IN_NAME.sub("_", call.name)[:64] or "unknown"


def wire_arguments(call: ToolCall) -> str:
    """Return the arguments byte for byte (product 10), or an empty object for what no service accepts."""
    return call.arguments if is_sendable(call.arguments) else "{}"


def call_output(call: ToolCall, step: HistoryStep) -> str:
    result = step.results.get(call.call_id)
    return result.output if result else NOT_RUN


def without_tags(text: str) -> str:
    """Return an answer without delimiters: services refuse them in history, and models imitate them.

    What the normaliser would leave is sent unchanged, for its tags are in code. Product 27.
    """
    blunted = blunt(text)
    if blunted == text or normalize_stream([{"content": text}]).visible == text.strip():
        return text
    return blunted


def is_sendable(arguments: str) -> bool:
    """Say whether this is a JSON object by the letter (Python alone accepts NaN), and not too long."""

    def refuse(constant: str) -> None:
        raise ValueError(constant)

    try:
        # The length first: parsing megabytes for every request would be slow.
        return len(arguments) <= MAX_ARGUMENT_CHARS and isinstance(json.loads(arguments, parse_constant=refuse), dict)
    except (ValueError, RecursionError):
        return False


def needs_stand_in(call: ToolCall) -> bool:
    return not (is_sendable(call.arguments) and call.call_id) or call.call_id.startswith(_OTHER_API_PREFIXES)


def stand_in_id(call: ToolCall) -> str:
    """Return an id of the same length, for some services count, and the same every time."""
    return digest_of(call.call_id)[: min(max(9, len(call.call_id)), 40)]


def digest_of(call_id: str) -> str:
    return hashlib.sha256(call_id.encode("utf-8", "replace")).hexdigest()
