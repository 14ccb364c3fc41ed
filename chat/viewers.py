"""Who looks at an open page, and what they may see: read when it opens, and again when that may have changed."""

from __future__ import annotations

import uuid

from channels.db import database_sync_to_async

from accounts.models import User
from accounts.preferences import reread
from chat import layers, owned
from chat.standing import Mark, OpenPage, is_own, marks
from reasoning.policy import Visibility


class SignedOut(Exception):
    """The session or the person behind this page has ended. ``code`` is what its socket is closed with."""

    code = 4401


class Gone(SignedOut):
    """The conversation was deleted, or its time is over."""

    code = 4404


def is_thinking_switched(before: Visibility, now: Visibility) -> bool:
    """Return whether a setting changed what cards show (spec 001 EC-005). A switch of the page draws them itself."""
    return before.thinking != now.thinking and before.show_reasoning == now.show_reasoning


@database_sync_to_async
def first_look(
    person: User, session_key: str | None, conversation_id: uuid.UUID
) -> tuple[Mark, User, Visibility] | None:
    """Return what an own conversation's page begins with; None for another's. Raises SignedOut.

    The mark is read before the rest, so that what changes between the two is noticed.
    """
    page = OpenPage(session_key, person.pk, conversation_id)
    (mark,) = marks([page])
    if not is_own(page, mark):
        return None
    return mark, *_look(person, session_key, conversation_id)


@database_sync_to_async
def look_again(person: User, session_key: str | None, conversation_id: uuid.UUID) -> tuple[User, Visibility]:
    """Return who looks and what they may see, as it is now. Raises SignedOut, Gone."""
    return _look(person, session_key, conversation_id)


def _look(person: User, session_key: str | None, conversation_id: uuid.UUID) -> tuple[User, Visibility]:
    if (current := reread(person, session_key)) is None:
        raise SignedOut
    if (conversation := owned.open_conversation(person, conversation_id)) is None:
        raise Gone
    return current[0], layers.sees(*current, conversation)
