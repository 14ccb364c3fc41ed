"""What the staff's pages have in common: they are looked at and not changed, and texts are masked before they show.

``kept`` leaves out what hangs on a conversation that its person deleted, or on a temporary one whose time is over.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from django.contrib import admin
from django.db.models import Count, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from chat.models import Conversation
from chat.wording import shown
from reasoning.redaction import redact_text

if TYPE_CHECKING:
    ModelAdmin = admin.ModelAdmin[Any]
    TabularInline = admin.TabularInline[Any, Any]
else:
    ModelAdmin = admin.ModelAdmin
    TabularInline = admin.TabularInline


class Seen:
    """Looked at, never changed here."""

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


class ReadOnly(Seen, ModelAdmin):
    """A page of rows that are looked at."""

    list_per_page = 50


class ReadOnlyInline(Seen, TabularInline):
    """Rows that are looked at on the page of what they belong to."""

    extra = 0
    can_delete = False


class Named(admin.AllValuesFieldListFilter):
    """A list by the values of a column, where each has a name: the empty one as well."""

    def choices(self, changelist: Any) -> Iterator[Any]:
        empty = _("no error") if self.field_path == "error_code" else _("not stated")
        return ({**choice, "display": shown(str(choice["display"])) or empty} for choice in super().choices(changelist))


def kept(found: QuerySet[Any], path: str) -> QuerySet[Any]:
    """Return the rows whose conversation, at ``path``, is there."""
    return found.filter(**{f"{path}__in": Conversation.objects.order_by().values("pk")})


def counted(rows: QuerySet[Any], path: str, field: str = "pk") -> Coalesce:
    """Return how many of ``rows`` have the listed one at ``path``, or how many different values of ``field``.

    A subquery for each row that is shown: a join would group the whole table for one page of it.
    """
    own = rows.filter(**{path: OuterRef("pk")}).order_by().values(path)
    return Coalesce(Subquery(own.annotate(counted=Count(field, distinct=True)).values("counted")), 0)


def title_of(conversation: Conversation) -> str:
    """Return a title as people may read it. Product 12."""
    return redact_text(conversation.title) or _("Untitled")


def link_to(conversation: Conversation) -> SafeString:
    """Return a title that leads to its conversation's page here."""
    url = reverse("admin:chat_conversation_change", args=[conversation.pk])
    return format_html('<a href="{}">{}</a>', url, title_of(conversation))
