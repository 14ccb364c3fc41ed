"""Documents that people load, in collections, and their passages."""

from __future__ import annotations

import uuid

from django.conf import settings
from django.db import models
from django.urls import reverse
from django.utils.translation import gettext_lazy as _

from chat.models.passages import PassageQuerySet
from reasoning.redaction import redact_text


class Collection(models.Model):
    """A group of documents that conversations may search: one person's, or the site's, which everybody may."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, null=True, blank=True, related_name="collections"
    )  # None: the site's
    name = models.CharField(_("name"), max_length=80)
    created_at = models.DateTimeField(_("created at"), auto_now_add=True)

    class Meta:
        verbose_name = _("collection")
        verbose_name_plural = _("collections")
        ordering = ("name", "created_at")

    def __str__(self) -> str:
        return redact_text(self.name)  # only the admin shows it, to staff

    def get_absolute_url(self) -> str:
        return reverse("chat:collection", args=[self.pk])


class Document(models.Model):
    """A file of a collection. Its contents are encrypted by ``chat.documents`` alone; its passages can be searched.

    A file of the same name takes its place, and its row: citations of passages that have not changed stay valid.
    """

    class Status(models.TextChoices):
        """How far it was read."""

        WAITING = "waiting", _("waiting to be read")
        READING = "reading", _("being read")
        READY = "ready", _("ready")
        FAILED = "failed", _("can’t be read")

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    collection = models.ForeignKey(Collection, on_delete=models.CASCADE, related_name="documents")
    name = models.CharField(_("name"), max_length=120)
    title = models.CharField(_("title"), max_length=300, blank=True)  # that the file states
    media_type = models.CharField(_("media type"), max_length=100)
    size = models.PositiveIntegerField(_("size in bytes"))
    digest = models.CharField(
        _("content digest"), max_length=64
    )  # a file that is loaded again unchanged stays as it is
    pages = models.PositiveIntegerField(_("pages"), default=0)  # 0: it has none
    # First page, width and height in pixels of each run of pages whose pictures have one size; None: not known.
    picture_sizes = models.JSONField(null=True, editable=False)
    is_cut = models.BooleanField(_("only its beginning can be searched"), default=False)
    status = models.CharField(_("status"), max_length=10, choices=Status, default=Status.WAITING)
    problem = models.CharField(_("problem"), max_length=20, blank=True)  # as ``chat.files`` names it
    worker = models.CharField(max_length=120, default="", editable=False)  # the process that reads it
    changed_at = models.DateTimeField(_("changed at"), auto_now=True)  # while it is read: a sign of life
    created_at = models.DateTimeField(_("created at"), auto_now_add=True)
    sealed_content = models.BinaryField(editable=False)

    class Meta:
        verbose_name = _("document")
        verbose_name_plural = _("documents")
        ordering = ("name",)
        constraints = (models.UniqueConstraint(fields=["collection", "name"], name="document_name_once"),)
        indexes = (models.Index(fields=["status", "changed_at"], name="document_by_status"),)

    def __str__(self) -> str:
        return self.title or self.name

    def get_absolute_url(self) -> str:
        return reverse("chat:document", args=[self.pk])


class DocumentPassage(models.Model):
    """A run of blocks of one section and page, about 1,100 characters, with an anchor of our own.

    Its text is stored readable, since a search index can't be encrypted; see docs/decisions.
    """

    document = models.ForeignKey(Document, on_delete=models.CASCADE, related_name="passages")
    ordinal = models.PositiveIntegerField(_("ordinal in the document"))
    section = models.CharField(_("section"), max_length=300, blank=True)
    page = models.PositiveIntegerField(_("page"), default=0)  # 0: the document has none
    anchor = models.CharField(_("anchor"), max_length=80)  # "#risks-p3": stored citations name it
    text = models.TextField(_("text"))
    context = models.CharField(_("search context"), max_length=1000)

    objects = PassageQuerySet["DocumentPassage"].as_manager()

    class Meta:
        verbose_name = _("passage of a document")
        verbose_name_plural = _("passages of documents")
        ordering = ("document", "ordinal")
        constraints = (
            models.UniqueConstraint(fields=["document", "anchor"], name="document_anchor_once"),
            models.UniqueConstraint(fields=["document", "ordinal"], name="document_ordinal_once"),
        )

    def __str__(self) -> str:
        return f"{self.document_id}{self.anchor}"


class PagePicture(models.Model):
    """A page of a PDF as it was drawn, encrypted, or why it can’t be drawn: neither is tried again."""

    # No constraint of the database: version 0.2.0 deletes documents too while both run, and doesn't know this table.
    document = models.ForeignKey(Document, on_delete=models.CASCADE, related_name="pictures", db_constraint=False)
    page = models.PositiveIntegerField(_("page"))
    digest = models.CharField(_("content digest"), max_length=64)  # of the file that was drawn
    problem = models.CharField(_("problem"), max_length=20, blank=True)  # as ``chat.files`` names it
    sealed = models.BinaryField(null=True, editable=False)  # None: there is a problem

    class Meta:
        verbose_name = _("picture of a page")
        verbose_name_plural = _("pictures of pages")
        constraints = (models.UniqueConstraint(fields=["document", "page"], name="document_picture_once"),)

    def __str__(self) -> str:
        return f"{self.document_id} {self.page}"
