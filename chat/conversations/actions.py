"""What a person does with conversations: start, rename, pin, move, archive, delete, restore; and the purge.

A deleted conversation is found by no query. For a short time its owner can restore it, then ``purge`` deletes it with
everything that belongs to it. Temporary conversations are purged when they expire.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import timedelta

from django.db.models import Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from accounts.access.attempts import AttemptLimit
from accounts.models import User
from chat import eventlog
from chat.attachments import uploads
from chat.conversations.titles import masked_name, title_from
from chat.documents import collections
from chat.documents.choice import clean_choice
from chat.eventlog import branches
from chat.eventlog.attachments import UnknownAttachmentError
from chat.eventlog.documents import purge_pictures
from chat.live.publish import publish_changes, publish_viewer_change
from chat.models import Collection, Conversation, ConversationImport, Project, Turn
from chat.url_converters import parse_id
from chat.validation import InvalidInputError, Message, check_characters

# As long as the notice with Undo is shown.
UNDO_FOR = timedelta(seconds=30)
TEMPORARY_FOR = timedelta(hours=24)
MAX_TITLE_CHARS = 120
CHATS_ALLOWED = 300  # new ones in five minutes


def start(person: User, *, temporary: bool = False, project: Project | None = None) -> Conversation:
    """Create a conversation. A temporary one is never listed, and ends with its owner's session or after a day.

    Raises InvalidInputError where this person has created too many.
    """
    if not AttemptLimit("chats", str(person.pk), allowed=CHATS_ALLOWED).take():
        raise InvalidInputError("too_many_chats", _("Too many new chats. Try again in a few minutes."))
    # ends earlier where its owner signs out, see signals.on_sign_out
    expires_at = timezone.now() + TEMPORARY_FOR if temporary else None
    return Conversation.objects.create(owner=person, expires_at=expires_at, project=project)


def newest(person: User) -> Conversation:
    """Return the conversation that was used last, or an empty one. Raises InvalidInputError as ``start``."""
    return person.conversations.filter(expires_at=None, archived_at=None).first() or start(person)


def rename(conversation: Conversation, title: object) -> None:
    """Set the title; from then on none is generated. Raises InvalidInputError."""
    check_characters({"title": title})
    line = " ".join(title.split()) if isinstance(title, str) else ""
    # Masked, it has no invisible characters, which alone would be no name to see or to click.
    masked = masked_name(line, MAX_TITLE_CHARS)
    if not masked or len(line) > MAX_TITLE_CHARS:
        message = _("title: between 1 and %(most)s characters are needed.") % {"most": MAX_TITLE_CHARS}
        raise InvalidInputError("invalid_title", message, field="title")
    conversation.title = masked
    conversation.is_renamed = True
    conversation.save(update_fields=["title", "is_renamed"])
    publish_changes(conversation.pk, "settings")


def pin(conversation: Conversation, is_pinned: object) -> None:
    """Pin or unpin in the sidebar. Raises InvalidInputError."""
    if not isinstance(is_pinned, bool):
        raise InvalidInputError("invalid_pinned", _("pinned: true or false is needed."), field="pinned")
    conversation.is_pinned = is_pinned
    conversation.save(update_fields=["is_pinned"])
    publish_changes(conversation.pk, "settings")


def move(conversation: Conversation, project: Project | None) -> None:
    """Put a conversation into a project of its owner, or out of any."""
    conversation.project = project
    conversation.save(update_fields=["project"])
    publish_changes(conversation.pk, "settings", "model")  # the next request has other instructions


def archive(conversations: Iterable[Conversation], *, is_archived: bool = True) -> None:
    """Take conversations out of the sidebar, or put them back; so does a new message."""
    for conversation in conversations:
        conversation.archived_at = timezone.now() if is_archived else None
        conversation.save(update_fields=["archived_at"])


def set_system_prompt(conversation: Conversation, text: str) -> None:
    """Set what is added to the instructions of this conversation's requests."""
    conversation.system_prompt = text
    conversation.save(update_fields=["system_prompt"])
    publish_changes(conversation.pk, "settings")


