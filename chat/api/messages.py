"""The endpoints of messages: ask, read, follow and stop, with the same rules as the pages."""

from __future__ import annotations

import logging
import re
import uuid
import weakref
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, aclosing, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Self

from asgiref.sync import sync_to_async
from django.http import HttpRequest, HttpResponse, HttpResponseBase, JsonResponse, StreamingHttpResponse
from django.urls import reverse
from django.utils.translation import gettext as _

from accounts.access import tokens
from accounts.access.scratchpad import reveal
from accounts.access.visibility import Session, reread
from accounts.models import User
from chat import eventlog
from chat.api.endpoint import (
    ApiError,
    endpoint,
    error_form,
    get_conversation,
    not_authenticated,
    read_body,
    require_conversation,
    session_of,
)
from chat.api.sse import Position, TurnEvents, release_connection, running_turn
from chat.conversations import actions, commands, model_choice, reasoning_settings
from chat.live.turn import LiveTurn
from chat.models import Conversation, Turn
from chat.observability import metrics
from chat.sharing.export import envelope_of, envelopes_of, question_form, thinking_form
from chat.turns import queue
from chat.turns.approval import Given
from chat.turns.manager import turn_manager
from chat.validation import CLIENT_ID_CHARS, InvalidInputError, Message, clean_message
from reasoning.envelope import envelope
from reasoning.replay.tokens import estimate_tokens
from reasoning.scratchpad import Scratchpad
from reasoning.trace import ToolTraceStep, step_to_json
from reasoning.visibility import Visibility

logger = logging.getLogger(__name__)
MAX_LISTED_TURNS = 100  # 200 messages
MAX_WAITING = 50  # requests of a user in this process, each with a thread
waiting: Counter[int] = Counter()  # by user
DECISION_FIELDS = ("decision", "digest", "answers")
IDEMPOTENCY_KEY = "Idempotency-Key"
_KEY = re.compile(rf"[!-~]{{1,{CLIENT_ID_CHARS}}}")


@endpoint("GET", "POST")
async def messages(request: HttpRequest, person: User, conversation_id: uuid.UUID) -> HttpResponseBase:
    """GET: the newest questions and envelopes, oldest first. POST: run a turn; the envelope, or server-sent events.

    A ``model`` is chosen for the conversation, as on the page: it answers this message and those after it. A
    ``compare_model`` answers this one beside it, in a turn of its own, which ``comparedWith`` names. A message
    with an id that was used before gets the turn that it started then.
    """
    reader = await TurnReader.of(request, person, await get_conversation(person, conversation_id))
    if request.method != "POST":
        return JsonResponse(await reader.list_messages(), safe=False)
    form = read_body(request, ("text", "model", "compare_model", "id"))
    message = clean_message(form.get("text"), key_of(request, form), compare_model=form.get("compare_model") or "")
    refuse_command(message.text, reader.conversation)
    after = last_position(request)
    stack = ExitStack()
    stack.enter_context(waiting_request(person))
    stack.enter_context(reader.receiving_notes())
    try:
        turn_id, is_repeat = await submit(reader.conversation, message, form.get("model"), key_field(request))
    except BaseException:
        stack.close()
        raise
    if wants_events(request):
        # clients that reconnect by themselves send the same request with the id of the last event
        return event_response(reader, turn_id, after if is_repeat else None, stack)
    with stack:
        await release_connection()
        await turn_manager.wait_until_finished(conversation_id, turn_id)
        if beside := await Turn.objects.filter(compared_with=turn_id).afirst():
            await turn_manager.wait_until_finished(conversation_id, beside.pk)
    return JsonResponse(await sync_to_async(reader.read_ended)(turn_id))


