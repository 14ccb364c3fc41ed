"""What a person does with one turn: ask again, edit, continue, choose a branch, rate it, read its thinking and trace.

htmx gets a part of the page or nothing, and the socket brings the cards; without script the answer is a page.
"""

from __future__ import annotations

import uuid
from collections.abc import Awaitable
from typing import Any

from asgiref.sync import sync_to_async
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect, JsonResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods, require_POST
from django_htmx.http import HttpResponseClientRedirect

from accounts.views import HtmxHttpRequest, request_user
from chat import eventlog
from chat.cards import build
from chat.cards import feedback as opinions
from chat.cards.view_models import dom_id
from chat.conversations import actions
from chat.conversations.access import get_conversation, get_turn
from chat.conversations.reasoning_settings import visibility_for
from chat.eventlog.attachments import attached_to
from chat.html import arender
from chat.models import Turn
from chat.pages.conversation import conversation_page, redirect_back
from chat.turns.approval import Given
from chat.turns.manager import turn_manager
from chat.validation import InvalidInputError, clean_message
from reasoning.trace import step_to_json

PLAIN_TEXT = "text/plain; charset=utf-8"


@require_POST
async def retry(request: HtmxHttpRequest, conversation_id: uuid.UUID, turn_id: uuid.UUID) -> HttpResponse:
    """Ask the question of a turn again, in its place."""
    turn = await sync_to_async(get_turn)(request, conversation_id, turn_id)
    return await change_response(request, conversation_id, turn_manager.retry(turn))


@require_POST
async def continue_answer(request: HtmxHttpRequest, conversation_id: uuid.UUID, turn_id: uuid.UUID) -> HttpResponse:
    """Ask for the rest of the newest answer, which was cut off. It is joined to the answer."""
    turn = await sync_to_async(get_turn)(request, conversation_id, turn_id)
    return await change_response(request, conversation_id, turn_manager.resume(turn))


@require_POST
async def keep(request: HtmxHttpRequest, conversation_id: uuid.UUID, turn_id: uuid.UUID) -> HttpResponse:
    """Keep this one of two answers side by side; the other becomes a version of it."""
    turn = await sync_to_async(get_turn)(request, conversation_id, turn_id)
    return await change_response(request, conversation_id, turn_manager.keep(turn), dom_id(turn.public_id))


@require_POST
def delete(request: HtmxHttpRequest, conversation_id: uuid.UUID, turn_id: uuid.UUID) -> HttpResponse:
    """Delete a question with its answer; the page comes again with a notice that undoes it."""
    turn = get_turn(request, conversation_id, turn_id)
    try:
        actions.delete_message(turn)
    except InvalidInputError as error:
        if request.htmx:
            return HttpResponse(error.message, status=409, content_type=PLAIN_TEXT)
        messages.error(request, error.message)
        return redirect_back(request, conversation_id)
    url = f"{reverse('chat:conversation', args=[conversation_id])}?undo={turn.pk}"
    return HttpResponseClientRedirect(url) if request.htmx else HttpResponseRedirect(url, status=303)


@require_POST
def restore(request: HtmxHttpRequest, conversation_id: uuid.UUID, turn_id: uuid.UUID) -> HttpResponse:
    """Undo the deletion of a message, as long as that is offered."""
    if found := actions.find_deleted_message(get_conversation(request, conversation_id), turn_id):
        try:
            actions.restore_message(found)
        except InvalidInputError as error:
            messages.error(request, error.message)
    else:
        messages.error(request, _("This message was deleted for good."))
    return HttpResponseRedirect(reverse("chat:conversation", args=[conversation_id]), status=303)


@require_POST
async def decide(
    request: HtmxHttpRequest, conversation_id: uuid.UUID, turn_id: uuid.UUID, call_id: str
) -> HttpResponse:
    """Allow or deny the tool call that waits: ``decision`` is allow, deny or always, ``?digest=`` as shown."""
    turn = await sync_to_async(get_turn)(request, conversation_id, turn_id)
    prefix = f"answer.{turn.public_id}."
    answers = {name.removeprefix(prefix): values for name, values in request.POST.lists() if name.startswith(prefix)}
    decided = (request.POST.get("decision"), request.GET.get("digest"))
    change = turn_manager.decide(turn, call_id, *decided, Given(form=answers))
    return await change_response(request, conversation_id, change, dom_id(turn.public_id))


async def change_response(
    request: HtmxHttpRequest, conversation_id: uuid.UUID, change: Awaitable[object], fragment: str = ""
) -> HttpResponse:
    """Make a change; where it is refused, say so on the page of the conversation."""
    try:
        await change
    except InvalidInputError as error:
        if request.htmx:
            return HttpResponse(error.message, status=409, content_type=PLAIN_TEXT)
        return await conversation_page(request, conversation_id, status=409, error=error.message)
    return redirect_back(request, conversation_id, fragment)


