"""What a mirror reads from the database: the turn as it began, as it ended, and the passages that it found."""

from __future__ import annotations

import time
import uuid
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from django.utils import timezone

from chat import leases, log
from chat.filings.search import read_passages
from chat.live import LiveTurn
from chat.models import Turn
from chat.notices import Notice
from reasoning.citations import Source


@dataclass(frozen=True, slots=True)
class RunningElsewhere:
    """A turn that runs, what was asked, and the answer as far as it is kept."""

    turn: Turn
    owner_id: int
    question: str
    answer: str


def running(conversation_id: uuid.UUID) -> RunningElsewhere | None:
    """Return the running turn of a conversation."""
    turn = log.running_turn(conversation_id)
    if turn is None:
        return None
    return RunningElsewhere(turn, turn.conversation.owner_id, log.question_of(turn), log.kept_answer(turn.pk))


def running_in(conversations: Collection[uuid.UUID]) -> set[uuid.UUID]:
    """Return those of these conversations in which a turn runs, in one query."""
    found = Turn.objects.filter(conversation_id__in=conversations, status=Turn.Status.RUNNING)
    return set(found.values_list("conversation_id", flat=True))


def count_elsewhere(owner_id: int) -> int:
    """Return how many turns of a person other processes run."""
    running = Turn.objects.filter(conversation__owner_id=owner_id, status=Turn.Status.RUNNING)
    return running.exclude(worker=leases.worker()).count()


def mirror_of(found: RunningElsewhere) -> LiveTurn:
    """Return a live turn that nobody is told of yet."""
    turn = found.turn
    return LiveTurn(
        id=turn.pk,
        conversation_id=turn.conversation_id,
        owner_id=found.owner_id,
        number=turn.number,
        question=found.question,
        model=turn.model,
        started_at=turn.started_at,
        tell=_to_nobody,
        _began=time.monotonic() - max(0.0, (timezone.now() - turn.started_at).total_seconds()),
    )


def rows_of_ended(turn_id: uuid.UUID) -> list[log.TurnRows] | None:
    """Return the rows of an ended turn, none where it is gone with its conversation, None where it runs."""
    turn = Turn.objects.filter(pk=turn_id).first()
    if turn is None:
        return []
    return None if turn.status == Turn.Status.RUNNING else [log.turn_rows(turn)]


def sources(known: Sequence[Source], named: Sequence[tuple[int, str]]) -> tuple[Source, ...]:
    """Return the passages at these addresses, as they are stored, under the numbers of the turn."""
    by_ref = {source.ref: source for source in known}
    found = (by_ref.get(ref) or _source(ref, url) for ref, url in named)
    return tuple(source for source in found if source)


def _source(ref: int, url: str) -> Source | None:
    names = ("filing", "company", "date", "period", "section", "anchor", "url", "text", "snippet")
    for passage in read_passages(url):
        return Source(ref=ref, **{name: getattr(passage, name) for name in names})
    return None


def _to_nobody(notice: Notice) -> None:
    """What is told before a mirror is known is in its first picture."""
