"""Branches of a conversation: asking again makes a sibling under the same parent, and one path is selected.

The log holds every branch; ``Turn.is_active`` marks the selected path. A child is always younger than its parent, so
``seq`` rises along every path, and the youngest descendant of a turn is a leaf.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime

from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils import timezone

from chat.eventlog import attachments
from chat.models import Checkpoint, Conversation, Event, StoredCard, Turn
from reasoning.events import Compaction, UserMessage

Parents = Mapping[uuid.UUID, uuid.UUID | None]
# The versions of a question, each with the turns that answer it. The oldest come first in both.
Versions = tuple[tuple[uuid.UUID, ...], ...]


class TurnRunningError(Exception):
    """The conversation already has a running turn."""


@transaction.atomic
def select(turn: Turn) -> None:
    """Select the branch of this turn, down to its youngest leaf. Raises TurnRunningError."""
    # The lock orders this and the start of a turn, which would continue the branch that is left.
    Conversation.objects.select_for_update().get(pk=turn.conversation_id)
    turns = Turn.objects.filter(conversation=turn.conversation_id)
    if turns.filter(status=Turn.Status.RUNNING).exists():
        raise TurnRunningError(str(turn.conversation_id))
    # In Python: Django has no recursive queries.
    parents = _parents(turn.conversation_id)
    path = set(_up(_youngest_below(turn.pk, parents), parents))
    turns.filter(is_active=True).exclude(pk__in=path).update(is_active=False)
    turns.filter(is_active=False, pk__in=path, deleted_at=None).update(is_active=True)


@transaction.atomic
def delete(turn: Turn) -> None:
    """Take a question with its answer out of its conversation. What was asked after it stays. Raises TurnRunningError.

    It can be restored until ``purge_deleted``.
    """
    Conversation.objects.select_for_update().get(pk=turn.conversation_id)
    turns = Turn.objects.filter(conversation=turn.conversation_id)
    if turns.filter(status=Turn.Status.RUNNING).exists():
        raise TurnRunningError(str(turn.conversation_id))
    turns.filter(pk=turn.pk).update(is_active=False, deleted_at=timezone.now())
    _forget_what_repeats(turn)


@transaction.atomic
def restore(turn: Turn) -> None:
    """Undo a deletion: the turn is back in its place, or a version beside the one that was asked there meanwhile."""
    Conversation.objects.select_for_update().get(pk=turn.conversation_id)
    turns = Turn.objects.filter(conversation=turn.conversation_id)
    is_free = not turns.filter(is_active=True, number=turn.number).exists()
    turns.filter(pk=turn.pk).update(is_active=is_free, deleted_at=None)
    _forget_what_repeats(turn)


def purge_deleted(before: datetime) -> None:
    """Delete the texts and files of the turns that were deleted before this moment."""
    for turn in Turn.objects.filter(Exists(Event.objects.filter(turn=OuterRef("pk"))), deleted_at__lt=before):
        with transaction.atomic():
            asked = turn.events.filter(type=UserMessage.type).values_list("public__attachments", flat=True)
            files = [file["id"] for listed in asked for file in listed or ()]
            turn.events.all().delete()
            attachments.delete_unused(turn.conversation_id, files)
            StoredCard.objects.filter(turn=turn).delete()
            Checkpoint.objects.filter(turn=turn).delete()
            Turn.objects.filter(pk=turn.pk).update(error_message="", error_detail="", error_params={})


def _forget_what_repeats(turn: Turn) -> None:
    """Delete summaries of earlier messages and counted sizes of requests that may have this turn in them."""
    Event.objects.filter(conversation=turn.conversation_id, type=Compaction.type).delete()
    StoredCard.objects.filter(turn__conversation=turn.conversation_id).update(context_key="")


def deactivate_from(turn: Turn) -> None:
    """Take a turn and all after it off the selected branch. The caller holds the lock of the conversation.

    A question that was never asked is no version to go back to, unless something was asked after it.
    """
    after = Turn.objects.filter(conversation=turn.conversation_id, is_active=True, number__gte=turn.number)
    after.update(is_active=False)
    if turn.is_unasked and not turn.children.exists():
        Turn.objects.filter(pk=turn.pk).update(error_code=Turn.UNASKED_AND_REPLACED)


def is_newest(turn: Turn) -> bool:
    """Say whether nothing comes after this turn on the selected branch."""
    after = Turn.objects.filter(conversation=turn.conversation_id, is_active=True, number__gt=turn.number)
    return not after.exists()


def path_to(turn: Turn) -> QuerySet[Turn]:
    """Return the turns from the first one to this, whatever is selected now."""
    on_path = list(_up(turn.pk, _parents(turn.conversation_id)))
    return (
        Turn.objects.filter(pk__in=on_path, deleted_at=None)
        .select_related("feedback", "stored_card")
        .order_by("number")
    )


def versions(turns: Sequence[Turn]) -> dict[uuid.UUID, Versions]:
    """Return for each of these turns of one conversation what was asked in its place, itself among it.

    Turns that ask the same with the same files are answers to one version of the question.
    """
    if not turns:
        return {}
    parents = {turn.parent_id for turn in turns}
    same_place = Q(parent__in=parents - {None}) | (Q(parent=None) if None in parents else Q())
    found = Turn.objects.filter(same_place, conversation=turns[0].conversation_id, deleted_at=None)
    found = found.exclude(error_code=Turn.UNASKED_AND_REPLACED, is_active=False).order_by("started_at", "pk")
    by_parent: dict[uuid.UUID | None, list[uuid.UUID]] = {}
    for pk, parent in found.values_list("pk", "parent_id"):
        by_parent.setdefault(parent, []).append(pk)
    several = [pk for place in by_parent.values() if len(place) > 1 for pk in place]
    asked = Event.objects.filter(turn__in=several, type=UserMessage.type) if several else Event.objects.none()
    questions = {
        turn_id: (public["text"], str(public.get("attachments")))
        for turn_id, public in asked.values_list("turn_id", "public")
    }
    found_versions: dict[uuid.UUID | None, Versions] = {}
    for above, place in by_parent.items():
        by_question: dict[object, list[uuid.UUID]] = {}
        for pk in place:
            by_question.setdefault(questions.get(pk, pk), []).append(pk)
        found_versions[above] = tuple(map(tuple, by_question.values()))
    return {turn.pk: found_versions[turn.parent_id] for turn in turns}


def _parents(conversation_id: uuid.UUID) -> dict[uuid.UUID, uuid.UUID | None]:
    """Return each turn's parent, the oldest turns first."""
    found = Turn.objects.filter(conversation=conversation_id).order_by("started_at", "number")
    return dict(found.values_list("pk", "parent_id"))


def _youngest_below(turn_id: uuid.UUID, parents: Parents) -> uuid.UUID:
    """Return the youngest turn that descends from this one, or itself."""
    below, youngest = {turn_id}, turn_id
    for pk, parent in parents.items():
        if parent in below:
            below.add(pk)
            youngest = pk
    return youngest


def _up(turn_id: uuid.UUID | None, parents: Parents) -> Iterator[uuid.UUID]:
    """Yield a turn and all above it. Every turn comes once, so that even a cycle ends."""
    seen: set[uuid.UUID] = set()
    while turn_id is not None and turn_id in parents and turn_id not in seen:
        seen.add(turn_id)
        yield turn_id
        turn_id = parents[turn_id]
