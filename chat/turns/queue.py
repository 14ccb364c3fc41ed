"""The one way to start a turn: submit a message, or start the next one that is queued. Synchronous.

A message is stored in one transaction: as a turn where its conversation is idle, else in the queue of the conversation,
from which the end of the running turn starts the next. A client-made id is used once, whether its message is queued or
has become a turn (htmx sends again after a reconnect). The lock of the conversation orders all of this over processes.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Callable
from dataclasses import dataclass, replace

from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import Exists, OuterRef
from django.utils.translation import gettext as _

from accounts.models import User
from chat import eventlog
from chat.cards.continuation import can_continue
from chat.conversations import model_choice
from chat.conversations.actions import refusals_in_words
from chat.conversations.titles import title_from
from chat.eventlog.attachments import UnknownAttachmentError, attached_to, claim, discard
from chat.eventlog.read import open_calls
from chat.models import Conversation, QueuedMessage, Turn
from chat.observability import metrics
from chat.turns.requests import planning
from chat.validation import InvalidInputError, Message, clean_message
from reasoning.events import AttachedFile, ToolCall
from reasoning.replay.tokens import UsageAnchor
from reasoning.stream.turn import EndedPart, TokenUsage
from reasoning.trace import step_from_json
from reasoning.visibility import Visibility

logger = logging.getLogger(__name__)

MAX_QUEUED = 3
HELD = QueuedMessage.Priority.HELD


@dataclass(frozen=True, slots=True)
class StartedTurn:
    """A turn that is in the log and has no task yet. ``turn.conversation`` is as it was read for it.

    ``request``: its first request, where that could be planned at once. ``before``: what it holds, where it runs again.
    """

    turn: Turn
    question: str
    choice: model_choice.ModelChoice
    replaces: Turn | None = None
    attachments: tuple[AttachedFile, ...] = ()
    request: planning.PlannedRequest | None = None
    before: EndedPart | None = None
    pending: tuple[ToolCall, ...] = ()  # calls of its last response that have no result yet
    answered_calls: tuple[str, ...] = ()  # ids of those before them
    ends_comparison: bool = False  # the answer above it was one of two


@dataclass(frozen=True, slots=True)
class Submission:
    """What became of a message: ``turn_id`` is None while it is queued; ``started`` is set by what started the turn.

    ``beside``: the turn of the second model.
    """

    turn_id: uuid.UUID | None
    started: StartedTurn | None = None
    beside: StartedTurn | None = None


def submit(
    conversation_id: uuid.UUID,
    message: Message,
    *,
    replaces: Turn | None = None,
    may_queue: bool = True,
    authorize: Callable[[User], None] = lambda _owner: None,
    prepare: Callable[[Conversation], None] = lambda _conversation: None,
) -> Submission:
    """Store a message. One whose client id was used before is ignored, and what became of that one is returned.

    ``replaces``: the turn in whose place to ask it. ``authorize`` is called with the owner of the conversation, and
    raises where nothing may be stored. ``prepare`` is called with the locked conversation before its turn starts: what
    it changes there counts for this turn, and for nothing where the message is refused or a repeat. Raises
    InvalidInputError: ``not_found`` where the conversation was deleted, ``turn_running`` where it may not be queued,
    ``queue_full``, ``too_many_turns``, ``not_selected``, ``unknown_attachment``.
    """
    try:
        with refusals_in_words():
            may_queue = may_queue and replaces is None
            done = _submit(conversation_id, message, replaces, authorize, prepare, may_queue=may_queue)
    except (InvalidInputError, IntegrityError):
        # Client ids are unique in the database, so a duplicate is looked for only after a refusal.
        if duplicate := find_duplicate(conversation_id, message.client_id):
            return duplicate
        raise
    if done.started is None:
        return done
    # Here, and not as the first thing that the turn does: the database's thread would have other questions to store
    # by then, and cards to wait for that are being drawn.
    beside = with_request(done.beside) if done.beside else None
    return replace(done, started=with_request(done.started), beside=beside)


@transaction.atomic
def _submit(
    conversation_id: uuid.UUID,
    message: Message,
    replaces: Turn | None,
    authorize: Callable[[User], None],
    prepare: Callable[[Conversation], None],
    *,
    may_queue: bool,
) -> Submission:
    conversation = eventlog.lock_conversation(conversation_id)
    authorize(conversation.owner)
    position = eventlog.read_position(conversation)
    if not (position.has_running or position.has_queued):
        prepare(conversation)
        if not message.compare_model:
            require_room(position)
            started = start_turn(conversation, message, position, replaces=replaces)
            return Submission(started.turn.pk, started)
        require_room(position, turns=2)
        return _start_both(conversation, message, position)
    if replaces:
        raise InvalidInputError("turn_running", _("An answer is being written; stop it first."))
    if not may_queue:
        raise InvalidInputError("turn_running", _("An answer is being written in this conversation."))
    # Nothing refuses a repeat here: its turn and its queued message are rows of two tables.
    if duplicate := find_duplicate(conversation_id, message.client_id):
        return duplicate
    if message.compare_model:
        words = _("compare_model: an answer is being written. Two models can be asked when it has ended.")
        raise InvalidInputError("turn_running", words, field="compare_model")
    if QueuedMessage.objects.filter(conversation=conversation).count() >= MAX_QUEUED:
        metrics.REFUSALS.labels("queued_messages").inc()
        words = _("%(most)s messages wait already; let one be answered first.")
        raise InvalidInputError("queue_full", words % {"most": MAX_QUEUED})
    files = [file.to_json() for file in claim(conversation, message.attachments or ())]
    QueuedMessage.objects.create(
        conversation=conversation, text=message.text, attachments=files, client_id=message.client_id
    )
    return Submission(None)


def start_turn(
    conversation: Conversation, message: Message, position: eventlog.LogPosition, *, replaces: Turn | None = None
) -> StartedTurn:
    """Record a turn in a locked conversation. Raises TurnRunningError, InactiveBranchError."""
    ends_comparison = bool(position.newest and position.newest.compared_with_id)
    choice = model_choice.chosen_model(conversation)
    provider = model_choice.known_provider(choice)
    turn = eventlog.open_turn(
        conversation,
        text=message.text,
        client_id=message.client_id,
        replaces=replaces,
        model=provider.name if provider else "",
        model_label=choice.profile_label,
        provider=provider.identity if provider else "",
        title="" if conversation.title else title_from(message.text),
        attached=message.attachments,
        position=position,
    )
    # A question that is asked again has the files that it had.
    files = attached_to(turn) if message.attachments or replaces else ()
    return StartedTurn(turn, message.text, choice, replaces, files, ends_comparison=ends_comparison)


def _start_both(conversation: Conversation, message: Message, position: eventlog.LogPosition) -> Submission:
    """Record two turns with one question, for the model of the conversation and for another one. Product 47."""
    choice = model_choice.compared_model(conversation, model_choice.chosen_model(conversation), message.compare_model)
    provider = model_choice.known_provider(choice)
    first = start_turn(conversation, message, position)
    turn = eventlog.open_beside(
        first.turn,
        text=message.text,
        model=provider.name if provider else "",
        model_label=choice.profile_label,
        provider=provider.identity if provider else "",
    )
    return Submission(first.turn.pk, first, StartedTurn(turn, message.text, choice, attachments=first.attachments))


@transaction.atomic
def resume(turn: Turn) -> StartedTurn:
    """Let the newest turn run again, to continue its answer. Raises InvalidInputError. Product 41."""
    conversation = eventlog.lock_conversation(turn.conversation_id)
    position = eventlog.read_position(conversation)
    if position.has_running:
        raise InvalidInputError("turn_running", _("An answer is being written; stop it first."))
    if position.newest is None or position.newest.pk != turn.pk:
        raise InvalidInputError("not_newest", _("Only the newest answer can be continued."))
    require_room(position)
    turn.refresh_from_db()
    record = eventlog.turn_record(turn)
    if not can_continue(turn, record.answer_record()):
        raise InvalidInputError("nothing_to_continue", _("This answer was not cut off: there is nothing to continue."))
    before = _ended_part(record)
    eventlog.reopen_turn(turn)
    turn.conversation = conversation
    choice = model_choice.chosen_model(conversation)
    return StartedTurn(turn, eventlog.question_of(turn), choice, attachments=attached_to(turn), before=before)


@transaction.atomic
def take_up(turn: Turn) -> StartedTurn:
    """Return a turn of a dead process in which a call waits for its user, to wait on. Its lease is ours. Product 48.

    Raises whatever hinders that, such as a lost key.
    """
    conversation = eventlog.lock_conversation(turn.conversation_id)
    record = eventlog.turn_record(turn)
    events = eventlog.history(turn.conversation_id, of=turn)
    calls = [event for event in events if isinstance(event, ToolCall) and event.turn == turn.public_id]
    is_open = {(call["step"], call["call_id"]) for call in open_calls(record)}
    pending = tuple(call for call in calls if (call.step, call.call_id) in is_open)
    turn.conversation = conversation
    return StartedTurn(
        turn,
        eventlog.question_of(turn),
        model_choice.chosen_model(conversation),
        attachments=attached_to(turn),
        before=replace(_ended_part(record), is_text_cut=False),
        pending=pending,
        answered_calls=tuple(call.call_id for call in calls if call not in pending),
    )


def _ended_part(record: eventlog.TurnRecord) -> EndedPart:
    turn, answer = record.turn, record.answer_record()
    spoken = [event for event in record.events if event["type"] in ("assistant_message", "tool_result")]
    # empty where its tools were the last to say something
    text = next((event.get("text", "") for event in reversed(spoken) if event.get("text") or "call_id" in event), "")
    thinking = eventlog.thinking_for(turn, Visibility(thinking="whole"))
    return EndedPart(
        steps=1 + max((event["step"] for event in record.events if event["step"] is not None), default=-1),
        # with the blanks at its end, which a continued text is joined to
        answer=answer.answer + text[len(text.rstrip()) :],
        thinking=thinking.text if thinking else "",
        is_text_cut=bool(text),
        trace=tuple(
            step_from_json(event["trace"], response=event["step"]) for event in record.events if event.get("trace")
        ),
        sources=eventlog.sources_of(turn),
        summary=answer.summary,
        summary_source=answer.summary_source,
        usage=TokenUsage(turn.input_tokens, turn.output_tokens, turn.reasoning_tokens, turn.cached_tokens),
    )


def require_room(position: eventlog.LogPosition, *, turns: int = 1) -> None:
    """Raise InvalidInputError where the owner may not have so many more answers in progress."""
    if turns > 1 and position.running_of_owner + turns > settings.MAX_CONCURRENT_TURNS:
        words = _("compare_model: two answers more are too many; you may have %(most)s in progress.")
        raise InvalidInputError("too_many_turns", words % {"most": settings.MAX_CONCURRENT_TURNS})
    if position.running_of_owner >= settings.MAX_CONCURRENT_TURNS:
        metrics.REFUSALS.labels("running_turns").inc()
        words = _("You already have %(most)s answers in progress; wait for one or stop one.")
        raise InvalidInputError("too_many_turns", words % {"most": settings.MAX_CONCURRENT_TURNS})


def with_request(started: StartedTurn) -> StartedTurn:
    """Return a turn with its first request; the turn plans it itself where that fails or its model must be asked."""
    provider = model_choice.known_provider(started.choice)
    if provider is None:
        return started
    turn = started.turn
    anchor = UsageAnchor.from_json(turn.parent.context_anchor) if turn.parent else None
    try:
        planned = planning.plan_step(turn, started.choice, provider, conversation=turn.conversation, anchor=anchor)
    except Exception:
        logger.warning("request not planned when its turn was stored", exc_info=True)
        return started
    return replace(started, request=planned)


@transaction.atomic
def start_next(conversation_id: uuid.UUID) -> StartedTurn | None:
    """Start a turn with the next queued message; None where a turn runs or no message is to be sent."""
    try:
        conversation = eventlog.lock_conversation(conversation_id)
    except Conversation.DoesNotExist:  # deleted meanwhile
        return None
    position = eventlog.read_position(conversation)
    if position.has_running or not position.has_queued:
        return None
    for queued in QueuedMessage.objects.filter(conversation=conversation).exclude(priority=HELD):
        attached = tuple(uuid.UUID(file["id"]) for file in queued.attachments)
        # Sent twice at the same moment, it may have become a turn: it would be refused for ever, and block the others.
        is_repeat = queued.client_id and conversation.turns.filter(client_id=queued.client_id).exists()
        try:
            with transaction.atomic():
                message = Message(queued.text, queued.client_id, attached)
                started = None if is_repeat else start_turn(conversation, message, position)
                queued.delete()  # only now: until then it keeps its files
        except UnknownAttachmentError:  # its user decides what to do without the file
            queued.priority = HELD
            queued.save(update_fields=["priority"])
            continue
        if started:
            return started
    return None


def queued_messages(conversation_id: uuid.UUID) -> tuple[QueuedMessage, ...]:
    """Return the queued messages, the next one first and the held ones last."""
    return tuple(QueuedMessage.objects.filter(conversation=conversation_id))


def hold(conversation_id: uuid.UUID) -> bool:
    """Hold the messages that are queued: their user stopped the answer for which they wait. False if there are none."""
    return bool(QueuedMessage.objects.filter(conversation=conversation_id).update(priority=HELD))


@transaction.atomic
def change(conversation_id: uuid.UUID, message_id: int, action: object, text: object = "") -> None:
    """Remove a queued message, make it the next one, or save its new text.

    Raises InvalidInputError: ``not_queued`` where it has been sent or removed, ``too_many_turns``, and for a wrong
    action or text.
    """
    # The lock orders this and the start of the next turn.
    with refusals_in_words():
        conversation = eventlog.lock_conversation(conversation_id)
    found = QueuedMessage.objects.filter(pk=message_id, conversation=conversation)
    match action:
        case "remove":
            for message in found:
                discard(message)
            done = found.delete()[0]
        case "send":
            position = eventlog.read_position(conversation)
            if not position.has_running:  # else it starts in the place of the answer that is written
                require_room(position)
            done = found.update(priority=QueuedMessage.Priority.NOW)
        case "save":
            done = found.update(text=clean_message(text).text)
        case _:
            raise InvalidInputError("invalid_action", _("do: send, save or remove is needed."), field="do")
    if not done:
        raise InvalidInputError("not_queued", _("This message isn’t in the queue any more."))


def conversations_with_queue() -> list[uuid.UUID]:
    """Return the conversations where a message is to be sent and no turn runs."""
    to_send = Exists(QueuedMessage.objects.filter(conversation=OuterRef("pk")).exclude(priority=HELD))
    idle = Conversation.objects.filter(to_send).exclude(turns__status=Turn.Status.RUNNING)
    return list(idle.values_list("id", flat=True))


def find_duplicate(conversation_id: uuid.UUID, client_id: str) -> Submission | None:
    """Return what an earlier message with this client-made id became, if there was one."""
    if not client_id:
        return None
    same = {"conversation": conversation_id, "client_id": client_id}
    turn_id = Turn.objects.filter(**same).values_list("pk", flat=True).first()
    if turn_id or QueuedMessage.objects.filter(**same).exists():
        return Submission(turn_id)
    return None
