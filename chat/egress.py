"""The page of the egress preview: for administrators, and of their own conversations alone (product 9, 14)."""

from __future__ import annotations

import uuid
from typing import Any, cast

from asgiref.sync import sync_to_async
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from accounts.models import User
from accounts.preferences import is_administrator
from chat import layers, preview, screens, upstream
from chat.forms import MessageRefused
from chat.models import Conversation


@never_cache
@require_GET
async def egress(request: HttpRequest, conversation_id: uuid.UUID) -> HttpResponse:
    """Show the next request of a conversation, redacted; ``?model=NAME``: as it would go to that model."""
    owned = await sync_to_async(_own_conversation)(request, conversation_id)
    context, status = await _context(request, owned)
    return await sync_to_async(render)(request, "chat/egress.html", context, status=status)


async def _context(request: HttpRequest, owned: Conversation) -> tuple[dict[str, Any], int]:
    chosen = await preview.chosen_model(owned, None)
    shown: dict[str, Any] = {}
    status = 200
    try:
        chosen = await preview.chosen_model(owned, request.GET.get("model"))
        found = await preview.read(owned, chosen)
        sees = await sync_to_async(layers.sees)(owned.owner, request.session, owned)
        shown["preview"] = await sync_to_async(preview.view)(found, sees)
    except MessageRefused as refused:
        shown["error"], status = refused.message, 400
    except preview.NoPreview as none:
        shown["error"] = str(none)
    offered = await sync_to_async(upstream.offered_models)()
    models = await sync_to_async(screens.model_options)(owned, chosen, offered)
    return {"conversation": owned, "models": models, **shown}, status


def _own_conversation(request: HttpRequest, conversation_id: uuid.UUID) -> Conversation:
    person = cast("User", request.user)
    if not is_administrator(person):
        raise Http404
    return get_object_or_404(Conversation.objects.select_related("owner", "profile"), pk=conversation_id, owner=person)
