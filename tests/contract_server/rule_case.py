"""What a row of the rule tables is, and the replies and histories that the rows share."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from tests.contract_server.talk import assistant, call, result, user

STEP = {"reasoning": "Look it up.", "tool_calls": [{"name": "look", "id": "a"}]}
OTHER = {"reasoning": "Look again.", "tool_calls": [{"name": "look", "id": "b"}]}
BARE = {"tool_calls": [{"name": "look", "id": "c"}]}
SAID = {"reasoning": "Easy enough.", "content": "Net sales rose."}
SIGNED = {"tool_calls": [{"name": "look", "id": "a"}, {"name": "look", "id": "b"}]}
SIGNATURE = {"google": {"thought_signature": "SIG1.a"}}
SEALED = {"type": "reasoning.encrypted", "data": "abcd-efgh", "index": 0}
DETAILED = {**STEP, "reasoning_details": [SEALED, {"type": "reasoning.text", "text": "t", "index": 1}]}
TOOLS = [{"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}]


def loop(message: dict[str, Any], *more: dict[str, Any]) -> list[dict[str, Any]]:
    """Return a history in which the calls of ``message`` are answered."""
    return [user(), message, *(result(one["id"]) for one in message.get("tool_calls", [])), *more]


def thought(text: Any, *calls: dict[str, Any], **extra: Any) -> dict[str, Any]:
    return assistant(None, *(calls or (call(),)), reasoning_content=text, **extra)


@dataclass(frozen=True)
class Case:
    """``issued`` is what the server says before; then ``good`` passes and ``bad`` is refused with ``text`` in it."""

    rule: str
    good: Any
    bad: Any
    text: str
    model: str = "plain-model"
    issued: tuple[dict[str, Any], ...] = ()
    knobs: dict[str, Any] = field(default_factory=dict)
    body: dict[str, Any] = field(default_factory=dict)
    good_body: dict[str, Any] = field(default_factory=dict)
    bad_body: dict[str, Any] = field(default_factory=dict)
    status: int = 400
