"""The lists of conversations and what is done in them: search, older ones, rename, pin, move, archive, delete, undo.

htmx gets the list or one part of it; without script each form leads to a page.
"""

from __future__ import annotations

import uuid
from typing import Any
from urllib.parse import urlencode, urlsplit

from asgiref.sync import sync_to_async
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect, render
from django.urls import Resolver404, ResolverMatch, resolve, reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods, require_POST
from django_htmx.http import HttpResponseClientRedirect, retarget

from accounts.views import HtmxHttpRequest, request_user
from chat.conversations import actions, sidebar
from chat.conversations.access import get_conversation, get_project
from chat.models import Conversation
from chat.turns.manager import turn_manager
from chat.url_converters import parse_id
from chat.validation import InvalidInputError

# Four pages of the list; each is saved and published by itself.
MAX_SELECTED = 200


@never_cache
@require_GET
def home(request: HttpRequest) -> HttpResponse:
    """Redirect to the newest conversation, or an empty one; ``?deleted=<id>`` is passed on, for its notice."""
    try:
        url = actions.newest(request_user(request)).get_absolute_url()
    except InvalidInputError as error:
        return too_many(error)
    deleted = request.GET.get("deleted", "")
    return redirect(f"{url}?{urlencode({'deleted': deleted})}" if deleted else url)


@never_cache
@require_http_methods(["GET", "POST"])
def conversations(request: HtmxHttpRequest) -> HttpResponse:
    """GET: the list; ``?q=`` searches it, ``?after=<id>`` continues it. POST: a new one, in ``project``, 303."""
    person = request_user(request)
    if request.method == "POST":
        project = get_project(request, request.POST["project"]) if request.POST.get("project") else None
        try:
            started = actions.start(person, temporary=bool(request.POST.get("temporary")), project=project)
        except InvalidInputError as error:
            return too_many(error)
        return HttpResponseRedirect(started.get_absolute_url(), status=303)
    if after := parse_id(request.GET.get("after")):
        return show_list(request, sidebar.older(person, after), part="chat/sidebar/_groups.html")
    if request.GET.get("q", "").strip():
        return show_list(request, sidebar.search_results(person, request.GET["q"]))
    focus = parse_id(request.GET.get("focus"))
    return show_list(request, sidebar.newest(person, deleted=request.GET.get("deleted"), focus=focus))


def too_many(error: InvalidInputError) -> HttpResponse:
    return HttpResponse(error.message, status=429, content_type="text/plain; charset=utf-8")


@never_cache
@require_GET
def show_archive(request: HttpRequest) -> HttpResponse:
    """Show the archived conversations; ``?after=<id>`` continues their list, ``?deleted=<id>`` can be undone."""
    after = parse_id(request.GET.get("after"))
    shown = sidebar.read_archive(request_user(request), after, deleted=request.GET.get("deleted"))
    return render(request, "chat/sidebar/conversations.html", {"list": shown, "is_archived": True})


@require_POST
async def change_selected(request: HttpRequest) -> HttpResponse:
    """Archive, unarchive or delete the conversations in ``chat``, as ``do`` says."""
    chosen = await sync_to_async(selected_conversations)(request)
    action, back = request.POST.get("do"), "chat:archived" if "archived" in request.POST else "chat:conversations"
    if not chosen:
        await sync_to_async(messages.error)(request, _("Select conversations first."))
        return redirect(back)
    if action == "delete":
        await turn_manager.delete(chosen)
        return redirect(f"{reverse(back)}?deleted={chosen[0].pk}")
    await sync_to_async(actions.archive)(chosen, is_archived=action != "unarchive")
    if action == "unarchive":
        words = ngettext("%(count)s conversation unarchived.", "%(count)s conversations unarchived.", len(chosen))
    else:
        words = ngettext("%(count)s conversation archived.", "%(count)s conversations archived.", len(chosen))
    await sync_to_async(messages.success)(request, words % {"count": len(chosen)})
    return redirect(back)


def selected_conversations(request: HttpRequest) -> list[Conversation]:
    """Return those of the user's conversations that a form names; what is no id is left out."""
    ids = {found for value in request.POST.getlist("chat")[:MAX_SELECTED] if (found := parse_id(value))}
    return list(request_user(request).conversations.filter(pk__in=ids, expires_at=None))


@never_cache
@require_http_methods(["GET", "POST"])
async def manage(request: HtmxHttpRequest, conversation_id: uuid.UUID) -> HttpResponse:
    """GET: the page, or for htmx the menu, of one conversation; ``?rename``: its form for a new title.

    POST: ``do`` names an item of the menu, or ``restore``. ``?in=bar``: asked for in the top bar, not in the list.
    """
    if request.method == "GET":
        return await sync_to_async(manage_page)(request, conversation_id)
    if request.POST.get("do") == "delete":
        await turn_manager.delete([await sync_to_async(get_conversation)(request, conversation_id)])
        return await sync_to_async(show_deleted)(request, conversation_id)
    return await sync_to_async(change)(request, conversation_id)


