"""Collections and their documents: who loaded what, and whether it could be read. No texts; nothing is changed here."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.db.models import Count, QuerySet, Sum
from django.http import HttpRequest
from django.template.defaultfilters import filesizeformat
from django.utils.translation import gettext_lazy

from accounts.admin import ReadOnlyAdmin
from chat.documents.collections import problem_of
from chat.models import Collection, Document
from reasoning.redaction import redact_text


@admin.register(Collection)
class CollectionAdmin(ReadOnlyAdmin):
    """Every collection with the number and the size of its documents; a collection's owner manages it elsewhere."""

    view_on_site = False  # it is its owner's alone
    list_display = ("shown_name", "shown_owner", "documents_count", "documents_size", "created_at")
    list_filter = ("created_at",)
    # by no name, here and below: with names of their own beside it staff could find out what the mask hides
    ordering = ("-created_at",)
    fields = list_display
    list_select_related = ("owner",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Collection]:
        found: QuerySet[Collection] = super().get_queryset(request)
        return found.annotate(documents_count=Count("documents"), documents_size=Sum("documents__size", default=0))

    @admin.display(description=gettext_lazy("name"))
    def shown_name(self, collection: Collection) -> str:
        return redact_text(collection.name)

    @admin.display(description=gettext_lazy("owner"), ordering="owner")
    def shown_owner(self, collection: Collection) -> str:
        return str(collection.owner or gettext_lazy("the site"))

    @admin.display(description=gettext_lazy("documents"), ordering="documents_count")
    def documents_count(self, collection: Any) -> int:
        return int(collection.documents_count)

    @admin.display(description=gettext_lazy("size"), ordering="documents_size")
    def documents_size(self, collection: Any) -> str:
        return filesizeformat(collection.documents_size)


@admin.register(Document)
class DocumentAdmin(ReadOnlyAdmin):
    """Staff manage the site's documents on the pages of everybody; those of others they only count."""

    view_on_site = False  # it is its owner's alone
    list_display = ("shown_name", "status", "shown_collection", "owner", "size", "pages", "created_at")
    list_filter = ("status", "created_at")
    ordering = ("-created_at",)
    fields = (*list_display, "media_type", "problem_in_words", "is_cut", "changed_at")
    list_select_related = ("collection__owner",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Document]:
        return super().get_queryset(request).defer("sealed_content")

    def get_object(self, request: HttpRequest, object_id: str, from_field: str | None = None) -> Document | None:
        """Return it with a masked name, which heads the page: nothing is saved here."""
        found: Document | None = super().get_object(request, object_id, from_field)
        if found:
            found.name, found.title = redact_text(found.name), redact_text(found.title)
        return found

    @admin.display(description=gettext_lazy("name"))
    def shown_name(self, document: Document) -> str:
        return redact_text(document.name)

    @admin.display(description=gettext_lazy("collection"))
    def shown_collection(self, document: Document) -> str:
        return str(document.collection)

    @admin.display(description=gettext_lazy("owner"), ordering="collection__owner")
    def owner(self, document: Document) -> str:
        return str(document.collection.owner or gettext_lazy("the site"))

    @admin.display(description=gettext_lazy("problem"))
    def problem_in_words(self, document: Document) -> str:
        return redact_text(problem_of(document))
