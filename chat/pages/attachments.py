"""Files of a conversation, for its owner alone: attach, remove, read, and the bytes that were uploaded."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.utils.cache import get_conditional_response
from django.utils.http import content_disposition_header, quote_etag
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe
from django.views.decorators.vary import vary_on_headers

from accounts.views import HtmxHttpRequest, request_user
from chat.attachments import passages, uploads
from chat.cards.attachments import draft_view
from chat.cards.page_slots import busy_page
from chat.conversations import model_choice
from chat.conversations.access import get_attachment, get_conversation
from chat.eventlog import attachments
from chat.files.encodings import ENCODINGS
from chat.files.extraction import IMAGES
from chat.files.slots import file_slot
from chat.filings.reader import mark_quotes
from chat.pages.conversation import redirect_back
from chat.pages.filings import PANEL_REACH, cited_quotes
from chat.validation import InvalidInputError

FILE_FIELD = "files"
# Whatever a browser makes of a file, it is no page of this site.
FILE_POLICY = "sandbox; default-src 'none'"


@require_POST
def upload(request: HtmxHttpRequest, conversation_id: uuid.UUID) -> HttpResponse:
    """Attach the file ``files`` to the next message, for the page's script: its line in the composer, or an error."""
    conversation = get_conversation(request, conversation_id)
    try:
        if (sent := request.FILES.get(FILE_FIELD)) is None:
            raise uploads.refusal("invalid", _("files: a file is needed."))
        stored = uploads.accept(request_user(request), conversation, sent)
    except InvalidInputError as error:
        form = {"code": error.code, "message": error.message, "field": FILE_FIELD}
        return JsonResponse({"error": form}, status=200 if request.htmx else 400)  # browsers log a 4xx as a fault
    takes_images = model_choice.model_of(conversation).takes_images
    view = draft_view(attachments.to_attached_file(stored), conversation_id, takes_images=takes_images)
    return render(request, "chat/attachments/_attachment.html", {"file": view}, status=201)


@require_POST
def remove(request: HtmxHttpRequest, conversation_id: uuid.UUID, attachment_id: uuid.UUID) -> HttpResponse:
    """Delete a file that is not sent yet; the page's script removes its line."""
    conversation = get_conversation(request, conversation_id)
    attachments.attachments_of(conversation).filter(pk=attachment_id, sent_at=None).delete()
    return HttpResponse() if request.htmx else redirect_back(request, conversation_id)


@dataclass(frozen=True, slots=True)
class AttachedPassage:
    """One passage of a file. ``id`` is the fragment that citations name; quoted words in ``text`` are marked."""

    id: str
    number: int
    text: str
    is_cited: bool


@never_cache
@require_safe
@vary_on_headers("HX-Request")
def attachment(request: HtmxHttpRequest, conversation_id: uuid.UUID, attachment_id: uuid.UUID) -> HttpResponse:
    """Show the text of a file, in the passages that citations open, or its image.

    As the page of a filing: each ``quote`` is marked in ``?passage=text-p3``; for htmx only what is around that.
    """
    found = get_attachment(request, conversation_id, attachment_id)
    cited = request.GET.get("passage", "")
    quotes = cited_quotes(request)
    listed = passages.passages_of(attachments.text_of(found))
    at = next((place for place, passage in enumerate(listed) if passage.fragment == cited), None)
    if request.htmx:
        listed = listed[max(0, (at or 0) - PANEL_REACH) : (at or 0) + PANEL_REACH + 1]
    shown = {
        "file": found,
        "encodings": ENCODINGS if found.encoding else {},
        "is_image": found.media_type in IMAGES,
        "passages": [attached_passage(each, quotes if each.fragment == cited else None) for each in listed],
        "page_url": request.get_full_path() + (f"#{cited}" if at is not None else ""),
    }
    return render(
        request, "chat/reader/_attachment_reader.html" if request.htmx else "chat/reader/attachment.html", shown
    )


@require_POST
def encoding(request: HtmxHttpRequest, conversation_id: uuid.UUID, attachment_id: uuid.UUID) -> HttpResponse:
    """Read a text file again in the encoding that its owner has chosen."""
    found = get_attachment(request, conversation_id, attachment_id)
    try:
        uploads.read_again(request_user(request), found, request.POST.get("encoding", ""))
    except InvalidInputError as error:
        messages.error(request, error.message)
    return redirect(found)


def attached_passage(passage: passages.TextPassage, quotes: Sequence[str] | None) -> AttachedPassage:
    """Return a passage as it is shown. ``quotes`` are marked in the cited one, and None of any other."""
    text = mark_quotes(passage.text, quotes or ())
    return AttachedPassage(passage.fragment, passage.number, text, is_cited=quotes is not None)


@require_safe
def attachment_file(request: HttpRequest, conversation_id: uuid.UUID, attachment_id: uuid.UUID) -> HttpResponseBase:
    """Return the bytes that were uploaded: an image to be drawn, anything else as a download."""
    found = get_attachment(request, conversation_id, attachment_id)
    etag = quote_etag(found.pk.hex)  # a stored file never changes
    response: HttpResponseBase | None = get_conditional_response(request, etag=etag)
    if response is None:
        is_image = found.media_type in IMAGES
        kind = found.media_type if is_image else "application/octet-stream"
        with file_slot(found.size) as has_slot:
            if not has_slot:
                return busy_page()
            response = HttpResponse(attachments.content_of(found), content_type=kind)
        response.headers["Content-Disposition"] = content_disposition_header(not is_image, found.name) or "inline"
    response.headers["Content-Security-Policy"] = FILE_POLICY
    response.headers["ETag"] = etag
    return response
