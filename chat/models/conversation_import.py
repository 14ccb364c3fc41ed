"""A user's import of conversations."""

from __future__ import annotations

import uuid
from datetime import timedelta

from django.conf import settings
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

# Longer than the longest conversation takes; a process that was killed can't say that its import has ended.
SILENCE = timedelta(minutes=5)


class ConversationImport(models.Model):
    """The newest import of a user, while it runs and afterwards: what became of its conversations.

    ``report`` are the fields of ``chat.sharing.imports.Report``; ``error`` says why it ended early, in the language of
    its user.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    owner = models.OneToOneField(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="conversation_import")
    updated_at = models.DateTimeField(auto_now_add=True)
    ended_at = models.DateTimeField(null=True)
    report = models.JSONField(default=dict)
    error = models.TextField()

    class Meta:
        verbose_name = _("import")
        verbose_name_plural = _("imports")

    def __str__(self) -> str:
        return f"{self.owner} · {self.updated_at}"

    @property
    def is_interrupted(self) -> bool:
        """Whether the process that ran it is gone."""
        return self.ended_at is None and self.updated_at < timezone.now() - SILENCE

    @property
    def is_running(self) -> bool:
        return self.ended_at is None and not self.is_interrupted
