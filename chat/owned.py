"""What is one's own: every look-up here is by owner, and what another person has is not found (product 14)."""

from __future__ import annotations

import uuid
from typing import cast

from django.db.models import BigIntegerField, DateTimeField, UUIDField
from django.http import HttpRequest
from django.shortcuts import get_object_or_404
from django.utils import timezone

from accounts.models import User
from accounts.prepared import Given, Prepared
from chat.models import Conversation, Turn

_OWN = Prepared(
    lambda: (
        Conversation.objects.at(Given("now", DateTimeField()))
        .filter(pk=Given("conversation", UUIDField()), owner_id=Given("owner", BigIntegerField()))
        .select_related("profile")
    )
)


def person(request: HttpRequest) -> User:
    """Return who is signed in."""
    return cast("User", request.user)


def conversation(request: HttpRequest, conversation_id: uuid.UUID) -> Conversation:
    """Return one's own conversation; 404 for any other, and for a deleted one."""
    return get_object_or_404(Conversation, pk=conversation_id, owner=person(request), deleted_at=None)


def open_conversation(person: User, conversation_id: uuid.UUID) -> Conversation | None:
    """Return one's own conversation with its model, for a page that is open on it; None where it is gone."""
    found = _OWN.first(conversation=conversation_id, owner=person.pk, now=timezone.now())
    if found is not None:
        found.owner = person  # with what is known of them already
    return found


def turn(request: HttpRequest, conversation_id: uuid.UUID, turn_id: uuid.UUID, *, any_branch: bool = False) -> Turn:
    """Return a turn of one's own conversation; of the selected branch unless ``any_branch``. Else 404."""
    on_branch = {} if any_branch else {"is_active": True}
    return get_object_or_404(Turn, pk=turn_id, conversation=conversation(request, conversation_id), **on_branch)
