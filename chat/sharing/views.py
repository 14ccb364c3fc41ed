"""Exports and shared links: files of a conversation for its owner, and pages of it that anybody may read.

Each response is drawn with a ``Visibility`` that the owner's choice can only narrow (product 15). A shared page needs
no session. It shows the cited words of each source; the filings themselves need the sign-in.
"""

from __future__ import annotations

import uuid
from typing import Any
from urllib.parse import urlencode

from asgiref.sync import sync_to_async
from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.http import (
    Http404,
    HttpRequest,
    HttpResponse,
    HttpResponseBadRequest,
    HttpResponseBase,
    HttpResponseRedirect,
    StreamingHttpResponse,
)
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.utils import timezone
from django.utils.http import content_disposition_header
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods, require_POST
from django_htmx.http import HttpResponseClientRefresh

from accounts.access.attempts import AttemptLimit
from accounts.views import HtmxHttpRequest, request_user
from chat import eventlog
from chat.cards import build, pagination
from chat.cards.page_slots import busy_page, page_slot
from chat.conversations.access import get_conversation
from chat.conversations.reasoning_settings import visibility_for
from chat.eventlog import branches
from chat.eventlog.link_tokens import token_of
from chat.html import arender
from chat.models import Conversation, ConversationImport, Share
from chat.sharing import links
from chat.sharing.export import Choice, Export, as_json, as_markdown, file_stem, with_numbered_answers, zip_of_all
from chat.sharing.imports import run as imports
from chat.sharing.imports.products import product_names
from chat.url_converters import parse_id
from chat.validation import InvalidInputError

FORMATS = {
    "md": (as_markdown, "text/markdown; charset=utf-8"),
    "json": (as_json, "application/json; charset=utf-8"),
}
EXPORTS_ALLOWED = 6  # of everything, in five minutes
IMPORTS_ALLOWED = 10
LIFETIME_DAYS = {"7": 7, "30": 30, "never": None}


@never_cache
@require_GET
async def export(request: HttpRequest, conversation_id: uuid.UUID) -> HttpResponse:
    """Download a conversation: ``?format=md|json&summary=1&trace=0&thinking=0``."""
    conversation = await sync_to_async(get_conversation)(request, conversation_id)
    file_format = request.GET.get("format", "md")
    if file_format not in FORMATS:
        return HttpResponseBadRequest(_("format: md or json is needed."), content_type="text/plain; charset=utf-8")
    async with page_slot(f"user {request_user(request).pk}") as has_slot:
        return await export_response(request, conversation, file_format) if has_slot else busy_page()


async def export_response(request: HttpRequest, conversation: Conversation, file_format: str) -> HttpResponse:
    write, content_type = FORMATS[file_format]
    person = request_user(request)

    @sync_to_async
    def read() -> Export:
        sees = Choice.from_query(request.GET).within(visibility_for(person, request.session, conversation))
        return Export(conversation.title, origin_of(request), timezone.now(), eventlog.turns(conversation.pk), sees)

    exported = await read()
    if file_format == "md":
        exported = await with_numbered_answers(exported, person)
    text = await sync_to_async(write)(exported)
    name = f"{file_stem(conversation.title)}-{today()}.{file_format}"
    return HttpResponse(text, content_type=content_type, headers=download_header(name))


@never_cache
@require_GET
async def export_all(request: HttpRequest) -> HttpResponseBase:
    """Download all conversations and the account as a ZIP file."""
    person = request_user(request)
    if not await sync_to_async(AttemptLimit("export", str(person.pk), allowed=EXPORTS_ALLOWED).take)():
        message = _("Too many exports. Try again in a few minutes.")
        return HttpResponse(message, status=429, content_type="text/plain; charset=utf-8")
    files = zip_of_all(person, request.session.session_key, origin_of(request))
    return StreamingHttpResponse(files, "application/zip", headers=download_header(f"legible-{today()}.zip"))


@never_cache
@require_http_methods(["GET", "POST"])
def import_file(request: HtmxHttpRequest) -> HttpResponse:
    """GET: the form, or how far the user's import is; then what became of it. POST: import all ``file``, 303."""
    if request.method == "GET":
        return import_page(request)
    person = request_user(request)
    try:
        uploads = request.FILES.getlist("file")
        if not uploads:
            raise imports.refusal(_("Choose a file."))
        if not AttemptLimit("import", str(person.pk), allowed=IMPORTS_ALLOWED).take():
            raise imports.refusal(_("Too many imports. Try again in a few minutes."), code="too_many_imports")
        imports.start_import(person, uploads)
    except InvalidInputError as error:
        return import_page(request, error=error.message, status=400 if error.code == "invalid_import" else 429)
    return see_other(reverse("chat:import"))


