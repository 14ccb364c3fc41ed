"""Columns whose text is encoded: read without unpickling, without checking signatures, and never without bounds.

Sealed ones are not opened here; that they are sealed shows in their form.
"""

from __future__ import annotations

import base64
import binascii
import json
import zlib
from collections.abc import Callable, Mapping
from typing import Any, Final

from django.conf import settings
from django.contrib.sessions.models import Session
from django.core.signing import b64_decode

MAX_BYTES: Final = 8 << 20
_TOKEN_VERSION: Final = 0x80
_TOKEN_FRAME: Final = 1 + 8 + 16 + 32  # version, time, IV, HMAC
_BLOCK: Final = 16


def decoder(table: str, column: str) -> Callable[[str], Any] | None:
    """Return how to read a column that is encoded, or None for a plain one."""
    if (table, column) == (Session._meta.db_table, "session_data"):
        return read_session
    return read_cached if column == "value" and table in _cache_tables() else None


def read_session(data: str) -> Any:
    """Return what a session holds, as JSON; of another serializer the text that is in it. Old keys don't matter."""
    payload = data.partition(":")[0]
    try:
        packed = b64_decode(payload.removeprefix(".").encode())
        plain = zlib.decompressobj().decompress(packed, MAX_BYTES) if payload.startswith(".") else packed
    except (ValueError, zlib.error):
        return data
    try:
        return json.loads(plain)
    except (ValueError, RecursionError):
        return [data, plain.decode("utf-8", "replace")]


def read_cached(data: str) -> Any:
    """Return an entry of the cache as text: a pickle keeps strings as they are, and opening one would run it."""
    try:
        return base64.b64decode(data, validate=True).decode("utf-8", "replace")
    except (ValueError, binascii.Error):
        return data


def is_token(sealed: bytes) -> bool:
    """Say whether bytes have the form of a Fernet token. No key is needed."""
    try:
        token = base64.b64decode(sealed, altchars=b"-_", validate=True)
    except (ValueError, binascii.Error):
        return False
    length = len(token) - _TOKEN_FRAME
    return length > 0 and length % _BLOCK == 0 and token[0] == _TOKEN_VERSION


def _cache_tables() -> frozenset[str]:
    caches: Mapping[str, Mapping[str, Any]] = settings.CACHES
    in_database = (one for one in caches.values() if str(one.get("BACKEND", "")).endswith(".DatabaseCache"))
    return frozenset(str(one.get("LOCATION", "")) for one in in_database)