@endpoint("GET", "DELETE")
async def message(
    request: HttpRequest, person: User, conversation_id: uuid.UUID, turn_id: uuid.UUID
) -> HttpResponseBase:
    """Return the envelope of one turn, as far as it has come; or its events, from the start or ``Last-Event-ID``.

    DELETE takes the question with its answer out of the conversation: 204; 409 while an answer is being written.
    """
    reader = await TurnReader.of(request, person, await get_conversation(person, conversation_id))
    turn = await find_turn(reader.conversation, turn_id)
    if request.method == "DELETE":
        await sync_to_async(actions.delete_message)(turn)
        return HttpResponse(status=204)
    if not wants_events(request):
        return JsonResponse(await reader.current(turn_id))
    after = last_position(request)
    stack = ExitStack()
    stack.enter_context(waiting_request(person))
    stack.enter_context(reader.receiving_notes())
    return event_response(reader, turn_id, after, stack)


@endpoint("POST")
async def keep(request: HttpRequest, person: User, conversation_id: uuid.UUID, turn_id: uuid.UUID) -> HttpResponseBase:
    """Keep one of two answers that are compared: 204; the other one becomes a version, and is stopped if it runs."""
    found = await get_conversation(person, conversation_id)
    read_body(request, (), is_optional=True)
    await turn_manager.keep(await find_turn(found, turn_id))
    return HttpResponse(status=204)


@endpoint("POST")
async def decide(
    request: HttpRequest, person: User, conversation_id: uuid.UUID, turn_id: uuid.UUID, call_id: str
) -> HttpResponseBase:
    """Decide on the tool call that waits: 204; 409 where it doesn't wait, or another one does.

    ``{"decision": "allow"|"deny"|"always", "digest", "answers"?}``: the digest as it was shown; ``answers`` to the
    question of the step, if it has one.
    """
    found = await get_conversation(person, conversation_id)
    turn = await find_turn(found, turn_id)
    return await _decide(turn, call_id, read_body(request, DECISION_FIELDS))


@endpoint("POST")
async def decide_in_chat(
    request: HttpRequest, person: User, conversation_id: uuid.UUID, call_id: str
) -> HttpResponseBase:
    """Decide on the tool call that waits in a conversation, as ``decide`` does."""
    found = await get_conversation(person, conversation_id)
    body = read_body(request, DECISION_FIELDS)
    waiting = found.turns.filter(status=Turn.Status.RUNNING, waiting_call=call_id.replace("\x00", ""))
    turns = [turn async for turn in waiting]
    if not turns:
        raise ApiError(409, "not_waiting", _("This tool call doesn’t wait for a decision any more."))
    # Of two that are compared, both may wait under one id.
    turn = next((turn for turn in turns if turn.waiting_digest == body.get("digest")), turns[0])
    return await _decide(turn, call_id, body)


async def _decide(turn: Turn, call_id: str, body: Mapping[str, Any]) -> HttpResponseBase:
    given = Given(values=body.get("answers", {}))
    await turn_manager.decide(turn, call_id, body.get("decision"), body.get("digest"), given)
    return HttpResponse(status=204)


@endpoint("POST")
async def stop(request: HttpRequest, person: User, conversation_id: uuid.UUID) -> HttpResponseBase:
    """Stop the running turn, in whichever process it runs. What it has written is stored."""
    found = await get_conversation(person, conversation_id)
    read_body(request, (), is_optional=True)
    if not await turn_manager.stop(found.pk):
        raise ApiError(409, "no_turn", _("No answer is being written in this conversation."))
    return HttpResponse(status=204)


async def find_turn(conversation: Conversation, turn_id: uuid.UUID) -> Turn:
    """Return a turn of a conversation. Raises ApiError, also for a deleted one."""
    turn = await conversation.turns.filter(pk=turn_id, deleted_at=None).select_related("conversation").afirst()
    if turn is None:
        raise ApiError(404, "not_found", _("There is no such message in this conversation."))
    return turn


