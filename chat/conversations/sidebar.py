"""The lists of a person's conversations: pinned ones, those of projects, then by day; or the results of a search.

Deleted and temporary conversations, and those without a question, are not listed. Archived ones have their own list.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from itertools import groupby

from django.db.models import Exists, OuterRef, Q, QuerySet, Window
from django.db.models.functions import RowNumber
from django.urls import reverse
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.translation import gettext as _

from accounts.models import User
from chat.conversations import actions, search
from chat.filings.models import Filing
from chat.models import Conversation, Project, Turn

PAGE_SIZE = 50
SHOWN_PROJECTS, SHOWN_OF_PROJECT = 5, 5  # in the sidebar, the newest ones


@dataclass(frozen=True, slots=True)
class Group:
    """Conversations under one heading; ``label`` is empty where the page has the heading already."""

    label: str
    conversations: tuple[Conversation, ...]
    is_today: bool = False
    project: Project | None = None

    @property
    def dom_id(self) -> str:
        """Name the groups into which a page inserts new conversations; see chat.socket.frames."""
        return f"project-{self.project.id.hex}" if self.project else "today" if self.is_today else ""


@dataclass(frozen=True, slots=True)
class Sidebar:
    """What the sidebar shows. ``undo``: just deleted, or archived; ``focus``: the one that gets the keyboard focus.

    ``has_filings``: whether the site has filings to list; read for the head of the list alone.
    """

    groups: tuple[Group, ...] = ()
    older_url: str = ""
    undo: Conversation | None = None
    query: str = ""
    found: tuple[search.ConversationMatch, ...] = ()
    focus: uuid.UUID | None = None
    has_filings: bool = False

    @property
    def has_conversations(self) -> bool:
        """Return whether there is one: today's group is there even if it is empty."""
        return any(group.conversations for group in self.groups)


def newest(
    person: User,
    *,
    deleted: object = None,
    archived: Conversation | None = None,
    focus: uuid.UUID | None = None,
    project: Project | None = None,
) -> Sidebar:
    """Return the head of the list: pinned conversations, those of projects, then the others by day.

    ``deleted`` is the id of a conversation whose deletion may be undone, ``archived`` one that was archived just now.
    The group of ``project`` is there even if it is empty: the page inserts a new conversation into it.
    """
    # the newest of each part of the list in one query
    part = Window(RowNumber(), partition_by=("is_pinned", "project"), order_by=("-updated_at", "-pk"))
    fits = Q(is_pinned=True) | Q(project=None, place__lte=PAGE_SIZE + 1) | Q(place__lte=SHOWN_OF_PROJECT)
    filings = Filing.objects.order_by()
    found = listed_conversations(person).alias(place=part).filter(fits).annotate(has_filings=Exists(filings))
    listed = list(found.select_related("project"))
    has_filings = listed[0].has_filings if listed else filings.exists()
    others = [one for one in listed if not (one.is_pinned or one.project)]
    groups, older_url = group_page(others, reverse("chat:conversations"))
    # Today's group is there even if it is empty, for new conversations.
    today = _("Today")
    if groups and groups[0].label == today:
        groups = (Group(today, groups[0].conversations, is_today=True), *groups[1:])
    else:
        groups = (Group(today, (), is_today=True), *groups)
    groups = (*project_groups([one for one in listed if not one.is_pinned], project), *groups)
    if pinned := tuple(one for one in listed if one.is_pinned):
        groups = (Group(_("Pinned"), pinned), *groups)
    undo = actions.find_deleted(person, deleted) if deleted else archived
    return Sidebar(groups, older_url, undo=undo, focus=focus, has_filings=has_filings)


def older(person: User, after: uuid.UUID) -> Sidebar:
    """Return the page of the list that follows this conversation."""
    last = person.conversations.filter(pk=after).first()
    if last is None:
        return Sidebar(())  # it was deleted meanwhile: what follows it isn't known
    listed = listed_conversations(person).filter(is_pinned=False, project=None)
    groups, older_url = group_page(page_after(listed, last), reverse("chat:conversations"))
    if groups and groups[0].label == day_label(last, timezone.localdate()):
        groups = (Group("", groups[0].conversations), *groups[1:])
    return Sidebar(groups, older_url, focus=groups[0].conversations[0].pk if groups else None)


def read_archive(person: User, after: uuid.UUID | None, *, deleted: object = None) -> Sidebar:
    """Return a page of the archived conversations; ``deleted`` as for ``newest``."""
    listed = listed_conversations(person, is_archived=True)
    last = listed.filter(pk=after).first() if after else None
    if after and last is None:
        return Sidebar(())
    undo = actions.find_deleted(person, deleted) if deleted else None
    return Sidebar(*group_page(page_after(listed, last), reverse("chat:archived")), undo=undo)


def of_project(project: Project, after: uuid.UUID | None) -> Sidebar:
    """Return a page of the conversations of a project."""
    listed = listed_conversations(project.owner).filter(project=project)
    last = listed.filter(pk=after).first() if after else None
    if after and last is None:
        return Sidebar(())
    return Sidebar(*group_page(page_after(listed, last), project.get_absolute_url()))


def search_results(person: User, query: str) -> Sidebar:
    """Return what a search found; the list itself for an empty query."""
    query = query.strip()[: search.MAX_QUERY_CHARS]
    return Sidebar(query=query, found=search.search(person, query)) if query else newest(person)


def project_groups(listed: Sequence[Conversation], current: Project | None) -> list[Group]:
    """Return the projects of these conversations that were used last, and the current one."""
    # in the order of their newest conversation
    projects = {one.project: None for one in listed if one.project}
    shown = list(projects)[:SHOWN_PROJECTS]
    if current and current not in shown:
        shown = [current, *shown[: SHOWN_PROJECTS - 1]]
    return [
        Group(project.name, tuple(one for one in listed if one.project_id == project.pk), project=project)
        for project in shown
    ]


def listed_conversations(person: User, *, is_archived: bool = False) -> QuerySet[Conversation]:
    has_turn = Exists(Turn.objects.filter(conversation=OuterRef("pk")))
    found = person.conversations.filter(has_turn, expires_at=None, archived_at__isnull=not is_archived)
    return found.order_by("-updated_at", "-pk")


def page_after(listed: QuerySet[Conversation], last: Conversation | None) -> list[Conversation]:
    """Return the first page of a list, or the one after ``last``, and one more where the list continues."""
    # Pages begin after a conversation, not at an offset: the list changes while somebody reads it.
    if last is not None:
        # the order of the list, in which conversations of the same moment are ordered by id
        listed = listed.filter(Q(updated_at__lt=last.updated_at) | Q(updated_at=last.updated_at, pk__lt=last.pk))
    return list(listed[: PAGE_SIZE + 1])


def group_page(page: Sequence[Conversation], url: str) -> tuple[tuple[Group, ...], str]:
    """Return a page of a list in groups by day, and the URL of the next page or nothing."""
    older_url = f"{url}?after={page[PAGE_SIZE - 1].pk}" if len(page) > PAGE_SIZE else ""
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
