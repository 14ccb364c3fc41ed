"""Check the viewers of the open pages, and what they may see: at connect, with each action and every few seconds."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from channels.db import database_sync_to_async
from django.db.models import OuterRef, Subquery

from accounts.access.visibility import has_session, read_sessions
from accounts.models import User
from chat.conversations import model_choice, reasoning_settings
from chat.models import Conversation, Turn
from reasoning.visibility import Visibility


class SignedOutError(Exception):
    """The session or the user of this page has ended. ``code`` closes the socket."""

    code = 4401


class ConversationGoneError(SignedOutError):
    """There is no such conversation for this user (any more)."""

    code = 4404


class PageKey(NamedTuple):
    """What a page was opened with."""

    user_id: int
    session_key: str | None
    conversation_id: uuid.UUID


@dataclass(frozen=True, slots=True)
class PageViewer:
    """The user of a page, what they may see in its conversation, and the public id of its newest turn, or ""."""

    user: User
    sees: Visibility
    newest_id: str


Viewers = Mapping[PageKey, PageViewer | SignedOutError]


def read_viewers(pages: Collection[PageKey]) -> Viewers:
    """Read the viewer of each page, or why it has none any more. Five queries, however many pages there are."""
    sessions = read_sessions({page.session_key for page in pages if page.session_key})
    users = {user.pk for user, _session in sessions.values()}
    administrators = set(User.administrators().filter(pk__in=users).values_list("pk", flat=True))
    # A page that missed the start of a turn learns of it by this.
    newest = Turn.objects.filter(conversation=OuterRef("pk"), is_active=True).order_by("-number").values("pk")[:1]
    found = Conversation.objects.filter(pk__in={page.conversation_id for page in pages}, owner__in=users)
    conversations = {each.pk: each for each in found.annotate(newest_turn=Subquery(newest))}
    profiles = model_choice.enabled_profiles()

    viewers: dict[PageKey, PageViewer | SignedOutError] = {}
    for page in pages:
        current = sessions.get(page.session_key or "")
        conversation = conversations.get(page.conversation_id)
        if current is None or current[0].pk != page.user_id:
            viewers[page] = SignedOutError()
        # Compared in Python: the query above found the conversations of all these users.
        elif conversation is None or conversation.owner_id != page.user_id:
            viewers[page] = ConversationGoneError()
        else:
            model = model_choice.model_of(conversation, profiles)
            is_administrator = page.user_id in administrators
            sees = reasoning_settings.visibility_for(*current, conversation, model, is_administrator=is_administrator)
            newest_id = conversation.newest_turn.hex if conversation.newest_turn else ""
            viewers[page] = PageViewer(current[0], sees, newest_id)
    return viewers


async def authorize(page: PageKey) -> PageViewer:
    """Return the viewer of one page. Raises SignedOutError, ConversationGoneError."""
    viewer = (await database_sync_to_async(read_viewers)([page]))[page]
    if isinstance(viewer, SignedOutError):
        raise viewer
    return viewer


def require_session(session_key: str | None, user: User) -> None:
    """Raise SignedOutError where a user, who was read just now, or their session has ended. Reads the database."""
    if not has_session(user, session_key):
        raise SignedOutError
