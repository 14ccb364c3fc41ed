"""One owner's thread."""

from __future__ import annotations

import uuid

from django.conf import settings
from django.db import models
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

MAX_SYSTEM_PROMPT = 8000  # characters; also of a model and of the site


class VisibleManager(models.Manager["Conversation"]):
    """Conversations that are neither deleted nor expired."""

    def get_queryset(self) -> models.QuerySet[Conversation]:
        return super().get_queryset().filter(deleted_at=None).exclude(expires_at__lte=timezone.now())


class Conversation(models.Model):
    """One owner's thread."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="conversations")
    title = models.CharField(_("title"), max_length=120, blank=True)
    profile = models.ForeignKey(
        "ModelProfile", on_delete=models.SET_NULL, null=True, blank=True, related_name="+", verbose_name=_("model")
    )  # None: the site's default
    project = models.ForeignKey(
        "Project",
        on_delete=models.SET_NULL,
        null=True,
        blank=True,
        related_name="conversations",
        verbose_name=_("project"),
    )
    reasoning = models.JSONField(_("reasoning settings"), default=dict, blank=True)  # only what was set here
    system_prompt = models.TextField(_("system prompt"), max_length=MAX_SYSTEM_PROMPT, blank=True)
    # By endpoint and model: the seq up to which it refused its own opaque items; see chat.turns.requests.planning.
    refused_items = models.JSONField(default=dict, blank=True, editable=False)
    allowed_tools = models.JSONField(default=list, blank=True, editable=False)  # whose calls need no approval any more
    is_renamed = models.BooleanField(_("renamed"), default=False)  # by its owner; no title of a model replaces it
    is_pinned = models.BooleanField(_("pinned"), default=False)
    archived_at = models.DateTimeField(_("archived at"), null=True, blank=True)  # not in the sidebar
    # Where an imported conversation comes from, so that another import skips it; see chat.sharing.imports.
    import_id = models.CharField(max_length=100, blank=True, default="", editable=False)
    deleted_at = models.DateTimeField(_("deleted at"), null=True, blank=True)  # purged some time after
    expires_at = models.DateTimeField(_("expires at"), null=True, blank=True)  # of a temporary chat
    created_at = models.DateTimeField(_("created at"), auto_now_add=True)
    updated_at = models.DateTimeField(_("updated at"), default=timezone.now)

    deleted_with = 0  # how many others were deleted at once; see chat.conversations.actions.find_deleted

    objects = VisibleManager()
    all_objects: models.Manager[Conversation] = models.Manager()

    class Meta:
        verbose_name = _("conversation")
        verbose_name_plural = _("conversations")
        ordering = ("-updated_at",)
        indexes = (models.Index(fields=["owner", "-updated_at"], name="conversation_by_owner"),)

    def __str__(self) -> str:
        return self.title or str(self.id)

    def get_absolute_url(self) -> str:
        return reverse("chat:conversation", args=[self.id])

    @property
    def is_temporary(self) -> bool:
        return self.expires_at is not None
