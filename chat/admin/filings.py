"""The corpus: what is loaded and how it stands, loading more, and taking filings out.

A file that is sent here goes the way of ``manage.py load_filings``. What can't be read is named with the reason, and
the rest go on.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db import DEFAULT_DB_ALIAS
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from chat.admin.base import ModelAdmin, counted
from chat.admin.uploads import Loaded, UploadForm, load
from chat.filings.index import check_index
from chat.models import Filing, Passage

DIGEST_CHARS = 8


@admin.register(Filing)
class FilingAdmin(ModelAdmin):
    """What the corpus holds. A document is never edited: it is loaded again, or deleted."""

    change_list_template = "admin/chat/filing/change_list.html"
    list_display = ("company", "form", "period_on", "filed_on", "passage_count", "loaded_at", "short_digest")
    list_filter = ("form", "is_demo", "loaded_at")
    search_fields = ("company", "source_name", "accession", "cik")
    fields = (
        *("company", "form", "cik", "accession", "period_on", "filed_on", "signed_on", "source_name"),
        *("passage_count", "section_count", "digest", "loaded_at", "slug", "is_demo"),
    )

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def get_queryset(self, request: HttpRequest) -> QuerySet[Filing]:
        found: QuerySet[Filing] = super().get_queryset(request)
        passages = Passage.objects.all()
        return found.annotate(
            passages_=counted(passages, "filing"), sections_=counted(passages, "filing", field="section")
        )

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        """List the corpus, with what is wrong with its index, if anything is."""
        troubles = check_index(None, [DEFAULT_DB_ALIAS])
        return super().changelist_view(request, {**(extra_context or {}), "troubles": troubles})

    def add_view(
        self, request: HttpRequest, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Take files and load them."""
        if not self.has_add_permission(request):
            raise PermissionDenied
        form = UploadForm(request.POST, request.FILES) if request.method == "POST" else UploadForm()
        if form.is_valid():
            results = [load(file, form.cleaned_data["filed_on"]) for file in form.cleaned_data["documents"]]
            self._tell(request, results)
            if form.takes(results):
                return HttpResponseRedirect(reverse("admin:chat_filing_changelist"))
        context = {"title": _("Load filings"), "form": form, "opts": self.opts}
        return TemplateResponse(
            request, "admin/chat/filing/upload.html", {**self.admin_site.each_context(request), **context}
        )

    def _tell(self, request: HttpRequest, results: Sequence[Loaded]) -> None:
        for result in results:
            if result.filing is not None:
                self.message_user(request, result.told, messages.SUCCESS)
                self.log_addition(request, result.filing, [{"added": {}}])

    def get_deleted_objects(
        self, objs: Any, request: HttpRequest
    ) -> tuple[list[Any], dict[Any, int], set[str], list[Any]]:
        """Say what goes with a filing by its number: a report has hundreds of passages."""
        filings = list(objs)
        counts = {filing: filing.passages.count() for filing in filings}
        told = [_("%(filing)s: %(passages)s") % {"filing": one, "passages": _passages(counts[one])} for one in filings]
        names = {self.opts.verbose_name_plural: len(filings), _("passages"): sum(counts.values())}
        return told, names, set(), []

    @admin.display(description=gettext_lazy("passages"), ordering="passages_")
    def passage_count(self, filing: Any) -> int:
        return int(filing.passages_)

    @admin.display(description=gettext_lazy("sections"))
    def section_count(self, filing: Any) -> int:
        return int(filing.sections_)

    @admin.display(description=gettext_lazy("digest"))
    def short_digest(self, filing: Filing) -> str:
        return filing.digest[:DIGEST_CHARS]


def _passages(count: int) -> str:
    return ngettext("%(count)d passage", "%(count)d passages", count) % {"count": count}
