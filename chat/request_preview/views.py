"""The pages of the next request, each only of its person's own conversations (product 9, 14).

The overview is for everybody, the preview of the body for administrators.
"""

from __future__ import annotations

import uuid
from typing import Any

from asgiref.sync import sync_to_async
from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods

from accounts.views import HtmxHttpRequest, request_user
from chat.cards.page_slots import busy_page, page_slot
from chat.conversations import model_choice, reasoning_settings
from chat.conversations.access import get_conversation
from chat.eventlog import attachments
from chat.models import Conversation
from chat.request_preview.plan import PreviewError, chosen_model, plan_preview
from chat.request_preview.summary import model_options
from chat.request_preview.view_model import overview_values, preview_values
from chat.validation import InvalidInputError


@never_cache
@require_GET
async def preview(request: HttpRequest, conversation_id: uuid.UUID) -> HttpResponse:
    """Show the next request of a conversation, redacted; ``?model=NAME`` previews it for another model."""

    @sync_to_async
    def own_conversation() -> Conversation:
        if not request_user(request).is_administrator:
            raise Http404
        return get_conversation(request, conversation_id)

    conversation = await own_conversation()
    # the picker shows this one where the requested one is refused
    chosen = await chosen_model(conversation, None)
    shown: dict[str, Any] = {}
    status = 200
    try:
        chosen = await chosen_model(conversation, request.GET.get("model"))
        planned = await plan_preview(conversation, chosen)
        sees = await sync_to_async(reasoning_settings.visibility_for)(conversation.owner, request.session, conversation)
        shown["preview"] = await sync_to_async(preview_values)(planned, sees)
    except InvalidInputError as error:
        shown["error"], status = error.message, 400
    except PreviewError as error:
        shown["error"] = str(error)

    @sync_to_async
    def page() -> HttpResponse:
        models = model_options(conversation, chosen, model_choice.offered_models())
        return render(
            request,
            "chat/preview/request_preview.html",
            {"conversation": conversation, "models": models, **shown},
            status=status,
        )

    return await page()


@never_cache
@require_http_methods(["GET", "POST"])
async def next_request(request: HtmxHttpRequest, conversation_id: uuid.UUID) -> HttpResponse:
    """Show the parts of the next request and what is left out: a page, or for htmx what the context meter shows.

    A POST brings the composer's ``text``, which is counted as the next question and is sent nowhere.
    """
    conversation = await sync_to_async(get_conversation)(request, conversation_id)
    draft = request.POST.get("text", "").strip()[: settings.MESSAGE_MAX_CHARS]
    shown: dict[str, Any] = {"conversation": conversation}
    # planning reads all of the history, as drawing a page reads its cards
    async with page_slot(f"user {request_user(request).pk}") as has_slot:
        if not has_slot:
            return busy_page()
        try:
            chosen = await chosen_model(conversation, None)
            planned = await plan_preview(conversation, chosen, for_staff=request_user(request).is_staff)
        except PreviewError as error:
            shown["error"] = str(error)

        @sync_to_async
        def page() -> HttpResponse:
            if "error" not in shown:
                sees = reasoning_settings.visibility_for(conversation.owner, request.session, conversation)
                shown["next"] = overview_values(planned, sees, draft, attachments.unsent(conversation))
            name = "_next_request" if request.htmx else "next_request"
            return render(request, f"chat/preview/{name}.html", shown)

        return await page()
