"""One conversation in the JSON API: read, rename, pin, delete. Behind the gates of ``chat.api``."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any

from asgiref.sync import sync_to_async
from django.db import transaction
from django.http import HttpRequest, HttpResponse, HttpResponseBase, JsonResponse
from django.utils.translation import gettext as _

from accounts.models import User
from chat import conversations
from chat.api import ApiError, body_of, conversation_form, endpoint
from chat.forms import MessageRefused
from chat.models import Conversation
from chat.notices import SettingsChanged
from chat.runner import runner


@endpoint("GET", "PATCH", "DELETE")
async def chat(request: HttpRequest, person: User, conversation_id: uuid.UUID) -> HttpResponseBase:
    """GET: as in the list. PATCH ``{"title", "pinned"}``: all of it or nothing. DELETE: gone at once, 204."""
    found = await person.conversations.filter(pk=conversation_id).afirst()
    if found is None:
        raise ApiError(404, "not_found", _("There is no such conversation."))
    if request.method == "DELETE":
        runner.stop(found.pk)
        await sync_to_async(conversations.delete)(found)
        runner.tell(found.pk, SettingsChanged())
        return HttpResponse(status=204)
    if request.method == "PATCH":
        await sync_to_async(_change)(found, await body_of(request))
        runner.tell(found.pk, SettingsChanged())
    return JsonResponse(conversation_form(found))


@transaction.atomic
def _change(found: Conversation, form: Mapping[str, Any]) -> None:
    unknown = sorted(form.keys() - _CHANGES.keys())
    if unknown:
        message = _("%(field)s: there is no such field; allowed are title and pinned.") % {"field": unknown[0][:40]}
        raise MessageRefused("unknown_field", message, field=unknown[0][:40])
    for name, value in form.items():
        _CHANGES[name](found, value)


_CHANGES = {"title": conversations.rename, "pinned": conversations.pin}
