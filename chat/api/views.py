"""The JSON API's endpoints: conversations, messages, settings and models, with the same rules as the pages."""

from __future__ import annotations

import uuid
import weakref
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractContextManager, ExitStack, aclosing, nullcontext
from typing import Any

from asgiref.sync import sync_to_async
from django.db import transaction
from django.http import HttpRequest, HttpResponse, HttpResponseBase, JsonResponse, StreamingHttpResponse
from django.utils.translation import gettext as _

from accounts.models import User
from accounts.scratchpad import reveal
from chat import eventlog
from chat.api.endpoint import ApiError, endpoint, get_conversation, read_body, session_of
from chat.api.sse import TurnEvents
from chat.cards import build
from chat.conversations import actions, commands, model_choice, reasoning_settings
from chat.live.turn import LiveTurn
from chat.models import Conversation, Turn
from chat.sharing.export import envelope_of
from chat.turns.manager import turn_manager
from chat.validation import InvalidInputError, Message, clean_message
from reasoning.scratchpad import Scratchpad
from reasoning.visibility import Visibility


@endpoint("GET", "POST")
async def conversation_list(request: HttpRequest, person: User) -> HttpResponseBase:
    """GET: one's conversations, newest first, without temporary ones. POST: make one, 201 ``{"id"}``."""
    if request.method == "POST":
        made = await Conversation.objects.acreate(owner=person)
        return JsonResponse({"id": str(made.pk)}, status=201)
    listed = [conversation_form(found) async for found in person.conversations.filter(expires_at=None)]
    return JsonResponse(listed, safe=False)


@endpoint("GET", "PATCH", "DELETE")
async def conversation(request: HttpRequest, person: User, conversation_id: uuid.UUID) -> HttpResponseBase:
    """GET: as in the list. PATCH ``{"title", "pinned"}``: all or nothing. DELETE: 204."""
    found = await get_conversation(person, conversation_id)
    if request.method == "DELETE":
        await turn_manager.stop(found.pk)
        await sync_to_async(actions.delete)(found)
        return HttpResponse(status=204)
    if request.method == "PATCH":
        await sync_to_async(change_conversation)(found, read_body(request))
    return JsonResponse(conversation_form(found))


@transaction.atomic
def change_conversation(found: Conversation, form: Mapping[str, Any]) -> None:
    changes = {"title": actions.rename, "pinned": actions.pin}
    if unknown := sorted(form.keys() - changes.keys()):
        field = unknown[0][:40]
        message = _("%(field)s: there is no such field; allowed are title and pinned.") % {"field": field}
        raise InvalidInputError("unknown_field", message, field=field)
    for name, value in form.items():
        changes[name](found, value)


def conversation_form(found: Conversation) -> dict[str, Any]:
    """Return a conversation as the API lists it."""
    updated_at = found.updated_at.isoformat()
    return {"id": str(found.pk), "title": found.title, "pinned": found.is_pinned, "updatedAt": updated_at}


@endpoint("GET", "POST")
async def messages(request: HttpRequest, person: User, conversation_id: uuid.UUID) -> HttpResponseBase:
    """GET: questions and envelopes, oldest first. POST: run a turn; the envelope, or server-sent events.

    A ``model`` is chosen for the conversation, as on the page: it answers this message and those after it.
    """
    found = await get_conversation(person, conversation_id)
    sees = await sync_to_async(reasoning_settings.visibility_for)(person, session_of(request), found)
    if request.method == "GET":
        return JsonResponse(await sync_to_async(message_forms)(conversation_id, sees), safe=False)
    form = read_body(request)
    message = clean_message(form.get("text"), form.get("id", ""))
    wants_events = request.get_preferred_type(["application/json", "text/event-stream"]) == "text/event-stream"
    respond = event_response if wants_events else envelope_response
    turn_request = TurnRequest(request, person, found.pk, sees)
    if form.get("model") is None:
        return await respond(turn_request, message)
    previous = await sync_to_async(getattr)(found, "profile")  # a query
    # before the turn, which reads its model from the conversation
    await sync_to_async(model_choice.set_model)(found, await model_choice.find_model(form["model"]))
    try:
        return await respond(turn_request, message)
    except InvalidInputError:  # nothing was sent: the choice is undone
        await sync_to_async(model_choice.set_profile)(found, previous)
        raise


