"""The contents of documents: stored encrypted, decrypted to be read and for those who may open them."""

from __future__ import annotations

from typing import Any

from django.db import transaction

from chat.eventlog import encryption
from chat.models import Collection, Document, PagePicture

MAX_PICTURES = 200  # of the documents of one person, and of the site's; 100 to 400 KB each, of scans up to 1 MB


def store(collection: Collection, name: str, content: bytes, **fields: Any) -> Document:
    """Store a file in a collection, in the place of one of the same name."""
    sealed = {"size": len(content), "sealed_content": encryption.encrypt_bytes(content)}
    document, is_new = Document.objects.update_or_create(
        collection=collection, name=name, defaults={**fields, **sealed}
    )
    if not is_new:
        document.pictures.all().delete()
    return document


def content_of(document: Document) -> bytes:
    """Return the bytes that were uploaded."""
    return encryption.decrypt_bytes(document.sealed_content)


def picture_of(document: Document, page: int) -> tuple[bytes, str] | None:
    """Return the stored picture of a page, or the problem for which there is none; None where it was not drawn yet."""
    stored = document.pictures.filter(page=page, digest=document.digest).first()
    if stored is None:
        return None
    return b"" if stored.sealed is None else encryption.decrypt_bytes(stored.sealed), stored.problem


def store_picture(document: Document, page: int, picture: bytes, problem: str) -> None:
    """Store a page as it was drawn, or why it can't be, unless its document was replaced or deleted meanwhile.

    The oldest pictures of the same person make room.
    """
    drawn = Document.objects.filter(pk=document.pk, digest=document.digest)
    sealed = None if problem else encryption.encrypt_bytes(picture)
    with transaction.atomic():
        if not drawn.select_for_update().values_list("pk").first():
            return
        fields = {"digest": document.digest, "problem": problem, "sealed": sealed}
        PagePicture.objects.update_or_create(document=document, page=page, defaults=fields)
        of_owner = PagePicture.objects.filter(document__collection__owner=document.collection.owner_id)
        oldest = of_owner.order_by("-pk").values_list("pk", flat=True)[MAX_PICTURES:]
        PagePicture.objects.filter(pk__in=list(oldest)).delete()


def purge_pictures() -> int:
    """Delete the pictures of documents that version 0.2.0 deleted."""
    return PagePicture.objects.exclude(document__in=Document.objects.order_by().values("pk")).delete()[0]
