"""The list of one's conversations beside the page: pinned first, then by day, fifty at a time; or what a search found.

Deleted and temporary ones are in none of it, nor those in which nothing was asked yet.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, timedelta
from itertools import groupby

from django.db.models import Exists, OuterRef, Q, QuerySet
from django.urls import reverse
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.translation import gettext as _

from accounts.models import User
from chat import conversations, search
from chat.models import Conversation, Turn

PAGE = 50


@dataclass(frozen=True, slots=True)
class Group:
    """Conversations under one heading; none where the heading stands on the page already."""

    label: str
    conversations: tuple[Conversation, ...]
    is_today: bool = False


@dataclass(frozen=True, slots=True)
class Listing:
    """What the list shows. ``focus`` is the conversation to which the keyboard goes, if any."""

    groups: tuple[Group, ...] = ()
    older_url: str = ""
    undo: Conversation | None = None
    query: str = ""
    found: tuple[search.Found, ...] = ()
    focus: uuid.UUID | None = None


def newest(person: User, *, deleted: object = None, focus: uuid.UUID | None = None) -> Listing:
    """Return the head of the list, and what was deleted just now and can be taken back."""
    begun = _begun(person)
    pinned = tuple(begun.filter(is_pinned=True))
    groups, older_url = _page(begun.filter(is_pinned=False))
    head = (Group(_("Pinned"), pinned),) if pinned else ()
    undo = conversations.deleted_just_now(person, deleted) if deleted else None
    return Listing((*head, *_from_today(groups)), older_url, undo=undo, focus=focus)


def older(person: User, after: uuid.UUID) -> Listing:
    """Return the page of the list that follows this conversation."""
    last = person.conversations.filter(pk=after).first()
    if last is None:
        return newest(person)
    earlier = Q(updated_at__lt=last.updated_at) | Q(updated_at=last.updated_at, pk__lt=last.pk)
    groups, older_url = _page(_begun(person).filter(earlier, is_pinned=False))
    if groups and groups[0].label == _day(last, timezone.localdate()):
        groups = (Group("", groups[0].conversations), *groups[1:])
    return Listing(groups, older_url, focus=groups[0].conversations[0].pk if groups else None)


def found(person: User, query: str) -> Listing:
    """Return what a search found; the list itself for an empty one."""
    query = query.strip()[: search.QUERY_MOST_CHARS]
    return Listing(query=query, found=search.search(person, query)) if query else newest(person)


def _begun(person: User) -> QuerySet[Conversation]:
    begun = person.conversations.filter(Exists(Turn.objects.filter(conversation=OuterRef("pk"))), expires_at=None)
    return begun.order_by("-updated_at", "-pk")


def _page(listed: QuerySet[Conversation]) -> tuple[tuple[Group, ...], str]:
    page = list(listed[: PAGE + 1])
    more = f"{reverse('chat:new')}?after={page[PAGE - 1].pk}" if len(page) > PAGE else ""
    return _by_day(page[:PAGE]), more


def _by_day(listed: Iterable[Conversation]) -> tuple[Group, ...]:
    """Group conversations, newest first, by day: today, yesterday, this week, then by month."""
    today = timezone.localdate()
    return tuple(Group(label, tuple(group)) for label, group in groupby(listed, key=lambda one: _day(one, today)))


def _from_today(groups: tuple[Group, ...]) -> tuple[Group, ...]:
    """Mark today's group, and make it where there is none: a new conversation is put there while the page is open."""
    label = _("Today")
    if groups and groups[0].label == label:
        return (Group(label, groups[0].conversations, is_today=True), *groups[1:])
    return (Group(label, (), is_today=True), *groups)


def _day(found: Conversation, today: date) -> str:
    day = timezone.localdate(found.updated_at)
    if day >= today:
        return _("Today")
    if day == today - timedelta(days=1):
        return _("Yesterday")
    if day > today - timedelta(days=7):
        return _("Previous 7 days")
    return date_format(day, "F Y")
