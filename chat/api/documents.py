"""The endpoints of collections and their documents, with the same rules as the pages."""

from __future__ import annotations

import uuid
from typing import Any

from asgiref.sync import sync_to_async
from django.http import HttpRequest, HttpResponse, HttpResponseBase, JsonResponse
from django.http.multipartparser import MultiPartParserError
from django.urls import reverse
from django.utils.translation import gettext as _

from accounts.models import User
from chat.api.endpoint import MULTIPART, ApiError, endpoint, read_body, refuse_unknown
from chat.documents import collections, loading
from chat.documents.access import readable_collections, readable_documents, require_change
from chat.models import Collection, Document
from chat.validation import InvalidInputError


@endpoint("GET", "POST")
async def collection_list(request: HttpRequest, person: User) -> HttpResponseBase:
    """GET: one's collections and the site's. POST ``{"name", "site"}``: create one, 201."""
    if request.method != "POST":
        return JsonResponse([collection_form(found) async for found in readable_collections(person.pk)], safe=False)
    form = read_body(request, ("name", "site"))
    is_site = form.get("site", False)
    if not isinstance(is_site, bool):
        raise InvalidInputError("invalid", _("site: true or false is needed."), field="site")
    made = await sync_to_async(collections.create)(person, form.get("name"), is_site=is_site)
    headers = {"Location": reverse("chat:api_collection", args=[made.pk])}
    return JsonResponse(collection_form(made), status=201, headers=headers)


@endpoint("GET", "PATCH", "DELETE")
async def collection(request: HttpRequest, person: User, collection_id: uuid.UUID) -> HttpResponseBase:
    """GET: as in the list. PATCH ``{"name"}``. DELETE: 204; its documents are deleted with it."""
    found = await sync_to_async(get_collection)(person, collection_id)
    if request.method == "DELETE":
        await sync_to_async(collections.delete)(person, found)
        return HttpResponse(status=204)
    if request.method == "PATCH":
        form = read_body(request, ("name",))
        await sync_to_async(collections.rename)(person, found, form.get("name"))
    return JsonResponse(collection_form(found))


@endpoint("GET", "POST")
async def collection_documents(request: HttpRequest, person: User, collection_id: uuid.UUID) -> HttpResponseBase:
    """GET: the documents of a collection. POST multipart ``files``: add one, 201; it is read in the background."""
    found = await sync_to_async(get_collection)(person, collection_id)
    if request.method != "POST":
        listed = found.documents.defer("sealed_content")
        return JsonResponse([document_form(each) async for each in listed], safe=False)
    made = await sync_to_async(add_file)(request, person, found)
    headers = {"Location": reverse("chat:api_document", args=[made.pk])}
    return JsonResponse(document_form(made), status=201, headers=headers)


def add_file(request: HttpRequest, person: User, found: Collection) -> Document:
    """Store the file of a request. Raises ApiError, InvalidInputError and PermissionDenied."""
    require_change(person, "add_document", found)
    if request.content_type != MULTIPART:
        message = _("Send multipart/form-data with one file in the field files.")
        raise ApiError(415, "unsupported_media_type", message)
    try:
        refuse_unknown({*request.POST, *request.FILES}, (loading.FIELD,))
        files = request.FILES.getlist(loading.FIELD)
    except MultiPartParserError as error:
        raise ApiError(400, "invalid_multipart", _("The body is no valid multipart/form-data.")) from error
    if len(files) != 1:  # so that a refusal is about the whole request
        raise InvalidInputError("invalid", _("files: one file is needed."), field=loading.FIELD)
    return loading.accept(person, found, files[0])


@endpoint("GET", "DELETE")
async def document(request: HttpRequest, person: User, document_id: uuid.UUID) -> HttpResponseBase:
    """GET: the state of a document. DELETE: 204."""
    found = await readable_documents(person.pk).filter(pk=document_id).afirst()
    if found is None:
        raise ApiError(404, "not_found", _("There is no such document."))
    if request.method == "DELETE":
        await sync_to_async(collections.delete_document)(person, found)
        return HttpResponse(status=204)
    return JsonResponse(document_form(found))


def get_collection(person: User, collection_id: uuid.UUID) -> Collection:
    """Return a collection that this person may read. Raises ApiError."""
    found = readable_collections(person.pk).filter(pk=collection_id).first()
    if found is None:
        raise ApiError(404, "not_found", _("There is no such collection."))
    return found


def collection_form(found: Collection) -> dict[str, Any]:
    """Return a collection as the API lists it."""
    return {
        "id": str(found.pk),
        "name": found.name,
        "site": found.owner_id is None,
        "createdAt": found.created_at.isoformat(),
    }


def document_form(found: Document) -> dict[str, Any]:
    """Return a document as the API lists it. ``problem``: why it can't be read."""
    form: dict[str, Any] = {
        "id": str(found.pk),
        "collection": str(found.collection_id),
        "name": found.name,
        "title": found.title,
        "mediaType": found.media_type,
        "size": found.size,
        "pages": found.pages or None,
        "status": found.status,
        "url": found.get_absolute_url(),
        "createdAt": found.created_at.isoformat(),
    }
    if found.problem:
        form["problem"] = {"code": found.problem, "message": collections.problem_of(found)}
    return form | ({"truncated": True} if found.is_cut else {})