def import_page(request: HtmxHttpRequest, *, error: str = "", status: int = 200) -> HttpResponse:
    newest = ConversationImport.objects.filter(owner=request_user(request)).first()
    # htmx asks while an import runs; the page of one that has ended has another script
    if request.htmx and not (newest and newest.is_running):
        return HttpResponseClientRefresh()
    context = {
        "max_bytes": settings.IMPORT_MAX_BYTES,
        "products": product_names(),
        "import": newest,
        "report": imports.Report(**newest.report) if newest else None,
        "error": error,
    }
    return render(request, "chat/sharing/import.html", context, status=status)


@never_cache
@require_http_methods(["GET", "POST"])
def share(request: HtmxHttpRequest, conversation_id: uuid.UUID) -> HttpResponse:
    """GET: the form and the existing links. POST: create a link, or redirect to the export or the preview."""
    conversation = get_conversation(request, conversation_id)
    if request.method == "GET":
        return share_form(request, conversation, focus="choice")
    # one form with several buttons: export, preview, create
    choice = Choice.from_form(request.POST)
    if (file_format := request.POST.get("export", "")) in FORMATS:
        return see_other(f"{reverse('chat:export', args=[conversation.pk])}?format={file_format}&{choice.query()}")
    if "preview" in request.POST:
        return see_other(f"{reverse('chat:share_preview', args=[conversation.pk])}?{choice.query()}")
    days = LIFETIME_DAYS.get(request.POST.get("expires", ""), 7)
    try:
        link = links.create_link(request_user(request), conversation, choice, days=days)
    except links.ShareError as error:
        return share_form(request, conversation, focus="choice", error=str(error), status=409)
    if request.htmx:
        return share_form(request, conversation, focus="links", made=link.pk)
    return see_other(reverse("chat:share", args=[conversation.pk]))


@never_cache
@require_GET
async def preview(request: HttpRequest, conversation_id: uuid.UUID) -> HttpResponse:
    """Show the owner what a link would show; the query is that of ``export``.

    ``text`` names a card whose thinking is asked for, ``answer`` one whose whole answer is.
    """
    choice = Choice.from_query(request.GET)
    conversation = await sync_to_async(get_conversation)(request, conversation_id)
    try:
        link = await sync_to_async(links.draft_link)(conversation, choice)
    except links.ShareError as error:
        raise Http404(str(error)) from error
    async with page_slot(f"user {request_user(request).pk}") as has_slot:
        if not has_slot:
            return busy_page()
        if "answer" in request.GET:
            return await answer_response(link, parse_id(request.GET["answer"]))
        return await sync_to_async(draw_preview)(request, link, choice)


def draw_preview(request: HttpRequest, link: Share, choice: Choice) -> HttpResponse:
    if "text" in request.GET:
        return thinking_response(link, parse_id(request.GET["text"]))
    address = f"{request.path}?{choice.query()}"
    urls = links.CardUrls(
        thinking=lambda turn: f"{address}&text={turn.public_id}",
        answer=lambda turn: f"{address}&answer={turn.public_id}",
    )
    return shared_page(request, link, urls=urls, choice=choice)


@never_cache
@require_POST
def revoke(request: HtmxHttpRequest, link_id: uuid.UUID) -> HttpResponse:
    """Revoke one of the user's links."""
    link = get_object_or_404(Share, pk=link_id, conversation__owner=request_user(request))
    links.revoke_link(request_user(request), link)
    if request.htmx:
        return share_form(request, link.conversation, focus="links")
    if "list" in request.POST:
        return see_other(reverse("chat:shares"))
    return see_other(reverse("chat:share", args=[link.conversation_id]))


@never_cache
@require_GET
def share_list(request: HttpRequest) -> HttpResponse:
    """List all links of the user that can be opened now."""
    return render(request, "chat/sharing/shares.html", {"links": link_rows(request, None)})


@login_not_required
@never_cache
@require_GET
async def show_shared(request: HttpRequest, token: str) -> HttpResponse:
    """Show a shared conversation to anybody; the same 404 for an expired link and an unknown one."""
    link = await sync_to_async(links.find_link)(token)
    if link is None:
        # one page for all reasons: nobody learns which tokens have existed
        return not_indexed(await sync_to_async(render)(request, "chat/sharing/shared_gone.html", status=404))
    urls = links.CardUrls(
        thinking=lambda turn: reverse("chat:shared_thinking", args=[token, turn.pk]),
        answer=lambda turn: reverse("chat:shared_answer", args=[token, turn.pk]),
    )
    # for all readers together: without a session nothing distinguishes them
    async with page_slot(f"link {link.pk}") as has_slot:
        return await sync_to_async(shared_page)(request, link, urls=urls) if has_slot else busy_page()


