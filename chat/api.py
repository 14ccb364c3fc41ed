"""The same as the pages, as JSON, behind the same gates.

A request carries a session cookie with CSRF, or a personal access token, which has no session and so never a scratchpad
(product 14). Errors are ``{"error": {"code", "message", "field"?}}``.
"""

from __future__ import annotations

import json
import logging
import uuid
import weakref
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import ExitStack, nullcontext
from functools import partial, wraps
from typing import Any, Concatenate, ParamSpec

from asgiref.sync import sync_to_async
from django.contrib.auth.decorators import login_not_required
from django.core.exceptions import RequestDataTooBig, SuspiciousOperation
from django.http import HttpRequest, HttpResponse, HttpResponseBase, JsonResponse, StreamingHttpResponse
from django.http.request import RawPostDataException, UnreadablePostError
from django.middleware.csrf import CsrfViewMiddleware
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt

from accounts import scratchpad as gate
from accounts import tokens
from accounts.models import User
from accounts.preferences import Session, reread
from chat import cards, commands, layers, log, modelchoice
from chat.eventstream import TurnEvents
from chat.export import envelope_of
from chat.forms import Message, MessageRefused, clean_message
from chat.live import LiveTurn
from chat.models import Conversation, Turn
from chat.notices import ModelChanged, SettingsChanged
from chat.outage import is_outage, words_for
from chat.providers.base import ProviderError
from chat.runner import runner
from chat.watchers import Watcher
from reasoning.policy import Visibility
from reasoning.scratchpad import Scratchpad

P = ParamSpec("P")
logger = logging.getLogger(__name__)
_REFUSED_STATUS = {"turn_running": 409, "queue_full": 409, "too_many_turns": 429, "restarting": 503}


