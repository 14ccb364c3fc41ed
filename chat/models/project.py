"""A group of one owner's conversations."""

from __future__ import annotations

import uuid

from django.conf import settings
from django.db import models
from django.urls import reverse
from django.utils.translation import gettext_lazy as _

from chat.models.conversation import MAX_SYSTEM_PROMPT


class Project(models.Model):
    """A group of one owner's conversations, with instructions that all of them share."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="projects")
    name = models.CharField(_("name"), max_length=80)
    system_prompt = models.TextField(_("system prompt"), max_length=MAX_SYSTEM_PROMPT, blank=True)
    created_at = models.DateTimeField(_("created at"), auto_now_add=True)

    class Meta:
        verbose_name = _("project")
        verbose_name_plural = _("projects")
        ordering = ("name", "created_at")

    def __str__(self) -> str:
        return self.name

    def get_absolute_url(self) -> str:
        return reverse("chat:project", args=[self.id])
