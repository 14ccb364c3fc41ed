"""Look up what belongs to the signed-in person. What belongs to somebody else is not found (product 14)."""

from __future__ import annotations

import uuid

from django.db.models import Exists, OuterRef
from django.http import HttpRequest
from django.shortcuts import get_object_or_404

from accounts.models import User
from accounts.views import request_user
from chat.models import Conversation, QueuedMessage, Turn


def find_conversation(person: User, conversation_id: uuid.UUID) -> Conversation | None:
    """Return this person's conversation, or None."""
    return person.conversations.filter(pk=conversation_id).first()


def get_conversation(request: HttpRequest, conversation_id: uuid.UUID) -> Conversation:
    """Return the user's conversation with its model profile; 404 for others', deleted and expired ones.

    Its ``has_waiting`` says whether messages wait for the running turn.
    """
    waiting = QueuedMessage.objects.filter(conversation=OuterRef("pk"))
    # 404, not 403, for others: nobody learns that it exists
    found = request_user(request).conversations.select_related("profile").annotate(has_waiting=Exists(waiting))
    return get_object_or_404(found, pk=conversation_id)


def get_turn(request: HttpRequest, conversation_id: uuid.UUID, turn_id: uuid.UUID, *, any_branch: bool = False) -> Turn:
    """Return a turn of the user's conversation; 404 if it isn't on the selected branch, unless ``any_branch``."""
    on_branch = {} if any_branch else {"is_active": True}
    return get_object_or_404(Turn, pk=turn_id, conversation=get_conversation(request, conversation_id), **on_branch)