class ApiError(Exception):
    """Becomes the error form with its HTTP status."""

    def __init__(self, status: int, code: str, message: str, *, field: str | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.form = {"code": code, "message": message} | ({"field": field} if field else {})


def endpoint(*methods: str) -> Callable[..., Any]:
    """Let in a person by token or by session with CSRF, and turn errors into the error form."""

    def decorate(
        view: Callable[Concatenate[HttpRequest, User, P], Awaitable[HttpResponseBase]],
    ) -> Callable[..., Any]:
        @wraps(view)
        async def answer(request: HttpRequest, *args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
            try:
                if request.method not in methods:
                    raise ApiError(
                        405, "method_not_allowed", _("Allowed here: %(methods)s.") % {"methods": ", ".join(methods)}
                    )
                return await view(request, await _person(request), *args, **kwargs)
            except Exception as error:  # noqa: BLE001 - each becomes the error form; what is unforeseen is logged
                return _refusal(error, methods)

        return csrf_exempt(login_not_required(never_cache(answer)))

    return decorate


def _refusal(error: Exception, methods: tuple[str, ...]) -> JsonResponse:
    status, form = 500, {"code": "internal", "message": _("Something went wrong on this server.")}
    match error:
        case ApiError():
            status, form = error.status, error.form
        case MessageRefused():
            status, form = _REFUSED_STATUS.get(error.code, 400), {"code": error.code, "message": error.message}
            form |= {"field": error.field} if error.field else {}
        case ProviderError():  # a service that could not be asked for the name of its model
            status, form = 503, {"code": error.code, "message": error.message}
        case RequestDataTooBig():
            status, form = 413, {"code": "too_large", "message": _("The body is too large.")}
        case SuspiciousOperation() | RawPostDataException() | UnreadablePostError():
            status, form = 400, {"code": "invalid_json", "message": _("The body is not JSON.")}
        case _:
            logger.error("request failed", exc_info=error)
            if is_outage(error):
                status, form = 503, {"code": "unavailable", "message": words_for(error)}
    return JsonResponse({"error": form}, status=status, headers={"Allow": ", ".join(methods)} if status == 405 else {})


@endpoint("GET", "POST")
async def chats(request: HttpRequest, person: User) -> HttpResponseBase:
    """GET: one's conversations, newest first, without temporary ones. POST: make one, 201 ``{"id"}``."""
    if request.method == "POST":
        made = await Conversation.objects.acreate(owner=person)
        return JsonResponse({"id": str(made.pk)}, status=201)
    listed = [conversation_form(found) async for found in person.conversations.filter(expires_at=None)]
    return JsonResponse(listed, safe=False)


def conversation_form(found: Conversation) -> dict[str, Any]:
    """Return a conversation as the API lists it."""
    updated_at = found.updated_at.isoformat()
    return {"id": str(found.pk), "title": found.title, "pinned": found.is_pinned, "updatedAt": updated_at}


@endpoint("GET", "POST")
async def messages(request: HttpRequest, person: User, conversation_id: uuid.UUID) -> HttpResponseBase:
    """GET: questions and envelopes, oldest first. POST: run a turn; the envelope, or server-sent events.

    A ``model`` is chosen for the conversation, as on the page: it answers this message and those after it.
    """
    found = await person.conversations.select_related("profile").filter(pk=conversation_id).afirst()
    if found is None:
        raise ApiError(404, "not_found", _("There is no such conversation."))
    sees = await sync_to_async(layers.sees)(person, _session(request), found)
    if request.method == "GET":
        return JsonResponse(await sync_to_async(_listed)(conversation_id, sees), safe=False)
    form = await body_of(request)
    message = clean_message(form.get("text"), form.get("id", ""))
    answer = partial(_streamed if _wants_events(request) else _answered, _Asked(request, person, found.pk, sees))
    if form.get("model") is None:
        return await answer(message)
    async with modelchoice.chosen(found, form["model"], tell=partial(runner.tell, found.pk, ModelChanged())):
        return await answer(message)


@endpoint("GET", "PATCH")
async def settings(request: HttpRequest, person: User, conversation_id: uuid.UUID) -> HttpResponseBase:
    """GET: the ``reasoning.*`` settings in force. PATCH: set some here, all or none; null lets other layers decide."""
    found = await person.conversations.filter(pk=conversation_id).afirst()
    if found is None:
        raise ApiError(404, "not_found", _("There is no such conversation."))
    if request.method == "PATCH":
        changes = dict(commands.parse_change(name, value) for name, value in (await body_of(request)).items())
        await sync_to_async(layers.change)(found.pk, changes)
        runner.tell(found.pk, SettingsChanged())
        await found.arefresh_from_db()
    return JsonResponse(await sync_to_async(layers.as_form)(person, found))


@endpoint("GET")
async def models(request: HttpRequest, person: User) -> HttpResponseBase:
    """List what ``model`` may be, the one that answers without it first: ``[{"name", "label"}]``."""
    listed = [{"name": name, "label": label} for name, label in await modelchoice.listed()]
    return JsonResponse(listed, safe=False)


@endpoint("GET", "POST", "PUT", "PATCH", "DELETE")
async def nowhere(request: HttpRequest, person: User, rest: str) -> HttpResponseBase:
    """Answer for every other address below /api/ in the form of the API."""
    raise ApiError(404, "not_found", _("There is nothing at this address."))


class _Asked:
    """One request for a turn: who asked, and the private notes that came meanwhile, in memory, for a grant at the end.

    A token has no session, so nothing is taken for it (product 14).
    """

    def __init__(self, request: HttpRequest, person: User, conversation_id: uuid.UUID, sees: Visibility) -> None:
        self.person, self.conversation_id, self.sees = person, conversation_id, sees
        self.watcher = Watcher(conversation_id, self._take if sees.scratchpad else None)
        self._session = _session(request)
        self._session_key = request.session.session_key if hasattr(request, "session") else None
        self._notes: list[tuple[uuid.UUID, Scratchpad]] = []

    async def run(self, message: Message) -> uuid.UUID:
        accepted = await runner.submit(self.conversation_id, self.person.pk, message, may_wait=False)
        if accepted.turn_id is None:
            raise ApiError(409, "turn_running", _("This message waits for its turn already."))
        return accepted.turn_id

    def envelope(self, turn_id: uuid.UUID) -> dict[str, Any]:
        """Return the envelope of the finished turn, as settings are now (spec 001 BR-008). Reads the database."""
        turn = Turn.objects.select_related("conversation__owner").get(pk=turn_id)
        sees = layers.sees(turn.conversation.owner, self._session, turn.conversation)
        return envelope_of(log.turn_rows(turn), sees, scratchpad=self._revealed(turn_id))

    def _take(self, live: LiveTurn, scratchpad: Scratchpad) -> None:
        self._notes.append((live.id, scratchpad))

    def _revealed(self, turn_id: uuid.UUID) -> str | None:
        notes = [scratchpad for taken_in, scratchpad in self._notes if taken_in == turn_id]
        current = reread(self.person, self._session_key) if notes else None
        grant = gate.grant_for(*current) if current else None
        return gate.reveal(Scratchpad.join(notes), grant) if grant else None


async def _answered(asked: _Asked, message: Message) -> HttpResponseBase:
    with runner.watching(asked.watcher) if asked.sees.scratchpad else nullcontext():
        turn_id = await asked.run(message)
        await runner.finished(asked.conversation_id, turn_id)
    return JsonResponse(await sync_to_async(asked.envelope)(turn_id))


async def _streamed(asked: _Asked, message: Message) -> HttpResponseBase:
    """Run the turn and pass it on as server-sent events. A client that leaves stops nothing."""
    stack = ExitStack()
    stack.enter_context(runner.watching(asked.watcher))
    try:
        turn_id = await asked.run(message)
    except BaseException:
        stack.close()
        raise
    told = _events(TurnEvents(asked.watcher, turn_id, asked.sees), asked, stack)
    response = StreamingHttpResponse(told, content_type="text/event-stream", headers={"Cache-Control": "no-store"})
    weakref.finalize(response, stack.close)  # a client may leave before the first event
    return response


async def _events(told: TurnEvents, asked: _Asked, stack: ExitStack) -> AsyncIterator[str]:
    with stack:
        for event in told.catch_up():
            yield event
        while (events := await told.next()) is not None:
            for event in events:
                yield event
        await runner.finished(asked.conversation_id, told.turn_id)
        for event in told.last(await sync_to_async(asked.envelope)(told.turn_id)):
            yield event


def _wants_events(request: HttpRequest) -> bool:
    return request.get_preferred_type(["application/json", "text/event-stream"]) == "text/event-stream"


def _listed(conversation_id: uuid.UUID, sees: Visibility) -> list[dict[str, Any]]:
    listed: list[dict[str, Any]] = []
    for rows in log.turns(conversation_id):
        listed.append({"role": "user", "text": cards.question_card(rows).text})
        listed.append({"role": "assistant", **envelope_of(rows, sees)})
    return listed


async def body_of(request: HttpRequest) -> dict[str, Any]:
    try:
        form = json.loads(request.body)
    except (ValueError, RecursionError) as error:
        raise ApiError(400, "invalid_json", _("The body is not JSON.")) from error
    if not isinstance(form, dict):
        raise ApiError(400, "invalid_json", _("The body is not a JSON object."))
    return form


async def _person(request: HttpRequest) -> User:
    header = request.headers.get("Authorization", "")
    if header:
        person = await sync_to_async(tokens.authenticate)(header)
        if person is None:
            raise ApiError(401, "invalid_token", _("This access token is not valid."))
        del request.session  # a token has no session, whatever cookie came along
        return person
    user = await request.auser()
    if not isinstance(user, User):
        raise ApiError(401, "not_authenticated", _("Sign in, or send a personal access token."))
    if CsrfViewMiddleware(_no_response).process_view(request, _no_response, (), {}) is not None:
        raise ApiError(403, "csrf", _("The CSRF token is missing or wrong."))
    return user


def _session(request: HttpRequest) -> Session | None:
    return dict(request.session.items()) if hasattr(request, "session") else None


def _no_response(request: HttpRequest) -> HttpResponse:
    return HttpResponse()