@login_not_required
@never_cache
@require_GET
def shared_thinking(request: HttpRequest, token: str, turn_id: uuid.UUID) -> HttpResponse:
    """Return the thinking of a shared answer as plain text, if anybody may read it."""
    link = links.find_link(token)
    if link is None:
        raise Http404
    return thinking_response(link, turn_id)


@login_not_required
@never_cache
@require_GET
async def shared_answer(request: HttpRequest, token: str, turn_id: uuid.UUID) -> HttpResponse:
    """Return a shared answer as plain text: all of one that its card shows shortened."""
    link = await sync_to_async(links.find_link)(token)
    if link is None:
        raise Http404
    async with page_slot(f"link {link.pk}") as has_slot:
        return await answer_response(link, turn_id) if has_slot else busy_page()


def share_form(request: HtmxHttpRequest, conversation: Conversation, *, status: int = 200, **more: Any) -> HttpResponse:
    context = {
        "conversation": conversation,
        "sees": visibility_for(request_user(request), request.session, conversation),
        "links": link_rows(request, conversation),
        "is_dialog": bool(request.htmx),
        **more,
    }
    if request.htmx:  # htmx doesn't swap responses of 4xx
        return render(request, "chat/sharing/_share.html", context)
    return render(request, "chat/sharing/share.html", context, status=status)


def link_rows(request: HttpRequest, conversation: Conversation | None) -> list[dict[str, Any]]:
    return [
        {
            "link": link,
            "title": links.shared_title(link),
            "sees": links.link_visibility(link),
            # without the key that encrypted it, nobody knows the address any more; the link itself works
            "url": origin_of(request) + reverse("chat:shared", args=[token]) if (token := token_of(link)) else "",
        }
        for link in links.active_links(request_user(request), conversation)
    ]


def shared_page(
    request: HttpRequest, link: Share, *, urls: links.CardUrls, choice: Choice | None = None
) -> HttpResponse:
    """Draw a page of a link, or of the preview of this choice."""
    records = pagination.read_shared_page(link.last_turn, request.GET)
    if not records:
        return not_indexed(render(request, "chat/sharing/shared_gone.html", status=404))
    chosen = choice.params() if choice else {}
    first, last = records[0].turn, records[-1].turn
    is_newest = not branches.path_to(link.last_turn).filter(number__gt=last.number).exists()
    context = {
        "title": links.shared_title(link),
        "link": link,
        "items": links.shared_cards(link, records, urls, opened=request.GET.get("open", "")),
        "earlier_url": f"?{urlencode({**chosen, 'before': first.number})}" if first.number > 1 else "",
        "later_url": "" if is_newest else f"?{urlencode({**chosen, 'since': last.number + 1})}",
        # a button that opens thinking without JavaScript asks for this page again
        "look": chosen if is_newest else {**chosen, "since": first.number},
        "is_preview": choice is not None,
    }
    return not_indexed(render(request, "chat/sharing/shared.html", context))


def thinking_response(link: Share, turn_id: uuid.UUID | None) -> HttpResponse:
    text = links.shared_thinking(link, turn_id) if turn_id else None
    if text is None:
        raise Http404
    return not_indexed(HttpResponse(text.text, content_type="text/plain; charset=utf-8"))


async def answer_response(link: Share, turn_id: uuid.UUID | None) -> HttpResponse:
    record = await sync_to_async(links.shared_record)(link, turn_id) if turn_id else None
    if record is None:
        raise Http404
    text = await arender(link.conversation.owner_id, [record.answer], build.copied_answer, record)
    return not_indexed(HttpResponse(text, content_type="text/plain; charset=utf-8"))


def not_indexed(response: HttpResponse) -> HttpResponse:
    """Ask search engines not to index a response."""
    response["X-Robots-Tag"] = "noindex, nofollow, noarchive"
    return response


def see_other(url: str) -> HttpResponse:
    return HttpResponseRedirect(url, status=303)


def today() -> str:
    return f"{timezone.now():%Y-%m-%d}"


def download_header(name: str) -> dict[str, str]:
    return {"Content-Disposition": content_disposition_header(as_attachment=True, filename=name) or "attachment"}


def origin_of(request: HttpRequest) -> str:
    return f"{request.scheme}://{request.get_host()}"