def set_allowed_tools(conversation: Conversation, names: object) -> None:
    """Let calls of these tools alone go on without approval; none is added here. Raises InvalidInputError."""
    allowed = conversation.allowed_tools
    if not isinstance(names, list) or any(name not in allowed for name in names):
        message = _("allowedTools: a list of tools that are always allowed now (%(tools)s), or [], is needed.")
        shown = {"tools": ", ".join(allowed) or "-"}
        raise InvalidInputError("invalid_allowed_tools", message % shown, field="allowedTools")
    conversation.allowed_tools = [name for name in allowed if name in names]
    conversation.save(update_fields=["allowed_tools"])


def set_collections(conversation: Conversation, value: object) -> None:
    """Choose the collections that a conversation reads, by id; None for the default. Raises InvalidInputError."""
    conversation.collection_ids = clean_choice(conversation.owner_id, value)
    conversation.save(update_fields=["collection_ids"])


def delete(*conversations: Conversation) -> None:
    """Hide conversations from every query. ``TurnManager.delete`` stops their turns first."""
    now = timezone.now()  # the same for all: they are restored together
    for conversation in conversations:
        conversation.deleted_at = now
        conversation.save(update_fields=["deleted_at"])
        publish_changes(conversation.pk, "settings")  # open pages look for their conversation and close


def count_begun(person: User) -> int:
    """Return how many conversations of this person have a message; empty ones are in no list."""
    return person.conversations.filter(turns__isnull=False).distinct().count()


def delete_all(person: User) -> int:
    """Hide all conversations of this person from every query, for good; return how many had a message.

    Stop the turns before.
    """
    ConversationImport.objects.filter(owner=person).delete()  # ends one that runs, and its report has titles
    # As if deleted long ago: nothing offers to undo it, and the next purge deletes the rows.
    count = count_begun(person)
    Conversation.all_objects.filter(owner=person).update(deleted_at=timezone.now() - UNDO_FOR)
    publish_viewer_change(person.pk)
    return count


def delete_account(person: User) -> None:
    """Delete a user and everything that they own. Stop their turns before."""
    # Nobody is signed in any more, and nothing new is written; open pages close.
    person.is_active = False
    person.save(update_fields=["is_active"])
    # one by one: a transaction over thousands of conversations would lock SQLite for long
    for conversation in Conversation.all_objects.filter(owner=person).only("pk"):
        conversation.delete()
    for collection in Collection.objects.filter(owner=person):
        collections.empty(collection)
    person.delete()


def find_deleted(person: User, conversation_id: object) -> Conversation | None:
    """Return a conversation that this person deleted and can still restore, with how many were deleted with it."""
    pk = parse_id(conversation_id)
    if pk is None:
        return None
    found = Conversation.all_objects.filter(pk=pk, owner=person, deleted_at__gt=timezone.now() - UNDO_FOR).first()
    if found is not None:
        found.deleted_with = deleted_at_once(found).exclude(pk=pk).count()
    return found


def restore(person: User, conversation_id: uuid.UUID) -> Conversation | None:
    """Undo a deletion, of all that were deleted at once; None where there is nothing left to undo."""
    conversation = find_deleted(person, conversation_id)
    if conversation is not None:
        deleted_at_once(conversation).update(deleted_at=None)
    return conversation


def deleted_at_once(conversation: Conversation) -> QuerySet[Conversation]:
    return Conversation.all_objects.filter(owner=conversation.owner_id, deleted_at=conversation.deleted_at)


@contextmanager
def refusals_in_words() -> Iterator[None]:
    """Raise InvalidInputError where the log refuses a change, or its conversation was deleted meanwhile."""
    try:
        yield
    except Conversation.DoesNotExist as gone:
        raise InvalidInputError("not_found", _("This conversation was deleted.")) from gone
    except eventlog.TurnRunningError as running:
        raise InvalidInputError("turn_running", _("An answer is being written; stop it first.")) from running
    except eventlog.InactiveBranchError as inactive:
        raise InvalidInputError("not_selected", _("This answer is not on the branch that is shown.")) from inactive
    except UnknownAttachmentError as unknown:
        words = _("attachments: a file is not there any more. Attach it again.")
        raise InvalidInputError("unknown_attachment", words, field="attachments") from unknown


