"""What leaves a conversation: files of it for its owner, and links by which others may read it.

Every answer is drawn with a ``Visibility`` that the owner's choice can only narrow (product 15). A shared page needs no
session, so its sources lead strangers to the sign-in: filings are a site's own corpus, and sharing an answer does not
open them.
"""

from __future__ import annotations

import uuid
from functools import partial
from typing import Any

from django.contrib.auth.decorators import login_not_required
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBadRequest, HttpResponseRedirect
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.utils import timezone
from django.utils.http import content_disposition_header
from django.utils.text import slugify
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from chat import layers, log, owned, sharing
from chat.export import Choice, Copy, as_json, as_markdown
from chat.models import Conversation, Share, Turn
from reasoning.policy import Visibility
from reasoning.redaction import redact_text

FORMATS = {
    "md": (as_markdown, "text/markdown; charset=utf-8"),
    "json": (as_json, "application/json; charset=utf-8"),
}
NAME_CHARS = 60
LASTS_DAYS = {"7": 7, "30": 30, "never": None}


@never_cache
@require_GET
def export(request: HttpRequest, conversation_id: uuid.UUID) -> HttpResponse:
    """Send one's own conversation as a file: ``?format=md|json&summary=1&trace=0&thinking=0``."""
    found = owned.conversation(request, conversation_id)
    kind = request.GET.get("format", "md")
    if kind not in FORMATS:
        return HttpResponseBadRequest(_("format: md or json is needed."), content_type="text/plain; charset=utf-8")
    write, content_type = FORMATS[kind]
    sees = Choice.of_query(request.GET).within(_sees(request, found))
    text = write(Copy(found.title, _origin(request), timezone.now(), log.turns(found.pk), sees))
    disposition = content_disposition_header(as_attachment=True, filename=_file_name(found, kind))
    return HttpResponse(text, content_type=content_type, headers={"Content-Disposition": disposition or "attachment"})


@never_cache
@require_http_methods(["GET", "POST"])
def share(request: HttpRequest, conversation_id: uuid.UUID) -> HttpResponse:
    """GET: the choice, and the links that there are. POST: make a link, or go on to a file or to a preview."""
    found = owned.conversation(request, conversation_id)
    if request.method == "GET":
        return _dialog(request, found, focus="choice")
    choice = Choice(*(name in request.POST for name in ("summary", "trace", "thinking")))
    if target := _elsewhere(request, found, choice):
        return HttpResponseRedirect(f"{target}{choice.query()}", status=303)
    try:
        made = sharing.make(
            owned.person(request), found, choice, days=LASTS_DAYS.get(request.POST.get("expires", ""), 7)
        )
    except sharing.NotShared as refused:
        return _dialog(request, found, focus="choice", error=str(refused), status=409)
    return _dialog(request, found, focus="links", made=made.pk) if _is_htmx(request) else _to_share(found)


@never_cache
@require_GET
def preview(request: HttpRequest, conversation_id: uuid.UUID) -> HttpResponse:
    """Show the owner what a link would show, with the same choice in the query as a file."""
    found = owned.conversation(request, conversation_id)
    try:
        link = sharing.draft(found, Choice.of_query(request.GET))
    except sharing.NotShared as refused:
        raise Http404(str(refused)) from refused
    if "text" in request.GET:
        return _thinking(link, request.GET["text"])
    return _shared_page(request, link, thinking_url=partial(_thinking_in_preview, request), is_preview=True)


@never_cache
@require_POST
def revoke(request: HttpRequest, link_id: uuid.UUID) -> HttpResponse:
    """End one of one's own links; another's is not found."""
    link = get_object_or_404(Share, pk=link_id, conversation__owner=owned.person(request))
    sharing.revoke(owned.person(request), link)
    if _is_htmx(request):
        return _dialog(request, link.conversation, focus="links")
    if "list" in request.POST:
        return HttpResponseRedirect(reverse("chat:shares"), status=303)
    return _to_share(link.conversation)


@never_cache
@require_GET
def links(request: HttpRequest) -> HttpResponse:
    """List one's own links that can be opened now."""
    return render(request, "chat/shares.html", {"links": _listed(request, None), "is_at_shares": True})


