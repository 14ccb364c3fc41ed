"""O1, O2 and Q1: reasoning that only its maker can read, tied to the step that it came with."""

from collections.abc import Mapping
from typing import Any

from replay_contract_server.ledger import calls_of, signature_of
from replay_contract_server.rules.base import CheckedRequest, Refusal, Rule, own

UNREADABLE = "Encrypted content could not be decrypted or parsed."
UNSIGNED = "Function call is missing a thought_signature in functionCall parts."
# Google documents it for calls that have none of their own.
NO_SIGNATURE = frozenset({None, "skip_thought_signature_validator"})


def unverifiable(id_: object, ciphertext: object, reason: str = UNREADABLE) -> Refusal:
    """Return the refusal of ciphertext; without an id it names the ends of the ciphertext."""
    if isinstance(id_, str) and id_:
        text = f"The encrypted content for item {id_} could not be verified. Reason: {reason}"
    else:
        shown = str(ciphertext)
        text = f"The encrypted content {shown[:4]}...{shown[-4:]} could not be verified."
    return Refusal(text, "invalid_encrypted_content")


def any_ciphertext(request: CheckedRequest) -> Refusal | None:
    """Return the refusal of the first ciphertext in a request, intact or not; None if it has none."""
    for item in request.input:
        if item.get("encrypted_content"):
            return unverifiable(item.get("id"), item["encrypted_content"])
    for _, message in request.assistants():
        for element in message.get("reasoning_details") or ():
            if ciphertext := _ciphertext_of(element):
                return unverifiable(element.get("id"), ciphertext)
    return None


def _ciphertext_of(element: Any) -> str:
    if not isinstance(element, Mapping):
        return ""
    return next((str(element[key]) for key in ("data", "signature") if element.get(key)), "")


def _own_details(request: CheckedRequest) -> Refusal | None:
    for i, message in request.with_calls():
        for step in request.ledger.sources_of(message):
            is_own = step.model == request.model and step.details
            if is_own and message.get("reasoning_details") != list(step.details):
                return own("details_altered", f"reasoning_details of messages[{i}] are not those that were issued.")
    return None


def _foreign_details(request: CheckedRequest) -> Refusal | None:
    for _, message in request.assistants():
        for element in message.get("reasoning_details") or []:
            ciphertext = _ciphertext_of(element)
            if ciphertext and not request.ledger.has_detail(element, request.model):
                return unverifiable(element.get("id"), ciphertext)
    return None


def _signatures(request: CheckedRequest) -> Refusal | None:
    """Q1: a step's calls are together in one message, each with the signature that it was issued with, or none."""
    for i, message in request.with_calls():
        returned = {call["id"]: signature_of(call) for call in calls_of(message)}
        for step in request.ledger.sources_of(message):
            if not all(call.id in returned and _is_signed(returned[call.id], call.signature) for call in step.calls):
                return Refusal(UNSIGNED, param=f"messages.[{i}].tool_calls")
    return None


def _is_signed(sent: str | None, issued: str | None) -> bool:
    return sent == issued or (sent in NO_SIGNATURE and issued is None)


DETAILS_RULES = (Rule("O1", _own_details), Rule("O2", _foreign_details))
SIGNED_RULES = (Rule("Q1", _signatures),)
