"""Filings and their passages, in the tables that they had as models of chat."""

from __future__ import annotations

from django.db import models
from django.urls import reverse
from django.utils.translation import gettext_lazy as _

from chat.models.passages import PassageQuerySet


class Filing(models.Model):
    """One EDGAR document. Its ``slug`` stays the same when it is ingested again, so citations stay valid."""

    slug = models.SlugField(_("slug"), max_length=120, unique=True)
    company = models.CharField(_("company"), max_length=200)
    cik = models.CharField(_("CIK"), max_length=10, blank=True)
    form = models.CharField(_("form"), max_length=30)
    filed_on = models.DateField(_("filed on"), null=True, blank=True)
    period_on = models.DateField(_("period or event date"), null=True, blank=True)
    signed_on = models.DateField(_("signed on"), null=True, blank=True)
    accession = models.CharField(_("accession number"), max_length=30, blank=True)
    source_name = models.CharField(_("source file"), max_length=255, blank=True)
    # by which a file that is loaded again unchanged is recognised
    digest = models.CharField(_("content digest"), max_length=64)
    is_demo = models.BooleanField(_("demo data (fictional)"), default=False)
    loaded_at = models.DateTimeField(_("loaded at"), auto_now=True)

    class Meta:
        db_table = "chat_filing"
        verbose_name = _("filing")
        verbose_name_plural = _("filings")
        ordering = ("company", "-period_on")

    def __str__(self) -> str:
        return f"{self.company} {self.form}"

    def get_absolute_url(self) -> str:
        return reverse("chat:filing", args=[self.slug])


class Passage(models.Model):
    """A run of blocks of one section, about 1,100 characters, with an anchor of our own."""

    filing = models.ForeignKey(Filing, on_delete=models.CASCADE, related_name="passages")
    ordinal = models.PositiveIntegerField(_("ordinal in the filing"))
    section = models.CharField(_("section"), max_length=80)
    section_title = models.CharField(_("section title"), max_length=300, blank=True)
    heading = models.CharField(_("heading"), max_length=300, blank=True)
    # "#item-7-p31": stored citations name it
    anchor = models.CharField(_("anchor"), max_length=80)
    kind = models.CharField(_("kind"), max_length=10, default="text")
    text = models.TextField(_("text"))
    context = models.CharField(_("search context"), max_length=1000)

    objects = PassageQuerySet["Passage"].as_manager()

    class Meta:
        db_table = "chat_passage"
        verbose_name = _("passage")
        verbose_name_plural = _("passages")
        ordering = ("filing", "ordinal")
        constraints = (
            models.UniqueConstraint(fields=["filing", "anchor"], name="passage_anchor_once"),
            models.UniqueConstraint(fields=["filing", "ordinal"], name="passage_ordinal_once"),
        )

    def __str__(self) -> str:
        return f"{self.filing_id}{self.anchor}"
