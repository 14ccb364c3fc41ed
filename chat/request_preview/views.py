"""The preview page: for administrators, and only for their own conversations (product 9, 14)."""

from __future__ import annotations

import uuid
from typing import Any

from asgiref.sync import sync_to_async
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from chat.conversations import model_choice, settings
from chat.conversations.access import get_conversation, request_user
from chat.models import Conversation
from chat.request_preview.plan import PreviewError, chosen_model, plan_preview
from chat.request_preview.summary import model_options
from chat.request_preview.view_model import preview_view
from chat.validation import InvalidInputError


@never_cache
@require_GET
async def preview(request: HttpRequest, conversation_id: uuid.UUID) -> HttpResponse:
    """Show the next request of a conversation, redacted; ``?model=NAME`` previews it for another model."""
    conversation = await sync_to_async(_get_conversation)(request, conversation_id)
    chosen = await chosen_model(conversation, None)
    shown: dict[str, Any] = {}
    status = 200
    try:
        chosen = await chosen_model(conversation, request.GET.get("model"))
        planned = await plan_preview(conversation, chosen)
        sees = await sync_to_async(settings.visibility_for)(conversation.owner, request.session, conversation)
        shown["preview"] = await sync_to_async(preview_view)(planned, sees)
    except InvalidInputError as error:
        shown["error"], status = error.message, 400
    except PreviewError as error:
        shown["error"] = str(error)
    offered = await sync_to_async(model_choice.offered_models)()
    models = await sync_to_async(model_options)(conversation, chosen, offered)
    context = {"conversation": conversation, "models": models, **shown}
    return await sync_to_async(render)(request, "chat/request_preview.html", context, status=status)


def _get_conversation(request: HttpRequest, conversation_id: uuid.UUID) -> Conversation:
    if not request_user(request).is_administrator:
        raise Http404
    return get_conversation(request, conversation_id)