@never_cache
@require_http_methods(["GET", "POST"])
async def edit(request: HtmxHttpRequest, conversation_id: uuid.UUID, turn_id: uuid.UUID) -> HttpResponse:
    """GET: the question in a form. POST: ask the edited question in its place, or with ``save`` only store it."""
    turn = await sync_to_async(get_turn)(request, conversation_id, turn_id)
    files = await sync_to_async(attached_to)(turn)
    shown: dict[str, Any] = {"turn": turn, "files": files, "kept": {file.id for file in files}}
    status = 200
    if request.method == "GET":
        shown["text"] = await sync_to_async(eventlog.question_of)(turn)
    else:
        shown["text"] = text = request.POST.get("text", "")
        try:
            kept = request.POST.getlist("attachments") if "has_files" in request.POST else None
            shown["kept"] = kept
            message = clean_message(text, attachments=kept)
            if "save" in request.POST:
                turn = await sync_to_async(actions.save_unasked)(turn, message)
            else:
                await turn_manager.retry(turn, message)
            return redirect_back(request, conversation_id, dom_id(turn.public_id + "-q"))
        except InvalidInputError as error:
            shown["error"] = error.message
            status = 200 if request.htmx else 400  # htmx doesn't swap responses of 4xx
    template = "chat/card/_question_edit.html" if request.htmx else "chat/card/edit.html"
    return await sync_to_async(render)(request, template, shown, status=status)


@require_POST
async def select(request: HtmxHttpRequest, conversation_id: uuid.UUID, turn_id: uuid.UUID) -> HttpResponse:
    """Select the branch of this turn, down to its newest answer."""
    turn = await sync_to_async(get_turn)(request, conversation_id, turn_id, any_branch=True)
    try:
        await sync_to_async(actions.select_branch)(turn)
    except InvalidInputError as error:
        if request.htmx:
            return HttpResponse(error.message, status=409, content_type=PLAIN_TEXT)
        messages.error(request, error.message)
    return redirect_back(request, conversation_id, dom_id(turn.public_id + "-q"))


@never_cache
@require_POST
def feedback(request: HtmxHttpRequest, conversation_id: uuid.UUID, turn_id: uuid.UUID) -> HttpResponse:
    """Set, change or withdraw the opinion on an answer (``verdict``), or add why (``reason``, ``note``)."""
    turn = get_turn(request, conversation_id, turn_id)
    # the answer may still change
    if turn.status == Turn.Status.RUNNING:
        raise Http404
    verdict = request.POST.get("verdict", "")
    if verdict in ("good", "poor"):
        opinions.give(turn, is_good=verdict == "good")
    elif "reason" in request.POST:
        opinions.explain(turn, reason=request.POST["reason"], note=request.POST.get("note", ""))
    if not request.htmx:
        return redirect_back(request, conversation_id, dom_id(turn.public_id))
    # read again: the turn in hand has the opinion from before
    view = opinions.feedback_view(Turn.objects.select_related("feedback").get(pk=turn.pk))
    shown = {"feedback": view, "url": request.path, "is_asked": bool(verdict), "thanked": not verdict}
    return render(request, "chat/card/_feedback.html", {**shown, "focus": verdict or view.verdict})


@never_cache
@require_GET
def thinking(request: HttpRequest, conversation_id: uuid.UUID, turn_id: uuid.UUID) -> HttpResponse:
    """Return a finished card's thinking as this viewer may read it, as plain text; 404 where they may not."""
    turn = get_turn(request, conversation_id, turn_id)
    sees = visibility_for(request_user(request), request.session, turn.conversation)
    text = eventlog.thinking_for(turn, sees)
    if text is None:
        raise Http404
    return HttpResponse(text.text, content_type=PLAIN_TEXT)


@never_cache
@require_GET
def trace(request: HttpRequest, conversation_id: uuid.UUID, turn_id: uuid.UUID) -> HttpResponse:
    """Return the redacted trace as JSON, for Copy trace; 404 where this viewer sees none."""
    turn = get_turn(request, conversation_id, turn_id)
    sees = visibility_for(request_user(request), request.session, turn.conversation)
    if not sees.trace:
        raise Http404
    steps = [step_to_json(step) for step in eventlog.turn_record(turn).answer_record().trace]
    return JsonResponse(steps, safe=False, json_dumps_params={"indent": 2, "ensure_ascii": False})


@never_cache
@require_GET
async def copy(request: HttpRequest, conversation_id: uuid.UUID, turn_id: uuid.UUID) -> HttpResponse:
    """Return what Copy puts on the clipboard: the answer and its numbered citations."""
    turn = await sync_to_async(get_turn)(request, conversation_id, turn_id)
    record = (await sync_to_async(eventlog.turn_record)(turn)).answer_record()
    text = await arender(request_user(request).pk, [record.answer], build.copied_answer, record)
    return HttpResponse(text, content_type=PLAIN_TEXT)
