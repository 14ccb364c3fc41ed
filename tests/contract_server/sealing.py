"""Sealed reasoning: ciphertext that this server alone can make, tied to a model, an account and an item."""

from __future__ import annotations

import base64
import hashlib
import hmac

import msgspec
from msgspec import Struct

KEY = b"contract-server"
MARK, PROVISIONAL_MARK = "ENC1", "ENC0"


class Seal(Struct, frozen=True):
    """What a ciphertext says about itself. Hand-written ones name no account and no response."""

    model: str
    item: str
    account: str | None
    response: str
    serial: int


def account_of(token: str) -> str:
    """Return the account that a bearer token belongs to."""
    return hashlib.sha256(token.encode()).hexdigest()[:12]


def seal(what: Seal) -> str:
    """Return the ciphertext for it."""
    payload = _encode(what)
    return f"{MARK}.{payload}.{_sign(payload)}"


def provisional(what: Seal) -> str:
    """Return what the announcement of an item carries instead: like ciphertext, and never accepted."""
    return f"{PROVISIONAL_MARK}.{_encode(what)}.{'0' * 64}"


def read_seal(text: object, *, plain: bool) -> Seal | None:
    """Return what a ciphertext says, if it is intact; ``plain`` takes ``ENC[<model>|<item id>|<serial>]`` as well."""
    if not isinstance(text, str):
        return None
    if plain and text.startswith("ENC[") and text.endswith("]"):
        return _read_plain(text[4:-1])
    mark, _, rest = text.partition(".")
    payload, _, signature = rest.partition(".")
    intact = mark == MARK and hmac.compare_digest(_sign(payload).encode(), signature.encode("utf-8", "replace"))
    return msgspec.json.decode(base64.urlsafe_b64decode(payload), type=Seal) if intact else None


def _read_plain(text: str) -> Seal | None:
    match text.split("|"):
        case [model, item, serial] if serial.isdecimal():
            return Seal(model, item, None, "", int(serial))
    return None


def _encode(what: Seal) -> str:
    return base64.urlsafe_b64encode(msgspec.json.encode(what)).decode()


def _sign(payload: str) -> str:
    return hmac.new(KEY, payload.encode("utf-8", "replace"), hashlib.sha256).hexdigest()
