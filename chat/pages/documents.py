"""The pages of people's documents: collections, what is in them, the reader that citations lead to, and the originals.

Everybody reads their own collections and the site's, which staff manage on the same pages by permission. What belongs
to somebody else is not found (product 14).
"""

from __future__ import annotations

import uuid
from typing import Any

from asgiref.sync import sync_to_async
from django.conf import settings
from django.contrib import messages
from django.core.paginator import Paginator
from django.db.models import Count
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.cache import get_conditional_response
from django.utils.http import content_disposition_header, quote_etag
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods, require_safe
from django.views.decorators.vary import vary_on_headers

from accounts.views import HtmxHttpRequest, request_user
from chat.cards.page_slots import RETRY_AFTER_S, busy_page, page_slot
from chat.documents import collections, loading, pictures, reader
from chat.documents.access import may_change, readable_collections, readable_documents, require_change
from chat.eventlog import documents
from chat.files.extraction import OFFERED_DOCUMENTS
from chat.files.slots import file_slot
from chat.models import Collection, Document
from chat.pages.attachments import FILE_POLICY
from chat.pages.filings import cited_quotes, part_context, shown_part, source_missing
from chat.validation import InvalidInputError

PAGE_DOCUMENTS = 100
Status = Document.Status


@never_cache
@require_http_methods(["GET", "POST"])
def collection_list(request: HttpRequest) -> HttpResponse:
    """GET: the collections that the user may read, and the form for a new one. POST: create it, or one of the site."""
    person = request_user(request)
    shown: dict[str, Any] = {}
    if request.method == "POST":
        try:
            return redirect(collections.create(person, request.POST.get("name"), is_site="site" in request.POST))
        except InvalidInputError as error:
            shown = {"error": error.message, "name": request.POST.get("name", "")}
    listed = list(readable_collections(person.pk).annotate(count=Count("documents")))
    shown |= {
        "own": [each for each in listed if each.owner_id],
        "of_site": [each for each in listed if each.owner_id is None],
        "may_add_to_site": may_change(person, "add_collection", None),
    }
    return render(request, "chat/documents/collections.html", shown, status=400 if "error" in shown else 200)


@never_cache
@require_http_methods(["GET", "POST"])
@vary_on_headers("HX-Request")
def collection(request: HtmxHttpRequest, collection_id: uuid.UUID) -> HttpResponse:
    """GET: the documents of a collection, for htmx their list alone. POST: ``rename`` it, or add ``files``."""
    found = get_object_or_404(readable_collections(request_user(request).pk), pk=collection_id)
    if request.method == "GET":
        return collection_page(request, found)
    if "rename" in request.POST:
        try:
            collections.rename(request_user(request), found, request.POST.get("name"))
        except InvalidInputError as error:
            found.refresh_from_db()
            return collection_page(request, found, error=error.message, name=request.POST.get("name", ""))
        return redirect(found)
    return add_files(request, found)


def collection_page(request: HtmxHttpRequest, found: Collection, **refused: str) -> HttpResponse:
    """Draw the documents of a collection. ``refused``: the name that was not accepted, and why."""
    person = request_user(request)
    listed = Paginator(found.documents.defer("sealed_content"), PAGE_DOCUMENTS).get_page(request.GET.get("page"))
    unread = found.documents.filter(status__in=(Status.WAITING, Status.READING)).count()
    shown = {
        "collection": found,
        "page": listed,
        "lines": [(document, collections.problem_of(document)) for document in listed],
        "unread": unread,
        "max_bytes": settings.DOCUMENT_MAX_BYTES,
        "accepted_files": OFFERED_DOCUMENTS,
        "may_add": may_change(person, "add_document", found),
        "may_rename": may_change(person, "change_collection", found),
        "may_delete": may_change(person, "delete_collection", found),
        "may_delete_documents": may_change(person, "delete_document", found),
        "name": found.name,
        **refused,
    }
    template = "chat/documents/_documents.html" if request.htmx else "chat/documents/collection.html"
    return render(request, template, shown, status=400 if refused else 200)


def add_files(request: HtmxHttpRequest, found: Collection) -> HttpResponse:
    """Add the files of a form. The page's script sends them one by one, and gets 201 or the reason of a refusal."""
    person = request_user(request)
    require_change(person, "add_document", found)
    files = request.FILES.getlist(loading.FIELD)
    refusals = [] if files else [InvalidInputError("invalid", _("Choose a file."), field=loading.FIELD)]
    for file in files:
        try:
            loading.accept(person, found, file)
        except InvalidInputError as error:  # each by itself: one that is refused doesn't lose the others
            refusals.append(error)
    if request.htmx:
        if refusals:
            form = {"code": refusals[0].code, "message": refusals[0].message, "field": loading.FIELD}
            return JsonResponse({"error": form})  # not 400, which browsers log as a fault
        return HttpResponse(status=201)
    for refusal in refusals:
        messages.error(request, refusal.message)
    if added := len(files) - len(refusals):
        words = ngettext("%(count)s document was added.", "%(count)s documents were added.", added)
        messages.success(request, words % {"count": added})
    return redirect(found)


