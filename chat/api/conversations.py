"""One conversation in the JSON API: read, rename, pin, delete."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any

from asgiref.sync import sync_to_async
from django.db import transaction
from django.http import HttpRequest, HttpResponse, HttpResponseBase, JsonResponse
from django.utils.translation import gettext as _

from accounts.models import User
from chat.api.endpoint import endpoint, get_conversation, read_body
from chat.api.views import conversation_form
from chat.conversations import actions
from chat.models import Conversation
from chat.turns.manager import runner
from chat.validation import InvalidInputError


@endpoint("GET", "PATCH", "DELETE")
async def conversation(request: HttpRequest, person: User, conversation_id: uuid.UUID) -> HttpResponseBase:
    """GET: as in the list. PATCH ``{"title", "pinned"}``: all or nothing. DELETE: 204."""
    found = await get_conversation(person, conversation_id)
    if request.method == "DELETE":
        await runner.stop(found.pk)
        await sync_to_async(actions.delete)(found)
        return HttpResponse(status=204)
    if request.method == "PATCH":
        await sync_to_async(_change)(found, read_body(request))
    return JsonResponse(conversation_form(found))


@transaction.atomic
def _change(found: Conversation, form: Mapping[str, Any]) -> None:
    unknown = sorted(form.keys() - _CHANGES.keys())
    if unknown:
        message = _("%(field)s: there is no such field; allowed are title and pinned.") % {"field": unknown[0][:40]}
        raise InvalidInputError("unknown_field", message, field=unknown[0][:40])
    for name, value in form.items():
        _CHANGES[name](found, value)


_CHANGES = {"title": actions.rename, "pinned": actions.pin}
