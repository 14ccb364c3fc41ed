"""Documents on their way into a collection: accepted, read in the background, replaced and deleted."""

from __future__ import annotations

from django.core.files.uploadedfile import UploadedFile

from accounts.models import User
from chat.models import Collection, Document


def accept(person: User | None, collection: Collection, upload: UploadedFile[bytes]) -> Document:
    """Store a file in a collection and have it read. ``person``: None for a command of the site.

    A file of the same name and content stays as it is, one of the same name replaces it. Raises InvalidInputError.
    """
    raise NotImplementedError


def read(document: Document) -> None:
    """Read a document and store its passages, all at once, or why there are none."""
    raise NotImplementedError


def cited_by(document: Document) -> int:
    """Return how many answers cite a document, at most ``MAX_COUNTED``."""
    raise NotImplementedError


def delete(document: Document) -> None:
    """Delete a document with its passages."""
    raise NotImplementedError
