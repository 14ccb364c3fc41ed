"""Encrypt and decrypt private payloads. Only ``chat.eventlog`` may import this module (product 3).

Payloads are JSON, attached files bytes; both are encrypted with the newest of ``CONTENT_KEYS``. Older keys still
decrypt (``MultiFernet``), so that keys can be rotated.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import msgspec
from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured


def encrypt(value: Any) -> bytes:
    """Encrypt a JSON value."""
    return encrypt_bytes(msgspec.json.encode(value))


def encrypt_bytes(content: bytes) -> bytes:
    """Encrypt a file."""
    return _cipher().encrypt(content)


def decrypt_bytes(token: bytes | memoryview) -> bytes:
    """Decrypt a file. Raises ``cryptography.fernet.InvalidToken`` when no key fits."""
    return _cipher().decrypt(bytes(token))


def decrypt(token: bytes | memoryview) -> Any:
    """Decrypt a JSON value. Raises ``cryptography.fernet.InvalidToken`` when no key fits."""
    return msgspec.json.decode(decrypt_bytes(token))


def decrypt_if_possible(token: bytes | memoryview) -> Any | None:
    """Decrypt a JSON value, or return None where no key fits."""
    try:
        return decrypt(token)
    except (InvalidToken, ImproperlyConfigured, msgspec.MsgspecError):
        return None


def rotate(token: bytes | memoryview) -> bytes:
    """Encrypt the same value under the newest key."""
    return _cipher().rotate(bytes(token))


def _cipher() -> MultiFernet:
    return _cipher_of(tuple(settings.CONTENT_KEYS))


@lru_cache(maxsize=4)
def _cipher_of(keys: tuple[str, ...]) -> MultiFernet:
    if not keys:
        raise ImproperlyConfigured("CONTENT_KEYS: at least one Fernet key is needed; `make run` writes one into .env")
    return MultiFernet([Fernet(key) for key in keys])