@login_not_required
@never_cache
@require_GET
def shared(request: HttpRequest, token: str) -> HttpResponse:
    """Show a shared conversation to anybody; 404 for a link that has ended or never was."""
    link = sharing.find(token)
    if link is None:
        return _unlisted(render(request, "chat/shared_gone.html", status=404))
    return _shared_page(request, link, thinking_url=partial(_shared_thinking_url, token))


@login_not_required
@never_cache
@require_GET
def shared_thinking(request: HttpRequest, token: str, turn_id: uuid.UUID) -> HttpResponse:
    """Return the thinking of a shared answer as anybody may read it, as plain text; 404 where nobody may."""
    link = sharing.find(token)
    if link is None:
        raise Http404
    return _thinking(link, turn_id.hex)


def _thinking(link: Share, public_id: str) -> HttpResponse:
    text = sharing.thinking(link, public_id)
    if text is None:
        raise Http404
    return _unlisted(HttpResponse(text.text, content_type="text/plain; charset=utf-8"))


def _shared_page(request: HttpRequest, link: Share, *, is_preview: bool = False, **urls: Any) -> HttpResponse:
    items = sharing.items(link, opened=request.GET.get("open", ""), **urls)
    context = {"title": sharing.title(link), "link": link, "items": items, "is_preview": is_preview}
    return _unlisted(render(request, "chat/shared.html", context))


def _unlisted(response: HttpResponse) -> HttpResponse:
    """Keep a shared page out of search engines."""
    response["X-Robots-Tag"] = "noindex, nofollow, noarchive"
    return response


def _elsewhere(request: HttpRequest, found: Conversation, choice: Choice) -> str:
    """Return where a form's other buttons lead, ready for the choice."""
    kind = request.POST.get("export", "")
    if kind in FORMATS:
        return f"{reverse('chat:export', args=[found.pk])}?format={kind}&"
    return f"{reverse('chat:share_preview', args=[found.pk])}?" if "preview" in request.POST else ""


def _dialog(request: HttpRequest, found: Conversation, *, status: int = 200, **more: Any) -> HttpResponse:
    template = "chat/_share.html" if _is_htmx(request) else "chat/share.html"
    context = {"conversation": found, "sees": _sees(request, found), "links": _listed(request, found), **more}
    context["is_dialog"] = _is_htmx(request)
    shown = 200 if _is_htmx(request) else status  # htmx swaps no refusal
    return render(request, template, context, status=shown)


def _listed(request: HttpRequest, found: Conversation | None) -> list[dict[str, Any]]:
    person = owned.person(request)
    return [
        {"link": link, "title": sharing.title(link), "sees": sharing.sees(link), "url": _address(request, link)}
        for link in sharing.active(person, found)
    ]


def _sees(request: HttpRequest, found: Conversation) -> Visibility:
    return layers.sees(owned.person(request), request.session, found)


def _address(request: HttpRequest, link: Share) -> str:
    return _origin(request) + reverse("chat:shared", args=[link.token])


def _shared_thinking_url(token: str, turn: Turn) -> str:
    return reverse("chat:shared_thinking", args=[token, turn.pk])


def _thinking_in_preview(request: HttpRequest, turn: Turn) -> str:
    return f"{request.path}?{Choice.of_query(request.GET).query()}&text={turn.public_id}"


def _to_share(found: Conversation) -> HttpResponse:
    return HttpResponseRedirect(reverse("chat:share", args=[found.pk]), status=303)


def _is_htmx(request: HttpRequest) -> bool:
    return bool(request.headers.get("HX-Request"))


def _file_name(found: Conversation, kind: str) -> str:
    """Return a name of plain letters, whatever the conversation is called."""
    words = slugify(redact_text(found.title))[:NAME_CHARS].strip("-")
    return f"{words or 'conversation'}-{timezone.now():%Y-%m-%d}.{kind}"


def _origin(request: HttpRequest) -> str:
    return f"{request.scheme}://{request.get_host()}"
