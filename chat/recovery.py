"""Turns that did not end by themselves: their process died, or the write that should have ended them failed.

A turn that stays open in the log blocks its conversation, so whoever finds one ends it. All functions but ``insist``
are synchronous.
"""

from __future__ import annotations

import asyncio
import functools
import logging
import uuid
from collections.abc import Awaitable, Callable, Collection, Sequence
from typing import ParamSpec, TypeVar

from channels.db import database_sync_to_async
from django.db import InterfaceError, OperationalError
from django.db.models import Max

from chat import leases, log
from chat.closing import AtEnd, at_end
from chat.models import Checkpoint, Conversation, Turn
from reasoning.events import AssistantMessage, Event
from reasoning.policy import Visibility

P = ParamSpec("P")
T = TypeVar("T")
PATIENCE_S = 20.0
logger = logging.getLogger(__name__)
_EVERYTHING = Visibility(thinking="whole")
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.1, 5.0


async def insist(
    work: Callable[[], T],
    *,
    again: Callable[[], T] | None = None,
    unless: Callable[[], bool] = lambda: False,
    within_s: float = float("inf"),
) -> T:
    """Do database work; while the database does not answer, again and again, unless the server is about to end.

    It may have been done although no answer came: ``again`` does it only if it was not. Raises what the database said
    last where the server ends or after ``within_s``, and at once what asking again would not change.
    """
    pause_s = FIRST_PAUSE_S
    until = asyncio.get_running_loop().time() + within_s
    while True:
        try:
            return await database_sync_to_async(work)()
        except (OperationalError, InterfaceError) as error:
            if unless() or asyncio.get_running_loop().time() + pause_s > until:
                raise
            logger.warning("database does not answer", extra={"error": type(error).__name__})
            work = again or work
        await asyncio.sleep(pause_s)
        pause_s = min(2 * pause_s, LONGEST_PAUSE_S)


def insisted(work: Callable[P, T], again: Callable[P, T] | None = None) -> Callable[P, Awaitable[T]]:
    """Return ``work`` as a coroutine function that insists for ``PATIENCE_S``."""

    async def patient(*args: P.args, **named: P.kwargs) -> T:
        first, later = (functools.partial(each, *args, **named) for each in (work, again or work))
        return await insist(first, again=later, within_s=PATIENCE_S)

    return patient


def recover(at_work_in: Collection[uuid.UUID] = ()) -> list[Turn]:
    """End what dead processes left running; return those turns. Called at the start, and from time to time.

    ``at_work_in`` are the conversations in which this process runs a turn. One that cannot be read any more (its key is
    gone) ends without its last words; it must not keep the server down.
    """
    left = leases.take_over(at_work_in)
    for turn in left:
        try:
            _cut_what_is_recorded(turn)
            log.interrupt(turn)
        except leases.LeaseLost:
            continue
        except Exception:
            logger.exception("turn ended without its checkpoint", extra={"turn": turn.public_id})
            log.close_turn(turn, [], status="interrupted")
    return left


def rows_at_end(turn: Turn, *, answer: str, message: str) -> AtEnd:
    """Return the rows of a turn that should be over, and whether a message waits behind it.

    One whose end was not written ends here as failed, with ``message``. ``answer`` is all that was shown of it: what
    the log lacks is kept.
    """
    if turn.status == Turn.Status.RUNNING:
        log.end_open_calls(turn)
        log.close_turn(turn, _unrecorded(turn, answer), status="errored", error_code="internal", error_message=message)
    return at_end(turn)


def conversations_with_waiting() -> list[tuple[uuid.UUID, int]]:
    """Return the conversations, with their owners, where messages wait and nothing runs."""
    waiting = Conversation.objects.filter(queue__isnull=False).exclude(turns__status=Turn.Status.RUNNING)
    return list(waiting.distinct().values_list("id", "owner_id"))


def _cut_what_is_recorded(turn: Turn) -> None:
    """Leave in a checkpoint, which holds all that was shown of its turn, what no finished step has in the log."""
    kept = Checkpoint.objects.filter(turn=turn).first()
    opened = [value for kind, value in log.opened_halves(turn.pk) if kind == "checkpoint" and value]
    if kept is None:
        return
    whole = log.thinking_for(turn, _EVERYTHING)
    thinking = _beyond(str(opened[0].get("thinking", "")) if opened else "", [whole.text] if whole else [])
    log.save_checkpoint(turn, answer=_beyond(kept.answer, _texts(turn)), thinking=thinking)


def _unrecorded(turn: Turn, answer: str) -> list[Event]:
    rest = _beyond(answer, _texts(turn))
    step = (turn.events.aggregate(last=Max("step"))["last"] or 0) + 1
    return [AssistantMessage(text=rest, partial=True, step=step)] if rest else []


def _texts(turn: Turn) -> list[str]:
    return [event["text"] for event in log.turn_rows(turn).events if event["type"] == AssistantMessage.type]


def _beyond(shown: str, recorded: Sequence[str]) -> str:
    """Return what of the text that was shown comes after the texts of finished steps.

    A checkpoint may be older than the last of them, and then holds the beginning of its text.
    """
    for text in filter(None, map(str.strip, recorded)):
        before, found, after = shown.partition(text)
        if text.startswith(shown.strip()):
            return ""
        shown = after if found and not before.strip() else shown
    return shown.strip()
