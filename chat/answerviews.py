"""What a person does with one turn: put its question in other words, choose between answers, say what they think of it.

With htmx the answer is a part of the page or nothing, and the socket brings the cards; without script it is a page.
"""

from __future__ import annotations

import uuid
from typing import Any

from asgiref.sync import sync_to_async
from django.contrib.messages import error
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from chat import branches, feedback, log, owned
from chat.forms import Message, MessageRefused, clean_message
from chat.models import Turn
from chat.notices import Behind, ModelChanged
from chat.runner import runner


@never_cache
@require_http_methods(["GET", "POST"])
async def edit(request: HttpRequest, conversation_id: uuid.UUID, turn_id: uuid.UUID) -> HttpResponse:
    """GET: the question, to be put in other words. POST: ask it so in its place, or with ``save`` only keep it."""
    turn = await sync_to_async(owned.turn)(request, conversation_id, turn_id)
    if request.method == "GET":
        return await _edited(request, turn, await sync_to_async(log.question_of)(turn))
    text = request.POST.get("text", "")
    try:
        if "save" in request.POST:
            turn = await _keep(turn, clean_message(text))
        else:
            await runner.retry(turn, owned.person(request).pk, clean_message(text))
    except MessageRefused as refused:
        return await _edited(request, turn, text, error=refused.message)
    return HttpResponse(status=204) if _is_htmx(request) else _back(turn)


@require_POST
async def select(request: HttpRequest, conversation_id: uuid.UUID, turn_id: uuid.UUID) -> HttpResponse:
    """Show the branch of this turn, down to its newest answer. 204 for the page's script, else 303."""
    turn = await sync_to_async(owned.turn)(request, conversation_id, turn_id, any_branch=True)
    try:
        await sync_to_async(branches.select)(turn)
    except branches.TurnRunning:
        return _refused(request, turn, _("An answer is being written; stop it first."))
    _tell(conversation_id)
    return HttpResponse(status=204) if _is_htmx(request) else _back(turn)


@never_cache
@require_POST
def opinion(request: HttpRequest, conversation_id: uuid.UUID, turn_id: uuid.UUID) -> HttpResponse:
    """Keep, change or take back what one thinks of an answer (``verdict``), or add why (``reason``, ``note``)."""
    turn = owned.turn(request, conversation_id, turn_id)
    if turn.status == Turn.Status.RUNNING:
        raise Http404
    verdict = request.POST.get("verdict", "")
    if verdict in ("good", "poor"):
        feedback.give(turn, is_good=verdict == "good")
    elif "reason" in request.POST:
        feedback.explain(turn, reason=request.POST["reason"], note=request.POST.get("note", ""))
    if not _is_htmx(request):
        return _back(turn, "")
    view = feedback.feedback_view(Turn.objects.select_related("feedback").get(pk=turn.pk))
    context = {"feedback": view, "url": request.path, "is_asked": bool(verdict), "thanked": not verdict}
    return render(request, "chat/_feedback.html", {**context, "focus": verdict or view.verdict})


async def _keep(turn: Turn, message: Message) -> Turn:
    """Keep a question on a branch of its own, not asked. Raises MessageRefused."""
    try:
        kept = await sync_to_async(log.keep_question)(turn, message.text)
    except log.TurnRunning as running:
        raise MessageRefused("turn_running", _("An answer is being written; stop it first.")) from running
    except log.NotSelected as left:
        raise MessageRefused("not_selected", _("This answer is not on the branch that is shown.")) from left
    _tell(turn.conversation_id)
    return kept


def _tell(conversation_id: uuid.UUID) -> None:
    """Have the pages draw another branch; the meter too, as the next request holds another history."""
    runner.tell(conversation_id, Behind())
    runner.tell(conversation_id, ModelChanged())


async def _edited(request: HttpRequest, turn: Turn, text: str, **more: Any) -> HttpResponse:
    template = "chat/_question_edit.html" if _is_htmx(request) else "chat/edit.html"
    status = 400 if more and not _is_htmx(request) else 200  # htmx swaps no refusal
    return await sync_to_async(render)(request, template, {"turn": turn, "text": text, **more}, status=status)


def _refused(request: HttpRequest, turn: Turn, message: str) -> HttpResponse:
    if _is_htmx(request):
        return HttpResponse(message, status=409, content_type="text/plain; charset=utf-8")
    error(request, message)
    return _back(turn)


def _back(turn: Turn, part: str = "-q") -> HttpResponse:
    """Go back to the question of a turn, or to its answer."""
    page = reverse("chat:conversation", args=[turn.conversation_id])
    return HttpResponseRedirect(f"{page}#m-{turn.public_id}{part}", status=303)


def _is_htmx(request: HttpRequest) -> bool:
    return bool(request.headers.get("HX-Request"))
