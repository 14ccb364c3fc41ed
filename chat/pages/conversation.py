"""The page of a conversation, and its composer: send, change the queue, stop, choose a model and an effort."""

from __future__ import annotations

import uuid
from typing import Any

from asgiref.sync import sync_to_async
from django.contrib.messages import success
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect, JsonResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods, require_POST, require_safe
from django_htmx.http import reswap

from accounts.views import HtmxHttpRequest, request_user
from chat.attachments import uploads
from chat.cards.page_slots import busy_page, page_slot
from chat.conversations import actions, commands, model_choice, reasoning_settings
from chat.conversations.access import get_conversation
from chat.documents.choice import collection_choice, read_choice
from chat.html import check_url
from chat.live.stored import read_running
from chat.models import Conversation
from chat.pages import context
from chat.providers.base import ProviderError
from chat.request_preview import summary
from chat.texts.error_texts import failure_text
from chat.turns.manager import turn_manager
from chat.validation import InvalidInputError, clean_message

CARDS = "chat/card/_messages.html"  # the cards alone, for the page's script


@never_cache
@require_GET
async def conversation(request: HttpRequest, conversation_id: uuid.UUID) -> HttpResponse:
    """Show a conversation; ``?open=<id>`` shows that card's thinking open, for a page without JavaScript."""
    return await conversation_page(request, conversation_id)


@never_cache
@require_http_methods(["GET", "POST"])
async def messages(request: HtmxHttpRequest, conversation_id: uuid.UUID) -> HttpResponse:
    """GET: the cards. POST: send ``text`` with ``files``, then 303 to the page.

    The page shows a refusal with the text still there, and the files that were accepted.
    """
    if request.method == "GET":
        return await conversation_page(request, conversation_id, template=CARDS)
    person = request_user(request)
    found = await sync_to_async(get_conversation)(request, conversation_id)
    try:
        # Files first: where the text is refused they wait in the composer and needn't be chosen again.
        files = [pk.hex for pk in await sync_to_async(accept_files)(request, found)]
        attached = [*request.POST.getlist("attachments"), *files]
        compared = request.POST.get("compare_model", "")
        message = clean_message(request.POST.get("text"), request.POST.get("id", ""), attached, compared)
        command = commands.parse(message.text)
        if command is None:
            await turn_manager.submit(found.pk, message)
        else:
            answer = await sync_to_async(commands.execute)(command, person, found.pk)
            # a table or a draft belongs to this response; a change is confirmed on the page that follows
            if not answer.is_change:
                return await conversation_page(request, conversation_id, command=answer, draft=answer.draft)
            success(request, answer.text)
    except InvalidInputError as error:
        kept = {"draft": request.POST.get("text", ""), "compared": request.POST.get("compare_model", "")}
        return await conversation_page(request, conversation_id, status=400, error=error.message, **kept)
    # 303: a reload of the page must not send the message again
    return redirect_back(request, conversation_id)


def accept_files(request: HttpRequest, conversation: Conversation) -> list[uuid.UUID]:
    """Store the files of a form without script; return their ids. Raises InvalidInputError for the first refused."""
    person, sent = request_user(request), request.FILES.getlist("files")
    return [uploads.accept(person, conversation, file).pk for file in sent]


@never_cache
@require_GET
def completions(request: HttpRequest) -> JsonResponse:
    """Return what the composer completes once a text begins as a command."""
    return JsonResponse(commands.completions(request_user(request)), safe=False)


@require_POST
async def stop(request: HtmxHttpRequest, conversation_id: uuid.UUID) -> HttpResponse:
    """Stop the running turn."""
    await sync_to_async(get_conversation)(request, conversation_id)
    await turn_manager.stop(conversation_id)
    return redirect_back(request, conversation_id)


@never_cache
@require_POST
async def model(request: HtmxHttpRequest, conversation_id: uuid.UUID) -> HttpResponse:
    """Choose the ``model`` of the next request: 303, or the context meter for the page's script."""
    found = await sync_to_async(get_conversation)(request, conversation_id)
    try:
        chosen = await model_choice.find_model(request.POST.get("model"))
    except (InvalidInputError, ProviderError) as error:
        if isinstance(error, InvalidInputError):
            message = error.message
        else:
            message = failure_text(error, for_staff=request_user(request).is_staff)
        if not request.htmx:
            return await conversation_page(request, conversation_id, status=400, error=message)
        _usage, picker = await sync_to_async(summary.next_request)(found)
        shown = {"model": picker, "error": message}
        return await sync_to_async(render)(request, "chat/composer/_model_picker.html", shown, status=400)
    await sync_to_async(model_choice.set_model)(found, chosen)
    if not request.htmx:
        return redirect_back(request, conversation_id)
    usage, _picker = await sync_to_async(summary.next_request)(found)
    # the meter alone, out of band: to replace the picker would take the focus from it
    meter = await sync_to_async(render)(request, "chat/composer/_context.html", {"context": usage, "oob": True})
    return reswap(meter, "none")


