"""Who looks at an open page, and what they may see: read at connect, with each action and every few seconds."""

from __future__ import annotations

import uuid
from dataclasses import dataclass

from channels.db import database_sync_to_async

from accounts.models import User
from accounts.visibility import reread
from chat.conversations import access, settings
from reasoning.visibility import Visibility


class SignedOutError(Exception):
    """The session or the user of this page has ended. ``code`` closes the socket."""

    code = 4401


class ConversationGoneError(SignedOutError):
    """There is no such conversation for this user (any more)."""

    code = 4404


@dataclass(frozen=True, slots=True)
class PageViewer:
    """The user of a page, and what they may see in its conversation."""

    user: User
    sees: Visibility


@database_sync_to_async
def authorize(user: User, session_key: str | None, conversation_id: uuid.UUID) -> PageViewer:
    """Read user, session and conversation again. Raises SignedOutError, ConversationGoneError."""
    if (current := reread(user, session_key)) is None:
        raise SignedOutError
    if (conversation := access.find_conversation(current[0], conversation_id)) is None:
        raise ConversationGoneError
    return PageViewer(current[0], settings.visibility_for(*current, conversation))


@database_sync_to_async
def require_session(user: User, session_key: str | None) -> None:
    """Raise SignedOutError where the user or the session has ended."""
    if reread(user, session_key) is None:
        raise SignedOutError
