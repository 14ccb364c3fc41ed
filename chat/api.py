"""The same as the pages, as JSON, behind the same gates.

A request carries a session cookie with CSRF, or a personal access token, which has no session and so never a scratchpad
(product 14). Errors are ``{"error": {"code", "message", "field"?}}``.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import wraps
from typing import Any, Concatenate, ParamSpec

from asgiref.sync import sync_to_async
from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse, HttpResponseBase, JsonResponse, StreamingHttpResponse
from django.middleware.csrf import CsrfViewMiddleware
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods

from accounts import tokens
from accounts.models import User
from accounts.preferences import Session, visibility
from chat import cards, log
from chat.forms import Message, MessageRefused, clean_message
from chat.frames import visible_thinking
from chat.live import Behind, BlockDone, Finished, Notice, OpenText, StepsChanged, ThinkingText
from chat.models import Conversation, Turn
from chat.runner import runner
from chat.upstream import known_models
from chat.watchers import Asked, Watcher
from reasoning.envelope import envelope
from reasoning.policy import Visibility
from reasoning.trace import step_to_json

P = ParamSpec("P")
_REFUSED_STATUS = {"turn_running": 409, "queue_full": 409, "too_many_turns": 429, "restarting": 503}
MAX_BODY_BYTES = 4_000_000


class ApiError(Exception):
    """Becomes the error form with its HTTP status."""

    def __init__(self, status: int, code: str, message: str, *, field: str | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.form = {"code": code, "message": message} | ({"field": field} if field else {})


def _endpoint(*methods: str) -> Callable[..., Any]:
    """Let in a person by token or by session with CSRF, and turn errors into the error form."""

    def decorate(
        view: Callable[Concatenate[HttpRequest, User, P], Awaitable[HttpResponseBase]],
    ) -> Callable[..., Any]:
        @wraps(view)
        async def answer(request: HttpRequest, *args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
            try:
                return await view(request, await _person(request), *args, **kwargs)
            except ApiError as error:
                return JsonResponse({"error": error.form}, status=error.status)
            except MessageRefused as refused:
                form = {"code": refused.code, "message": refused.message}
                form |= {"field": refused.field} if refused.field else {}
                return JsonResponse({"error": form}, status=_REFUSED_STATUS.get(refused.code, 400))

        return csrf_exempt(login_not_required(never_cache(require_http_methods(methods)(answer))))

    return decorate


@_endpoint("GET", "POST")
async def chats(request: HttpRequest, person: User) -> HttpResponseBase:
    """GET: one's conversations, newest first. POST: make one, 201 ``{"id"}``."""
    if request.method == "POST":
        made = await Conversation.objects.acreate(owner=person)
        return JsonResponse({"id": str(made.pk)}, status=201)
    listed = [
        {"id": str(found.pk), "title": found.title, "updatedAt": found.updated_at.isoformat()}
        async for found in person.conversations.all()
    ]
    return JsonResponse(listed, safe=False)


@_endpoint("GET", "POST")
async def messages(request: HttpRequest, person: User, conversation_id: uuid.UUID) -> HttpResponseBase:
    """GET: questions and envelopes, oldest first. POST: run a turn; the envelope, or server-sent events."""
    if not await person.conversations.filter(pk=conversation_id).aexists():
        raise ApiError(404, "not_found", _("There is no such conversation."))
    sees = await sync_to_async(visibility)(person, _session(request))
    if request.method == "GET":
        return JsonResponse(await sync_to_async(_listed)(conversation_id, sees), safe=False)
    message = await _message(request)
    if request.accepts("text/event-stream") and not request.accepts("application/json"):
        return await _streamed(conversation_id, person, message, sees)
    turn_id = await _run(conversation_id, person, message)
    await runner.finished(conversation_id, turn_id)
    return JsonResponse(await sync_to_async(_envelope)(turn_id, sees))


async def _run(conversation_id: uuid.UUID, person: User, message: Message) -> uuid.UUID:
    accepted = await runner.submit(conversation_id, person.pk, message, may_wait=False)
    if accepted.turn_id is None:
        raise ApiError(409, "turn_running", _("This message waits for its turn already."))
    return accepted.turn_id


