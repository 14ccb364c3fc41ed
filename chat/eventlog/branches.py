"""Branches of a conversation: asking again makes a sibling under the same parent, and one path is selected.

The log holds every branch; ``Turn.is_active`` marks the selected path. A child is always younger than its parent, so
``seq`` rises along every path, and the youngest descendant of a turn is a leaf.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from datetime import datetime

from django.db import transaction
from django.db.models import Exists, F, OuterRef, QuerySet
from django.utils import timezone

from chat.eventlog import attachments
from chat.models import Checkpoint, Conversation, Event, Feedback, StoredCard, Turn
from reasoning.events import Compaction, UserMessage

# The versions of a question, each with the turns that answer it. The oldest come first in both.
Versions = tuple[tuple[uuid.UUID, ...], ...]


class TurnRunningError(Exception):
    """The conversation already has a running turn."""


@transaction.atomic
def select(turn: Turn) -> None:
    """Select the branch of this turn, down to its youngest leaf. Raises TurnRunningError."""
    turns = _lock_idle(turn.conversation_id)
    tree = _Tree(turn.conversation_id)
    path = set(tree.up(tree.youngest_below(turn.pk)))
    turns.filter(is_active=True).exclude(pk__in=path).update(is_active=False)
    turns.filter(is_active=False, pk__in=path).update(is_active=True)


def end_comparison(turn: Turn) -> None:
    """Make two turns that were compared two versions of one question, whichever of them is shown. Product 47."""
    if turn.compared_with_id:
        Turn.objects.filter(pk__in=(turn.pk, turn.compared_with_id)).update(compared_with=None)
        turn.compared_with = None


@transaction.atomic
def keep(turn: Turn) -> None:
    """Show one of two turns that are compared, and leave the other as a version. Raises TurnRunningError."""
    select(turn)
    end_comparison(turn)


@transaction.atomic
def delete(turn: Turn) -> None:
    """Take a question with its answer out of its conversation. Raises TurnRunningError.

    Where its question has another version, or its answer, that one is shown; else what was asked after it stays. Two
    that are compared go together. It can be restored until ``purge_deleted``.
    """
    turns = _lock_idle(turn.conversation_id)
    if not turns.filter(pk=turn.pk, deleted_at=None).exists():
        return  # by another page, while this one waited for the lock
    is_shown = turns.filter(pk=turn.pk, is_active=True).exists() and not turn.compared_with_id
    place = [pk for answers in versions([turn])[turn.pk] for pk in answers] if is_shown else [turn.pk]
    turns.filter(pk__in=_pair(turn)).update(is_active=False, deleted_at=timezone.now())
    _renumber_below(turn, -1)
    if len(place) > 1:
        at = place.index(turn.pk)
        select(turns.get(pk=(place[at + 1 :] or place[at - 1 : at])[0]))
    _forget_what_repeats(turn)


@transaction.atomic
def restore(turn: Turn) -> None:
    """Undo a deletion: the turn is shown again, or is a version beside the one that was asked there meanwhile."""
    Conversation.objects.select_for_update().get(pk=turn.conversation_id)
    turns = Turn.objects.filter(conversation=turn.conversation_id)
    asked_since = turns.filter(is_active=True, started_at__gt=turn.deleted_at)
    has_text = Event.objects.filter(turn=turn).exclude(public={})  # it may be purged meanwhile
    if not (has_text.exists() and turns.filter(pk__in=_pair(turn), deleted_at__isnull=False).update(deleted_at=None)):
        return
    _renumber_below(turn, 1)
    if not asked_since.exists():
        select(turn)
    else:
        tree = _Tree(turn.conversation_id)
        above = tree.parents[turn.pk]
        beside = [pk for pk, parent in tree.parents.items() if parent == above and pk not in _pair(turn)]
        is_free = above is None or turns.filter(pk=above, is_active=True).exists()
        is_free = is_free and not turns.filter(pk__in=beside, is_active=True).exists()
        turns.filter(pk=turn.pk).update(is_active=is_free)
    _forget_what_repeats(turn)


def purge_deleted(before: datetime) -> None:
    """Delete the texts and files of the turns that were deleted before this moment."""
    has_text = Exists(Event.objects.filter(turn=OuterRef("pk")).exclude(public={}))
    for turn in Turn.objects.filter(has_text, deleted_at__lt=before):
        with transaction.atomic():
            Conversation.all_objects.select_for_update().filter(pk=turn.conversation_id).first()
            if not Turn.objects.filter(pk=turn.pk, deleted_at__lt=before).exists():
                continue  # it was restored meanwhile, or is gone
            asked = turn.events.filter(type=UserMessage.type).values_list("public__attachments", flat=True)
            files = [file["id"] for listed in asked for file in listed or ()]
            # The title is indexed with the first event, which stays without its text.
            turn.events.exclude(seq=1).delete()
            turn.events.update(public={}, sealed=None)
            attachments.delete_unused(turn.conversation_id, files)
            StoredCard.objects.filter(turn=turn).delete()
            Checkpoint.objects.filter(turn=turn).delete()
            Feedback.objects.filter(turn=turn).delete()
            Turn.objects.filter(pk=turn.pk).update(error_message="", error_detail="", error_params={})


def _forget_what_repeats(turn: Turn) -> None:
    """Delete summaries of earlier messages and counted sizes of requests that may have this turn in them."""
    Event.objects.filter(conversation=turn.conversation_id, type=Compaction.type).delete()
    Turn.objects.filter(conversation=turn.conversation_id).update(context_anchor=None)
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
    """Return the turns from the first one to this, whatever is selected now; none that was deleted."""
    on_path = list(_Tree(turn.conversation_id).up(turn.pk))
    return Turn.objects.filter(pk__in=on_path).select_related("feedback", "stored_card").order_by("number")


def versions(turns: Sequence[Turn]) -> dict[uuid.UUID, Versions]:
    """Return for each of these turns of one conversation what was asked in its place, itself among it.

    Turns that ask the same with the same files are answers to one version of the question.
    """
    if not turns:
        return {}
    tree = _Tree(turns[0].conversation_id)
    parents = {tree.parents[turn.pk] for turn in turns}
    by_parent: dict[uuid.UUID | None, list[uuid.UUID]] = {}
    for pk, parent in tree.parents.items():
        if parent in parents and not (pk in tree.deleted or pk in tree.replaced):
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
    return {turn.pk: found_versions[tree.parents[turn.pk]] for turn in turns}


def _lock_idle(conversation_id: uuid.UUID) -> QuerySet[Turn]:
    """Lock a conversation in which no turn runs, and return its turns. Raises TurnRunningError."""
    # The lock orders this and the start of a turn, which would continue the branch that is left.
    Conversation.objects.select_for_update().get(pk=conversation_id)
    turns = Turn.objects.filter(conversation=conversation_id)
    if turns.filter(status=Turn.Status.RUNNING).exists():
        raise TurnRunningError(str(conversation_id))
    return turns


def _pair(turn: Turn) -> list[uuid.UUID]:
    """Return a turn, and the one that it is compared with."""
    return [pk for pk in (turn.pk, turn.compared_with_id) if pk]


def _renumber_below(turn: Turn, by: int) -> None:
    """Change the numbers of all turns that descend from this one."""
    below = {turn.pk}
    turns = Turn.objects.filter(conversation=turn.conversation_id)
    for pk, parent in turns.order_by("started_at", "number").values_list("pk", "parent_id"):
        if parent in below:
            below.add(pk)
    turns.filter(pk__in=below - {turn.pk}).update(number=F("number") + by)


class _Tree:
    """The turns of a conversation, the oldest first. In Python: Django has no recursive queries.

    ``parents``: of each turn the next one above that is not deleted, so that what came after a deleted turn stays.
    ``replaced``: questions that were never asked, and are no version to go back to.
    """

    def __init__(self, conversation_id: uuid.UUID) -> None:
        self.parents: dict[uuid.UUID, uuid.UUID | None] = {}
        self.deleted: set[uuid.UUID] = set()
        self.replaced: set[uuid.UUID] = set()
        rows = Turn.objects.filter(conversation=conversation_id).order_by("started_at", "number", "pk")
        for pk, parent, deleted_at, error_code, is_active in rows.values_list(
            "pk", "parent_id", "deleted_at", "error_code", "is_active"
        ):
            self.parents[pk] = self.parents.get(parent) if parent in self.deleted else parent
            if deleted_at:
                self.deleted.add(pk)
            if error_code == Turn.UNASKED_AND_REPLACED and not is_active:
                self.replaced.add(pk)

    def youngest_below(self, turn_id: uuid.UUID) -> uuid.UUID:
        """Return the youngest turn that descends from this one, or itself."""
        below, youngest = {turn_id}, turn_id
        for pk, parent in self.parents.items():
            if parent in below and pk not in self.deleted:
                below.add(pk)
                youngest = pk
        return youngest

    def up(self, turn_id: uuid.UUID | None) -> Iterator[uuid.UUID]:
        """Yield a turn, unless it is deleted, and all above it. Every turn comes once, so that even a cycle ends."""
        seen: set[uuid.UUID] = set()
        while turn_id is not None and turn_id in self.parents and turn_id not in seen:
            seen.add(turn_id)
            if turn_id not in self.deleted:
                yield turn_id
            turn_id = self.parents[turn_id]