def manage_page(request: HtmxHttpRequest, conversation_id: uuid.UUID) -> HttpResponse:
    """Return the actions on a conversation as a page, for htmx as a menu; ``?rename``: the form for its title."""
    found = get_conversation(request, conversation_id)
    if not request.htmx:
        return render(request, "chat/sidebar/manage.html", manage_context(request, found, found.title))
    if "rename" in request.GET:
        return render(
            request, "chat/sidebar/_rename.html", {"one": found, "title": found.title, "place": place_of(request)}
        )
    shown = {"one": found, "has_turns": found.turns.exists(), "place": place_of(request)}
    return render(request, "chat/sidebar/_menu.html", shown)


def manage_context(request: HttpRequest, found: Conversation, title: str) -> dict[str, Any]:
    return {"one": found, "title": title, "projects": request_user(request).projects.all()}


def refused_title(request: HtmxHttpRequest, found: Conversation, error: str) -> HttpResponse:
    """Return the form again, with the title that was refused."""
    title = request.POST.get("title", "")
    shown = {**manage_context(request, found, title), "error": error, "place": place_of(request)}
    if not request.htmx:
        return render(request, "chat/sidebar/manage.html", shown, status=400)
    form = render(request, "chat/sidebar/_rename.html", shown, status=400)
    form.headers["HX-Reswap"] = "outerHTML settle:0ms"  # it can be sent at once
    return retarget(form, "#rename")


def change(request: HtmxHttpRequest, conversation_id: uuid.UUID) -> HttpResponse:
    """Do what an item of the menu says, except delete."""
    action = request.POST.get("do", "rename")
    # before the look-up, which doesn't find deleted conversations
    if action == "restore":
        if actions.restore(request_user(request), conversation_id) is None:
            raise Http404
        if "list" in request.POST:  # several may be back; the list shows them all
            return redirect("chat:archived" if request.POST["list"] == "archived" else "chat:conversations")
        return show_changed(request, conversation_id)
    found = get_conversation(request, conversation_id)
    try:
        if action in ("pin", "unpin"):
            actions.pin(found, action == "pin")
        elif action in ("archive", "unarchive"):
            actions.archive([found], is_archived=action == "archive")
        elif action == "move":
            name = request.POST.get("project")
            actions.move(found, get_project(request, name) if name else None)
        elif action == "ask_again":
            actions.set_allowed_tools(found, [])
        else:
            actions.rename(found, request.POST.get("title"))
    except InvalidInputError as error:
        return refused_title(request, found, error.message)
    if action == "archive" and request.htmx:
        return show_list(request, sidebar.newest(request_user(request), archived=found))
    return show_changed(request, conversation_id)


def show_deleted(request: HtmxHttpRequest, conversation_id: uuid.UUID) -> HttpResponse:
    """Return the list, or redirect to another conversation, with a notice that undoes the deletion."""
    if not request.htmx:
        return HttpResponseRedirect(f"{reverse('chat:home')}?deleted={conversation_id}", status=303)
    if (page := shown_page(request)) and page.kwargs.get("conversation_id") == conversation_id:
        # the page of a deleted conversation leaves when its socket is closed, other pages about it have none
        if page.view_name == "chat:conversation":
            return HttpResponse(status=204)
        return HttpResponseClientRedirect(f"{reverse('chat:home')}?deleted={conversation_id}")
    return show_list(request, sidebar.newest(request_user(request), deleted=conversation_id))


def show_changed(request: HtmxHttpRequest, conversation_id: uuid.UUID) -> HttpResponse:
    """Return the list with the focus on a changed conversation, or redirect to its page."""
    if not request.htmx:
        return HttpResponseRedirect(reverse("chat:conversation", args=[conversation_id]), status=303)
    focus = conversation_id if place_of(request) == "row" else None
    return show_list(request, sidebar.newest(request_user(request), focus=focus))


def show_list(
    request: HtmxHttpRequest, shown: sidebar.Sidebar, *, part: str = "chat/sidebar/_conversations.html"
) -> HttpResponse:
    """Return the list, for htmx the requested part of it."""
    template = part if request.htmx else "chat/sidebar/conversations.html"
    return render(request, template, {"list": shown, "current_id": current_id(request)})


def shown_page(request: HtmxHttpRequest) -> ResolverMatch | None:
    """Return the page from which htmx sent the request."""
    try:
        return resolve(urlsplit(request.htmx.current_url or "").path)
    except (Resolver404, ValueError):
        return None


def current_id(request: HtmxHttpRequest) -> uuid.UUID | None:
    """Return the conversation on the page from which htmx sent the request."""
    page = shown_page(request)
    found = page.kwargs.get("conversation_id") if page else None
    return found if isinstance(found, uuid.UUID) else None


def place_of(request: HttpRequest) -> str:
    """Return where a menu was opened: in the top ``bar`` or in a ``row`` of the list."""
    return "bar" if request.GET.get("in") == "bar" else "row"
