"""The tokens of shared links: a digest finds the link, an encrypted copy lets its owner copy it again.

With the database alone nobody can open a link. It is here because only this package may decrypt.
"""

from __future__ import annotations

import hashlib
import secrets

from chat.eventlog import encryption
from chat.models import Share


def add_token(link: Share) -> str:
    """Give a link that isn't saved yet a new token, and return it."""
    token = secrets.token_urlsafe(24)  # 192 bits: whoever has the link can read the conversation
    link.digest, link.sealed_token = digest_of(token), encryption.encrypt(token)
    return token


def token_of(link: Share) -> str | None:
    """Return the token of a link, for its owner; None if no key decrypts it."""
    token = encryption.decrypt_if_possible(link.sealed_token or b"")
    return token if isinstance(token, str) else None


def digest_of(token: str) -> str:
    """Return what finds the link with this token."""
    # unsalted: 192 random bits can't be guessed from their hash
    return hashlib.sha256(token.encode("utf-8", "replace")).hexdigest()
