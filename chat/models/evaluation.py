"""How well a set of questions about documents was answered."""

from __future__ import annotations

from django.db import models
from django.utils.translation import gettext_lazy as _


class Evaluation(models.Model):
    """One run of ``manage.py evaluate`` on one database: counts and times, no texts of questions or answers."""

    created_at = models.DateTimeField(_("run at"), auto_now_add=True)
    folder = models.CharField(_("folder"), max_length=100)  # its name, without its path
    database = models.CharField(_("database"), max_length=20)
    model = models.CharField(_("model"), max_length=200)
    answerable = models.PositiveIntegerField(_("questions with an answer"))
    found = models.PositiveIntegerField(_("found in five"))
    quoted = models.PositiveIntegerField(_("quoted"))
    cited = models.PositiveIntegerField(_("cited"))
    unanswerable = models.PositiveIntegerField(_("questions without an answer"))
    refused = models.PositiveIntegerField(_("refused"))
    not_verbatim = models.PositiveIntegerField(_("quotations that are not verbatim"))
    p50_ms = models.FloatField(_("search, p50 in ms"))
    p95_ms = models.FloatField(_("search, p95 in ms"))

    class Meta:
        verbose_name = _("evaluation")
        verbose_name_plural = _("evaluations")
        ordering = ("-created_at", "-pk")

    def __str__(self) -> str:
        return f"{self.folder}, {self.database}"
