"""Pages and their fragments. Every look-up is by owner: another person's conversation is not found (product 14)."""

from __future__ import annotations

import uuid
from collections.abc import Awaitable
from typing import Any, cast

from asgiref.sync import sync_to_async
from django.contrib.messages import success
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect, JsonResponse
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from accounts.models import User
from chat import cards, commands, continuing, efforts, layers, log, modelchoice, orders, reader, screens
from chat.drawing import rendered
from chat.forms import MessageRefused, clean_message
from chat.models import Conversation, Filing, Turn
from chat.notices import ModelChanged, SettingsChanged
from chat.pageframes import context_frame
from chat.providers.base import ProviderError
from chat.runner import runner
from reasoning.trace import step_to_json


@never_cache
@require_GET
async def conversation(request: HttpRequest, conversation_id: uuid.UUID) -> HttpResponse:
    """Show a conversation; ``?open=<id>`` shows that card's thinking open, for a page without JavaScript."""
    return await _page(request, conversation_id, "chat/conversation.html")


@never_cache
@require_http_methods(["GET", "POST"])
async def messages(request: HttpRequest, conversation_id: uuid.UUID) -> HttpResponse:
    """GET: cards alone. POST: send ``text``, then 303 to the page; a refusal is shown there with the text kept."""
    if request.method == "GET":
        return await _page(request, conversation_id, "chat/_messages.html")
    person, _owned = await _owned_by(request, conversation_id)
    try:
        message = clean_message(request.POST.get("text"), request.POST.get("id", ""))
        order = commands.parse(message.text)
        if order is not None:
            return await _obeyed(request, person, conversation_id, order)
        await runner.submit(conversation_id, person.pk, message)
    except MessageRefused as refused:
        shown = {"error": refused.message, "draft": request.POST.get("text", "")}
        return await _page(request, conversation_id, "chat/conversation.html", status=400, **shown)
    return _back(conversation_id)


async def _obeyed(
    request: HttpRequest, person: User, conversation_id: uuid.UUID, order: commands.Order
) -> HttpResponse:
    """Carry out a command of the composer: what changed is said after a 303, what was asked for at once."""
    answer = await sync_to_async(orders.carry_out)(order, person, conversation_id)
    if not answer.is_change:
        return await _page(request, conversation_id, "chat/conversation.html", command=answer)
    runner.tell(conversation_id, SettingsChanged())
    success(request, answer.text)
    return _back(conversation_id)


@require_POST
async def stop(request: HttpRequest, conversation_id: uuid.UUID) -> HttpResponse:
    """Stop the running turn."""
    await _owned_by(request, conversation_id)
    runner.stop(conversation_id)
    return _back(conversation_id)


@never_cache
@require_POST
async def model(request: HttpRequest, conversation_id: uuid.UUID) -> HttpResponse:
    """Choose the ``model`` of the next request: 303, or the context meter for the page's script."""
    owned = (await _owned_by(request, conversation_id))[1]
    try:
        chosen = await modelchoice.find(request.POST.get("model"))
    except (MessageRefused, ProviderError) as refused:
        return await _refused_model(request, conversation_id, refused.message)
    await sync_to_async(modelchoice.choose)(owned, chosen)
    runner.tell(conversation_id, ModelChanged())
    if not request.headers.get("HX-Request"):
        return _back(conversation_id)
    usage, _model = await sync_to_async(screens.next_request)(owned)
    return HttpResponse(context_frame(usage), headers={"HX-Reswap": "none"})


@require_POST
async def effort(request: HttpRequest, conversation_id: uuid.UUID) -> HttpResponse:
    """Set how much the model reasons here, ``effort``; empty leaves it to the other layers. 204 for the script, or 303.

    Every page of the conversation is told.
    """
    await _owned_by(request, conversation_id)
    try:
        name, value = commands.parse_change(efforts.EFFORT, request.POST.get("effort") or None)
    except MessageRefused as refused:
        return await _page(request, conversation_id, "chat/conversation.html", status=400, error=refused.message)
    await sync_to_async(layers.change)(conversation_id, {name: value})
    runner.tell(conversation_id, SettingsChanged())
    return HttpResponse(status=204) if request.headers.get("HX-Request") else _back(conversation_id)


@never_cache
@require_GET
def context(request: HttpRequest, conversation_id: uuid.UUID) -> HttpResponse:
    """Return the context meter, for a page that left it to be counted."""
    usage, _model = screens.next_request(_own_conversation(_person(request), conversation_id))
    return render(request, "chat/_context.html", {"context": usage})