@require_POST
async def effort(request: HtmxHttpRequest, conversation_id: uuid.UUID) -> HttpResponse:
    """Set how much the model reasons here, ``effort``; empty leaves it to the other layers of settings."""
    await sync_to_async(get_conversation)(request, conversation_id)
    try:
        name, value = commands.parse_change(summary.EFFORT, request.POST.get("effort") or None)
    except InvalidInputError as error:
        return await conversation_page(request, conversation_id, status=400, error=error.message)
    await sync_to_async(reasoning_settings.change)(conversation_id, {name: value})
    return redirect_back(request, conversation_id)


@never_cache
@require_POST
def choose_collections(request: HtmxHttpRequest, conversation_id: uuid.UUID) -> HttpResponse:
    """Choose the collections that the conversation reads: ``reads`` all, none or some; then each ``collection``."""
    found = get_conversation(request, conversation_id)
    try:
        actions.set_collections(found, read_choice(request.POST))
    except InvalidInputError as error:
        raise Http404(error.message) from error
    if not request.htmx:
        return redirect_back(request, conversation_id)
    shown = {"choice": collection_choice(found), "url": request.path}
    return render(request, "chat/composer/_collection_picker.html", shown)


@never_cache
@require_http_methods(["GET", "POST"])
async def queued_message(request: HtmxHttpRequest, conversation_id: uuid.UUID, message_id: int) -> HttpResponse:
    """GET: the message in a form. POST: ``do`` send, remove, or save, with the new ``text``."""
    conversation = await sync_to_async(get_conversation)(request, conversation_id)
    action, text = request.POST.get("do"), request.POST.get("text", "")
    error, status = "", 200
    if request.method == "GET":
        message = await conversation.queue.filter(pk=message_id).afirst()
        if message is None:
            raise Http404
        text = message.text
    else:
        try:
            await turn_manager.change_queue(conversation_id, message_id, action, text)
            return redirect_back(request, conversation_id)
        except InvalidInputError as refused:
            error = refused.message
            if action != "save":
                return await conversation_page(request, conversation_id, status=409, error=error)
            status = 200 if request.htmx else 400  # htmx doesn't swap responses of 4xx
    template = "chat/composer/_queued_edit.html" if request.htmx else "chat/composer/queued_edit.html"
    shown = {"conversation_id": conversation_id, "message_id": message_id, "text": text, "error": error}
    return await sync_to_async(render)(request, template, shown, status=status)


@require_safe
def external_link(request: HttpRequest) -> HttpResponse:
    """Show the whole address ``to`` of a link in an answer, which leads there only by a click; 400 for no web address.

    A model may put words of the conversation into an address: a reader should see them before they are sent.
    """
    address = check_url(request.GET.get("to", ""))
    if address is None or not address.is_web:
        return render(request, "chat/reader/external_link.html", status=400)
    return render(request, "chat/reader/external_link.html", {"address": address})


async def conversation_page(
    request: HttpRequest,
    conversation_id: uuid.UUID,
    *,
    template: str = "chat/conversation.html",
    status: int = 200,
    **extra: Any,
) -> HttpResponse:
    """Draw a conversation: what is stored, and the running turn at this moment of the event loop."""
    load = sync_to_async(context.load)
    async with page_slot(f"user {request_user(request).pk}") as has_slot:
        if not has_slot:
            return busy_page()
        page = await load(request, conversation_id, is_part=template == CARDS)
        ran = [page.running(), page.running(beside=True)]
        turn, beside = [
            turn_manager.live(conversation_id, beside=is_beside)
            or (await read_running(conversation_id, beside=is_beside) if ran[is_beside] else None)
            for is_beside in (False, True)
        ]
        if (ran[0] | ran[1]) - {each.id for each in (turn, beside) if each}:  # one has ended since
            page = await load(request, conversation_id, is_part=template == CARDS)
        shown = context.template_context(page, turn, beside) | extra
        # Not over what the page answers to a form, nor over what its reader writes or answers to a tool.
        shown["reloads"] = shown["running"] and not (shown["waits_for_user"] or extra or "still" in request.GET)
        return await sync_to_async(render)(request, template, shown, status=status)


def redirect_back(request: HtmxHttpRequest, conversation_id: uuid.UUID, fragment: str = "") -> HttpResponse:
    """Return 204 to htmx, whose page gets the change over the socket; else 303 to the page of the conversation."""
    if request.htmx:
        return HttpResponse(status=204)
    url = reverse("chat:conversation", args=[conversation_id])
    return HttpResponseRedirect(f"{url}#{fragment}" if fragment else url, status=303)
