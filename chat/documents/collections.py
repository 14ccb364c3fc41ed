"""Collections of documents: created, renamed and deleted, with the same rules for pages and API."""

from __future__ import annotations

import re
import uuid
from datetime import datetime
from typing import Any

from django.db.models import QuerySet, TextField
from django.db.models.functions import Cast
from django.utils.translation import gettext as _

from accounts.models import User
from chat.documents.access import require_change
from chat.files.words import problem_text
from chat.models import Collection, Document, Event
from chat.validation import InvalidInputError, check_characters
from reasoning.events import AssistantMessage
from reasoning.redaction import redact_text

MAX_COLLECTIONS = 100  # of a person, and of the site
MAX_NAME_CHARS = 80
MAX_SCANNED, MAX_COUNTED = 20_000, 1_000  # answers
_CITED_ID = re.compile(r"/documents/([0-9a-f-]{36})/#")


def create(person: User, name: object, *, is_site: bool = False) -> Collection:
    """Create a collection of a person, or of the site. Raises InvalidInputError and PermissionDenied."""
    if is_site:
        require_change(person, "add_collection", None)
    owner = None if is_site else person
    line = clean_name(name)
    if Collection.objects.filter(owner=owner).count() >= MAX_COLLECTIONS:
        words = _("There are %(most)s collections already; delete one first.")
        raise InvalidInputError("too_many_collections", words % {"most": MAX_COLLECTIONS}, field="name")
    return Collection.objects.create(owner=owner, name=line)


def rename(person: User, collection: Collection, name: object) -> None:
    """Give a collection another name. Raises InvalidInputError and PermissionDenied."""
    require_change(person, "change_collection", collection)
    collection.name = clean_name(name)
    collection.save(update_fields=["name"])


def clean_name(name: object) -> str:
    """Return a name in one line, without secrets. Raises InvalidInputError."""
    check_characters({"name": name})
    line = " ".join(name.split()) if isinstance(name, str) else ""
    # It takes invisible characters out, too: with them alone there would be no name to see or to click.
    masked = redact_text(line)[:MAX_NAME_CHARS].strip()
    if not masked or len(line) > MAX_NAME_CHARS:
        message = _("name: between 1 and %(most)s characters are needed.") % {"most": MAX_NAME_CHARS}
        raise InvalidInputError("invalid_name", message, field="name")
    return masked


def delete(person: User, collection: Collection) -> None:
    """Delete a collection with its documents. Raises PermissionDenied. Answers keep what they quoted from them."""
    require_change(person, "delete_collection", collection)
    empty(collection)
    collection.delete()


def empty(collection: Collection) -> None:
    """Delete the documents of a collection."""
    # one by one: a transaction over a million passages would lock SQLite for long
    for document in collection.documents.defer("sealed_content"):
        document.delete()


def delete_document(person: User, document: Document) -> None:
    """Delete a document with its passages. Raises PermissionDenied."""
    require_change(person, "delete_document", document.collection)
    document.delete()


def cited_by(document: Document) -> int:
    """Return how many answers cite a document, at most ``MAX_COUNTED``."""
    citing = citing_answers(document.collection, document.created_at, f"/documents/{document.pk}/#")
    return citing.values("turn").distinct()[:MAX_COUNTED].count()


def collection_cited_by(collection: Collection) -> int:
    """Return how many answers cite documents of a collection, as ``cited_by`` counts them for one."""
    citing = citing_answers(collection, collection.created_at, "/documents/")
    ids = {str(pk) for pk in collection.documents.values_list("pk", flat=True)}
    turns: set[uuid.UUID] = set()
    # One pass over the answers: a query for each of a thousand documents would read all of them a thousand times.
    for turn, citations in citing.values_list("turn", "citations")[:MAX_SCANNED].iterator():
        if len(turns) < MAX_COUNTED and not ids.isdisjoint(_CITED_ID.findall(citations)):
            turns.add(turn)
    return len(turns)


def citing_answers(collection: Collection, since: datetime, address: str) -> QuerySet[Any]:
    """Return the answers of those who read a collection in whose ``citations``, as text, an address occurs."""
    answers = Event.objects.filter(type=AssistantMessage.type, created_at__gte=since, turn__deleted_at=None)
    if collection.owner_id:
        answers = answers.filter(conversation__owner=collection.owner_id)
    # The whole list as text: neither database has an index of its addresses. The site may have moved since.
    citing = answers.annotate(citations=Cast("public__citations", TextField()))
    return citing.filter(citations__contains=address).order_by()


def problem_of(document: Document) -> str:
    """Say why a document can't be read; empty where it can."""
    return problem_text(document.problem, document.name) if document.problem else ""
