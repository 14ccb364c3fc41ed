"""Which collections a person may read, and which of them a conversation does."""

from __future__ import annotations

import uuid
from typing import NamedTuple

from django.core.exceptions import PermissionDenied
from django.db.models import Q, QuerySet
from django.utils.translation import gettext as _

from accounts.models import User
from chat.models import Collection, Conversation, Document


class Reader(NamedTuple):
    """For whom sources are read: the owner of a conversation, and the collections that it may search."""

    conversation_id: uuid.UUID
    owner_id: int
    collections: tuple[uuid.UUID, ...] = ()


def readable_collections(owner_id: int) -> QuerySet[Collection]:
    """Return the collections that a person may read: their own, and the site's."""
    return Collection.objects.filter(Q(owner=owner_id) | Q(owner=None))


def readable_documents(owner_id: int) -> QuerySet[Document]:
    """Return the documents that a person may read, without their contents."""
    found = Document.objects.filter(collection__in=readable_collections(owner_id).order_by())
    return found.select_related("collection").defer("sealed_content")


def may_change(person: User, permission: str, collection: Collection | None) -> bool:
    """Say whether a person may change a collection: their own, or as staff with this permission the site's (None)."""
    if collection and collection.owner_id is not None:
        return collection.owner_id == person.pk
    return person.is_staff and person.has_perm(f"chat.{permission}")


def require_change(person: User, permission: str, collection: Collection | None) -> None:
    """Raise PermissionDenied where ``may_change`` says no."""
    if not may_change(person, permission, collection):
        raise PermissionDenied(_("This collection is the site’s: you can read it only."))


def chosen_collections(conversation: Conversation) -> list[Collection]:
    """Return the collections that a conversation reads: those chosen for it, else for its project, else all it may."""
    found = list(readable_collections(conversation.owner_id))
    chosen = conversation.collection_ids
    if chosen is None and conversation.project:
        chosen = conversation.project.collection_ids
    # A collection that was deleted since it was chosen is simply not there any more.
    return found if chosen is None else [each for each in found if each.pk.hex in chosen]


def reader_of(conversation_id: uuid.UUID) -> Reader:
    """Return for whom the sources of a conversation are read. Raises Conversation.DoesNotExist."""
    conversation = Conversation.objects.select_related("project").get(pk=conversation_id)
    collections = tuple(each.pk for each in chosen_collections(conversation))
    return Reader(conversation.pk, conversation.owner_id, collections)