def select_branch(turn: Turn) -> None:
    """Select the branch of this turn, down to its newest answer. Raises InvalidInputError."""
    with refusals_in_words():
        branches.select(turn)
    publish_changes(turn.conversation_id, "redraw", "model")  # the next request holds another history


def keep_answer(turn: Turn) -> None:
    """Show one of two answers that are compared; the other becomes a version. Raises InvalidInputError. Product 47."""
    if turn.compared_with_id is None:
        raise InvalidInputError("not_compared", _("This answer is not one of two any more."))
    with refusals_in_words():
        branches.keep(turn)
    publish_changes(turn.conversation_id, "redraw", "model")


def save_unasked(turn: Turn, message: Message) -> Turn:
    """Store an edited question on a branch of its own without asking it. Raises InvalidInputError."""
    with refusals_in_words():
        saved = eventlog.save_unasked(turn, message.text, message.attachments)
    publish_changes(turn.conversation_id, "redraw", "model")
    return saved


def delete_message(turn: Turn) -> None:
    """Take a question with its answer out of its conversation, which can be undone. Raises InvalidInputError."""
    with refusals_in_words():
        branches.delete(turn)
    if turn.number == 1:
        retitle(turn.conversation)
    publish_changes(turn.conversation_id, "redraw", "model", "settings")


def find_deleted_message(conversation: Conversation, turn_id: object) -> Turn | None:
    """Return a message of a conversation whose deletion can still be undone."""
    pk = parse_id(turn_id)
    recent = conversation.turns.filter(deleted_at__gt=timezone.now() - UNDO_FOR)
    return recent.filter(pk=pk).first() if pk else None


def restore_message(turn: Turn) -> None:
    """Undo the deletion of a message. Raises InvalidInputError."""
    with refusals_in_words():
        branches.restore(turn)
    if turn.number == 1:
        retitle(turn.conversation)
    publish_changes(turn.conversation_id, "redraw", "model", "settings")


def retitle(conversation: Conversation) -> None:
    """Name a conversation and its links, each by the first question that it has now.

    The name that its owner gave it stays.
    """
    links = conversation.shares.select_related("last_turn")
    # One that was made before a change of the name has words of the question, or of its answer, in its own.
    for link in links.exclude(title=conversation.title) if conversation.is_renamed else links:
        link.title = title_of(branches.path_to(link.last_turn).first())
        link.save(update_fields=["title"])
    if not conversation.is_renamed:
        conversation.title = title_of(conversation.turns.filter(is_active=True).order_by("number").first())
        conversation.save(update_fields=["title"])


def title_of(first: Turn | None) -> str:
    """Return the title of what begins with this question."""
    return title_from(eventlog.question_of(first)) if first else ""


def still_running() -> list[uuid.UUID]:
    """Return deleted and expired conversations with a running turn; ``purge`` skips them until it has ended."""
    return list(deleted_or_expired().filter(turns__status=Turn.Status.RUNNING).values_list("pk", flat=True))


def purge() -> int:
    """Delete from the database what can no longer be restored; return the number of conversations.

    Files that were attached and never sent, deleted messages, and pictures of deleted documents go with it.
    """
    uploads.purge_unsent()
    purge_pictures()
    branches.purge_deleted(timezone.now() - UNDO_FOR)
    purgeable = deleted_or_expired().exclude(deleted_at__gt=timezone.now() - UNDO_FOR)
    # a running turn would go on writing rows of a conversation that no longer exists
    _total, by_model = purgeable.exclude(turns__status=Turn.Status.RUNNING).delete()
    return by_model.get("chat.Conversation", 0)


def deleted_or_expired() -> QuerySet[Conversation]:
    return Conversation.all_objects.filter(Q(deleted_at__isnull=False) | Q(expires_at__lte=timezone.now()))
