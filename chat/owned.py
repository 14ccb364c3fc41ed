"""What is one's own: every look-up here is by owner, and what another person has is not found (product 14)."""

from __future__ import annotations

import uuid
from typing import cast

from django.http import HttpRequest
from django.shortcuts import get_object_or_404

from accounts.models import User
from chat.models import Conversation, Turn


def person(request: HttpRequest) -> User:
    """Return who is signed in."""
    return cast("User", request.user)


def conversation(request: HttpRequest, conversation_id: uuid.UUID) -> Conversation:
    """Return one's own conversation; 404 for any other, and for a deleted one."""
    return get_object_or_404(Conversation, pk=conversation_id, owner=person(request), deleted_at=None)


def turn(request: HttpRequest, conversation_id: uuid.UUID, turn_id: uuid.UUID, *, any_branch: bool = False) -> Turn:
    """Return a turn of one's own conversation; of the selected branch unless ``any_branch``. Else 404."""
    on_branch = {} if any_branch else {"is_active": True}
    return get_object_or_404(Turn, pk=turn_id, conversation=conversation(request, conversation_id), **on_branch)
