"""Shared by the staff's pages: read-only rows, masked texts, and no rows of deleted or temporary conversations."""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterator
from functools import reduce
from operator import attrgetter, or_
from typing import Any

from django.conf import settings
from django.contrib import admin
from django.db.models import Count, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.text import smart_split, unescape_string_literal
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from accounts.admin import DeclaredLookupsMixin, ReadOnlyAdmin, ReadOnlyMixin
from chat.models import Conversation
from chat.providers.address import host_of
from chat.texts.stored_text import translate_stored
from reasoning.redaction import redact_text

MAX_SEARCHED = 1000  # rows whose masked texts are compared with what was searched for


class MaskedSearchMixin(DeclaredLookupsMixin):
    """Searches texts by what is shown of them: a secret that is masked can't be guessed letter by letter."""

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        found, may_have_duplicates = super().get_search_results(request, queryset, search_term)
        if not search_term:
            return found, may_have_duplicates
        is_quoted = re.compile(r"""(["']).*\1|["']""", re.DOTALL).fullmatch  # as Django reads the term
        words = [unescape_string_literal(word) if is_quoted(word) else word for word in smart_split(search_term)]
        shown = []
        # the database has found unmasked texts; only those that match as they are shown remain
        for key, *texts in found.values_list("pk", *self.get_search_fields(request))[:MAX_SEARCHED]:
            text = "\n".join(redact_text(text or "") for text in texts).casefold()
            if all(word.casefold() in text for word in words):
                shown.append(key)
        return queryset.filter(pk__in=shown), False


class OfConversation(MaskedSearchMixin, ReadOnlyAdmin):
    """Rows of conversations that staff may list. ``conversation_path`` leads to theirs.

    ``turn_path`` leads to their turn, where they are of one; those of deleted turns are left out too.

    They are also found by the whole id of what ``id_paths`` lead to.
    """

    conversation_path = "conversation"
    turn_path = ""
    id_paths: tuple[str, ...] = ("conversation",)
    list_select_related = ("conversation",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        listed = listed_conversations().order_by().values("pk")
        found = super().get_queryset(request).filter(**{f"{self.conversation_path}__in": listed})
        return found.filter(**{f"{self.turn_path}__deleted_at": None}) if self.turn_path else found

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        try:
            # an id that a log line or a user reports leads straight to its rows
            wanted = uuid.UUID(search_term.strip())
        except ValueError:
            return super().get_search_results(request, queryset, search_term)
        return queryset.filter(reduce(or_, (Q(**{path: wanted}) for path in self.id_paths))), False

    @admin.display(description=gettext_lazy("conversation"))
    def conversation_link(self, row: Any) -> SafeString:
        conversation = attrgetter(self.conversation_path.replace("__", "."))(row)
        url = reverse("admin:chat_conversation_change", args=[conversation.pk])
        return format_html('<a href="{}">{}</a>', url, title_of(conversation))


class ReadOnlyInline(ReadOnlyMixin, admin.TabularInline):
    """Read-only rows on the page of their parent."""

    extra = 0
    can_delete = False


class LabelledValuesFilter(admin.AllValuesFieldListFilter):
    """Filter by the values of a column, with a label for the empty one."""

    def choices(self, changelist: Any) -> Iterator[Any]:
        empty = _("no error") if self.field_path == "error_code" else _("not stated")
        return (
            # a provider is its address and the digest of its key: the address is enough here
            {**choice, "display": translate_stored(str(choice["display"]).partition("#")[0]) or empty}
            for choice in super().choices(changelist)
        )


def listed_conversations() -> QuerySet[Conversation]:
    """Return the conversations that staff may list: temporary ones are listed nowhere, as for their owner."""
    return Conversation.objects.filter(expires_at=None)


def count_rows(rows: QuerySet[Any], path: str, field: str = "pk") -> Coalesce:
    """Count the ``rows`` that have the listed object at ``path``, or their distinct values of ``field``."""
    # a subquery for each row shown: a join would group the whole table for one page of it
    own = rows.filter(**{path: OuterRef("pk")}).order_by().values(path)
    return Coalesce(Subquery(own.annotate(counted=Count(field, distinct=True)).values("counted")), 0)


def title_of(conversation: Conversation) -> str:
    """Return a masked title (product 12)."""
    return redact_text(conversation.title) or _("Untitled")


def key_refusal(variable: str, address: str) -> str:
    """Return why a key may not be sent to an address: the operator has not bound it to that host. Empty: it may."""
    keys = settings.MODEL_KEYS
    if not variable or variable in keys.variables_for(address):
        return ""
    words = {
        "variable": variable,
        "host": host_of(address),
        "hosts": ", ".join(keys.hosts_of(variable)),
        "variables": ", ".join(keys.variables_for(address)) or _("no variable"),
    }
    message = (
        _("%(variable)s may not be sent to %(host)s: it is for %(hosts)s. Variables for this host: %(variables)s.")
        if words["hosts"]
        else _(
            "%(variable)s may not be sent to %(host)s: MODEL_KEYS does not list it. "
            "Variables for this host: %(variables)s."
        )
    )
    return message % words