@contextmanager
def waiting_request(person: User) -> Iterator[None]:
    """Count a request that waits for a turn or streams it. Raises ApiError where its user has too many."""
    if waiting[person.pk] >= MAX_WAITING:
        metrics.REFUSALS.labels("waiting_requests").inc()
        words = _("%(most)s of your requests are waiting for answers; close one first.")
        raise ApiError(429, "too_many_requests", words % {"most": MAX_WAITING})
    waiting[person.pk] += 1
    try:
        yield
    finally:
        waiting[person.pk] -= 1


def key_field(request: HttpRequest) -> str:
    """Return the header or the field that has the id of a message."""
    return IDEMPOTENCY_KEY if IDEMPOTENCY_KEY in request.headers else "id"


def key_of(request: HttpRequest, form: dict[str, Any]) -> object:
    """Return the id that a message was sent with, as a header or in the body. Raises InvalidInputError."""
    key = request.headers.get(IDEMPOTENCY_KEY)
    if key is not None and form.get("id", key) != key:
        raise InvalidInputError("invalid", _("id: it differs from the Idempotency-Key."), field="id")
    field, value = key_field(request), form.get("id", "") if key is None else key
    if isinstance(value, str) and not _KEY.fullmatch(value) and (value or key is not None):
        words = _("%(field)s: 1 to %(most)s printable ASCII characters without spaces.")
        raise InvalidInputError("invalid", words % {"field": field, "most": CLIENT_ID_CHARS}, field=field)
    return value


def refuse_command(text: str, conversation: Conversation) -> None:
    """Raise ApiError for a command of the composer: as a question it would be paid for, and change nothing."""
    try:
        is_command = commands.parse(text) is not None
    except InvalidInputError:  # a command that the page refuses, too
        is_command = True
    if is_command:
        words = _("text: %(word)s is a command of the page, not a message. Settings: GET and PATCH %(url)s.")
        url = reverse("chat:api_settings", args=[conversation.pk])
        raise ApiError(400, "command", words % {"word": text.split()[0][:40], "url": url}, field="text")


def wants_events(request: HttpRequest) -> bool:
    preferred = request.get_preferred_type(["application/json", "text/event-stream"])
    return preferred == "text/event-stream" and request.method != "HEAD"


def last_position(request: HttpRequest) -> Position | None:
    """Return the position behind the last event that a client has; None where it has none. Raises ApiError."""
    last_id = request.headers.get("Last-Event-ID")
    return Position.parse(last_id) if last_id else None


async def submit(conversation: Conversation, message: Message, model: object, field: str) -> tuple[uuid.UUID, bool]:
    """Start the turn of a message with this model, where one is named; return its id, and whether it is a repeat.

    ``field`` has the id of the message.

    A repeat gets the turn that a message with the same id has started before, and chooses no model. Raises ApiError,
    InvalidInputError and ProviderError.
    """
    choice: dict[str, Any] = {}
    if model is not None and not await sync_to_async(queue.find_duplicate)(conversation.pk, message.client_id):
        choice["prepare"] = partial(model_choice.set_model, model=await model_choice.find_model(model))
    accepted = await turn_manager.submit(conversation.pk, message, may_queue=False, **choice)
    if accepted.turn_id is None:
        raise ApiError(409, "turn_running", _("A message with this id is already queued."))
    if accepted.started is None:
        first = await Turn.objects.aget(pk=accepted.turn_id)
        if first.deleted_at:
            words = _("The message with this id was deleted; send a new message with a new id.")
            raise ApiError(422, "idempotency_key_reused", words, field=field)
        if await sync_to_async(eventlog.question_of)(first) != message.text:
            words = _("This id was used for a message with another text; send a new message with a new id.")
            raise ApiError(422, "idempotency_key_reused", words, field=field)
    # joins the log lines of the request, which have its id, and those of the turn
    is_repeat = accepted.started is None
    logger.info("message accepted", extra={"turn": accepted.turn_id.hex, "repeat": is_repeat})
    return accepted.turn_id, is_repeat


