"""The refusal of ciphertext that cannot be opened, whoever sealed it, and where a request carries any."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tests.contract_server.rules.base import Asked, Refusal

SEALS = ("data", "signature")
UNREADABLE = "Encrypted content could not be decrypted or parsed."


def unverifiable(id_: object, sealed: object, reason: str = UNREADABLE) -> Refusal:
    """Return S7's answer; without an id the ends of the ciphertext stand for the item."""
    if isinstance(id_, str) and id_:
        text = f"The encrypted content for item {id_} could not be verified. Reason: {reason}"
        return Refusal(text, "invalid_encrypted_content")
    shown = str(sealed)
    return Refusal(
        f"The encrypted content {shown[:4]}...{shown[-4:]} could not be verified.", "invalid_encrypted_content"
    )


def rejection(asked: Asked) -> Refusal | None:
    """Return the refusal of the first ciphertext in a request, intact or not; None if it has none."""
    return next((unverifiable(id_, sealed) for id_, sealed in _sealed(asked)), None)


def _sealed(asked: Asked) -> Iterator[tuple[object, object]]:
    for item in asked.input:
        if item.get("encrypted_content"):
            yield item.get("id"), item["encrypted_content"]
    for _, message in asked.assistants():
        for element in message.get("reasoning_details") or ():
            if is_sealed(element):
                yield element.get("id"), sealed_part(element)


def is_sealed(element: Any) -> bool:
    """Say whether an element of ``reasoning_details`` is one that only its maker can read."""
    return isinstance(element, Mapping) and any(element.get(key) for key in SEALS)


def sealed_part(element: Mapping[str, Any]) -> str:
    return next(str(element[key]) for key in SEALS if element.get(key))