@require_POST
async def retry(request: HttpRequest, conversation_id: uuid.UUID, turn_id: uuid.UUID) -> HttpResponse:
    """Ask the question of the newest turn again. 204 for the page's script, else 303."""
    person, turn = await sync_to_async(_turn)(request, conversation_id, turn_id)
    return await _asked(request, conversation_id, runner.retry(turn, person.pk))


@require_POST
async def go_on(request: HttpRequest, conversation_id: uuid.UUID, turn_id: uuid.UUID) -> HttpResponse:
    """Ask for the rest of the newest answer, which was cut off. 204 for the page's script, else 303."""
    person, turn = await sync_to_async(_turn)(request, conversation_id, turn_id)
    return await _asked(request, conversation_id, _go_on(turn, person.pk))


async def _go_on(turn: Turn, owner_id: int) -> None:
    record = await sync_to_async(lambda: cards.record_of(log.turn_rows(turn)))()
    message = await sync_to_async(continuing.message_for)(turn, record.answer)
    await runner.submit(turn.conversation_id, owner_id, message, may_wait=False)


async def _asked(request: HttpRequest, conversation_id: uuid.UUID, asking: Awaitable[object]) -> HttpResponse:
    try:
        await asking
    except MessageRefused as refused:
        return await _page(request, conversation_id, "chat/conversation.html", status=409, error=refused.message)
    return HttpResponse(status=204) if request.headers.get("HX-Request") else _back(conversation_id)


@never_cache
@require_GET
def thinking(request: HttpRequest, conversation_id: uuid.UUID, turn_id: uuid.UUID) -> HttpResponse:
    """Return a finished card's thinking as this viewer may read it, as plain text; 404 where they may not."""
    person, turn = _turn(request, conversation_id, turn_id)
    text = log.thinking_for(turn, layers.sees(person, request.session, turn.conversation))
    if text is None:
        raise Http404
    return HttpResponse(text.text, content_type="text/plain; charset=utf-8")


@never_cache
@require_GET
def trace(request: HttpRequest, conversation_id: uuid.UUID, turn_id: uuid.UUID) -> HttpResponse:
    """Return the redacted trace as JSON, for Copy trace; 404 where this viewer sees none."""
    person, turn = _turn(request, conversation_id, turn_id)
    if not layers.sees(person, request.session, turn.conversation).trace:
        raise Http404
    steps = [step_to_json(step) for step in cards.record_of(log.turn_rows(turn)).trace]
    return JsonResponse(steps, safe=False, json_dumps_params={"indent": 2, "ensure_ascii": False})


@never_cache
@require_GET
def steps(request: HttpRequest, conversation_id: uuid.UUID, turn_id: uuid.UUID) -> HttpResponse:
    """Return the steps of a finished card, for the page's script; 404 where this viewer sees none."""
    person, turn = _turn(request, conversation_id, turn_id)
    sees = layers.sees(person, request.session, turn.conversation)
    if not sees.trace:
        raise Http404
    return render(request, "chat/_steps.html", {"card": cards.answer_card(log.turn_rows(turn), sees)})


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
    await runner.ready(conversation_id)
    read = await _read(request, conversation_id, template)
    context = screens.context(read, runner.live(conversation_id)) | extra
    opened = request.GET.get("open", "")
    if opened:
        context["items"] = await sync_to_async(screens.with_card_open)(read, context["items"], opened)
    return await sync_to_async(render)(request, template, context, status=status)


async def _refused_model(request: HttpRequest, conversation_id: uuid.UUID, message: str) -> HttpResponse:
    """Say which models there are; the page's script gets the picker as it stands, with the words beside it."""
    if not request.headers.get("HX-Request"):
        return await _page(request, conversation_id, "chat/conversation.html", status=400, error=message)
    _person, owned = await _owned_by(request, conversation_id)
    _usage, model = await sync_to_async(screens.next_request)(owned)
    context = {"model": model, "error": message}
    return await sync_to_async(render)(request, "chat/_model_picker.html", context, status=400)


async def _read(request: HttpRequest, conversation_id: uuid.UUID, template: str) -> screens.Read:
    """Read a conversation; again where the turn that was running then has ended since."""
    read = await _read_once(request, conversation_id, template)
    was_running = any(rows.turn.status == Turn.Status.RUNNING for rows in read.rows)
    is_over = was_running and not runner.live(conversation_id)
    return await _read_once(request, conversation_id, template) if is_over else read


async def _read_once(request: HttpRequest, conversation_id: uuid.UUID, template: str) -> screens.Read:
    read = await sync_to_async(screens.read)(
        _person(request), conversation_id, request.session, request.GET, is_part=template == "chat/_messages.html"
    )
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
