"""X1 and V1: the name of the reasoning field decides between a refusal and a silent loss."""

from __future__ import annotations

from tests.contract_server.ledger import REASONING_KEYS
from tests.contract_server.rules.base import Asked, Refusal, Rule


def _no_reasoning_keys(asked: Asked) -> Refusal | None:
    for i, message in asked.assistants():
        key = next((key for key in REASONING_KEYS if key in message), None)
        if key:
            return _extra_forbidden(i, key) if asked.knobs.style == "pydantic" else _unsupported(i, key)
    return None


def _unsupported(i: int, key: str) -> Refusal:
    place = f"messages.{i}.assistant.{key}"
    return Refusal(f"{place}: property '{place}' is unsupported", "wrong_api_format", "validation_error")


def _extra_forbidden(i: int, key: str) -> Refusal:
    text = "Extra inputs are not permitted"
    detail = {"type": "extra_forbidden", "loc": ["body", "messages", i, "assistant", key], "msg": text}
    return Refusal(text, status=422, body={"detail": [detail]})


def _note_lost_reasoning(asked: Asked) -> None:
    others = [key for key in REASONING_KEYS if key != "reasoning"]
    sent = [(i, one) for i, one in asked.assistants() if any(one.get(key) for key in others)]
    asked.record.lost_reasoning = [i for i, one in sent if not one.get("reasoning")]


STRICT_RULES = (Rule("X1", _no_reasoning_keys),)
VLLM_RULES = (Rule("V1", _note_lost_reasoning),)
