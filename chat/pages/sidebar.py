"""The list of conversations and what is done in it: search, older ones, rename, pin, delete, undo.

htmx gets the list or one part of it; without script each form leads to a page.
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
from django_htmx.http import HttpResponseClientRedirect

from accounts.views import HtmxHttpRequest, request_user
from chat.conversations import actions, sidebar
from chat.conversations.access import get_conversation
from chat.turns.manager import turn_manager
from chat.validation import InvalidInputError


@never_cache
@require_GET
def home(request: HttpRequest) -> HttpResponse:
    """Redirect to the newest conversation, or an empty one; ``?deleted=<id>`` is passed on, for its notice."""
    url = actions.newest(request_user(request)).get_absolute_url()
    deleted = request.GET.get("deleted", "")
    return redirect(f"{url}?{urlencode({'deleted': deleted})}" if deleted else url)


@never_cache
@require_http_methods(["GET", "POST"])
def conversations(request: HtmxHttpRequest) -> HttpResponse:
    """GET: the list; ``?q=`` searches it, ``?after=<id>`` continues it. POST: a new conversation, 303."""
    person = request_user(request)
    if request.method == "POST":
        started = actions.start(person, temporary=bool(request.POST.get("temporary")))
        return HttpResponseRedirect(started.get_absolute_url(), status=303)
    if after := id_in(request, "after"):
        return show_list(request, sidebar.older(person, after), part="chat/_groups.html")
    if request.GET.get("q", "").strip():
        return show_list(request, sidebar.search_results(person, request.GET["q"]))
    return show_list(request, sidebar.newest(person, focus=id_in(request, "focus")))


@never_cache
@require_http_methods(["GET", "POST"])
async def manage(request: HtmxHttpRequest, conversation_id: uuid.UUID) -> HttpResponse:
    """GET: the form of one conversation. POST: ``do`` is ``rename``, ``pin``, ``unpin``, ``delete`` or ``restore``."""
    if request.method == "GET":
        return await sync_to_async(manage_form)(request, conversation_id)
    # before it is hidden: the service would be paid for an answer that nobody can read
    if request.POST.get("do") == "delete":
        await sync_to_async(get_conversation)(request, conversation_id)
        await turn_manager.stop(conversation_id)
    return await sync_to_async(change)(request, conversation_id)


def manage_form(
    request: HtmxHttpRequest, conversation_id: uuid.UUID, *, error: str = "", status: int = 200
) -> HttpResponse:
    """Return the form to rename, pin or delete a conversation."""
    shown = {"one": get_conversation(request, conversation_id), "error": error}
    return render(request, "chat/_manage.html" if request.htmx else "chat/manage.html", shown, status=status)


def change(request: HtmxHttpRequest, conversation_id: uuid.UUID) -> HttpResponse:
    """Do what a button of the form says; a deletion can be undone for a while."""
    person, action = request_user(request), request.POST.get("do", "rename")
    # before the look-up, which doesn't find deleted conversations
    if action == "restore":
        if actions.restore(person, conversation_id) is None:
            raise Http404
        return show_changed(request, conversation_id)
    found = get_conversation(request, conversation_id)
    if action == "delete":
        actions.delete(found)
        home_url = f"{reverse('chat:home')}?deleted={conversation_id}"
        if not request.htmx:
            return HttpResponseRedirect(home_url, status=303)
        # htmx would leave the page of a deleted conversation open
        if current_id(request) == conversation_id:
            return HttpResponseClientRedirect(home_url)
        return show_list(request, sidebar.newest(person, deleted=conversation_id))
    try:
        if action in ("pin", "unpin"):
            actions.pin(found, action == "pin")
        else:
            actions.rename(found, request.POST.get("title"))
    except InvalidInputError as error:
        return manage_form(request, conversation_id, error=error.message, status=400)
    return show_changed(request, conversation_id)


def show_changed(request: HtmxHttpRequest, conversation_id: uuid.UUID) -> HttpResponse:
    """Return the list with the focus on a changed conversation, or redirect to its page."""
    if not request.htmx:
        return HttpResponseRedirect(reverse("chat:conversation", args=[conversation_id]), status=303)
    return show_list(request, sidebar.newest(request_user(request), focus=conversation_id))


def show_list(
    request: HtmxHttpRequest, shown: sidebar.Sidebar, *, part: str = "chat/_conversations.html"
) -> HttpResponse:
    """Return the list, for htmx the requested part of it."""
    template = part if request.htmx else "chat/conversations.html"
    return render(request, template, {"list": shown, "current_id": current_id(request)})


def current_id(request: HtmxHttpRequest) -> uuid.UUID | None:
    """Return the conversation on the page from which htmx sent the request."""
    try:
        match = resolve(urlsplit(request.htmx.current_url or "").path)
    except (Resolver404, ValueError):
        return None
    found = match.kwargs.get("conversation_id")
    return found if isinstance(found, uuid.UUID) else None


def id_in(request: HttpRequest, name: str) -> uuid.UUID | None:
    try:
        return uuid.UUID(request.GET.get(name, ""))
    except ValueError:
        return None
