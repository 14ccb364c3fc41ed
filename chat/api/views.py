"""The endpoints of conversations, their settings and models, with the same rules as the pages."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any

from asgiref.sync import sync_to_async
from django.db import transaction
from django.http import HttpRequest, HttpResponse, HttpResponseBase, JsonResponse
from django.urls import reverse
from django.utils.translation import gettext as _

from accounts.models import User
from accounts.preferences import error_text
from chat.api.endpoint import ApiError, endpoint, get_conversation, read_body
from chat.conversations import actions, commands, model_choice, reasoning_settings
from chat.conversations.model_choice import ModelChoice
from chat.documents.access import readable_collections
from chat.models import Conversation
from chat.turns.manager import turn_manager
from chat.validation import InvalidInputError
from reasoning.errors import SettingError
from reasoning.settings import setting_name

# The list has no pages.
MAX_LISTED = 200


@endpoint("GET", "POST")
async def conversation_list(request: HttpRequest, person: User) -> HttpResponseBase:
    """GET: one's newest conversations, without temporary ones. POST ``{"title", "model", "settings"}``: make one, 201.

    Each field may be left out; nothing is made where one is refused.
    """
    if request.method != "POST":
        newest = person.conversations.filter(expires_at=None)[:MAX_LISTED]
        ids = await readable_ids(person)
        return JsonResponse([conversation_form(found, ids) async for found in newest], safe=False)
    form = read_body(request, ("title", "model", "settings"), is_optional=True)
    model = await model_choice.find_model(form["model"]) if form.get("model") is not None else None
    made = await sync_to_async(create_conversation)(person, form, model)
    url = reverse("chat:api_chat", args=[made.pk])
    return JsonResponse({"id": str(made.pk)}, status=201, headers={"Location": url})


@transaction.atomic
def create_conversation(person: User, form: Mapping[str, Any], model: ModelChoice | None) -> Conversation:
    made = actions.start(person)
    if "title" in form:
        actions.rename(made, form["title"])
    if model is not None:
        model_choice.set_model(made, model)
    if "settings" in form:
        if not isinstance(form["settings"], dict):
            raise InvalidInputError("invalid", _("settings: a JSON object is needed."), field="settings")
        reasoning_settings.change(made.pk, parse_settings(form["settings"]))
    return made


@endpoint("GET", "PATCH", "DELETE")
async def conversation(request: HttpRequest, person: User, conversation_id: uuid.UUID) -> HttpResponseBase:
    """GET: as in the list. PATCH what ``CHANGES`` names: all or nothing. DELETE: 204."""
    found = await get_conversation(person, conversation_id)
    if request.method == "DELETE":
        await turn_manager.delete([found])
        return HttpResponse(status=204)
    if request.method == "PATCH":
        await sync_to_async(change_conversation)(found, read_body(request, CHANGES))
    return JsonResponse(conversation_form(found, await readable_ids(person)))


CHANGES = {
    "title": actions.rename,
    "pinned": actions.pin,
    "allowedTools": actions.set_allowed_tools,
    "collections": actions.set_collections,
}


@transaction.atomic
def change_conversation(found: Conversation, form: Mapping[str, Any]) -> None:
    for name, value in form.items():
        CHANGES[name](found, value)


async def readable_ids(person: User) -> dict[str, str]:
    """Return the ids of the collections that a person may read: as they are stored, and as the API has them."""
    return {pk.hex: str(pk) async for pk in readable_collections(person.pk).values_list("pk", flat=True)}


def conversation_form(found: Conversation, ids: Mapping[str, str]) -> dict[str, Any]:
    """Return a conversation as the API lists it. ``ids``: of ``readable_ids``; a deleted collection isn't read."""
    chosen = found.collection_ids
    return {
        "id": str(found.pk),
        "title": found.title,
        "pinned": found.is_pinned,
        "allowedTools": found.allowed_tools,
        "collections": None if chosen is None else [ids[each] for each in chosen if each in ids],
        "updatedAt": found.updated_at.isoformat(),
    }


@endpoint("GET", "PATCH")
async def settings(request: HttpRequest, person: User, conversation_id: uuid.UUID) -> HttpResponseBase:
    """GET: the ``reasoning.*`` settings in force. PATCH: set some here, all or none; null lets other layers decide."""
    found = await get_conversation(person, conversation_id)
    if request.method == "PATCH":
        changes = parse_settings(read_body(request, None))
        await sync_to_async(reasoning_settings.change)(found.pk, changes)
        await found.arefresh_from_db()
    return JsonResponse(await sync_to_async(reasoning_settings.as_form)(person, found))


def parse_settings(form: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings as they are stored, None for those to remove. Raises InvalidInputError naming the first wrong."""
    # Unknown names first: a field that there is not is another error than a wrong value.
    for name in form:
        try:
            setting_name(name)
        except SettingError as error:
            raise InvalidInputError("unknown_field", error_text(error), field=error.key) from error
    changes: dict[str, Any] = {}
    for name, value in form.items():
        full, stored = commands.parse_change(name, value)
        if full in changes:  # a name may be written with and without its prefix
            raise InvalidInputError("invalid_setting", _("%(name)s: it occurs twice.") % {"name": full}, field=full)
        changes[full] = stored
    return changes


@endpoint("GET")
async def models(request: HttpRequest, person: User) -> HttpResponseBase:
    """List what ``model`` may be, the one that answers without it first: ``[{"name", "label"}]``."""
    listed = [{"name": name, "label": label} for name, label in await model_choice.list_models()]
    return JsonResponse(listed, safe=False)


@endpoint("GET", "POST", "PUT", "PATCH", "DELETE")
async def not_found(request: HttpRequest, person: User, rest: str = "") -> HttpResponseBase:
    """Answer for every other address below /api/ in the form of the API."""
    raise ApiError(404, "not_found", _("There is nothing at this address."))
