"""What a person does with their conversations: begin, rename, pin, delete and take back; and the end of those gone.

A deleted conversation is found by no look-up from that moment on; for a while its owner can take it back, then
``purge`` forgets it with all that belongs to it. The same end comes to a temporary one when its time is over. Nothing
is purged under a running turn: whoever calls ``purge`` stops those of ``still_running`` first, and comes again.
"""

from __future__ import annotations

import uuid
from datetime import timedelta
from typing import Any

from django.db.models import Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from accounts.models import User
from chat.forms import MessageRefused, storable
from chat.models import Conversation, Turn
from reasoning.redaction import redact_text

UNDO_FOR = timedelta(seconds=30)
TEMPORARY_FOR = timedelta(hours=24)
TITLE_MOST_CHARS = 120


def start(person: User, *, temporary: bool = False) -> Conversation:
    """Make a conversation; a temporary one is in no list, and ends with its person's session or after a day."""
    expires_at = timezone.now() + TEMPORARY_FOR if temporary else None
    return Conversation.objects.create(owner=person, expires_at=expires_at)


def newest(person: User) -> Conversation:
    """Return the conversation that was used last, or an empty one."""
    return person.conversations.filter(expires_at=None).first() or start(person)


def rename(conversation: Conversation, title: object) -> None:
    """Call it by its person's own words; from then on no title is made. Raises MessageRefused."""
    conversation.title = _clean_title(title)
    conversation.is_renamed = True
    conversation.save(update_fields=["title", "is_renamed"])


def pin(conversation: Conversation, is_pinned: object) -> None:
    """Keep it on top of the list, or no longer. Raises MessageRefused."""
    if not isinstance(is_pinned, bool):
        raise MessageRefused("invalid_pinned", _("pinned: true or false is needed."), field="pinned")
    conversation.is_pinned = is_pinned
    conversation.save(update_fields=["is_pinned"])


def delete(conversation: Conversation) -> None:
    """Let no look-up find it any more. Who wants its running turn stopped stops it first."""
    conversation.deleted_at = timezone.now()
    conversation.save(update_fields=["deleted_at"])


def deleted_just_now(person: User, conversation_id: object) -> Conversation | None:
    """Return what this person deleted and can still take back."""
    try:
        wanted = uuid.UUID(str(conversation_id))
    except ValueError:
        return None
    since = timezone.now() - UNDO_FOR
    return Conversation.everything.filter(pk=wanted, owner=person, deleted_at__gt=since).first()


def restore(person: User, conversation_id: uuid.UUID) -> Conversation | None:
    """Take a deletion back; None where there is nothing to take back any more."""
    found = deleted_just_now(person, conversation_id)
    if found is not None:
        found.deleted_at = None
        found.save(update_fields=["deleted_at"])
    return found


def end_temporary(sender: object, *, user: User | None, **kwargs: Any) -> None:
    """End a person's temporary conversations as they sign out. A receiver of ``user_logged_out``."""
    if user is not None:
        user.conversations.exclude(expires_at=None).update(expires_at=timezone.now())


def still_running() -> list[uuid.UUID]:
    """Return conversations that are gone and where a turn runs on."""
    return list(_gone().filter(turns__status=Turn.Status.RUNNING).values_list("pk", flat=True))


def purge() -> int:
    """Forget for good what can't be taken back any more; return how many conversations that were."""
    taken_back_until = timezone.now() - UNDO_FOR
    over = _gone().exclude(deleted_at__gt=taken_back_until).exclude(turns__status=Turn.Status.RUNNING)
    _total, by_model = over.delete()
    return by_model.get("chat.Conversation", 0)


def _gone() -> QuerySet[Conversation]:
    return Conversation.everything.filter(Q(deleted_at__isnull=False) | Q(expires_at__lte=timezone.now()))


def _clean_title(title: object) -> str:
    line = " ".join(storable(title).split()) if isinstance(title, str) else ""
    if not line or len(line) > TITLE_MOST_CHARS:
        message = _("title: between 1 and %(most)s characters are needed.") % {"most": TITLE_MOST_CHARS}
        raise MessageRefused("invalid_title", message, field="title")
    return redact_text(line)[:TITLE_MOST_CHARS]
