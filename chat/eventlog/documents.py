"""The contents of documents: stored encrypted, decrypted to be read and for those who may open them."""

from __future__ import annotations

from typing import Any

from chat.eventlog import encryption
from chat.models import Collection, Document


def store(collection: Collection, name: str, content: bytes, **fields: Any) -> Document:
    """Store a file in a collection, in the place of one of the same name."""
    sealed = {"size": len(content), "sealed_content": encryption.encrypt_bytes(content)}
    return Document.objects.update_or_create(collection=collection, name=name, defaults={**fields, **sealed})[0]


def content_of(document: Document) -> bytes:
    """Return the bytes that were uploaded."""
    return encryption.decrypt_bytes(document.sealed_content)
