"""Filings: what is loaded, loading more by the code of ``manage.py load_filings``, and deleting.

Each uploaded file is loaded by itself; one that can't be read is named with the reason.
"""

from __future__ import annotations

import datetime as dt
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.core.files.uploadedfile import UploadedFile
from django.db import DEFAULT_DB_ALIAS
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from accounts.admin import DeclaredLookupsMixin
from chat.admin.base import count_rows
from chat.filings.ingest import ingest
from chat.filings.models import Filing, Passage
from chat.filings.submission import SUFFIXES, DocumentError, check_size
from chat.models import Event
from chat.search.fts5 import check_passage_indexes
from reasoning.events import AssistantMessage

MAX_FILES = 20
DIGEST_CHARS = 8


class FilesInput(forms.ClearableFileInput):
    """A file input for several files."""

    allow_multiple_selected = True


class FilesField(forms.FileField):
    """Several files."""

    widget = FilesInput(attrs={"accept": ",".join(SUFFIXES)})

    def clean(self, data: Any, initial: Any = None) -> list[UploadedFile[bytes]]:
        # without a file the parent class reports the missing field
        files = data if isinstance(data, list) and data else [data or None]
        if len(files) > MAX_FILES:
            raise forms.ValidationError(_("At most %(most)d files at once.") % {"most": MAX_FILES})
        return [super(FilesField, self).clean(file, initial) for file in files]


class UploadForm(forms.Form):
    """Documents as EDGAR publishes them, and a filing date for those that state none."""

    documents = FilesField(
        label=gettext_lazy("Files"),
        max_length=255,
        help_text=gettext_lazy("HTML, inline XBRL or text, as published by EDGAR."),
    )
    filed_on = forms.DateField(
        label=gettext_lazy("Filing date"),
        required=False,
        widget=forms.DateInput(attrs={"type": "date"}),
        help_text=gettext_lazy("Used where a document states none itself."),
    )


@admin.register(Filing)
class FilingAdmin(DeclaredLookupsMixin):
    """A filing is never edited, only loaded again or deleted."""

    change_list_template = "admin/filings/filing/change_list.html"
    list_display = ("company", "form", "period_on", "filed_on", "passage_count", "loaded_at", "short_digest")
    list_filter = ("form", "is_demo", "loaded_at")
    search_fields = ("company", "source_name", "accession", "cik")
    fields = (
        *("company", "form", "cik", "accession", "period_on", "filed_on", "signed_on", "source_name"),
        *("passage_count", "section_count", "digest", "loaded_at", "slug", "is_demo"),
    )

    # an edited passage would no longer hold the words that answers quote
    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def get_queryset(self, request: HttpRequest) -> QuerySet[Filing]:
        found: QuerySet[Filing] = super().get_queryset(request)
        passages = Passage.objects.all()
        return found.annotate(
            passages_=count_rows(passages, "filing"), sections_=count_rows(passages, "filing", field="section")
        )

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        """List filings, with the problems of their search index."""
        troubles = check_passage_indexes(None, [DEFAULT_DB_ALIAS])
        return super().changelist_view(request, {**(extra_context or {}), "troubles": troubles})

    def add_view(
        self, request: HttpRequest, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Load uploaded files."""
        if not self.has_add_permission(request):
            raise PermissionDenied
        form = UploadForm(request.POST, request.FILES) if request.method == "POST" else UploadForm()
        if form.is_valid():
            filed_on = form.cleaned_data["filed_on"]
            # each by itself, so that a file that can't be read doesn't lose the others
            for file in form.cleaned_data["documents"]:
                try:
                    filing = load_document(file, filed_on)
                except (DocumentError, OSError) as error:
                    reason = _("%(file)s was skipped: %(reason)s") % {"file": file.name, "reason": error}
                    form.add_error("documents", reason)
                    continue
                words = {"file": file.name, "filing": filing, "passages": passage_total(filing.passages.count())}
                self.message_user(request, _("Loaded %(file)s: %(filing)s, %(passages)s") % words, messages.SUCCESS)
                self.log_addition(request, filing, [{"added": {}}])
            if form.is_valid():
                return HttpResponseRedirect(reverse("admin:filings_filing_changelist"))
        context = {"title": _("Load filings"), "form": form, "opts": self.opts}
        return TemplateResponse(
            request, "admin/filings/filing/upload.html", {**self.admin_site.each_context(request), **context}
        )

    def get_deleted_objects(
        self, objs: Any, request: HttpRequest
    ) -> tuple[list[Any], dict[Any, int], set[str], list[Any]]:
        """Count a filing's passages, and the answers that cite them, instead of listing hundreds of them."""
        filings = list(objs)
        counts = {filing: filing.passages.count() for filing in filings}
        told = [
            _("%(filing)s: %(passages)s, %(answers)s")
            % {"filing": one, "passages": passage_total(counts[one]), "answers": citing_total(one)}
            for one in filings
        ]
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


def passage_total(count: int) -> str:
    return ngettext("%(count)d passage", "%(count)d passages", count) % {"count": count}


def citing_total(filing: Filing) -> str:
    answers = Event.objects.filter(type=AssistantMessage.type)
    # Citations are stored with the answer: their addresses are all that names the filing.
    count = answers.filter(public__citations__icontains=f'"{filing.get_absolute_url()}#').count()
    return ngettext("cited by %(count)d answer", "cited by %(count)d answers", count) % {"count": count}


def load_document(file: UploadedFile[bytes], filed_on: dt.date | None) -> Filing:
    """Store the filing of an uploaded file. Raises DocumentError or OSError."""
    check_size(file.size or 0)  # before it is read
    return ingest(bytes(file.read()), name=file.name or "", filed_on=filed_on)
