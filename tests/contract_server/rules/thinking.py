"""K1 to K4 and H1: services that want the thinking of their own messages back (Kimi, GLM)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tests.contract_server.ledger import Step, reasoning_texts
from tests.contract_server.rules.base import Asked, Refusal, Rule, own

ALWAYS_THINKING = "kimi-k2-thinking"
NOT_PRESERVED = "The reasoning of an assistant message is missing, altered or out of order."


def _thinks(asked: Asked) -> bool:
    return asked.thinking_type() != "disabled"


def _may_be_disabled(asked: Asked) -> Refusal | None:
    if _thinks(asked) or not (asked.model == ALWAYS_THINKING or asked.mode == "kimi-preserved"):
        return None
    return own("thinking_always_on", "invalid thinking: this model does not support disabling it.", "thinking")


def _missing(asked: Asked, index: int) -> Refusal:
    text = f"thinking is enabled but reasoning_content is missing in assistant tool call message at index {index}"
    match asked.knobs.code_style:
        case "nested":
            error = {"type": "<nil>", "message": f"{text} (request id: {asked.record.serial})"}
            return Refusal(text, body={"error": error, "type": "error"})
        case "gateway":
            return Refusal(text, body={"code": 20015, "message": text, "data": None})
    return Refusal(text)


def _thinking_on_calls(asked: Asked) -> Refusal | None:
    bare = (i for i, message in asked.with_calls() if not message.get("reasoning_content"))
    index = next(bare, None) if _thinks(asked) else None
    return None if index is None else _missing(asked, index)


def _tool_choice(asked: Asked) -> Refusal | None:
    if not _thinks(asked) or asked.body.get("tool_choice") in (None, "auto", "none"):
        return None
    return own("tool_choice", "tool_choice must be auto or none while thinking is enabled.", "tool_choice")


def _thinking_on_all(asked: Asked) -> Refusal | None:
    for i, message, steps in _issued(asked):
        if not message.get("reasoning_content"):
            return _missing(asked, i)
        if not _matches(message, steps):
            return own("reasoning_altered", f"The reasoning of messages[{i}] is altered.")
    return None


def _whole_sequence(asked: Asked) -> Refusal | None:
    thinking = asked.body.get("thinking")
    if not isinstance(thinking, Mapping) or thinking.get("clear_thinking") is not False:
        return None
    last = -1
    for _, message, steps in _issued(asked):
        matching = [step.serial for step in steps if _equals(message, step) and step.serial > last]
        if not matching:
            return own("reasoning_altered", NOT_PRESERVED)
        last = matching[0]
    return None


def _issued(asked: Asked) -> Iterator[tuple[int, Mapping[str, Any], list[Step]]]:
    """Yield the assistant messages that this server issued with reasoning, and the steps they may have come from."""
    for i, message in asked.assistants():
        steps = list(asked.ledger.steps_behind(message))
        if steps and all(step.reasoning for step in steps):
            yield i, message, steps


def _matches(message: Mapping[str, Any], steps: list[Step]) -> bool:
    return any(_equals(message, step) for step in steps)


def _equals(message: Mapping[str, Any], step: Step) -> bool:
    texts = list(reasoning_texts(message))
    return bool(texts) and all(step.issued_as(text) for text in texts)


KIMI_RULES = (Rule("K0", _may_be_disabled), Rule("K1", _thinking_on_calls), Rule("K2", _tool_choice))
KIMI_PRESERVED_RULES = (*KIMI_RULES, Rule("K3", _thinking_on_all))
GLM_RULES = (Rule("H1", _whole_sequence),)
