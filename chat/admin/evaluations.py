"""Evaluations: how well the questions of a folder were answered. Rows are made by ``manage.py evaluate`` alone."""

from __future__ import annotations

from django.contrib import admin
from django.utils.translation import gettext_lazy

from accounts.admin import ReadOnlyAdmin
from chat.models import Evaluation


@admin.register(Evaluation)
class EvaluationAdmin(ReadOnlyAdmin):
    """The runs, newest first."""

    deletable = True
    list_display = (
        "created_at",
        "folder",
        "database",
        "model",
        "found_in_five",
        "quoted_share",
        "cited_share",
        "refused_share",
        "not_verbatim",
        "p50_ms",
        "p95_ms",
    )
    list_filter = ("database", "created_at")
    fields = (
        *("created_at", "folder", "database", "model", "answerable", "found", "quoted", "cited"),
        *("unanswerable", "refused", "not_verbatim", "p50_ms", "p95_ms"),
    )

    @admin.display(description=gettext_lazy("found in five"), ordering="found")
    def found_in_five(self, run: Evaluation) -> str:
        return f"{run.found} / {run.answerable}"

    @admin.display(description=gettext_lazy("quoted"), ordering="quoted")
    def quoted_share(self, run: Evaluation) -> str:
        return f"{run.quoted} / {run.answerable}"

    @admin.display(description=gettext_lazy("cited"), ordering="cited")
    def cited_share(self, run: Evaluation) -> str:
        return f"{run.cited} / {run.answerable}"

    @admin.display(description=gettext_lazy("refused"), ordering="refused")
    def refused_share(self, run: Evaluation) -> str:
        return f"{run.refused} / {run.unanswerable}"
