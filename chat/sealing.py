"""The only place that opens and closes sealed columns.

Values are JSON, encrypted with the newest of ``CONTENT_KEYS``; older keys still open what they closed
(``MultiFernet``), so keys rotate. Only ``chat.log`` may import this module (product 3).
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import msgspec
from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured


def seal(value: Any) -> bytes:
    """Encrypt a JSON value."""
    return _box(tuple(settings.CONTENT_KEYS)).encrypt(msgspec.json.encode(value))


def unseal(token: bytes | memoryview) -> Any:
    """Decrypt what ``seal`` made. Raises ``cryptography.fernet.InvalidToken`` when no key fits."""
    return msgspec.json.decode(_box(tuple(settings.CONTENT_KEYS)).decrypt(bytes(token)))


def unseal_if_possible(token: bytes | memoryview) -> Any | None:
    """Decrypt what ``seal`` made, or return None for anything that no key opens."""
    try:
        return unseal(token)
    except (InvalidToken, ImproperlyConfigured, msgspec.MsgspecError):
        return None


def reseal(token: bytes | memoryview) -> bytes:
    """Encrypt the same value under the newest key."""
    return _box(tuple(settings.CONTENT_KEYS)).rotate(bytes(token))


@lru_cache(maxsize=4)
def _box(keys: tuple[str, ...]) -> MultiFernet:
    if not keys:
        raise ImproperlyConfigured("CONTENT_KEYS: at least one Fernet key is needed; `make run` writes one into .env")
    return MultiFernet([Fernet(key) for key in keys])