@never_cache
@require_http_methods(["GET", "POST"])
def delete_collection(request: HttpRequest, collection_id: uuid.UUID) -> HttpResponse:
    """GET: what would be deleted with a collection. POST: delete it."""
    person = request_user(request)
    found = get_object_or_404(readable_collections(person.pk), pk=collection_id)
    require_change(person, "delete_collection", found)
    if request.method == "POST":
        collections.delete(person, found)
        messages.success(request, _("Collection deleted: %(name)s") % {"name": found.name})
        return redirect("chat:documents")
    shown = {
        "collection": found,
        "documents": found.documents.count(),
        "answers": collections.collection_cited_by(found),
    }
    return render(request, "chat/documents/delete.html", shown)


@never_cache
@require_http_methods(["GET", "POST"])
def delete_document(request: HttpRequest, document_id: uuid.UUID) -> HttpResponse:
    """GET: how many answers cite a document. POST: delete it."""
    person = request_user(request)
    found = get_object_or_404(readable_documents(person.pk), pk=document_id)
    require_change(person, "delete_document", found.collection)
    if request.method == "POST":
        collections.delete_document(person, found)
        messages.success(request, _("Document deleted: %(name)s") % {"name": found.name})
        return redirect(found.collection)
    shown = {"collection": found.collection, "document": found, "answers": collections.cited_by(found)}
    return render(request, "chat/documents/delete.html", shown)


@never_cache
@require_GET
@vary_on_headers("HX-Request")
def document(request: HtmxHttpRequest, document_id: uuid.UUID) -> HttpResponse:
    """Show a part of a document, as the page of a filing does; for htmx only what is around the cited passage.

    404 explains itself, in the same words for a deleted document and for one of somebody else.
    """
    found = readable_documents(request_user(request).pk).filter(pk=document_id).first()
    if found is None:
        return source_missing(request, "document")
    anchors = list(found.passages.order_by("ordinal").values_list("anchor", flat=True))
    part = shown_part(request, anchors)
    sections = reader.document_sections(found, part.passages, cited=part.cited, quotes=cited_quotes(request))
    shown = {"document": found, "problem": collections.problem_of(found), **part_context(part, sections)}
    template = "chat/reader/_document_reader.html" if request.htmx else "chat/reader/document.html"
    return render(request, template, shown)


@never_cache
@require_safe
def document_file(request: HttpRequest, document_id: uuid.UUID) -> HttpResponseBase:
    """Return the file of a document as it was added, as a download."""
    found = get_object_or_404(readable_documents(request_user(request).pk), pk=document_id)
    with file_slot(found.size) as has_slot:
        if not has_slot:
            return busy_page()
        try:
            content = documents.content_of(found)
        except Document.DoesNotExist:  # it was deleted meanwhile
            raise Http404 from None
    response = HttpResponse(content, content_type="application/octet-stream")
    disposition = content_disposition_header(as_attachment=True, filename=found.name)
    response.headers["Content-Disposition"] = disposition or "attachment"
    response.headers["Content-Security-Policy"] = FILE_POLICY
    return response


@require_safe
async def document_page(request: HttpRequest, document_id: uuid.UUID, page: int) -> HttpResponseBase:
    """Return a page of a PDF as a picture, or in plain text why it can't be drawn."""
    person = await sync_to_async(request_user)(request)
    # Whoever asks for many pages waits here, without a thread of the server.
    async with page_slot(f"pictures {person.pk}") as has_slot:
        if not has_slot:
            return no_picture("busy")
        return await sync_to_async(page_picture)(request, document_id, page)


def page_picture(request: HttpRequest, document_id: uuid.UUID, page: int) -> HttpResponseBase:
    found = readable_documents(request_user(request).pk).filter(pk=document_id).first()
    if found is None or not pictures.has_pictures(found) or not 1 <= page <= found.pages:
        raise Http404
    etag = quote_etag(f"{found.digest}-{page}")
    response: HttpResponseBase | None = get_conditional_response(request, etag=etag)
    if response is None:
        try:
            image = pictures.picture(request_user(request), found, page)
        except Document.DoesNotExist:  # it was deleted meanwhile
            raise Http404 from None
        if image.problem:
            return no_picture(image.problem)
        response = HttpResponse(image.content, content_type="image/webp")
    response.headers["Content-Security-Policy"] = FILE_POLICY
    response.headers["ETag"] = etag
    return response


def no_picture(problem: str) -> HttpResponse:
    response = HttpResponse(pictures.problem_text(problem), content_type="text/plain; charset=utf-8", status=422)
    if problem == "busy":
        response.status_code = 503
        response.headers["Retry-After"] = str(RETRY_AFTER_S)
    response.headers["Content-Security-Policy"] = FILE_POLICY
    return response
