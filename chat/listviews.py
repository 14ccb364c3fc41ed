"""The list of conversations and what is done in it: search, older ones, rename, pin, delete, take back.

Every look-up is by owner (product 14). htmx gets the list or one place in it; without it each form leads to a page.
"""

from __future__ import annotations

import uuid
from urllib.parse import urlencode, urlsplit

from asgiref.sync import sync_to_async
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect, render
from django.urls import Resolver404, resolve, reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods

from chat import conversations, listing, owned
from chat.forms import MessageRefused
from chat.models import Conversation
from chat.notices import SettingsChanged
from chat.runner import runner


@never_cache
@require_GET
def home(request: HttpRequest) -> HttpResponse:
    """Open the newest conversation, or an empty one; ``?deleted=<id>`` goes along, for its notice."""
    to = conversations.newest(owned.person(request)).get_absolute_url()
    deleted = request.GET.get("deleted", "")
    return redirect(f"{to}?{urlencode({'deleted': deleted})}" if deleted else to)


@never_cache
@require_http_methods(["GET", "POST"])
def chats(request: HttpRequest) -> HttpResponse:
    """GET: the list, ``?q=`` searches it, ``?after=<id>`` goes on from there. POST: a new conversation, 303."""
    person = owned.person(request)
    if request.method == "POST":
        made = conversations.start(person, temporary=bool(request.POST.get("temporary")))
        return HttpResponseRedirect(made.get_absolute_url(), status=303)
    after = _id_in(request, "after")
    if after:
        return _listed(request, listing.older(person, after), part="chat/_groups.html")
    if request.GET.get("q", "").strip():
        return _listed(request, listing.found(person, request.GET["q"]))
    return _listed(request, listing.newest(person, focus=_id_in(request, "focus")))


@never_cache
@require_http_methods(["GET", "POST"])
async def manage(request: HttpRequest, conversation_id: uuid.UUID) -> HttpResponse:
    """GET: the form of one conversation. POST: ``do`` what its buttons say."""
    if request.method == "GET":
        return await sync_to_async(_form)(request, conversation_id)
    act = _ACTS.get(request.POST.get("do", ""), _rename)
    if act is _delete:
        runner.stop((await sync_to_async(owned.conversation)(request, conversation_id)).pk)
    answer = await sync_to_async(act)(request, conversation_id)
    runner.tell(conversation_id, SettingsChanged())
    return answer


def _rename(request: HttpRequest, conversation_id: uuid.UUID) -> HttpResponse:
    found = owned.conversation(request, conversation_id)
    try:
        conversations.rename(found, request.POST.get("title"))
    except MessageRefused as refused:
        return _form(request, conversation_id, error=refused.message, status=400)
    return _done(request, found)


def _pin(request: HttpRequest, conversation_id: uuid.UUID) -> HttpResponse:
    found = owned.conversation(request, conversation_id)
    conversations.pin(found, request.POST["do"] == "pin")
    return _done(request, found)


def _delete(request: HttpRequest, conversation_id: uuid.UUID) -> HttpResponse:
    """Delete; a page that showed it goes home. There, or on top of the list, it can be taken back for a while."""
    found = owned.conversation(request, conversation_id)
    conversations.delete(found)
    home_url = f"{reverse('chat:home')}?deleted={conversation_id}"
    if not request.headers.get("HX-Request"):
        return HttpResponseRedirect(home_url, status=303)
    if _current(request) == conversation_id:
        return HttpResponse(headers={"HX-Redirect": home_url})
    return _listed(request, listing.newest(owned.person(request), deleted=conversation_id))


def _restore(request: HttpRequest, conversation_id: uuid.UUID) -> HttpResponse:
    found = conversations.restore(owned.person(request), conversation_id)
    if found is None:
        raise Http404
    return _done(request, found)


_ACTS = {"rename": _rename, "pin": _pin, "unpin": _pin, "delete": _delete, "restore": _restore}


def _done(request: HttpRequest, changed: Conversation) -> HttpResponse:
    """Return the list with the keyboard at this conversation, or lead to its page."""
    if not request.headers.get("HX-Request"):
        return HttpResponseRedirect(changed.get_absolute_url(), status=303)
    return _listed(request, listing.newest(owned.person(request), focus=changed.pk))


def _form(request: HttpRequest, conversation_id: uuid.UUID, *, error: str = "", status: int = 200) -> HttpResponse:
    context = {"one": owned.conversation(request, conversation_id), "error": error}
    template = "chat/_manage.html" if request.headers.get("HX-Request") else "chat/manage.html"
    return render(request, template, context, status=status)


def _listed(request: HttpRequest, shown: listing.Listing, *, part: str = "chat/_conversations.html") -> HttpResponse:
    """Return the list, for htmx the part of it that is asked for."""
    template = part if request.headers.get("HX-Request") else "chat/conversations.html"
    return render(request, template, {"list": shown, "current_id": _current(request)})


def _current(request: HttpRequest) -> uuid.UUID | None:
    """Return the conversation that the page of an htmx request shows."""
    try:
        shown = resolve(urlsplit(request.headers.get("HX-Current-URL", "")).path)
    except (Resolver404, ValueError):
        return None
    found = shown.kwargs.get("conversation_id")
    return found if isinstance(found, uuid.UUID) else None


def _id_in(request: HttpRequest, name: str) -> uuid.UUID | None:
    try:
        return uuid.UUID(request.GET.get(name, ""))
    except ValueError:
        return None
