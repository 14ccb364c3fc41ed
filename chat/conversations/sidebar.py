"""The lists of a person's conversations: pinned ones, those of projects, then by day; or the results of a search.

Deleted and temporary conversations, and those without a question, are not listed. Archived ones have their own list.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from datetime import date, timedelta
from itertools import groupby

from django.db.models import Exists, Max, OuterRef, Q, QuerySet, Window
from django.db.models.functions import Coalesce, RowNumber
from django.urls import reverse
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.translation import gettext as _

from accounts.models import User
from chat.conversations import actions, search
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
    """What the sidebar shows. ``undo``: just deleted; ``focus``: the conversation that gets the keyboard focus."""

    groups: tuple[Group, ...] = ()
    older_url: str = ""
    undo: Conversation | None = None
    query: str = ""
    found: tuple[search.ConversationMatch, ...] = ()
    focus: uuid.UUID | None = None

    @property
    def has_conversations(self) -> bool:
        """Return whether there is one: today's group is there even if it is empty."""
        return any(group.conversations for group in self.groups)


def newest(person: User, *, deleted: object = None, focus: uuid.UUID | None = None, has_pinned: bool = True) -> Sidebar:
    """Return the head of the list; ``deleted`` is the id of a conversation whose deletion may be undone.

    ``has_pinned``: False where it is known that no conversation is pinned.
    """
    listed = listed_conversations(person)
    groups, older_url = page_of(listed.filter(is_pinned=False, project=None), reverse("chat:conversations"))
    # Today's group is there even if it is empty: the page inserts a new conversation into it.
    today = _("Today")
    if groups and groups[0].label == today:
        groups = (Group(today, groups[0].conversations, is_today=True), *groups[1:])
    else:
        groups = (Group(today, (), is_today=True), *groups)
    groups = (*project_groups(person, listed), *groups)
    if has_pinned and (pinned := tuple(listed.filter(is_pinned=True))):
        groups = (Group(_("Pinned"), pinned), *groups)
    undo = actions.find_deleted(person, deleted) if deleted else None
    return Sidebar(groups, older_url, undo=undo, focus=focus)


def older(person: User, after: uuid.UUID) -> Sidebar:
    """Return the page of the list that follows this conversation."""
    last = person.conversations.filter(pk=after).first()
    if last is None:
        return newest(person)
    listed = listed_conversations(person).filter(is_pinned=False, project=None)
    groups, older_url = page_of(listed, reverse("chat:conversations"), last)
    if groups and groups[0].label == day_label(last, timezone.localdate()):
        groups = (Group("", groups[0].conversations), *groups[1:])
    return Sidebar(groups, older_url, focus=groups[0].conversations[0].pk if groups else None)


def archived(person: User, after: uuid.UUID | None, *, deleted: object = None) -> Sidebar:
    """Return a page of the archived conversations; ``deleted`` as for ``newest``."""
    listed = listed_conversations(person, is_archived=True)
    last = listed.filter(pk=after).first() if after else None
    undo = actions.find_deleted(person, deleted) if deleted else None
    return Sidebar(*page_of(listed, reverse("chat:archived"), last), undo=undo)


def of_project(project: Project, after: uuid.UUID | None) -> Sidebar:
    """Return a page of the conversations of a project."""
    listed = listed_conversations(project.owner).filter(project=project)
    last = listed.filter(pk=after).first() if after else None
    return Sidebar(*page_of(listed, project.get_absolute_url(), last))


def search_results(person: User, query: str) -> Sidebar:
    """Return what a search found; the list itself for an empty query."""
    query = query.strip()[: search.MAX_QUERY_CHARS]
    return Sidebar(query=query, found=search.search(person, query)) if query else newest(person)


def project_groups(person: User, listed: QuerySet[Conversation]) -> list[Group]:
    """Return the projects that were used last, each with its newest conversations."""
    used_at = Coalesce(Max("conversations__updated_at"), "created_at")
    projects = list(person.projects.alias(used_at=used_at).order_by("-used_at")[:SHOWN_PROJECTS])
    if not projects:
        return []
    # The newest few of each project in one query.
    number = Window(RowNumber(), partition_by="project", order_by=("-updated_at", "-pk"))
    newest_of = listed.filter(project__in=projects, is_pinned=False).alias(number=number)
    shown = list(newest_of.filter(number__lte=SHOWN_OF_PROJECT))
    return [
        Group(project.name, tuple(one for one in shown if one.project_id == project.pk), project=project)
        for project in projects
    ]


def listed_conversations(person: User, *, is_archived: bool = False) -> QuerySet[Conversation]:
    has_turn = Exists(Turn.objects.filter(conversation=OuterRef("pk")))
    found = person.conversations.filter(has_turn, expires_at=None, archived_at__isnull=not is_archived)
    return found.order_by("-updated_at", "-pk")


def page_of(
    listed: QuerySet[Conversation], url: str, last: Conversation | None = None
) -> tuple[tuple[Group, ...], str]:
    """Return the first page of a list, or the one after ``last``, in groups, and the URL of the next one or nothing."""
    # Pages begin after a conversation, not at an offset: the list changes while somebody reads it.
    if last is not None:
        # the order of the list, in which conversations of the same moment are ordered by id
        listed = listed.filter(Q(updated_at__lt=last.updated_at) | Q(updated_at=last.updated_at, pk__lt=last.pk))
    page = list(listed[: PAGE_SIZE + 1])
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