@endpoint("GET", "PATCH")
async def settings(request: HttpRequest, person: User, conversation_id: uuid.UUID) -> HttpResponseBase:
    """GET: the ``reasoning.*`` settings in force. PATCH: set some here, all or none; null lets other layers decide."""
    found = await get_conversation(person, conversation_id)
    if request.method == "PATCH":
        changes = dict(commands.parse_change(name, value) for name, value in (read_body(request)).items())
        await sync_to_async(reasoning_settings.change)(found.pk, changes)
        await found.arefresh_from_db()
    return JsonResponse(await sync_to_async(reasoning_settings.as_form)(person, found))


@endpoint("GET")
async def models(request: HttpRequest, person: User) -> HttpResponseBase:
    """List what ``model`` may be, the one that answers without it first: ``[{"name", "label"}]``."""
    listed = [{"name": name, "label": label} for name, label in await model_choice.list_models()]
    return JsonResponse(listed, safe=False)


@endpoint("GET", "POST", "PUT", "PATCH", "DELETE")
async def not_found(request: HttpRequest, person: User, rest: str) -> HttpResponseBase:
    """Answer for every other address below /api/ in the form of the API."""
    raise ApiError(404, "not_found", _("There is nothing at this address."))


class TurnRequest:
    """One request for a turn: its user, and the scratchpads that arrive meanwhile, in memory, for a grant at the end.

    A token has no session, so it gets none (product 14).
    """

    def __init__(self, request: HttpRequest, person: User, conversation_id: uuid.UUID, sees: Visibility) -> None:
        self.person, self.conversation_id, self.sees = person, conversation_id, sees
        self.session = session_of(request)
        self.session_key = request.session.session_key if hasattr(request, "session") else None
        self.notes: list[tuple[uuid.UUID, Scratchpad]] = []

    async def run(self, message: Message) -> uuid.UUID:
        accepted = await turn_manager.submit(self.conversation_id, message, may_wait=False)
        if accepted.turn_id is None:
            raise ApiError(409, "turn_running", _("A message with this id is already queued."))
        return accepted.turn_id

    def receive_notes(self) -> AbstractContextManager[None]:
        """Receive the private notes of turns that run meanwhile, where this request may show them."""

        def add(live: LiveTurn, scratchpad: Scratchpad) -> None:
            self.notes.append((live.id, scratchpad))

        return turn_manager.reading_scratchpads(self.conversation_id, add) if self.sees.scratchpad else nullcontext()

    def envelope(self, turn_id: uuid.UUID) -> dict[str, Any]:
        """Return the envelope of the finished turn, as settings are now (spec 001 BR-008). Reads the database."""
        turn = Turn.objects.select_related("conversation__owner").get(pk=turn_id)
        sees = reasoning_settings.visibility_for(turn.conversation.owner, self.session, turn.conversation)
        notes = [scratchpad for turn_of_note, scratchpad in self.notes if turn_of_note == turn_id]
        revealed = reveal(Scratchpad.join(notes), self.person, self.session_key) if notes else None
        return envelope_of(eventlog.turn_record(turn), sees, scratchpad=revealed)


async def envelope_response(turn_request: TurnRequest, message: Message) -> HttpResponseBase:
    with turn_request.receive_notes():
        turn_id = await turn_request.run(message)
        await turn_manager.wait_until_finished(turn_request.conversation_id, turn_id)
    return JsonResponse(await sync_to_async(turn_request.envelope)(turn_id))


async def event_response(turn_request: TurnRequest, message: Message) -> HttpResponseBase:
    """Run the turn and pass it on as server-sent events. A client that leaves stops nothing."""
    # what is opened here is closed when the last event was sent, after this function
    stack = ExitStack()
    stack.enter_context(turn_request.receive_notes())
    try:
        turn_id = await turn_request.run(message)
    except BaseException:
        stack.close()
        raise
    turn_events = TurnEvents(turn_request.conversation_id, turn_id, turn_request.sees)

    async def events() -> AsyncIterator[str]:
        with stack:
            async with aclosing(turn_events.stream()) as running:
                async for event in running:
                    yield event
            await turn_manager.wait_until_finished(turn_request.conversation_id, turn_id)
            for event in turn_events.last(await sync_to_async(turn_request.envelope)(turn_id)):
                yield event

    response = StreamingHttpResponse(events(), content_type="text/event-stream", headers={"Cache-Control": "no-store"})
    # A client may leave before the first event: then the generator never starts and can't close the stack.
    weakref.finalize(response, stack.close)
    return response


def message_forms(conversation_id: uuid.UUID, sees: Visibility) -> list[dict[str, Any]]:
    listed: list[dict[str, Any]] = []
    for rows in eventlog.turns(conversation_id):
        listed.append({"role": "user", "text": build.question_card(rows).text})
        listed.append({"role": "assistant", **envelope_of(rows, sees)})
    return listed
