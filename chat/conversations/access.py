"""Look up what belongs to the signed-in person. What belongs to somebody else is not found (product 14)."""

from __future__ import annotations

import uuid

from django.db.models import Exists, OuterRef, Q
from django.http import HttpRequest
from django.shortcuts import get_object_or_404

from accounts.models import User
from accounts.views import request_user
from chat.eventlog import attachments
from chat.models import Attachment, Collection, Conversation, Project, Turn
from chat.url_converters import parse_id


def find_conversation(person: User, conversation_id: uuid.UUID) -> Conversation | None:
    """Return this person's conversation, or None."""
    return person.conversations.filter(pk=conversation_id).first()


def get_conversation(request: HttpRequest, conversation_id: uuid.UUID) -> Conversation:
    """Return the user's conversation with its model profile and project; 404 for others', deleted and expired ones."""
    collections = Collection.objects.filter(Q(owner=OuterRef("owner")) | Q(owner=None)).order_by()
    found = request_user(request).conversations.select_related("profile", "project")
    # 404, not 403, for others: nobody learns that it exists
    annotated = found.annotate(has_collections=Exists(collections))  # type: ignore[no-redef]
    return get_object_or_404(annotated, pk=conversation_id)


def get_project(request: HttpRequest, project_id: object) -> Project:
    """Return the user's project; 404 for others', and for what is no id."""
    return get_object_or_404(request_user(request).projects, pk=parse_id(project_id))


def get_turn(request: HttpRequest, conversation_id: uuid.UUID, turn_id: uuid.UUID, *, any_branch: bool = False) -> Turn:
    """Return a turn of the user's conversation; 404 if it isn't on the selected branch, unless ``any_branch``.

    A turn that is compared with one on the branch is shown with it, and is found like that.
    """
    turns = get_conversation(request, conversation_id).turns.filter(deleted_at=None)
    shown = Q(is_active=True) | Q(compared_with__is_active=True)
    return get_object_or_404(turns if any_branch else turns.filter(shown), pk=turn_id)


def get_attachment(request: HttpRequest, conversation_id: uuid.UUID, attachment_id: uuid.UUID) -> Attachment:
    """Return a file of the user's conversation, its contents deferred; 404 for anything else."""
    conversation = get_conversation(request, conversation_id)
    return get_object_or_404(attachments.attachments_of(conversation), pk=attachment_id)
