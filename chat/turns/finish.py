"""How turns end in the log: by themselves, broken, or after a crash of their process. Synchronous.

A turn that stays open blocks its conversation, so whichever process finds an abandoned one ends it.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

from django.db import DatabaseError, transaction
from django.db.models import Max

from chat import eventlog
from chat.eventlog import leases, read, write
from chat.live.turn import RequestSize
from chat.models import QueuedMessage, StoredCard, Turn
from chat.turns import queue
from chat.turns.queue import StartedTurn
from chat.turns.requests import planning
from reasoning.envelope import answer_text
from reasoning.events import AssistantMessage, Event, Reasoning, ToolCall, ToolResult, TurnEnd, TurnStatus
from reasoning.replay.tokens import UsageAnchor
from reasoning.visibility import Visibility

logger = logging.getLogger(__name__)
_WHOLE_THINKING = Visibility(thinking="whole")


class TurnResult(NamedTuple):
    """An ended turn as its card is drawn from, and whether a message is queued behind it.

    ``next_request``: its size, by the model and the settings of the turn, where that is known.
    """

    record: eventlog.TurnRecord
    has_queued: bool
    next_request: RequestSize | None = None


def finish_turn(
    started: StartedTurn,
    status: TurnStatus,
    fields: Mapping[str, Any],
    unwritten: Sequence[Event],
    *,
    history: Sequence[Event] | None,
    anchor: UsageAnchor | None,
    has_checkpoint: bool,
) -> TurnResult | None:
    """End a turn with its events that are not in the log yet; tool calls without a result get one.

    ``history``: the log, where the caller knows all of it. Returns None where the result can't be read at the moment:
    the turn has ended all the same.
    """
    # A history that is known saves most of the work: counting the next request needn't read and decrypt the log again.
    turn = started.turn
    has_versions = any((started.replaces, started.before, turn.compared_with_id))
    close = partial(eventlog.close_turn, turn, status=status, has_checkpoint=has_checkpoint, **fields)
    if any(isinstance(event, ToolCall) for event in unwritten):
        history = None
    own: list[Event] | None = None  # events of this turn, where the card needs nothing else
    with transaction.atomic():
        if history is None:
            if unwritten:
                eventlog.append(turn, unwritten)
            write.cancel_open_calls(turn)
            close(events=())
        else:
            is_ours = close(events=unwritten, after_seq=history[-1].seq)
            new = (*unwritten, TurnEnd(status=status))
            history = (
                *history,
                *(replace(e, seq=history[-1].seq + n, turn=turn.public_id) for n, e in enumerate(new, 1)),
            )
            # The trace of a tool's result is in the log alone, and so are the versions of a question.
            if is_ours and not has_versions:
                own = [event for event in history if event.turn == turn.public_id]
    try:
        # The turn follows the newest one, which is a leaf: only one that replaces another, is compared with one or runs
        # again has other versions.
        if own is None or any(isinstance(event, ToolResult) for event in own):
            result = load_result(eventlog.turn_record(turn, has_versions=has_versions))
        else:
            result = load_result(eventlog.record_of(turn, own))
        if turn.is_beside:  # the next question comes after the other answer, unless this one is kept
            return result
        return result._replace(next_request=_store_context_size(result.record, started, history, anchor))
    except DatabaseError:
        return None


def finish_broken_turn(turn: Turn, *, answer: str) -> TurnResult:
    """Return the result of a turn that should have ended; one whose end was not written ends here as failed.

    ``answer`` is everything that was shown of it: what the log lacks is stored.
    """
    if turn.status == Turn.Status.RUNNING:
        write.cancel_open_calls(turn)
        rest, continues = _missing_answer(turn, answer)
        message = AssistantMessage(text=rest, partial=True, continues=continues, step=_next_step(turn))
        events = [message] if rest else []
        eventlog.close_turn(turn, events, status="errored", error_code="internal")
    return load_result(eventlog.turn_record(turn))


def load_result(record: eventlog.TurnRecord) -> TurnResult:
    """Return an ended turn and whether a message is queued behind it. Its card has no HTML.

    ``rendering.render_card`` renders and stores it.
    """
    record.turn.stored_card = StoredCard(turn=record.turn)
    return TurnResult(record, QueuedMessage.objects.filter(conversation=record.turn.conversation_id).exists())


def _store_context_size(
    record: eventlog.TurnRecord, started: StartedTurn, history: Sequence[Event] | None, anchor: UsageAnchor | None
) -> RequestSize | None:
    """Set on a card how large the next request is. The turn has ended, whatever goes wrong here.

    Returns it where all that a page shows of the next request is known: not where the endpoint chooses the model.
    """
    try:
        conversation = started.turn.conversation
        target = planning.target_of(started.choice)
        plan = planning.plan_next_question(
            conversation, started.choice, target, is_running=False, history=history, anchor=anchor
        )
        card = record.turn.stored_card
        planning.set_context_size(card, conversation, started.choice, plan)
        return RequestSize(card.context_tokens, target.limit, card.unsent_tokens) if started.choice.name else None
    except Exception:
        logger.exception("context size not stored", extra={"turn": started.turn.public_id})
        return None


class Recovered(NamedTuple):
    """What became of the turns of dead processes: those that ended, and those that go on here."""

    ended: Sequence[Turn]
    taken_up: Sequence[StartedTurn]


def recover_abandoned_turns(at_work_in: Collection[uuid.UUID] = ()) -> Recovered:
    """End the turns of dead processes as interrupted, but for those in which a call waits for its user.

    Called at the start and from time to time.
    ``at_work_in``: the conversations in which this process runs a turn. A turn that can't be decrypted any more (its
    key is lost) ends without its last text; it must not keep the server down.
    """
    ended, taken_up = [], []
    for turn in leases.take_over(at_work_in):
        # A question is asked by a tool that has begun: to begin again might do twice what it does.
        if turn.waiting_call and turn.waiting_schema is None and not turn.stop_requested:
            try:
                taken_up.append(queue.take_up(turn))
            except Exception:
                logger.exception("turn not taken up", extra={"turn": turn.public_id})
            else:
                continue
        ended.append(turn)
        try:
            interrupt_turn(turn)
        except eventlog.LeaseLostError:
            continue
        except Exception:
            logger.exception("turn ended without its checkpoint", extra={"turn": turn.public_id})
            eventlog.close_turn(turn, [], status="interrupted")
    return Recovered(ended, taken_up)


def interrupt_turn(turn: Turn) -> None:
    """End a turn with the text of its last checkpoint. Once, however often called."""
    # A checkpoint holds everything that was shown; what finished steps have stored of it is in the log already.
    whole = eventlog.thinking_for(turn, _WHOLE_THINKING)
    thinking = _after_stored_text(read.checkpoint_thinking(turn.pk), [whole.text] if whole else [])
    answer, continues = _missing_answer(turn, read.checkpoint_answer(turn.pk))
    write.cancel_open_calls(turn)
    step = _next_step(turn)
    events: list[Event] = []
    if thinking:
        thought = Reasoning(
            kind="text", text=thinking, source_field="think_tags", model=turn.model, provider=turn.provider, step=step
        )
        events.append(thought)
    if answer:
        events.append(AssistantMessage(text=answer, partial=True, continues=continues, step=step))
    eventlog.close_turn(turn, events, status="interrupted")


def _missing_answer(turn: Turn, shown: str) -> tuple[str, bool]:
    """Return what of the answer that was shown is not stored, and whether it continues the stored text."""
    kinds = turn.events.filter(type__in=("continuation", "assistant_message")).order_by("-seq")
    messages = turn.events.filter(type=AssistantMessage.type).order_by("seq").values_list("public", flat=True)
    if turn.resumed_at and kinds.values_list("type", flat=True).first() == "continuation":
        stored = answer_text(messages)
        return shown[len(stored) :] if shown.startswith(stored) else "", bool(stored)
    return _after_stored_text(shown, [str(message["text"]) for message in messages]), False


def _next_step(turn: Turn) -> int:
    return (turn.events.aggregate(last=Max("step"))["last"] or 0) + 1


def _after_stored_text(shown: str, stored: Sequence[str]) -> str:
    """Return what of the text that was shown comes after the stored texts of finished steps.

    A checkpoint may be older than the last of them, and then holds only the beginning of its text.
    """
    for text in filter(None, map(str.strip, stored)):
        before, found, after = shown.partition(text)
        if text.startswith(shown.strip()):
            return ""
        shown = after if found and not before.strip() else shown
    return shown.strip()
