"""The list of a person's conversations: pinned first, then by day, fifty at a time; or the results of a search.

Deleted and temporary conversations, and those without a question, are not listed.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from datetime import date, timedelta
from itertools import groupby

from django.db.models import Exists, OuterRef, Q, QuerySet
from django.urls import reverse
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.translation import gettext as _

from accounts.models import User
from chat.conversations import actions, search
from chat.models import Conversation, Turn

PAGE_SIZE = 50


@dataclass(frozen=True, slots=True)
class Group:
    """Conversations under one heading; ``label`` is empty where the page has the heading already."""

    label: str
    conversations: tuple[Conversation, ...]
    is_today: bool = False


@dataclass(frozen=True, slots=True)
class Sidebar:
    """What the sidebar shows. ``undo``: just deleted; ``focus``: the conversation that gets the keyboard focus."""

    groups: tuple[Group, ...] = ()
    older_url: str = ""
    undo: Conversation | None = None
    query: str = ""
    found: tuple[search.ConversationMatch, ...] = ()
    focus: uuid.UUID | None = None


def newest(person: User, *, deleted: object = None, focus: uuid.UUID | None = None) -> Sidebar:
    """Return the head of the list; ``deleted`` is the id of a conversation whose deletion may be undone."""
    listed = listed_conversations(person)
    groups, older_url = first_page(listed.filter(is_pinned=False))
    # Today's group is there even if it is empty: the page inserts a new conversation into it.
    today = _("Today")
    if groups and groups[0].label == today:
        groups = (Group(today, groups[0].conversations, is_today=True), *groups[1:])
    else:
        groups = (Group(today, (), is_today=True), *groups)
    if pinned := tuple(listed.filter(is_pinned=True)):
        groups = (Group(_("Pinned"), pinned), *groups)
    undo = actions.find_deleted(person, deleted) if deleted else None
    return Sidebar(groups, older_url, undo=undo, focus=focus)


def older(person: User, after: uuid.UUID) -> Sidebar:
    """Return the page of the list that follows this conversation."""
    last = person.conversations.filter(pk=after).first()
    if last is None:
        return newest(person)
    # the order of the list, in which conversations of the same moment are ordered by id
    earlier = Q(updated_at__lt=last.updated_at) | Q(updated_at=last.updated_at, pk__lt=last.pk)
    groups, older_url = first_page(listed_conversations(person).filter(earlier, is_pinned=False))
    if groups and groups[0].label == day_label(last, timezone.localdate()):
        groups = (Group("", groups[0].conversations), *groups[1:])
    return Sidebar(groups, older_url, focus=groups[0].conversations[0].pk if groups else None)


def search_results(person: User, query: str) -> Sidebar:
    """Return what a search found; the list itself for an empty query."""
    query = query.strip()[: search.MAX_QUERY_CHARS]
    return Sidebar(query=query, found=search.search(person, query)) if query else newest(person)


def listed_conversations(person: User) -> QuerySet[Conversation]:
    has_turn = Exists(Turn.objects.filter(conversation=OuterRef("pk")))
    return person.conversations.filter(has_turn, expires_at=None).order_by("-updated_at", "-pk")


def first_page(listed: QuerySet[Conversation]) -> tuple[tuple[Group, ...], str]:
    """Return the first page in groups, and the URL of the next one if there is one."""
    # Pages begin after a conversation, not at an offset: the list changes while somebody reads it.
    page = list(listed[: PAGE_SIZE + 1])
    older_url = f"{reverse('chat:conversations')}?after={page[PAGE_SIZE - 1].pk}" if len(page) > PAGE_SIZE else ""
    today = timezone.localdate()
    by_day = groupby(page[:PAGE_SIZE], key=lambda conversation: day_label(conversation, today))
    return tuple(Group(label, tuple(group)) for label, group in by_day), older_url


def day_label(conversation: Conversation, today: date) -> str:
    day = timezone.localdate(conversation.updated_at)
    if day >= today:
        return _("Today")
    if day == today - timedelta(days=1):
        return _("Yesterday")
    if day > today - timedelta(days=7):
        return _("Previous 7 days")
    return date_format(day, "F Y")
