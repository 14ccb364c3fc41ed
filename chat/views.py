"""Pages and their fragments. Every look-up is by owner: another person's conversation is not found (product 14)."""

from __future__ import annotations

import uuid
from typing import Any, cast

from asgiref.sync import sync_to_async
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect, JsonResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from accounts.models import User
from accounts.preferences import visibility
from chat import cards, log, reader, screens
from chat.drawing import rendered
from chat.forms import MessageRefused, clean_message
from chat.models import Conversation, Filing, Turn
from chat.runner import runner
from reasoning.trace import step_to_json


@never_cache
@require_GET
def home(request: HttpRequest) -> HttpResponse:
    """Open the newest conversation, or an empty one."""
    person = _person(request)
    newest = person.conversations.first() or Conversation.objects.create(owner=person)
    return redirect(newest)


@require_POST
def new(request: HttpRequest) -> HttpResponse:
    """Make a conversation and go there: 303."""
    made = Conversation.objects.create(owner=_person(request))
    return HttpResponseRedirect(made.get_absolute_url(), status=303)


@never_cache
@require_GET
async def conversation(request: HttpRequest, conversation_id: uuid.UUID) -> HttpResponse:
    """Show a conversation; ``?open=<id>`` shows that card's thinking open, for a page without JavaScript."""
    return await _page(request, conversation_id, "chat/conversation.html")


@never_cache
@require_http_methods(["GET", "POST"])
async def messages(request: HttpRequest, conversation_id: uuid.UUID) -> HttpResponse:
    """GET: the cards alone. POST: send ``text``, then 303 to the page; a refusal is shown there with the text kept."""
    if request.method == "GET":
        return await _page(request, conversation_id, "chat/_messages.html")
    person, _owned = await _owned_by(request, conversation_id)
    try:
        message = clean_message(request.POST.get("text"), request.POST.get("id", ""))
        await runner.submit(conversation_id, person.pk, message)
    except MessageRefused as refused:
        shown = {"error": refused.message, "draft": request.POST.get("text", "")}
        return await _page(request, conversation_id, "chat/conversation.html", status=400, **shown)
    return _back(conversation_id)


@require_POST
async def stop(request: HttpRequest, conversation_id: uuid.UUID) -> HttpResponse:
    """Stop the running turn."""
    await _owned_by(request, conversation_id)
    runner.stop(conversation_id)
    return _back(conversation_id)


@require_POST
async def retry(request: HttpRequest, conversation_id: uuid.UUID, turn_id: uuid.UUID) -> HttpResponse:
    """Ask the question of the newest turn again. 204 for the page's script, else 303."""
    person, turn = await sync_to_async(_turn)(request, conversation_id, turn_id)
    try:
        await runner.retry(turn, person.pk)
    except MessageRefused as refused:
        return await _page(request, conversation_id, "chat/conversation.html", status=409, error=refused.message)
    return HttpResponse(status=204) if request.headers.get("HX-Request") else _back(conversation_id)


@never_cache
@require_GET
def thinking(request: HttpRequest, conversation_id: uuid.UUID, turn_id: uuid.UUID) -> HttpResponse:
    """Return a finished card's thinking as this viewer may read it, as plain text; 404 where they may not."""
    person, turn = _turn(request, conversation_id, turn_id)
    text = log.thinking_for(turn, visibility(person, request.session))
    if text is None:
        raise Http404
    return HttpResponse(text.text, content_type="text/plain; charset=utf-8")


@never_cache
@require_GET
def trace(request: HttpRequest, conversation_id: uuid.UUID, turn_id: uuid.UUID) -> HttpResponse:
    """Return the redacted trace as JSON, for Copy trace; 404 where this viewer sees none."""
    person, turn = _turn(request, conversation_id, turn_id)
    if not visibility(person, request.session).trace:
        raise Http404
    steps = [step_to_json(step) for step in cards.record_of(log.turn_rows(turn)).trace]
    return JsonResponse(steps, safe=False, json_dumps_params={"indent": 2, "ensure_ascii": False})


@never_cache
@require_GET
def copy(request: HttpRequest, conversation_id: uuid.UUID, turn_id: uuid.UUID) -> HttpResponse:
    """Return what Copy puts on the clipboard: the answer and its numbered citations."""
    _viewer, turn = _turn(request, conversation_id, turn_id)
    text = cards.copied_answer(cards.record_of(log.turn_rows(turn)))
    return HttpResponse(text, content_type="text/plain; charset=utf-8")


@require_GET
def filings(request: HttpRequest) -> HttpResponse:
    """List the filings on this server."""
    return render(request, "chat/filings.html", {"filings": Filing.objects.all()})


@require_GET
def filing(request: HttpRequest, slug: str) -> HttpResponse:
    """Show a filing from its stored passages; the fragment of a citation opens at its passage."""
    found = get_object_or_404(Filing, slug=slug)
    context = {"filing": found, "sections": reader.sections_of(found), "back_url": reverse("chat:home")}
    return render(request, "chat/filing.html", context)


async def _page(
    request: HttpRequest, conversation_id: uuid.UUID, template: str, *, status: int = 200, **extra: Any
) -> HttpResponse:
    """Draw the conversation: what is stored, then the running turn as it stands at this moment of the loop."""
    read = await _read(request, conversation_id)
    context = screens.context(read, runner.live(conversation_id)) | extra
    opened = request.GET.get("open", "")
    if opened:
        context["items"] = await sync_to_async(screens.with_thinking_open)(read, context["items"], opened)
    return await sync_to_async(render)(request, template, context, status=status)


async def _read(request: HttpRequest, conversation_id: uuid.UUID) -> screens.Read:
    """Read a conversation; again where the turn that was running then has ended since."""
    read = await _read_once(request, conversation_id)
    was_running = any(rows.turn.status == Turn.Status.RUNNING for rows in read.rows)
    return await _read_once(request, conversation_id) if was_running and not runner.live(conversation_id) else read


async def _read_once(request: HttpRequest, conversation_id: uuid.UUID) -> screens.Read:
    read = await sync_to_async(screens.read)(_person(request), conversation_id, request.session)
    if read is None:
        raise Http404
    await rendered(read.rows)
    return read


async def _owned_by(request: HttpRequest, conversation_id: uuid.UUID) -> tuple[User, Conversation]:
    person = _person(request)
    return person, await sync_to_async(_own_conversation)(person, conversation_id)


def _turn(request: HttpRequest, conversation_id: uuid.UUID, turn_id: uuid.UUID) -> tuple[User, Turn]:
    person = _person(request)
    owned = _own_conversation(person, conversation_id)
    return person, get_object_or_404(Turn, pk=turn_id, conversation=owned, is_active=True)


def _own_conversation(person: User, conversation_id: uuid.UUID) -> Conversation:
    return get_object_or_404(Conversation, pk=conversation_id, owner=person)


def _back(conversation_id: uuid.UUID) -> HttpResponse:
    return HttpResponseRedirect(reverse("chat:conversation", args=[conversation_id]), status=303)


def _person(request: HttpRequest) -> User:
    return cast("User", request.user)
