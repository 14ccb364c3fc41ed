"""Files that people attach to their messages."""

from __future__ import annotations

import uuid

from django.db import models
from django.urls import reverse
from django.utils.translation import gettext_lazy as _

from chat.models.conversation import Conversation


class Attachment(models.Model):
    """A file of a conversation; messages name it by its id. Both contents are encrypted by ``chat.eventlog`` alone."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    conversation = models.ForeignKey(Conversation, on_delete=models.CASCADE, related_name="attachments")
    name = models.CharField(_("name"), max_length=120)
    media_type = models.CharField(_("media type"), max_length=40)
    size = models.PositiveIntegerField(_("size in bytes"))
    chars = models.PositiveIntegerField(_("characters of text"), default=0)
    is_cut = models.BooleanField(_("only the beginning of its text is used"), default=False)
    sealed_content = models.BinaryField(editable=False)
    sealed_text = models.BinaryField(null=True, editable=False)  # None: an image
    sent_at = models.DateTimeField(_("sent at"), null=True, blank=True)  # None: deleted after a day
    created_at = models.DateTimeField(_("created at"), auto_now_add=True)

    class Meta:
        verbose_name = _("attachment")
        verbose_name_plural = _("attachments")
        ordering = ("created_at",)
        indexes = (models.Index(fields=["conversation", "sent_at"], name="attachment_by_chat"),)

    def __str__(self) -> str:
        return self.name

    def get_absolute_url(self) -> str:
        return reverse("chat:attachment", args=[self.conversation_id, self.pk])