def event_response(
    reader: TurnReader, turn_id: uuid.UUID, after: Position | None, stack: ExitStack
) -> HttpResponseBase:
    """Return a turn as server-sent events. A client that leaves stops nothing. ``stack``: to be closed at the end."""
    if after and after.end == "done":
        stack.close()
        return HttpResponse(status=204)  # which ends the reconnecting of an EventSource
    stack.enter_context(metrics.EVENT_STREAMS_OPEN.track_inprogress())
    turn_events = TurnEvents(reader.conversation.pk, turn_id, reader.sees, lambda: reader.authorize().sees, after)

    async def events() -> AsyncIterator[str]:
        with stack:
            try:
                async with aclosing(turn_events.stream()) as running:
                    async for event in running:
                        yield event
                async with aclosing(turn_events.last_events(await sync_to_async(reader.read_ended)(turn_id))) as last:
                    async for event in last:
                        yield event
            except Exception as error:  # noqa: BLE001 - logged there; the status line has been sent long ago
                yield turn_events.event("error", {"error": error_form(error, for_staff=reader.sees.names_settings)[1]})

    response = StreamingHttpResponse(events(), content_type="text/event-stream", headers={"Cache-Control": "no-store"})
    # A client may leave before the first event: then the generator never starts and can't close the stack.
    weakref.finalize(response, stack.close)
    return response


@dataclass(frozen=True, slots=True)
class TurnReader:
    """Reads turns of a conversation for one request, and holds the scratchpads that arrive meanwhile, in memory.

    A token has no session, so it gets none of them (product 14).
    """

    person: User
    conversation: Conversation
    session: Session | None
    session_key: str | None
    authorization: str  # the header of a request with a token
    include_trace: bool
    sees: Visibility  # at the start of the request
    notes: list[tuple[uuid.UUID, Scratchpad]] = field(default_factory=list)

    @classmethod
    async def of(cls, request: HttpRequest, person: User, conversation: Conversation) -> Self:
        """Return the reader of a request. Raises ApiError for an ``include`` that there is not."""
        session = session_of(request)
        session_key = request.session.session_key if session is not None else None
        include_trace = includes_trace(request)
        sees = await sync_to_async(visibility_of)(person, session, conversation, include_trace)
        header = request.headers.get("Authorization", "")
        return cls(person, conversation, session, session_key, header, include_trace, sees)

    def authorize(self) -> Self:
        """Return the reader with what its person may see now, which may have changed during a turn.

        Reads the database. Raises ApiError if the token, the session, the user or the conversation has ended.
        """
        if self.session is None:
            person, session = tokens.authenticate(self.authorization), None
        else:
            person, session = reread(self.person, self.session_key) or (None, None)
        if person is None:
            raise not_authenticated(has_token=self.session is None)
        conversation = require_conversation(person, self.conversation.pk)
        sees = visibility_of(person, session, conversation, self.include_trace)
        return replace(self, person=person, conversation=conversation, session=session, sees=sees)

    def receiving_notes(self) -> AbstractContextManager[None]:
        """Receive the private notes of turns that run meanwhile, where this request may show them."""

        def add(live: LiveTurn, scratchpad: Scratchpad, is_open: bool) -> None:
            if not is_open:
                self.notes.append((live.id, scratchpad))

        return turn_manager.reading_scratchpads(self.conversation.pk, add) if self.sees.scratchpad else nullcontext()

    def read_ended(self, turn_id: uuid.UUID) -> dict[str, Any]:
        """Return the envelope of an ended turn, as settings are now (spec 001 BR-008). Reads the database."""
        sees = self.authorize().sees
        notes = [scratchpad for turn_of_note, scratchpad in self.notes if turn_of_note == turn_id]
        revealed = reveal(Scratchpad.join(notes), self.person, self.session_key) if notes else None
        record = eventlog.turn_record(Turn.objects.get(pk=turn_id))
        return with_other(envelope_of(record, sees, scratchpad=revealed), record.turn)

    async def current(self, turn_id: uuid.UUID) -> dict[str, Any]:
        """Return the envelope of a turn that runs or has ended."""
        so_far = await text_so_far(self.conversation.pk, turn_id)
        return await sync_to_async(self._current)(turn_id, so_far)

    def _current(self, turn_id: uuid.UUID, so_far: TextSoFar | None) -> dict[str, Any]:
        record = eventlog.turn_record(Turn.objects.get(pk=turn_id))
        if so_far and record.turn.status == Turn.Status.RUNNING:
            return with_other(envelope_so_far(record, so_far, self.sees), record.turn)
        return with_other(envelope_of(record, self.sees), record.turn)

    async def list_messages(self) -> list[dict[str, Any]]:
        """Return the newest questions and envelopes, oldest first."""
        pk = self.conversation.pk
        running = await self.conversation.turns.filter(status=Turn.Status.RUNNING, is_active=True).afirst()
        so_far = await text_so_far(pk, running.pk) if running else None
        return await sync_to_async(self._list)(running.pk if running else None, so_far)

    def _list(self, running_id: uuid.UUID | None, so_far: TextSoFar | None) -> list[dict[str, Any]]:
        records = eventlog.turns(self.conversation.pk, newest=MAX_LISTED_TURNS)
        listed: list[dict[str, Any]] = []
        for record, form in zip(records, envelopes_of(records, self.sees), strict=True):
            is_running = record.turn.pk == running_id and record.turn.status == Turn.Status.RUNNING
            shown = envelope_so_far(record, so_far, self.sees) if is_running and so_far else form
            listed.append(question_form(record))
            listed.append({"role": "assistant", **with_other(shown, record.turn)})
        return listed


