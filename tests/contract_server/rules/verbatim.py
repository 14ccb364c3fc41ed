"""C10 to C12: what comes back is what was issued, whole, on its own message, and nothing invented in its place."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from tests.contract_server.ledger import REASONING_KEYS, Step, calls_of, reasoning_texts
from tests.contract_server.rules.base import Asked, Refusal, Rule, own

# Their own rules say what an empty or null value means there.
OWN_EMPTY_RULE = frozenset({"kimi", "kimi-preserved", "deepseek-r1", "deepseek-v3.2", "deepseek-v4"})


def _usable_reasoning(asked: Asked) -> Refusal | None:
    allows_empty = asked.mode in OWN_EMPTY_RULE or asked.knobs.empty_reasoning == "accept"
    for i, message in asked.assistants():
        for key in REASONING_KEYS:
            if key in message and not _is_usable(key, message[key], asked.mode, allows_empty=allows_empty):
                return own("empty_reasoning", f"messages[{i}].{key} is empty or of the wrong type.", f"messages.[{i}]")
    return None


def _is_usable(key: str, value: Any, mode: str, *, allows_empty: bool) -> bool:
    if value is None:
        return mode in OWN_EMPTY_RULE
    right_type = list if key == "reasoning_details" else str
    return isinstance(value, right_type) and (bool(value) or allows_empty)


def _verbatim(asked: Asked) -> Refusal | None:
    if not asked.knobs.verify_verbatim:
        return None
    seen: Counter[str] = Counter()
    for i, message in asked.assistants():
        texts = list(reasoning_texts(message))
        seen.update(texts)
        found = next((one for text in texts if (one := _wrong_text(asked, message, text))), None)
        if found or any(0 < asked.ledger.times_issued(text) < seen[text] for text in texts if text.strip()):
            return _not_verbatim(i, found or "borrowed")
    return None


def _wrong_text(asked: Asked, message: Mapping[str, Any], text: str) -> str | None:
    """Return what is wrong with a message's reasoning, going by the calls that it carries."""
    known = [step for call in calls_of(message) if (step := asked.ledger.step_of_call(call["id"]))]
    return next((wrong for step in known if (wrong := _wrong_for(asked, step, text))), None)


def _wrong_for(asked: Asked, step: Step, text: str) -> str | None:
    is_placeholder = not (step.reasoning or text.strip())
    if step.issued_as(text) or is_placeholder:
        return None
    if asked.ledger.times_issued(text):
        return "borrowed"
    return "altered" if step.reasoning else None


def _not_verbatim(index: int, what: str) -> Refusal:
    return own(f"reasoning_{what}", f"The reasoning of messages[{index}] is {what}.", f"messages.[{index}]")


def _same_arguments(asked: Asked) -> Refusal | None:
    if not asked.knobs.verify_arguments:
        return None
    for i, message in asked.with_calls():
        for call in calls_of(message):
            issued = asked.ledger.call(call["id"])
            if issued and issued.arguments != call["function"]["arguments"]:
                return own("arguments_altered", f"The arguments of call {issued.id} in messages[{i}] are altered.")
    return None


VERBATIM_RULES = (
    Rule("C10", _usable_reasoning),
    Rule("C11", _verbatim),
    Rule("C12", _same_arguments),
)
