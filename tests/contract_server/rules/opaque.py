"""O1, O2 and Q1: reasoning that only its maker can read, tied to the step that it came with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.contract_server.ledger import Step, calls_of
from tests.contract_server.rules.base import Asked, Refusal, Rule, own
from tests.contract_server.rules.ciphertext import is_sealed, sealed_part, unverifiable

UNSIGNED = "Function call is missing a thought_signature in functionCall parts."


def _own_details(asked: Asked) -> Refusal | None:
    for i, message in asked.with_calls():
        for step in asked.ledger.steps_behind(message):
            same_model = step.model == asked.model and step.details
            if same_model and message.get("reasoning_details") != list(step.details):
                return own("details_altered", f"reasoning_details of messages[{i}] are not those that were issued.")
    return None


def _foreign_details(asked: Asked) -> Refusal | None:
    for _, message in asked.assistants():
        for element in message.get("reasoning_details") or []:
            if is_sealed(element) and not asked.ledger.has_detail(element, asked.model):
                return unverifiable(element.get("id"), sealed_part(element))
    return None


def _signatures(asked: Asked) -> Refusal | None:
    for i, message in asked.with_calls():
        for step in asked.ledger.steps_behind(message):
            if not _is_signed(message, step):
                return Refusal(UNSIGNED, param=f"messages.[{i}].tool_calls")
    return None


def _is_signed(message: Mapping[str, Any], step: Step) -> bool:
    """The step's calls stand together in this message, each with the signature that it was issued with, or none."""
    returned = {call["id"]: signature_of(call) for call in calls_of(message)}
    return all(call.id in returned and returned[call.id] == call.signature for call in step.calls)


def signature_of(call: Mapping[str, Any]) -> str | None:
    """Return the thought signature of a tool call in the shape that a client sends."""
    extra = call.get("extra_content")
    google = extra.get("google") if isinstance(extra, Mapping) else None
    return google.get("thought_signature") if isinstance(google, Mapping) else None


DETAILS_RULES = (Rule("O1", _own_details), Rule("O2", _foreign_details))
SIGNED_RULES = (Rule("Q1", _signatures),)