def with_other(form: dict[str, Any], turn: Turn) -> dict[str, Any]:
    """Name, in the envelope of a turn, the one that is compared with it. Product 47."""
    return form | {"comparedWith": turn.compared_with_id.hex} if turn.compared_with_id else form


@dataclass(frozen=True, slots=True)
class TextSoFar:
    """What a running turn has shown. Thinking is redacted; to show it, ask ``Visibility``."""

    model: str
    answer: str
    thinking: str
    trace: tuple[ToolTraceStep, ...]
    approval: ToolTraceStep | None


async def text_so_far(conversation_id: uuid.UUID, turn_id: uuid.UUID) -> TextSoFar | None:
    """Return what a running turn has shown, in whichever process it runs; None for one that has ended."""
    turn = await running_turn(conversation_id, turn_id)
    if turn is None:
        return None
    trace = tuple(step.trace for step in turn.steps if step.trace)
    return TextSoFar(turn.model, turn.answer[: turn.answer_chars], turn.thinking, trace, turn.approval)


def envelope_so_far(record: eventlog.TurnRecord, so_far: TextSoFar, sees: Visibility) -> dict[str, Any]:
    """Return the envelope of a running turn for one viewer."""
    answer = replace(record.answer_record(), model=so_far.model, answer=so_far.answer, trace=so_far.trace)
    text, truncated = sees.thinking_text(so_far.thinking)
    thinking = eventlog.ThinkingText(text, estimate_tokens(so_far.thinking), truncated) if so_far.thinking else None
    form = envelope(answer, sees, thinking=thinking_form(thinking))
    if so_far.approval:  # whoever sees no trace has to decide all the same
        form["toolTrace"] = [*form["toolTrace"], step_to_json(so_far.approval)]
    return form


def visibility_of(person: User, session: Session | None, conversation: Conversation, include_trace: bool) -> Visibility:
    """Decide what a request may show: what its person may see, with the trace where it asks for it (product 13)."""
    sees = reasoning_settings.visibility_for(person, session, conversation)
    return sees.with_trace() if include_trace else sees


def includes_trace(request: HttpRequest) -> bool:
    """Return whether ``include`` names the trace. Raises ApiError for anything else."""
    names = {name for value in request.GET.getlist("include") for name in value.split(",")}
    if names - {"trace"}:
        raise ApiError(400, "unknown_include", _("include: only trace is allowed."), field="include")
    return bool(names)
