"""What a row of the rule tables is, and the replies and histories that the rows share."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from tests.contract_server.sealing import Seal, account_of, seal
from tests.contract_server.talk import assistant, call, called, output, result, user

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


def sealed(n: int = 1, *summary: str, **changes: Any) -> dict[str, Any]:
    """Return the reasoning item that the n-th response carried, as its done event gave it."""
    claim = Seal("gpt-5-mini", f"rs_{n}", account_of("test"), f"resp_{n}", n)
    parts = [{"type": "summary_text", "text": text} for text in summary or ("Look it up.",)]
    item = {"type": "reasoning", "id": f"rs_{n}", "summary": parts}
    return {**item, "encrypted_content": seal(claim), **changes}


def without(item: dict[str, Any], key: str) -> dict[str, Any]:
    return {name: value for name, value in item.items() if name != key}


LOOPED = [user(), sealed(), called(), output()]


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
