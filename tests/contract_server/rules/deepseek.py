"""D, E and F: three generations of one API that want the opposite of one another."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from tests.contract_server.rules.base import Asked, Refusal, Rule, own

INPUT_REFUSED = (
    "The reasoning_content is an intermediate result for display purposes only and will not be included in the context "
    "for inference. Please remove the reasoning_content from your message to reduce network traffic."
)
GUIDE = "https://api-docs.deepseek.com/guides/thinking_mode#tool-calls"
PASS_BACK = "The `reasoning_content` in the thinking mode must be passed back to the API."


def _thinks(asked: Asked) -> bool:
    given = asked.thinking_type()
    return given == "enabled" if given else asked.knobs.thinking_default


def _no_reasoning(asked: Asked) -> Refusal | None:
    return Refusal(INPUT_REFUSED) if any("reasoning_content" in one for one in asked.messages) else None


def _alternate(asked: Asked) -> Refusal | None:
    for i, (one, other) in enumerate(pairwise(asked.messages)):
        if one["role"] == other["role"] and one["role"] in ("user", "assistant"):
            return Refusal(_successive(i), "invalid_request_error")
    return None


def _successive(i: int) -> str:
    return (
        "deepseek-reasoner does not support successive user or assistant messages "
        f"(messages[{i}] and messages[{i + 1}] in your input). "
        "You should interleave the user/assistant messages in the message sequence."
    )


def _last_role(asked: Asked) -> Refusal | None:
    return None if asked.messages[-1]["role"] == "user" else own("last_role", "The last message must be the user's.")


def _no_tools(asked: Asked) -> Refusal | None:
    return own("no_tools", "This model does not support tools.", "tools") if "tools" in asked.body else None


def _no_logprobs(asked: Asked) -> Refusal | None:
    given = next((name for name in ("logprobs", "top_logprobs") if name in asked.body), None)
    return own("no_logprobs", f"This model does not support {given}.", given) if given else None


def _running_turn_thinks(asked: Asked) -> Refusal | None:
    if not _thinks(asked):
        return None
    start = _last_user(asked)
    for i, message in asked.with_calls():
        value = message.get("reasoning_content")
        empty = value == "" and bool(asked.knobs.empty_is_missing)
        if i > start and (empty or not isinstance(value, str)):
            return Refusal(_missing_at(i))
    return None


def _missing_at(i: int) -> str:
    where = f"the assistant message at message index {i}"
    return f"Missing `reasoning_content` field in {where}. For more information, please refer to {GUIDE}"


def _count_waste(asked: Asked) -> None:
    start = _last_user(asked)
    earlier = [one.get("reasoning_content") for i, one in asked.assistants() if i < start]
    asked.record.wasted_characters = sum(len(text) for text in earlier if isinstance(text, str))


def _last_user(asked: Asked) -> int:
    return max((i for i, one in enumerate(asked.messages) if one["role"] == "user"), default=-1)


def _calls_think(asked: Asked) -> Refusal | None:
    return _must_think(asked, "F1", asked.with_calls())


def _all_messages_think(asked: Asked) -> Refusal | None:
    return _must_think(asked, "F2", asked.assistants()) if asked.knobs.all_messages else None


def _must_think(asked: Asked, rule: str, messages: Iterator[tuple[int, dict[str, Any]]]) -> Refusal | None:
    bare = [i for i, message in messages if _lacks_reasoning(asked, message.get("reasoning_content"))]
    if not (bare and asked.body.get("tools") and _thinks(asked)):
        return None
    if asked.knobs.lenient:
        asked.record.notes.append(f"{rule} at {bare}")
        return None
    return Refusal(PASS_BACK, "invalid_request_error")


def _lacks_reasoning(asked: Asked, value: object) -> bool:
    return not isinstance(value, str) or (value == "" and asked.knobs.empty_is_missing is not False)


R1_RULES = (
    Rule("D1", _no_reasoning),
    Rule("D2", _alternate),
    Rule("D3", _last_role),
    Rule("D4", _no_tools),
    Rule("D5", _no_logprobs),
)
V32_RULES = (Rule("E1", _running_turn_thinks), Rule("E2", _count_waste))
V4_RULES = (Rule("F1", _calls_think), Rule("F2", _all_messages_think))