async def _streamed(
    conversation_id: uuid.UUID, person: User, message: Message, sees: Visibility
) -> StreamingHttpResponse:
    """Run the turn and pass it on as server-sent events. A client that leaves stops nothing."""
    watcher = Watcher(conversation_id)
    watching = runner.watching(watcher)
    watching.__enter__()
    try:
        turn_id = await _run(conversation_id, person, message)
    except BaseException:
        watching.__exit__(None, None, None)
        raise

    async def events() -> AsyncIterator[str]:
        try:
            async for event in _events(watcher, turn_id, sees):
                yield event
        finally:
            watching.__exit__(None, None, None)

    return StreamingHttpResponse(events(), content_type="text/event-stream", headers={"Cache-Control": "no-store"})


async def _events(watcher: Watcher, turn_id: uuid.UUID, sees: Visibility) -> AsyncIterator[str]:
    told = 0
    while True:
        notice = await watcher.next()
        if isinstance(notice, Behind) or (isinstance(notice, Finished) and notice.turn.id == turn_id):
            break
        if isinstance(notice, StepsChanged) and sees.trace and notice.turn.id == turn_id:
            finished = [step.trace for step in notice.turn.steps if step.trace]
            for step in finished[told:]:
                yield _event("tool_step", step_to_json(step))
            told = len(finished)
        for form in _deltas(notice, turn_id, sees):
            yield _event("delta", form)
    await runner.finished(watcher.conversation_id, turn_id)
    for event in await sync_to_async(_last_events)(turn_id, sees):
        yield event


def _last_events(turn_id: uuid.UUID, sees: Visibility) -> list[str]:
    form = _envelope(turn_id, sees)
    events = [_event("delta", {"channel": "summary", "text": bullet}) for bullet in form["reasoningSummary"]]
    if "error" in form:
        events.append(_event("error", {"error": form["error"]}))
    return [*events, _event("done", form)]


def _deltas(notice: Notice | Asked, turn_id: uuid.UUID, sees: Visibility) -> list[dict[str, str]]:
    match notice:
        case OpenText(turn, _n, text) if turn.id == turn_id:
            return [{"channel": "answer", "text": text}]
        case BlockDone(turn, _html, _tail, text) if turn.id == turn_id:
            return [{"channel": "answer", "text": text}]
        case ThinkingText(turn) if turn.id == turn_id:
            text = visible_thinking(notice, sees)
            return [{"channel": "thinking", "text": text}] if text else []
    return []


def _event(name: str, form: Any) -> str:
    return f"event: {name}\ndata: {json.dumps(form, ensure_ascii=False, separators=(',', ':'))}\n\n"


def _listed(conversation_id: uuid.UUID, sees: Visibility) -> list[dict[str, Any]]:
    listed: list[dict[str, Any]] = []
    for rows in log.turns(conversation_id):
        listed.append({"role": "user", "text": cards.question_card(rows).text})
        listed.append({"role": "assistant", **_form(rows, sees)})
    return listed


def _envelope(turn_id: uuid.UUID, sees: Visibility) -> dict[str, Any]:
    return _form(log.turn_rows(Turn.objects.get(pk=turn_id)), sees)


def _form(rows: log.TurnRows, sees: Visibility) -> dict[str, Any]:
    text = log.thinking_for(rows.turn, sees)
    thinking = {"text": text.text, "tokensEst": text.tokens_est, "truncated": text.truncated} if text else None
    form = envelope(cards.record_of(rows), sees, thinking=thinking)
    if rows.turn.error_code:
        form["error"] = {"code": rows.turn.error_code, "message": rows.turn.error_message}
    return form


async def _message(request: HttpRequest) -> Message:
    try:
        form = json.loads(request.body)
    except (ValueError, RecursionError) as error:
        raise ApiError(400, "invalid_json", _("The body is not JSON.")) from error
    if not isinstance(form, dict):
        raise ApiError(400, "invalid_json", _("The body is not a JSON object."))
    models = await known_models()
    if form.get("model") not in (None, *models):
        allowed = ", ".join(models)
        raise ApiError(400, "unknown_model", _("model: one of %(models)s.") % {"models": allowed}, field="model")
    return clean_message(form.get("text"), form.get("id", ""))


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
