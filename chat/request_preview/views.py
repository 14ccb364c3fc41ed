"""The preview page: for administrators, and only for their own conversations (product 9, 14)."""

from __future__ import annotations

import uuid
from typing import Any

from asgiref.sync import sync_to_async
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from accounts.views import request_user
from chat.conversations import model_choice, reasoning_settings
from chat.conversations.access import get_conversation
from chat.models import Conversation
from chat.request_preview.plan import PreviewError, chosen_model, plan_preview
from chat.request_preview.summary import model_options
from chat.request_preview.view_model import preview_values
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
